/*
 * What giroctl says to people beside its output: lines on stderr. Text that comes from a server or
 * from a client's reference may hold anything; on its way to a terminal control characters become
 * "?", so that nothing that somebody stored can act on the terminal of an operator.
 */
#ifndef GIROCTL_SAY_H
#define GIROCTL_SAY_H

#include "base/base.h"

enum
{
    SAY_MAX = 4096,
};

/* "giroctl: …", one line. */
void say(const char *format, ...) ATTR_PRINTF(1, 2);
/* The same without the name in front, for what belongs to a line before. */
void say_more(const char *format, ...) ATTR_PRINTF(1, 2);
/* Replaces control characters, of C1 too; newlines stay. */
void say_clean(char *text);

#endif
