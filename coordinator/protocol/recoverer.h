/*
 * Finds legs that a dead coordinator has left prepared, and takes them through the stages that
 * everybody's legs go through: ask the home for the verdict, then apply or cancel.
 *
 * Runs all the time, also when nothing else happens. Only legs of our cluster that are older than
 * RECOVERER_AGE_MS are taken: politeness towards the living, since the verdict row decides whoever
 * asks. A leg that cannot be settled now (its home is away) retries by itself and keeps none of the
 * others waiting.
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
    RECOVERER_LIMIT = 64, /* legs per shard and round */
};

Recoverer *recoverer_new(Protocol *protocol, Caller *caller);
/* No call of it may be under way. Accepts NULL. */
void recoverer_free(Recoverer *recoverer);
void recoverer_stop(Recoverer *recoverer);

#endif
