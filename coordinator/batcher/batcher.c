/* See batcher.h. */
#include "batcher/batcher.h"

#include "base/map.h"
#include "batcher/claimer.h"
#include "batcher/flight.h"
#include "batcher/lane.h"
#include "batcher/postponer.h"

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

    /* sagas after their hold */
    CALLS_MAX = 1024, /* claims and postponements at once */
    CALL_DEADLINE_MS = 5000,
    CALL_BYTES = 64 * 1024,
    CLAIM_PERIOD_MS = 500,
    CLAIMS_MAX = 256,         /* per round, home and other shard */
    POSTPONE_OUTAGE_MS = 500, /* the shard is down: due as soon as it is back */
    POSTPONE_FIRST_MS = 1000, /* the step fails: doubled with each attempt … */
    POSTPONE_LAST_MS = 30000, /* … up to this */
};

TAILQ_HEAD(LaneList, Lane);

struct Batcher
{
    Loop *loop;
    Directory *directory;
    Protocol *protocol;
    BatcherOptions options;
    Map *flights; /* by transfer id */
    Map *lanes;   /* by LaneKey */
    struct LaneList marked;
    struct TransferWaiterList early; /* answers that are known before anything was done */
    struct TransferList rerouting;
    Caller *caller; /* for what needs no batch */
    Postponer *postponer;
    Claimer *claimer;
    LoopTimer *sweep;
    LoopTimer *reroute;
    bool refreshing;
    bool draining;
    void (*drained)(void *context);
    void *drained_context;
};

/* ---- lanes ----------------------------------------------------------------------------------- */

static void mark(Batcher *batcher, Lane *lane)
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
    Lane *lane = lane_of(batcher, transfer);
    flight_enqueue(transfer, &lane->queues[kind]);
    mark(batcher, lane);
}

/* ---- the end of a transfer's flight ---------------------------------------------------------- */

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

/* ---- sagas that cannot go on now ------------------------------------------------------------- */

/* 1 s, 2 s, 4 s … 30 s, and up to a quarter more, so that many do not come back together. */
static uint64_t postponement_ms(const Transfer *transfer)
{
    uint64_t pause_ms = POSTPONE_FIRST_MS;
    for (int32_t i = 1; i < transfer->attempts && pause_ms < POSTPONE_LAST_MS; i++)
        pause_ms *= 2;
    pause_ms = pause_ms < POSTPONE_LAST_MS ? pause_ms : POSTPONE_LAST_MS;
    return pause_ms + pause_ms * transfer->id[15] / 1024;
}

/* Drops a pending saga: its row is durable, and whoever finds it due goes on with it. */
static void let_go(Batcher *batcher, Transfer *transfer, const Postponement *why)
{
    Postponement note = *why;
    note.id = transfer->id;
    note.home = transfer->debit.shard;
    postponer_add(batcher->postponer, &note);
    flight_tell_recorded(transfer);
    land(batcher, transfer);
}

/* ---- lanes whose shard is away --------------------------------------------------------------- */

static void fail_one(Batcher *batcher, Transfer *transfer, const Error *error)
{
    if (!transfer->held)
    {
        flight_dequeue(transfer);
        land_not_accepted(batcher, transfer, error->code, error->text);
    }
    else if (!flight_is_awaited(transfer))
    {
        flight_dequeue(transfer);
        let_go(batcher, transfer,
               &(Postponement){.delay_ms = POSTPONE_OUTAGE_MS, .error = error->text});
    }
    /* else: accepted, and a client still hopes for more */
}

static void fail_lane(Batcher *batcher, Lane *lane, const Shard *obstacle)
{
    Error error;
    error_set(&error, ERROR_SHARD_UNAVAILABLE, "shard %s: %s", shard_name(obstacle),
              shard_trouble(obstacle));
    for (int kind = 0; kind < LANE_KIND_COUNT; kind++)
    {
        Transfer *transfer = TAILQ_FIRST(&lane->queues[kind]);
        while (transfer != NULL)
        {
            Transfer *next = TAILQ_NEXT(transfer, link);
            fail_one(batcher, transfer, &error);
            transfer = next;
        }
    }
}

/* ---- results of batches ---------------------------------------------------------------------- */

/* Whole, then whole again: from now on it is on its own, also when it has to wait for a lock. */
static bool has_failed_in_company(const Transfer *transfer)
{
    return transfer->failures >= 2;
}

