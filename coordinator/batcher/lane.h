/*
 * A lane: the transfers that wait for one kind of batch on one shard or ordered pair of shards.
 *
 *   local, two-phase, hold   one lane per pair (home, remote)
 *   credit, cancel           one per shard of the credit accounts: all homes join there, so that a
 *                            hot account is updated once per batch
 *   close, refund            one per home
 *
 * Two queues, each with a bound on its batches in flight:
 *   fresh   while its batch is in flight the next one gathers; it leaves at once if it is full,
 *           since waiting would not make it any larger
 *   alone   failed twice in company: one transfer per batch, several at once, so that a poison
 *           transfer sinks only itself
 */
#ifndef GIRO_LANE_H
#define GIRO_LANE_H

#include "batcher/gate.h"
#include "protocol/protocol.h"

typedef enum LaneKind
{
    LANE_FRESH,
    LANE_ALONE,
    LANE_KIND_COUNT,
} LaneKind;

typedef struct Lane
{
    BatchKind work;
    Shard *home;   /* NULL for credit and cancel */
    Shard *remote; /* NULL for local, close and refund */
    struct TransferList queues[LANE_KIND_COUNT];
    int in_flight[LANE_KIND_COUNT]; /* batches */
    size_t in_batches;              /* transfers */
    uint64_t blocked_since_ms;      /* 0 while it is not */
    uint64_t rests_until_ms;        /* a shard had no room for its last batch */
    TAILQ_ENTRY(Lane) link;         /* the lanes that have something to do */
    bool marked;
    bool held_up; /* transfers of it wait at the gate */
} Lane;

/* What makes two transfers share a lane; compared by its bytes. */
typedef struct LaneKey
{
    int32_t work;
    int32_t home;
    int32_t remote;
    int32_t unused;
} LaneKey;

/* The lane in which the transfer's next batch is formed. */
LaneKey lane_key(const Transfer *transfer);
Lane *lane_new(const Transfer *transfer);
void lane_free(Lane *lane); /* nothing may be queued */

/* The shard that keeps the lane from working now; NULL if all that it works on are usable. Notes
 * since when. */
const Shard *lane_obstacle(Lane *lane, uint64_t now_ms);
/* For how many milliseconds it has been kept from working. */
uint64_t lane_is_blocked_for(const Lane *lane, uint64_t now_ms);
bool lane_is_empty(const Lane *lane);
/* Forms and starts as many batches as the bounds and the gate allow, each of at most
 * batch_transfers. */
void lane_start_batches(Lane *lane, Protocol *protocol, Gate *gate, size_t batch_transfers);

#endif
