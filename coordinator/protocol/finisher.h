/*
 * Writes finished_at of batches that are committed on both sides, without a transaction of its own
 * where it can: the ids ride with the next decide at the same home. After a second without one they
 * are written by themselves.
 *
 * Best effort: an id that gets lost costs recovery one look at the remote row. At most FINISHER_MAX
 * ids wait per shard; more are dropped.
 */
#ifndef GIRO_FINISHER_H
#define GIRO_FINISHER_H

#include "protocol/protocol.h"

typedef struct Finisher Finisher;

enum
{
    FINISHER_MAX = 1024, /* ids per home shard */
};

Finisher *finisher_new(Protocol *protocol);
void finisher_free(Finisher *finisher); /* accepts NULL */
void finisher_add(Finisher *finisher, Shard *home, const uint8_t batch_id[16]);
/* Moves up to max ids out; returns how many. */
size_t finisher_take(Finisher *finisher, Shard *home, uint8_t (*ret_ids)[16], size_t max);

#endif
