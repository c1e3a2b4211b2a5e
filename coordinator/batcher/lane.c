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

const Shard *lane_obstacle(const Lane *lane)
{
    if (!shard_is_usable(lane->home))
        return lane->home;
    if (lane->remote != NULL && !shard_is_usable(lane->remote))
        return lane->remote;
    return NULL;
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
    Batch *batch = batch_new(protocol, lane->home, lane->remote, kind == LANE_BUSY);
    size_t most = kind == LANE_ALONE ? 1 : batch_transfers;
    Transfer *transfer;
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
