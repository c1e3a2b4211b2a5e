/*
 * Notes at home why pending sagas that this coordinator lets go of could not go on, and when they
 * are due again.
 *
 * Collected per home for a turn, so that many become one statement. Best effort: a note that is
 * lost leaves the transfer due when its claim runs out. At most POSTPONER_MAX wait per home; more
 * are dropped.
 */
#ifndef GIRO_POSTPONER_H
#define GIRO_POSTPONER_H

#include "protocol/batch.h"
#include "shard/call.h"

typedef struct Postponer Postponer;

enum
{
    POSTPONER_MAX = 512,
};

typedef struct Postponement
{
    const uint8_t *id;
    Shard *home;
    uint64_t delay_ms;
    const char *error;     /* for people */
    const char *attention; /* why a person is needed; NULL if none is */
} Postponement;

Postponer *postponer_new(Loop *loop, Caller *caller);
void postponer_free(
    Postponer *postponer); /* accepts NULL; the caller must have no call of it under way */
void postponer_add(Postponer *postponer, const Postponement *postponement);

#endif
