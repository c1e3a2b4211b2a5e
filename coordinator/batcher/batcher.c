/* See batcher.h. */
#include "batcher/batcher.h"

#include "base/log.h"
#include "base/map.h"
#include "batcher/flight.h"
#include "batcher/lane.h"

#include <stdlib.h>
#include <string.h>

enum
{
    SWEEP_MS = 50,      /* how exactly clients' waits are kept */
    REROUTE_MS = 20,    /* pause before a stale route is tried again */
    REFRESH_MS = 2000,  /* how long a fresh directory is waited for */
    BUSY_TRIES_MAX = 4, /* each waits for lock_timeout */
    ROUTE_TRIES_MAX = 8,
    GRACE_MS = 500,   /* how long transfers wait for a shard that has just been lost */
    FAILURES_MAX = 3, /* whole, whole again, alone */
};

TAILQ_HEAD(LaneList, Lane);

struct Batcher
{
    Loop *loop;
    Directory *directory;
    Protocol *protocol;
    BatcherOptions options;
    Map *flights; /* by transfer id */
    Map *lanes;   /* by (home, remote) */
    struct LaneList marked;
    struct TransferWaiterList early; /* answers that are known before anything was done */
    struct TransferList rerouting;
    LoopTimer *sweep;
    LoopTimer *reroute;
    bool refreshing;
    bool draining;
    void (*drained)(void *context);
    void *drained_context;
};

/* ---- lanes
 * ------------------------------------------------------------------------------------------- */

static void mark(Batcher *batcher, Lane *lane)
{
    if (lane->marked)
        return;
    lane->marked = true;
    TAILQ_INSERT_TAIL(&batcher->marked, lane, link);
    loop_wake(batcher->loop);
}

static Lane *lane_of(Batcher *batcher, Shard *home, Shard *remote)
{
    const Shard *key[2] = {home, remote};
    _Static_assert(sizeof key == MAP_KEY_SIZE, "a pair of pointers is the key");
    Lane *lane = map_get(batcher->lanes, key);
    if (lane == NULL)
    {
        lane = lane_new(home, remote);
        map_put(batcher->lanes, key, lane);
    }
    return lane;
}

/* Looks up where the accounts live, by the directory as it is now. */
static bool locate(Batcher *batcher, Transfer *transfer)
{
    transfer->routed_version = directory_version(batcher->directory);
    return directory_locate(batcher->directory, transfer->request.debit_account,
                            &transfer->debit) &&
           directory_locate(batcher->directory, transfer->request.credit_account,
                            &transfer->credit);
}

static void enqueue(Batcher *batcher, Transfer *transfer, LaneKind kind)
{
    Shard *home = transfer->debit.shard;
    Shard *remote = transfer->credit.shard != home ? transfer->credit.shard : NULL;
    Lane *lane = lane_of(batcher, home, remote);
    flight_enqueue(transfer, &lane->queues[kind]);
    mark(batcher, lane);
}

/* ---- the end of a transfer's flight
 * ------------------------------------------------------------------ */

static void land(Batcher *batcher, Transfer *transfer)
{
    map_remove(batcher->flights, transfer->id);
    flight_free(transfer);
}

static void land_not_accepted(Batcher *batcher, Transfer *transfer, ErrorCode code,
                              const char *detail)
{
    flight_tell_not_accepted(transfer, code, detail);
    land(batcher, transfer);
}

static void fail_lane(Batcher *batcher, Lane *lane, const Shard *obstacle)
{
    Transfer *transfer;
    Error error;
    error_set(&error, ERROR_SHARD_UNAVAILABLE, "shard %s: %s", shard_name(obstacle),
              shard_trouble(obstacle));
    while ((transfer = lane_take_any(lane)) != NULL)
        land_not_accepted(batcher, transfer, error.code, error.text);
}

/* ---- results of batches
 * ------------------------------------------------------------------------------ */

/* Whole, then whole again: from now on it is on its own, also when it has to wait for a lock. */
static bool has_failed_in_company(const Transfer *transfer)
{
    return transfer->failures >= 2;
}

static void take_failure(Batcher *batcher, Transfer *transfer)
{
    transfer->failures++;
    if (transfer->failures >= FAILURES_MAX)
        land_not_accepted(batcher, transfer, transfer->failure.code, transfer->failure.text);
    else
        enqueue(batcher, transfer, has_failed_in_company(transfer) ? LANE_ALONE : LANE_FRESH);
}

static void take_busy(Batcher *batcher, Transfer *transfer)
{
    if (++transfer->busy_tries > BUSY_TRIES_MAX)
        land_not_accepted(batcher, transfer, ERROR_ACCOUNT_BUSY,
                          "an account stayed locked; nothing was recorded");
    else
        enqueue(batcher, transfer, has_failed_in_company(transfer) ? LANE_ALONE : LANE_BUSY);
}

static void take_stale(Batcher *batcher, Transfer *transfer)
{
    if (++transfer->route_tries > ROUTE_TRIES_MAX)
    {
        land_not_accepted(batcher, transfer, ERROR_PARTITION_MOVING,
                          "the partition of an account has no owner at the moment");
        return;
    }
    flight_enqueue(transfer, &batcher->rerouting);
    if (!batcher->refreshing && !loop_timer_running(batcher->reroute))
        loop_timer_start(batcher->reroute, REROUTE_MS);
}

