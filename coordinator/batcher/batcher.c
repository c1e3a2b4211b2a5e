/* See batcher.h: requests and clients, lanes, the phase. */
#include "batcher/inside.h"

#include <stdlib.h>
#include <string.h>

enum
{
    SWEEP_MS = 50,     /* how exactly clients' waits are kept */
    REFRESH_MS = 2000, /* how long a fresh directory is waited for */
    GRACE_MS = 500,    /* how long transfers wait for a shard that has just been lost */
    REST_MS = 200,     /* pause of a lane after a shard had no room for its batch */

    CALLS_MAX = 1024, /* statements outside of batches, at once */
    CALL_DEADLINE_MS = 5000,
    CALL_BYTES = 64 * 1024,
    CLAIM_PERIOD_MS = 500,
    CLAIMS_MAX = 256, /* per round, home and other shard */
};

/* ---- lanes ----------------------------------------------------------------------------------- */

void batcher_mark(Batcher *batcher, Lane *lane)
{
    if (lane->marked)
        return;
    lane->marked = true;
    TAILQ_INSERT_TAIL(&batcher->marked, lane, link);
    loop_wake(batcher->loop);
}

static Lane *lane_of(Batcher *batcher, const Transfer *transfer)
{
    LaneKey key = lane_key(transfer);
    _Static_assert(sizeof key == MAP_KEY_SIZE, "the key of a lane is a map's key");
    Lane *lane = map_get(batcher->lanes, &key);
    if (lane == NULL)
    {
        lane = lane_new(transfer);
        map_put(batcher->lanes, &key, lane);
    }
    return lane;
}

/* Looks up where the accounts live, by the directory as it is now. */
bool batcher_locate(Batcher *batcher, Transfer *transfer)
{
    transfer->routed_version = directory_version(batcher->directory);
    return directory_locate(batcher->directory, transfer->request.debit_account,
                            &transfer->debit) &&
           directory_locate(batcher->directory, transfer->request.credit_account,
                            &transfer->credit);
}

void batcher_enqueue(Batcher *batcher, Transfer *transfer, LaneKind kind)
{
    Lane *lane = lane_of(batcher, transfer);
    flight_enqueue(transfer, &lane->queues[kind]);
    batcher_mark(batcher, lane);
}

/* ---- the end of a transfer's flight ---------------------------------------------------------- */

static void take_up(Batcher *batcher, Transfer *transfer)
{
    map_put(batcher->flights, transfer->id, transfer);
    progress_resume(batcher, transfer);
}

void batcher_land(Batcher *batcher, Transfer *transfer)
{
    Transfer *claim = transfer->claim;
    map_remove(batcher->flights, transfer->id);
    flight_free(transfer);
    if (claim == NULL)
        return;
    if (batcher->draining)
        flight_free(claim);
    else
        take_up(batcher, claim);
}

void batcher_land_not_accepted(Batcher *batcher, Transfer *transfer, ErrorCode code,
                               const char *detail)
{
    transfer_meters_turn_away(batcher->meters, code);
    flight_tell_not_accepted(transfer, code, detail);
    batcher_land(batcher, transfer);
}

/* ---- lanes whose shard is away --------------------------------------------------------------- */

static void fail_lane(Batcher *batcher, Lane *lane, const Shard *obstacle)
{
    Error error;
    error_set(&error, ERROR_SHARD_UNAVAILABLE, "shard %s: %s", shard_name(obstacle),
              shard_excuse(obstacle));
    for (int kind = 0; kind < LANE_KIND_COUNT; kind++)
    {
        Transfer *transfer = TAILQ_FIRST(&lane->queues[kind]);
        while (transfer != NULL)
        {
            Transfer *next = TAILQ_NEXT(transfer, link);
            progress_take_outage(batcher, transfer, &error);
            transfer = next;
        }
    }
}

/* ---- results of batches ---------------------------------------------------------------------- */

static void mark_if_held_up(void *context, void *value)
{
    Lane *lane = value;
    if (lane->held_up)
        batcher_mark(context, lane);
}

