/* See lane.h. */
#include "batcher/lane.h"

#include "batcher/flight.h"

#include <stdlib.h>

static const int in_flight_max[LANE_KIND_COUNT] = {
    [LANE_FRESH] = 1,
    [LANE_BUSY] = 1,
    [LANE_ALONE] = 8,
};

Lane *lane_new(Shard *home, Shard *remote)
{
    Lane *lane = base_calloc(1, sizeof *lane);
    lane->home = home;
    lane->remote = remote;
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
    if (!shard_is_usable(lane->home))
        return lane->home;
    if (lane->remote != NULL && !shard_is_usable(lane->remote))
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

Transfer *lane_take_any(Lane *lane)
{
    for (int kind = 0; kind < LANE_KIND_COUNT; kind++)
    {
        Transfer *transfer = TAILQ_FIRST(&lane->queues[kind]);
        if (transfer == NULL)
            continue;
        flight_dequeue(transfer);
        return transfer;
    }
    return NULL;
}

static void start_batch(Lane *lane, LaneKind kind, Protocol *protocol, size_t batch_transfers)
{
    struct TransferList *queue = &lane->queues[kind];
    Transfer *transfer = TAILQ_FIRST(queue);
    bool wait = kind == LANE_BUSY || (kind == LANE_ALONE && transfer->busy_tries > 0);
    Batch *batch = batch_new(protocol, lane->home, lane->remote, wait);
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
