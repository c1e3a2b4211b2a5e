/*
 * What becomes of a transfer after an attempt: its end, another try, or the next step of its saga.
 *
 * A transfer that is not held yet may be told "not accepted": nothing of it was recorded. A held
 * saga never is: its clients are told that it is pending, and its row at home is claimed again when
 * it is due. A lost credit goes the same way, but for its clients it is posted.
 */
#include "batcher/inside.h"

#include "base/log.h"

#include <stdio.h>

enum
{
    FAILURES_MAX = 3,   /* whole, whole again, alone */
    PATIENCE_MS = 4000, /* with locked accounts, stale routes, and shards that have no room */

    POSTPONE_OUTAGE_MS = 500, /* the shard is down: due as soon as it is back */
    POSTPONE_FIRST_MS = 1000, /* the step fails: doubled with each attempt … */
    POSTPONE_LAST_MS = 30000, /* … up to this */
};

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
    batcher_land(batcher, transfer);
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
        progress_try_again(batcher, transfer);
    else if (transfer->held)
        let_go(batcher, transfer,
               &(Postponement){.delay_ms = postponement_ms(transfer),
                               .error = transfer->failure.text});
    else
        batcher_land_not_accepted(batcher, transfer, transfer->failure.code,
                                  transfer->failure.text);
}

/* It neither succeeded nor failed for too long: a saga is let go of, another one is not accepted.
 */
static void take_patience_lost(Batcher *batcher, Transfer *transfer, ErrorCode code,
                               const char *detail)
{
    if (transfer->held)
        let_go(batcher, transfer,
               &(Postponement){.delay_ms = postponement_ms(transfer), .error = detail});
    else
        batcher_land_not_accepted(batcher, transfer, code, detail);
}

/* Starts the clock at the first time; false once the patience is used up. */
static bool keeps_patience(const Batcher *batcher, uint64_t *since_ms)
{
    uint64_t now_ms = loop_now_ms(batcher->loop);
    if (*since_ms == 0)
        *since_ms = now_ms;
    return now_ms - *since_ms < PATIENCE_MS;
}

/* Without an account to wait for, the shard itself has waited for lock_timeout. */
static void take_busy(Batcher *batcher, Transfer *transfer)
{
    if (!keeps_patience(batcher, &transfer->busy_since_ms))
        take_patience_lost(batcher, transfer, ERROR_ACCOUNT_BUSY,
                           "an account stayed locked; nothing was recorded");
    else if (transfer->debit_is_busy || transfer->credit_is_busy)
        waiting_room_enter(batcher->waiting_room, transfer);
    else
        progress_try_again(batcher, transfer);
}

/* The shard had no room for it (its lane rests): prepared transactions are used up, say. */
static void take_exhausted(Batcher *batcher, Transfer *transfer)
{
    if (keeps_patience(batcher, &transfer->exhausted_since_ms))
        progress_try_again(batcher, transfer);
    else
        take_patience_lost(batcher, transfer, ERROR_OVERLOADED, transfer->failure.text);
}

void progress_try_again(Batcher *batcher, Transfer *transfer)
{
    batcher_enqueue(batcher, transfer, has_failed_in_company(transfer) ? LANE_ALONE : LANE_FRESH);
}

static void take_stale(Batcher *batcher, Transfer *transfer)
{
    if (!keeps_patience(batcher, &transfer->stale_since_ms))
    {
        take_patience_lost(batcher, transfer, ERROR_PARTITION_MOVING,
                           "the partition of an account has no owner at the moment");
        return;
    }
    flight_enqueue(transfer, &batcher->rerouting);
    if (!batcher->refreshing && !loop_timer_running(batcher->reroute))
        loop_timer_start(batcher->reroute, REROUTE_MS);
}

void progress_take_outage(Batcher *batcher, Transfer *transfer, const Error *error)
{
    if (!transfer->held)
    {
        flight_dequeue(transfer);
        batcher_land_not_accepted(batcher, transfer, error->code, error->text);
    }
    else if (!flight_is_awaited(transfer))
    {
        flight_dequeue(transfer);
        let_go(batcher, transfer,
               &(Postponement){.delay_ms = POSTPONE_OUTAGE_MS, .error = error->text});
    }
    /* else: it is accepted, and a client still hopes for more */
}

/* ---- the steps of a saga --------------------------------------------------------------------- */

static void go_on(Batcher *batcher, Transfer *transfer, BatchKind next)
{
    transfer->work = next;
    transfer->failures = 0;
    transfer->busy_since_ms = 0;
    transfer->stale_since_ms = 0;
    transfer->exhausted_since_ms = 0;
    batcher_enqueue(batcher, transfer, LANE_FRESH);
}

