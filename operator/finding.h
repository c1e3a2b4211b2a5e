/*
 * Findings of `status` and `doctor`: lines of four words that are made here rather than by the
 * server, shown like every other list.
 */
#ifndef GIROCTL_FINDING_H
#define GIROCTL_FINDING_H

#include "output.h"

typedef struct Finding
{
    const char *part;   /* "shard-2" */
    const char *check;  /* "settings" */
    const char *result; /* "ok", "warn", "fail", or a state */
    const char *detail; /* "" or a sentence */
} Finding;

void finding_begin(Output *output);
void finding_put(Output *output, const Finding *finding);
void finding_end(Output *output);

#endif
