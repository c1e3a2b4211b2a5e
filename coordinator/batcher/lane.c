/* See lane.h. */
#include "batcher/lane.h"

#include "batcher/flight.h"

#include <stdlib.h>

enum
{
    FRESH_MAX = 1,      /* batches in flight */
    FRESH_FULL_MAX = 2, /* the same, if the next one is full */
    ALONE_MAX = 8,
};

/* The home of a lane, NULL if all homes share it. */
static Shard *lane_home(const Transfer *transfer)
{
    return batch_kind_row(transfer->work)->at_home ? transfer->debit.shard : NULL;
}

/* A hold works at home only, but its clearing names the other shard: a lane per pair. */
static Shard *lane_remote(const Transfer *transfer)
{
    bool pair = batch_kind_row(transfer->work)->at_remote || transfer->work == BATCH_HOLD;
    return pair ? transfer->credit.shard : NULL;
}

static int32_t ordinal_or_none(const Shard *shard)
{
    return shard != NULL ? shard_ordinal(shard) : -1;
}

LaneKey lane_key(const Transfer *transfer)
{
    return (LaneKey){
        .work = transfer->work,
        .home = ordinal_or_none(lane_home(transfer)),
        .remote = ordinal_or_none(lane_remote(transfer)),
    };
}

Lane *lane_new(const Transfer *transfer)
{
    Lane *lane = base_calloc(1, sizeof *lane);
    lane->work = transfer->work;
    lane->home = lane_home(transfer);
    lane->remote = lane_remote(transfer);
    for (int kind = 0; kind < LANE_KIND_COUNT; kind++)
        TAILQ_INIT(&lane->queues[kind]);
    return lane;
}

void lane_free(Lane *lane)
{
    ASSERT(lane_is_empty(lane));
    free(lane);
}

static const Shard *unusable_shard(const Lane *lane)
{
    const BatchKindRow *work = batch_kind_row(lane->work);
    if (work->at_home && !shard_is_usable(lane->home))
        return lane->home;
    if (work->at_remote && !shard_is_usable(lane->remote))
        return lane->remote;
    return NULL;
}

const Shard *lane_obstacle(Lane *lane, uint64_t now_ms)
{
    const Shard *shard = unusable_shard(lane);
    if (shard == NULL)
        lane->blocked_since_ms = 0;
    else if (lane->blocked_since_ms == 0)
        lane->blocked_since_ms = now_ms;
    return shard;
}

uint64_t lane_is_blocked_for(const Lane *lane, uint64_t now_ms)
{
    return lane->blocked_since_ms == 0 ? 0 : now_ms - lane->blocked_since_ms;
}

bool lane_is_empty(const Lane *lane)
{
    for (int kind = 0; kind < LANE_KIND_COUNT; kind++)
    {
        if (!TAILQ_EMPTY(&lane->queues[kind]))
            return false;
    }
    return true;
}

static Batch *new_batch(Lane *lane, LaneKind kind, Protocol *protocol)
{
    const BatchKindRow *work = batch_kind_row(lane->work);
    BatchPlan plan = {
        .kind = lane->work,
        .home = work->at_home ? lane->home : NULL,
        .remote = work->at_remote ? lane->remote : NULL,
    };
    Batch *batch = batch_new(protocol, &plan);
    batch->lane = lane;
    batch->lane_kind = (int)kind;
    return batch;
}

/* The first of the queue from here on that the gate lets into the batch. */
static Transfer *next_admitted(Lane *lane, Transfer *from, const Gate *gate, const Batch *batch)
{
    while (from != NULL && !gate_admits(gate, from, batch))
    {
        lane->held_up = true;
        from = TAILQ_NEXT(from, link);
    }
    return from;
}

/* False if the gate admits none of those that wait. */
static bool start_batch(Lane *lane, LaneKind kind, Protocol *protocol, Gate *gate, size_t most)
{
    Transfer *transfer = next_admitted(lane, TAILQ_FIRST(&lane->queues[kind]), gate, NULL);
    if (transfer == NULL)
        return false;
    Batch *batch = new_batch(lane, kind, protocol);
    while (transfer != NULL && batch->count < most && batch_add(batch, transfer))
    {
        Transfer *next = TAILQ_NEXT(transfer, link);
        gate_enter(gate, transfer, batch);
        flight_dequeue(transfer);
        transfer = next_admitted(lane, next, gate, batch);
    }
    lane->in_flight[kind]++;
    lane->in_batches += batch->count;
    batch_start(batch);
    return true;
}

static bool holds(const struct TransferList *queue, size_t count)
{
    const Transfer *transfer = TAILQ_FIRST(queue);
    for (; transfer != NULL && count > 1; count--)
        transfer = TAILQ_NEXT(transfer, link);
    return transfer != NULL;
}

/* May another batch of at most so many be in flight? */
static bool has_room(const Lane *lane, LaneKind kind, size_t most)
{
    int in_flight = lane->in_flight[kind];
    if (kind == LANE_ALONE)
        return in_flight < ALONE_MAX;
    return in_flight < FRESH_MAX ||
           (in_flight < FRESH_FULL_MAX && holds(&lane->queues[kind], most));
}

void lane_start_batches(Lane *lane, Protocol *protocol, Gate *gate, size_t batch_transfers)
{
    lane->held_up = false;
    for (LaneKind kind = 0; kind < LANE_KIND_COUNT; kind++)
    {
        size_t most = kind == LANE_ALONE ? 1 : batch_transfers;
        while (!TAILQ_EMPTY(&lane->queues[kind]) && has_room(lane, kind, most) &&
               protocol_has_room(protocol) && start_batch(lane, kind, protocol, gate, most))
            continue;
    }
}