static void take_result(Batcher *batcher, Transfer *transfer)
{
    if (transfer->result == RESULT_RECORDED)
    {
        flight_tell_recorded(transfer);
        land(batcher, transfer);
        return;
    }
    if (transfer->result == RESULT_NO_DEBIT_ACCOUNT)
    {
        land_not_accepted(batcher, transfer, ERROR_DEBIT_ACCOUNT_NOT_FOUND,
                          transfer->request.debit_account);
        return;
    }
    if (!flight_is_awaited(transfer))
    {
        land(batcher, transfer); /* nothing was recorded, and nobody wants it any more */
        return;
    }
    if (transfer->result == RESULT_BUSY)
        take_busy(batcher, transfer);
    else if (transfer->result == RESULT_FAILED)
        take_failure(batcher, transfer);
    else
        take_stale(batcher, transfer);
}

static void take_report(void *context, Batch *batch)
{
    Batcher *batcher = context;
    Lane *lane = batch->lane;
    lane->in_flight[batch->lane_kind]--;
    for (size_t i = 0; i < batch->count; i++)
        take_result(batcher, batch->transfers[i]);
    mark(batcher, lane);
}

/* ---- stale routes: a fresh directory, then again
 * ------------------------------------------------------ */

static void directory_refreshed(void *context, bool fresh)
{
    Batcher *batcher = context;
    Transfer *transfer;
    (void)fresh; /* without one the old copy is tried again, within route_tries */
    batcher->refreshing = false;
    while ((transfer = TAILQ_FIRST(&batcher->rerouting)) != NULL)
    {
        flight_dequeue(transfer);
        if (locate(batcher, transfer))
            enqueue(batcher, transfer, LANE_FRESH);
        else
            land_not_accepted(batcher, transfer, ERROR_DIRECTORY_UNAVAILABLE, "");
    }
}

static void start_refresh(void *context)
{
    Batcher *batcher = context;
    batcher->refreshing = true;
    directory_refresh(batcher->directory, REFRESH_MS, directory_refreshed, batcher);
}

/* ---- clients that have waited long enough
 * ------------------------------------------------------------- */

static TransferOutcome late_outcome(const Transfer *transfer)
{
    TransferOutcome outcome = {.kind = OUTCOME_NOT_ACCEPTED,
                               .code = ERROR_OVERLOADED,
                               .detail = "it had not been taken up within the wait"};
    memcpy(outcome.id, transfer->id, sizeof outcome.id);
    if (transfer->queue == NULL)
    {
        outcome.kind = OUTCOME_UNKNOWN;
        outcome.code = ERROR_OUTCOME_UNKNOWN;
        outcome.detail = "it was not decided within the wait";
    }
    else if (transfer->busy_tries > 0)
    {
        outcome.code = ERROR_ACCOUNT_BUSY;
        outcome.detail = "an account stayed locked for the whole wait; nothing was recorded";
    }
    return outcome;
}

static void sweep_flight(void *context, void *value)
{
    Batcher *batcher = context;
    Transfer *transfer = value;
    TransferOutcome outcome = late_outcome(transfer);
    flight_tell_late(transfer, loop_now_ms(batcher->loop), &outcome);
    if (transfer->queue != NULL && !flight_is_awaited(transfer))
    {
        /* Nothing of it was recorded, and nobody wants it any more. */
        flight_dequeue(transfer);
        land(batcher, transfer);
    }
}

static void sweep_lane(void *context, void *value)
{
    Lane *lane = value;
    if (!lane_is_empty(lane))
        mark(context, lane);
}

static void sweep(void *context)
{
    Batcher *batcher = context;
    map_each(batcher->flights, sweep_flight, batcher);
    map_each(batcher->lanes, sweep_lane, batcher);
    if (map_count(batcher->flights) > 0)
        loop_timer_start(batcher->sweep, SWEEP_MS);
}

/* ---- the phase
 * ---------------------------------------------------------------------------------------- */

static void tell_early(Batcher *batcher)
{
    TransferWaiter *waiter;
    while ((waiter = TAILQ_FIRST(&batcher->early)) != NULL)
    {
        TransferOutcome outcome = {
            .kind = OUTCOME_NOT_ACCEPTED, .code = waiter->early, .detail = waiter->early_detail};
        memcpy(outcome.id, waiter->id, sizeof outcome.id);
        TAILQ_REMOVE(&batcher->early, waiter, link);
        waiter->told(waiter, &outcome);
    }
}

static void work_lane(Batcher *batcher, Lane *lane)
{
    const Shard *obstacle = lane_obstacle(lane, loop_now_ms(batcher->loop));
    if (obstacle == NULL)
        lane_start_batches(lane, batcher->protocol, batcher->options.batch_transfers);
    else if (lane_is_blocked_for(lane, loop_now_ms(batcher->loop)) >= GRACE_MS)
        fail_lane(batcher, lane, obstacle);
}