void progress_resume(Batcher *batcher, Transfer *transfer)
{
    go_on(batcher, transfer, transfer->giving_up != ERROR_NONE ? BATCH_CANCEL : BATCH_CREDIT);
}

/* Its hold is durable: from now on it is accepted at least. */
static void take_held(Batcher *batcher, Transfer *transfer)
{
    transfer->held = true;
    transfer_meters_accept(batcher->meters);
    if (transfer->request.deadline_ms > 0)
        transfer->give_up_at_ms =
            loop_now_ms(batcher->loop) + (uint64_t)transfer->request.deadline_ms;
    flight_tell_accepted(transfer);
    go_on(batcher, transfer, BATCH_CREDIT);
}

/* What is posted is never reversed: a lost credit that can no longer apply ends at home too, and
 * from then on needs a person. */
static void take_receipt(Batcher *batcher, Transfer *transfer)
{
    bool applied = transfer->receipt == RECEIPT_APPLIED;
    if (transfer->redo && !applied)
    {
        char id[UUID_TEXT_MAX + 1];
        uuid_format(transfer->id, id);
        log_error("transfer=%s is posted, and its lost credit can no longer apply: %s", id,
                  error_row(transfer->receipt_refusal)->name);
    }
    go_on(batcher, transfer, applied || transfer->redo ? BATCH_CLOSE : BATCH_REFUND);
}

/* The money stays in transit, visible, and a person is told; it is tried again all the same. */
static void take_refused_refund(Batcher *batcher, Transfer *transfer)
{
    char attention[sizeof transfer->failure.text + 16];
    snprintf(attention, sizeof attention, "refund-refused: %s", transfer->failure.text);
    let_go(batcher, transfer,
           &(Postponement){.delay_ms = postponement_ms(transfer),
                           .error = transfer->failure.text,
                           .attention = attention});
}

static void take_record(Batcher *batcher, Transfer *transfer)
{
    bool pending = transfer->record.state == TRANSFER_PENDING;
    if (pending && !transfer->replayed)
    {
        take_held(batcher, transfer);
        return;
    }
    transfer_meters_record(batcher->meters, transfer);
    flight_tell_recorded(transfer);
    batcher_land(batcher, transfer);
    if (pending)
        claimer_hurry(batcher->claimer); /* somebody waits for it: is it due? */
}

bool progress_is_past_its_deadline(const Batcher *batcher, const Transfer *transfer)
{
    return transfer->give_up_at_ms != 0 && transfer->give_up_at_ms <= loop_now_ms(batcher->loop);
}

/* A credit that is to be given up: a tombstone instead, if it is not too late. */
void progress_give_up(Batcher *batcher, Transfer *transfer, ErrorCode reason)
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
    if (transfer->giving_up == ERROR_NONE && progress_is_past_its_deadline(batcher, transfer))
        transfer->giving_up = ERROR_DEADLINE_PASSED;
    if (transfer->work == BATCH_CREDIT && transfer->giving_up != ERROR_NONE)
        transfer->work = BATCH_CANCEL;
}

/* The attempt came to nothing; it is tried again, or not. */
static void take_setback(Batcher *batcher, Transfer *transfer)
{
    turn_if_given_up(batcher, transfer);
    if (!transfer->held && !flight_is_awaited(transfer))
        batcher_land(batcher, transfer); /* nothing was recorded, and nobody wants it any more */
    else if (transfer->result == RESULT_BUSY)
        take_busy(batcher, transfer);
    else if (transfer->result == RESULT_EXHAUSTED)
        take_exhausted(batcher, transfer);
    else if (transfer->result == RESULT_FAILED)
        take_failure(batcher, transfer);
    else
        take_stale(batcher, transfer);
}

void progress_take_result(Batcher *batcher, Transfer *transfer)
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
        batcher_land_not_accepted(batcher, transfer, ERROR_DEBIT_ACCOUNT_NOT_FOUND,
                                  transfer->request.debit_account);
        break;
    case RESULT_CLOSED:
        batcher_land_not_accepted(batcher, transfer, transfer->failure.code,
                                  transfer->failure.text);
        break;
    case RESULT_BUSY:
    case RESULT_STALE:
    case RESULT_MOVING:
    case RESULT_EXHAUSTED:
    case RESULT_FAILED:
        take_setback(batcher, transfer);
        break;
    case RESULT_NONE:
        ASSERT(false);
    }
}
