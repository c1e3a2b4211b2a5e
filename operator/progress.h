/*
 * Long work on a terminal: one line on stderr that is written over, with a bar that moves as long
 * as the work does, and the time that it has taken. Nothing at all where stderr is no terminal.
 */
#ifndef GIROCTL_PROGRESS_H
#define GIROCTL_PROGRESS_H

#include "base/base.h"

enum
{
    PROGRESS_MAX = 160,
};

typedef struct Progress Progress;

Progress *progress_new(void);
void progress_free(Progress *progress); /* wipes the line; accepts NULL */
void progress_tell(Progress *progress, const char *text);
/* Wipes the line, so that something else can be said. */
void progress_pause(Progress *progress);

#endif