static void take_report(void *context, Batch *batch)
{
    Batcher *batcher = context;
    Lane *lane = batch->lane;
    lane->in_flight[batch->lane_kind]--;
    lane->in_batches -= batch->count;
    gate_leave(batcher->gate, batch);
    map_each(batcher->lanes, mark_if_held_up, batcher);
    for (size_t i = 0; i < batch->count; i++)
        progress_take_result(batcher, batch->transfers[i]);
    if (batch->cause.code == ERROR_OVERLOADED)
        lane->rests_until_ms = loop_now_ms(batcher->loop) + REST_MS;
    batcher_mark(batcher, lane);
}

/* ---- stale routes: a fresh directory, then again --------------------------------------------- */

static void directory_refreshed(void *context, bool fresh)
{
    Batcher *batcher = context;
    Transfer *transfer;
    (void)fresh; /* without one the old copy is tried again, within route_tries */
    batcher->refreshing = false;
    while ((transfer = TAILQ_FIRST(&batcher->rerouting)) != NULL)
    {
        flight_dequeue(transfer);
        if (batcher_locate(batcher, transfer))
            batcher_enqueue(batcher, transfer, LANE_FRESH);
        else
            batcher_land_not_accepted(batcher, transfer, ERROR_DIRECTORY_UNAVAILABLE, "");
    }
}

static void start_refresh(void *context)
{
    Batcher *batcher = context;
    batcher->refreshing = true;
    directory_refresh(batcher->directory, REFRESH_MS, directory_refreshed, batcher);
}

/* ---- clients that have waited long enough ---------------------------------------------------- */

static TransferOutcome late_outcome(const Transfer *transfer)
{
    TransferOutcome outcome = {.kind = OUTCOME_NOT_ACCEPTED,
                               .code = ERROR_OVERLOADED,
                               .detail = "it had not been taken up within the wait"};
    memcpy(outcome.id, transfer->id, sizeof outcome.id);
    if (transfer->held)
    {
        outcome.kind = OUTCOME_RECORDED;
        outcome.record = &transfer->record;
        outcome.replayed = transfer->replayed;
    }
    else if (transfer->queue == NULL)
    {
        outcome.kind = OUTCOME_UNKNOWN;
        outcome.code = ERROR_OUTCOME_UNKNOWN;
        outcome.detail = "it was not decided within the wait";
    }
    else if (transfer->stale_since_ms > 0)
    {
        outcome.code = ERROR_PARTITION_MOVING;
        outcome.detail = "the partition of an account had no owner for the whole wait";
    }
    else if (transfer->busy_since_ms > 0)
    {
        outcome.code = ERROR_ACCOUNT_BUSY;
        outcome.detail = "an account stayed locked for the whole wait; nothing was recorded";
    }
    else if (transfer->failures > 0 || transfer->exhausted_since_ms > 0)
    {
        outcome.code = transfer->failure.code;
        outcome.detail = transfer->failure.text;
    }
    return outcome;
}

static void sweep_flight(void *context, void *value)
{
    Batcher *batcher = context;
    Transfer *transfer = value;
    TransferOutcome outcome = late_outcome(transfer);
    size_t told = flight_tell_late(transfer, loop_now_ms(batcher->loop), &outcome);
    if (outcome.kind == OUTCOME_UNKNOWN)
        transfer_meters_doubt(batcher->meters, told);
    if (transfer->redo)
        flight_tell_recorded(transfer); /* its outcome stands, whatever comes of the credit */
    else if (transfer->held)
        flight_tell_accepted(transfer); /* twins that came later */
    if (progress_is_past_its_deadline(batcher, transfer))
        progress_give_up(batcher, transfer, ERROR_DEADLINE_PASSED);
    if (!transfer->held && transfer->queue != NULL && !flight_is_awaited(transfer))
    {
        /* Nothing of it was recorded, and nobody wants it any more. */
        transfer_meters_turn_away(batcher->meters, outcome.code);
        flight_dequeue(transfer);
        batcher_land(batcher, transfer);
    }
}

static void sweep_lane(void *context, void *value)
{
    Lane *lane = value;
    if (!lane_is_empty(lane))
        batcher_mark(context, lane);
}

