/*
 * One pass from outside of a service, for `girod reconcile`: a process of its own, the same engine.
 */
#ifndef GIRO_ONCE_H
#define GIRO_ONCE_H

#include "reconcile/report.h"
#include "shard/directory.h"

typedef struct OnceOptions
{
    const DirectoryOptions *directory;
    const char *instance;
    bool full;
    uint64_t patience_ms;
    FILE *progress; /* one line, rewritten twice a second; NULL = none */
} OnceOptions;

/* Blocks until the pass is over, also if it stays incomplete. NULL with ERROR_SETUP if the
 * directory cannot be read. The report is the caller's. */
Report *reconcile_once(const OnceOptions *options, Error *error) ATTR_MUST_USE;

#endif