static void take_failure(Batcher *batcher, Transfer *transfer)
{
    transfer->failures++;
    if (transfer->failures < FAILURES_MAX)
        enqueue(batcher, transfer, has_failed_in_company(transfer) ? LANE_ALONE : LANE_FRESH);
    else if (transfer->held)
        let_go(batcher, transfer,
               &(Postponement){.delay_ms = postponement_ms(transfer),
                               .error = transfer->failure.text});
    else
        land_not_accepted(batcher, transfer, transfer->failure.code, transfer->failure.text);
}

static void take_busy(Batcher *batcher, Transfer *transfer)
{
    if (++transfer->busy_tries <= BUSY_TRIES_MAX)
        enqueue(batcher, transfer, has_failed_in_company(transfer) ? LANE_ALONE : LANE_BUSY);
    else if (transfer->held)
        let_go(batcher, transfer,
               &(Postponement){.delay_ms = postponement_ms(transfer),
                               .error = "an account stayed locked"});
    else
        land_not_accepted(batcher, transfer, ERROR_ACCOUNT_BUSY,
                          "an account stayed locked; nothing was recorded");
}

static void take_stale(Batcher *batcher, Transfer *transfer)
{
    if (++transfer->route_tries <= ROUTE_TRIES_MAX)
    {
        flight_enqueue(transfer, &batcher->rerouting);
        if (!batcher->refreshing && !loop_timer_running(batcher->reroute))
            loop_timer_start(batcher->reroute, REROUTE_MS);
    }
    else if (transfer->held)
        let_go(batcher, transfer,
               &(Postponement){.delay_ms = postponement_ms(transfer),
                               .error = "the partition of an account has no owner at the moment"});
    else
        land_not_accepted(batcher, transfer, ERROR_PARTITION_MOVING,
                          "the partition of an account has no owner at the moment");
}

/* ---- the steps of a saga --------------------------------------------------------------------- */

static void go_on(Batcher *batcher, Transfer *transfer, BatchKind next)
{
    transfer->work = next;
    transfer->failures = 0;
    transfer->busy_tries = 0;
    transfer->route_tries = 0;
    enqueue(batcher, transfer, LANE_FRESH);
}

/* Its hold is durable: from now on it is accepted at least. */
static void take_held(Batcher *batcher, Transfer *transfer)
{
    transfer->held = true;
    if (transfer->request.deadline_ms > 0)
        transfer->give_up_at_ms =
            loop_now_ms(batcher->loop) + (uint64_t)transfer->request.deadline_ms;
    flight_tell_accepted(transfer);
    go_on(batcher, transfer, BATCH_CREDIT);
}

static void take_receipt(Batcher *batcher, Transfer *transfer)
{
    go_on(batcher, transfer, transfer->receipt == RECEIPT_APPLIED ? BATCH_CLOSE : BATCH_REFUND);
}

/* The money stays in transit, visible, and a person is told; it is tried again all the same. */
static void take_refused_refund(Batcher *batcher, Transfer *transfer)
{
    let_go(batcher, transfer,
           &(Postponement){.delay_ms = postponement_ms(transfer),
                           .error = transfer->failure.text,
                           .attention = transfer->failure.text});
}

static void take_record(Batcher *batcher, Transfer *transfer)
{
    bool pending = transfer->record.state == TRANSFER_PENDING;
    if (pending && !transfer->replayed)
    {
        take_held(batcher, transfer);
        return;
    }
    flight_tell_recorded(transfer);
    land(batcher, transfer);
    if (pending)
        claimer_hurry(batcher->claimer); /* somebody waits for it: is it due? */
}

static bool is_past_its_deadline(const Batcher *batcher, const Transfer *transfer)
{
    return transfer->give_up_at_ms != 0 && transfer->give_up_at_ms <= loop_now_ms(batcher->loop);
}

/* A credit that is to be given up: a tombstone instead, if it is not too late. */
static void give_up(Batcher *batcher, Transfer *transfer, ErrorCode reason)
{
    if (transfer->giving_up == ERROR_NONE)
        transfer->giving_up = reason;
    if (transfer->queue == NULL || transfer->work != BATCH_CREDIT)
        return; /* its step is under way: see turn_if_given_up */
    flight_dequeue(transfer);
    go_on(batcher, transfer, BATCH_CANCEL);
}

/* A credit that has to be tried again becomes a tombstone once it is to be given up. */
static void turn_if_given_up(const Batcher *batcher, Transfer *transfer)
{
    if (transfer->giving_up == ERROR_NONE && is_past_its_deadline(batcher, transfer))
        transfer->giving_up = ERROR_DEADLINE_PASSED;
    if (transfer->work == BATCH_CREDIT && transfer->giving_up != ERROR_NONE)
        transfer->work = BATCH_CANCEL;
}

