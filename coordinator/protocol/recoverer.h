/*
 * Finds what was left behind, by coordinators that are gone or stopped or by this one, and sees to
 * it that it comes to its end:
 *   prepared legs       go through the stages that everybody's legs go through, from ask on
 *   unfinished batches  the same, from look on: their legs are visible, prepared, or lost
 *   sagas of the dead   become due at once, and are claimed like any other
 *   stopped sessions    are ended, with the locks that they hold
 *
 * Runs all the time, also when nothing else happens: one statement per shard and round finds it
 * all. What belongs to a coordinator that is present at the shard is left to it for
 * RECOVERER_AGE_MS: politeness, since the deciding rows decide, whoever is at work. Each thing is
 * settled by itself and apart from the look for more, so that what cannot be settled now keeps
 * nothing waiting.
 */
#ifndef GIRO_RECOVERER_H
#define GIRO_RECOVERER_H

#include "protocol/protocol.h"
#include "shard/call.h"

typedef struct Recoverer Recoverer;

enum
{
    RECOVERER_AGE_MS = 10000,
    RECOVERER_PERIOD_MS = 1000,
    RECOVERER_LIMIT = 1024, /* of each kind, per shard and round */
};

typedef struct RecovererOptions
{
    Protocol *protocol;
    Caller *caller;
    /* Transfers have become due: it is worth looking for them. */
    void (*due)(void *context);
    void *context;
} RecovererOptions;

Recoverer *recoverer_new(const RecovererOptions *options);
/* No call of it may be under way. Accepts NULL. */
void recoverer_free(Recoverer *recoverer);
void recoverer_stop(Recoverer *recoverer);

#endif
