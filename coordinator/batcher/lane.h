/*
 * A lane: the transfers of one ordered pair (home, remote), waiting to be batched. remote NULL =
 * inside one shard.
 *
 * Three queues, each with a bound on its batches in flight:
 *   fresh   locks with SKIP LOCKED; while its batch is in flight the next one gathers
 *   busy    met a locked account before: locks by waiting, so that a hot account is served in turn,
 * and nobody else waits with them alone   failed twice in company: one transfer per batch, several
 * at once, so that a poison transfer sinks only itself
 */
#ifndef GIRO_LANE_H
#define GIRO_LANE_H

#include "protocol/protocol.h"

typedef enum LaneKind
{
    LANE_FRESH,
    LANE_BUSY,
    LANE_ALONE,
    LANE_KIND_COUNT,
} LaneKind;

typedef struct Lane
{
    Shard *home;
    Shard *remote;
    struct TransferList queues[LANE_KIND_COUNT];
    int in_flight[LANE_KIND_COUNT];
    uint64_t blocked_since_ms; /* 0 while it is not */
    TAILQ_ENTRY(Lane) link;    /* the lanes that have something to do */
    bool marked;
} Lane;

Lane *lane_new(Shard *home, Shard *remote);
void lane_free(Lane *lane); /* nothing may be queued */

/* The shard that keeps the lane from working now; NULL if both are usable. Notes since when. */
const Shard *lane_obstacle(Lane *lane, uint64_t now_ms);
/* For how many milliseconds it has been kept from working. */
uint64_t lane_is_blocked_for(const Lane *lane, uint64_t now_ms);
bool lane_is_empty(const Lane *lane);
/* Takes any queued transfer out; NULL if there is none. */
Transfer *lane_take_any(Lane *lane);
/* Forms and starts as many batches as the bounds allow, each of at most batch_transfers. */
void lane_start_batches(Lane *lane, Protocol *protocol, size_t batch_transfers);

#endif