/* The attempt came to nothing; it is tried again, or not. */
static void take_setback(Batcher *batcher, Transfer *transfer)
{
    turn_if_given_up(batcher, transfer);
    if (!transfer->held && !flight_is_awaited(transfer))
        land(batcher, transfer); /* nothing was recorded, and nobody wants it any more */
    else if (transfer->result == RESULT_BUSY)
        take_busy(batcher, transfer);
    else if (transfer->result == RESULT_FAILED)
        take_failure(batcher, transfer);
    else
        take_stale(batcher, transfer);
}

static void take_result(Batcher *batcher, Transfer *transfer)
{
    switch (transfer->result)
    {
    case RESULT_RECORDED:
        take_record(batcher, transfer);
        break;
    case RESULT_RECEIVED:
        take_receipt(batcher, transfer);
        break;
    case RESULT_REFUND_REFUSED:
        take_refused_refund(batcher, transfer);
        break;
    case RESULT_NO_DEBIT_ACCOUNT:
        land_not_accepted(batcher, transfer, ERROR_DEBIT_ACCOUNT_NOT_FOUND,
                          transfer->request.debit_account);
        break;
    case RESULT_BUSY:
    case RESULT_STALE:
    case RESULT_MOVING:
    case RESULT_FAILED:
        take_setback(batcher, transfer);
        break;
    case RESULT_NONE:
        ASSERT(false);
    }
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
    }
    else if (transfer->queue == NULL)
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
    if (transfer->held)
        flight_tell_accepted(transfer); /* twins that came later */
    if (is_past_its_deadline(batcher, transfer))
        give_up(batcher, transfer, ERROR_DEADLINE_PASSED);
    if (!transfer->held && transfer->queue != NULL && !flight_is_awaited(transfer))
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
    if (obstacle == NULL)
        lane_start_batches(lane, batcher->protocol, batcher->options.batch_transfers);
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

/* ---- pending sagas that are due -------------------------------------------------------------- */

static bool has_room(void *context)
{
    const Batcher *batcher = context;
    return !batcher->draining && map_count(batcher->flights) < batcher->options.transfers_max / 2;
}

/* A claim of what is in flight here, or of a row that a move left behind, is let be. */
static void take_claim(void *context, Transfer *transfer, Shard *home)
{
    Batcher *batcher = context;
    bool known = map_get(batcher->flights, transfer->id) != NULL;
    if (batcher->draining || known || !locate(batcher, transfer) || transfer->debit.shard != home)
    {
        flight_free(transfer);
        return;
    }
    transfer->record.debit_shard = shard_name(transfer->debit.shard);
    transfer->record.credit_shard = shard_name(transfer->credit.shard);
    map_put(batcher->flights, transfer->id, transfer);
    go_on(batcher, transfer, transfer->giving_up != ERROR_NONE ? BATCH_CANCEL : BATCH_CREDIT);
}

static void start_claiming(Batcher *batcher)
{
    CallerOptions caller = {
        .calls_max = CALLS_MAX, .deadline_ms = CALL_DEADLINE_MS, .parameter_bytes = CALL_BYTES};
    batcher->caller = caller_new(batcher->loop, batcher->directory, &caller);
    batcher->postponer = postponer_new(batcher->loop, batcher->caller);
    ClaimerOptions claimer = {
        .loop = batcher->loop,
        .directory = batcher->directory,
        .caller = batcher->caller,
        .period_ms = CLAIM_PERIOD_MS,
        .claims_max = CLAIMS_MAX,
        .has_room = has_room,
        .claimed = take_claim,
        .context = batcher,
    };
    batcher->claimer = claimer_new(&claimer);
}

/* ---- the interface --------------------------------------------------------------------------- */

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
    map_free(batcher->flights);
    loop_timer_free(batcher->sweep);
    loop_timer_free(batcher->reroute);
    claimer_free(batcher->claimer);
    postponer_free(batcher->postponer);
    caller_free(batcher->caller);
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
    if (!locate(batcher, transfer))
    {
        answer_early(batcher, waiter, ERROR_DIRECTORY_UNAVAILABLE,
                     "the directory has not been read yet");
        flight_free(transfer);
        return;
    }
    transfer->work = first_work(transfer);
    flight_attach(transfer, request, waiter);
    map_put(batcher->flights, transfer->id, transfer);
    enqueue(batcher, transfer, LANE_FRESH);
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
        give_up(batcher, transfer, reason);
    claimer_hurry(batcher->claimer);
}

void batcher_drain(Batcher *batcher, void (*drained)(void *context), void *context)
{
    batcher->draining = true;
    claimer_stop(batcher->claimer);
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