static void sweep(void *context)
{
    Batcher *batcher = context;
    map_each(batcher->flights, sweep_flight, batcher);
    map_each(batcher->lanes, sweep_lane, batcher);
    if (map_count(batcher->flights) > 0)
        loop_timer_start(batcher->sweep, SWEEP_MS);
}

/* ---- the phase ------------------------------------------------------------------------------- */

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
    if (obstacle == NULL && loop_now_ms(batcher->loop) < lane->rests_until_ms)
        return; /* the sweep looks at it again */
    if (obstacle == NULL)
        lane_start_batches(lane, batcher->protocol, batcher->gate,
                           batcher->options.batch_transfers);
    else if (lane_is_blocked_for(lane, loop_now_ms(batcher->loop)) >= GRACE_MS)
        fail_lane(batcher, lane, obstacle);
}

static void finish_drain(Batcher *batcher)
{
    void (*drained)(void *) = batcher->drained;
    if (drained == NULL || map_count(batcher->flights) > 0 ||
        protocol_batch_count(batcher->protocol) > 0 || caller_count(batcher->caller) > 0)
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

/* ---- transfers that are due ------------------------------------------------------------------ */

static bool has_room(void *context)
{
    const Batcher *batcher = context;
    return !batcher->draining && map_count(batcher->flights) < batcher->options.transfers_max / 2;
}

/* A claim of what is under way here already, or of a row that a move left behind, is let be. A
 * repeat of the request is not that: the claim follows it, or clients who repeat without a pause
 * would keep the transfer from its end. */
static void take_claim(void *context, Transfer *transfer, Shard *home)
{
    Batcher *batcher = context;
    Transfer *twin = map_get(batcher->flights, transfer->id);
    bool known = twin != NULL && (twin->held || twin->claim != NULL);
    if (batcher->draining || known || !batcher_locate(batcher, transfer) ||
        transfer->debit.shard != home)
    {
        flight_free(transfer);
        return;
    }
    transfer->record.debit_shard = shard_name(transfer->debit.shard);
    transfer->record.credit_shard = shard_name(transfer->credit.shard);
    if (twin != NULL)
        twin->claim = transfer;
    else
        take_up(batcher, transfer);
}

static void take_waited(void *context, Transfer *transfer)
{
    progress_try_again(context, transfer);
}

static void take_due(void *context)
{
    Batcher *batcher = context;
    claimer_hurry(batcher->claimer);
}

static void start_claiming(Batcher *batcher)
{
    CallerOptions caller = {
        .calls_max = CALLS_MAX, .deadline_ms = CALL_DEADLINE_MS, .parameter_bytes = CALL_BYTES};
    batcher->caller = caller_new(batcher->loop, batcher->directory, &caller);
    batcher->postponer = postponer_new(batcher->loop, batcher->caller);
    batcher->waiting_room = waiting_room_new(batcher->loop, batcher->caller, take_waited, batcher);
    ClaimerOptions claimer = {
        .loop = batcher->loop,
        .directory = batcher->directory,
        .caller = batcher->caller,
        .instance = protocol_options(batcher->protocol)->instance,
        .period_ms = CLAIM_PERIOD_MS,
        .claims_max = CLAIMS_MAX,
        .has_room = has_room,
        .claimed = take_claim,
        .context = batcher,
    };
    batcher->claimer = claimer_new(&claimer);
    RecovererOptions recoverer = {
        .protocol = batcher->protocol,
        .caller = batcher->caller,
        .due = take_due,
        .context = batcher,
    };
    batcher->recoverer = recoverer_new(&recoverer);
}

/* ---- the interface --------------------------------------------------------------------------- */

Batcher *batcher_new(Loop *loop, Directory *directory, const BatcherOptions *options)
{
    Batcher *batcher = base_calloc(1, sizeof *batcher);
    ProtocolOptions protocol = {
        .instance = options->instance,
        .metrics = options->metrics,
        .intake = options->intake,
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
    batcher->gate = gate_new();
    TAILQ_INIT(&batcher->marked);
    TAILQ_INIT(&batcher->early);
    TAILQ_INIT(&batcher->rerouting);
    batcher->sweep = loop_timer_new(loop, sweep, batcher);
    batcher->reroute = loop_timer_new(loop, start_refresh, batcher);
    batcher->meters = transfer_meters_new(options->metrics);
    batcher->protocol = protocol_new(loop, directory, &protocol);
    start_claiming(batcher);
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
    gate_free(batcher->gate);
    map_free(batcher->flights);
    loop_timer_free(batcher->sweep);
    loop_timer_free(batcher->reroute);
    recoverer_free(batcher->recoverer);
    claimer_free(batcher->claimer);
    postponer_free(batcher->postponer);
    waiting_room_free(batcher->waiting_room);
    caller_free(batcher->caller);
    protocol_free(batcher->protocol);
    transfer_meters_free(batcher->meters);
    free(batcher);
}

static void answer_early(Batcher *batcher, TransferWaiter *waiter, ErrorCode code,
                         const char *detail)
{
    transfer_meters_turn_away(batcher->meters, code);
    waiter->early = code;
    waiter->early_detail = detail;
    TAILQ_INSERT_TAIL(&batcher->early, waiter, link);
    loop_wake(batcher->loop);
}

static BatchKind first_work(const Transfer *transfer)
{
    TransferMode mode = transfer->request.mode;
    if (transfer->debit.shard == transfer->credit.shard)
        return BATCH_LOCAL;
    if (mode == MODE_AUTO)
        mode = transfer->debit.default_mode;
    return mode == MODE_SAGA ? BATCH_HOLD : BATCH_TWO_PHASE;
}

static void take_off(Batcher *batcher, const TransferRequest *request, TransferWaiter *waiter)
{
    Transfer *transfer = flight_new(waiter->id, request);
    if (!batcher_locate(batcher, transfer))
    {
        answer_early(batcher, waiter, ERROR_DIRECTORY_UNAVAILABLE,
                     "the directory has not been read yet");
        flight_free(transfer);
        return;
    }
    transfer->asked_at_us = base_now_us();
    transfer->work = first_work(transfer);
    flight_attach(transfer, request, waiter);
    map_put(batcher->flights, transfer->id, transfer);
    batcher_enqueue(batcher, transfer, LANE_FRESH);
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

void batcher_give_up(Batcher *batcher, const uint8_t transfer_id[16], ErrorCode reason)
{
    Transfer *transfer = map_get(batcher->flights, transfer_id);
    if (transfer != NULL && transfer->held)
        progress_give_up(batcher, transfer, reason);
    claimer_hurry(batcher->claimer);
}

void batcher_hurry(Batcher *batcher)
{
    claimer_hurry(batcher->claimer);
}

void batcher_drain(Batcher *batcher, void (*drained)(void *context), void *context)
{
    batcher->draining = true;
    claimer_stop(batcher->claimer);
    recoverer_stop(batcher->recoverer);
    batcher->drained = drained;
    batcher->drained_context = context;
    loop_wake(batcher->loop);
}

const RecoveryCounts *batcher_recovery_counts(const Batcher *batcher)
{
    return protocol_recovery_counts(batcher->protocol);
}

static void add_in_batches(void *context, void *value)
{
    *(size_t *)context += ((const Lane *)value)->in_batches;
}

BatcherCounts batcher_counts(const Batcher *batcher)
{
    size_t in_batches = 0;
    map_each(batcher->lanes, add_in_batches, &in_batches);
    return (BatcherCounts){
        .transfers = map_count(batcher->flights),
        .queued = map_count(batcher->flights) - in_batches,
        .batches = protocol_batch_count(batcher->protocol),
        .in_doubt = batch_meters_in_doubt(protocol_meters(batcher->protocol)),
    };
}

void batcher_show_shard(Batcher *batcher, const Shard *shard)
{
    batch_meters_show_shard(protocol_meters(batcher->protocol), shard);
}

void batcher_write_partitions(const Batcher *batcher, FILE *out)
{
    partition_meters_write(transfer_meters_partitions(batcher->meters), out);
}