static void finish_drain(Batcher *batcher)
{
    void (*drained)(void *) = batcher->drained;
    if (drained == NULL || map_count(batcher->flights) > 0 ||
        protocol_batch_count(batcher->protocol) > 0)
        return;
    batcher->drained = NULL;
    drained(batcher->drained_context);
}

static void work(void *context)
{
    Batcher *batcher = context;
    struct LaneList lanes;
    Lane *lane;
    tell_early(batcher);
    TAILQ_INIT(&lanes);
    TAILQ_CONCAT(&lanes, &batcher->marked, link);
    while ((lane = TAILQ_FIRST(&lanes)) != NULL)
    {
        TAILQ_REMOVE(&lanes, lane, link);
        lane->marked = false;
        work_lane(batcher, lane);
        /* No room for its batches: it is looked at again when one has ended. */
        if (!lane_is_empty(lane) && !protocol_has_room(batcher->protocol))
        {
            lane->marked = true;
            TAILQ_INSERT_TAIL(&batcher->marked, lane, link);
        }
    }
    finish_drain(batcher);
}

/* ---- the interface
 * ------------------------------------------------------------------------------------ */

Batcher *batcher_new(Loop *loop, Directory *directory, const BatcherOptions *options)
{
    Batcher *batcher = base_calloc(1, sizeof *batcher);
    ProtocolOptions protocol = {
        .instance = options->instance,
        .batches_max = options->batches_max,
        .stage_deadline_ms = options->stage_deadline_ms,
        .session_wait_ms = options->session_wait_ms,
        .visible_wait_ms = options->visible_wait_ms,
        .report = take_report,
        .context = batcher,
    };
    batcher->loop = loop;
    batcher->directory = directory;
    batcher->options = *options;
    batcher->flights = map_new();
    batcher->lanes = map_new();
    TAILQ_INIT(&batcher->marked);
    TAILQ_INIT(&batcher->early);
    TAILQ_INIT(&batcher->rerouting);
    batcher->sweep = loop_timer_new(loop, sweep, batcher);
    batcher->reroute = loop_timer_new(loop, start_refresh, batcher);
    batcher->protocol = protocol_new(loop, directory, &protocol);
    loop_add_phase(loop, work, batcher);
    return batcher;
}

static void free_lane(void *context, void *value)
{
    (void)context;
    lane_free(value);
}

void batcher_free(Batcher *batcher)
{
    if (batcher == NULL)
        return;
    ASSERT(map_count(batcher->flights) == 0);
    map_each(batcher->lanes, free_lane, NULL);
    map_free(batcher->lanes);
    map_free(batcher->flights);
    loop_timer_free(batcher->sweep);
    loop_timer_free(batcher->reroute);
    protocol_free(batcher->protocol);
    free(batcher);
}

static void answer_early(Batcher *batcher, TransferWaiter *waiter, ErrorCode code,
                         const char *detail)
{
    waiter->early = code;
    waiter->early_detail = detail;
    TAILQ_INSERT_TAIL(&batcher->early, waiter, link);
    loop_wake(batcher->loop);
}

static void take_off(Batcher *batcher, const TransferRequest *request, TransferWaiter *waiter)
{
    Transfer *transfer = flight_new(waiter->id, request);
    bool located = locate(batcher, transfer);
    if (located && (request->mode != MODE_SAGA || transfer->debit.shard == transfer->credit.shard))
    {
        flight_attach(transfer, request, waiter);
        map_put(batcher->flights, transfer->id, transfer);
        enqueue(batcher, transfer, LANE_FRESH);
        return;
    }
    answer_early(batcher, waiter, located ? ERROR_BODY_INVALID : ERROR_DIRECTORY_UNAVAILABLE,
                 located ? "mode saga between shards is not available in this version"
                         : "the directory has not been read yet");
    flight_free(transfer);
}

void batcher_submit(Batcher *batcher, const TransferRequest *request, TransferWaiter *waiter,
                    uint64_t wait_ms)
{
    transfer_id_make(request->debit_account, request->idempotency_key, waiter->id);
    waiter->deadline_at_ms = loop_now_ms(batcher->loop) + wait_ms;
    Transfer *twin = map_get(batcher->flights, waiter->id);
    if (batcher->draining)
        answer_early(batcher, waiter, ERROR_DRAINING, "");
    else if (twin != NULL)
        flight_attach(twin, request, waiter);
    else if (map_count(batcher->flights) >= batcher->options.transfers_max)
        answer_early(batcher, waiter, ERROR_OVERLOADED, "too many transfers are in flight");
    else
        take_off(batcher, request, waiter);
    if (!loop_timer_running(batcher->sweep))
        loop_timer_start(batcher->sweep, SWEEP_MS);
}

void batcher_drain(Batcher *batcher, void (*drained)(void *context), void *context)
{
    batcher->draining = true;
    batcher->drained = drained;
    batcher->drained_context = context;
    loop_wake(batcher->loop);
}

BatcherCounts batcher_counts(const Batcher *batcher)
{
    return (BatcherCounts){
        .transfers = map_count(batcher->flights),
        .batches = protocol_batch_count(batcher->protocol),
    };
}
