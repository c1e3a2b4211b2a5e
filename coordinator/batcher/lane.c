/* See lane.h. */
#include "batcher/lane.h"

#include "batcher/flight.h"

#include <stdlib.h>

static const int in_flight_max[LANE_KIND_COUNT] = {
    [LANE_FRESH] = 1,
    [LANE_ALONE] = 8,
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

static void start_batch(Lane *lane, LaneKind kind, Protocol *protocol, size_t batch_transfers)
{
    struct TransferList *queue = &lane->queues[kind];
    const BatchKindRow *work = batch_kind_row(lane->work);
    Transfer *transfer;
    BatchPlan plan = {
        .kind = lane->work,
        .home = work->at_home ? lane->home : NULL,
        .remote = work->at_remote ? lane->remote : NULL,
    };
    Batch *batch = batch_new(protocol, &plan);
    size_t most = kind == LANE_ALONE ? 1 : batch_transfers;
    batch->lane = lane;
    batch->lane_kind = (int)kind;
    while (batch->count < most && (transfer = TAILQ_FIRST(queue)) != NULL)
    {
        if (!batch_add(batch, transfer))
            break;
        flight_dequeue(transfer);
    }
    lane->in_flight[kind]++;
    batch_start(batch);
}

void lane_start_batches(Lane *lane, Protocol *protocol, size_t batch_transfers)
{
    for (LaneKind kind = 0; kind < LANE_KIND_COUNT; kind++)
    {
        while (!TAILQ_EMPTY(&lane->queues[kind]) && lane->in_flight[kind] < in_flight_max[kind] &&
               protocol_has_room(protocol))
            start_batch(lane, kind, protocol, batch_transfers);
    }
}
