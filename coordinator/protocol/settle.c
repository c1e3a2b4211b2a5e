/*
 * The stages after the decision, or in doubt of it: apply, ask, cancel, look, missing, finish,
 * stuck.
 *
 * Unknown is neither success nor failure: ask. `verdict` at home inserts an abort row unless a row
 * stands, and reads what stands; whichever row came first has decided for ever. Nothing is ever
 * concluded from not seeing something: a queued COMMIT runs after its client is dead. A stage that
 * clients wait for retries until it succeeds. The others let go of a batch that does not get on:
 * its leg, or its home row, is found again by recovery, here or elsewhere, and meanwhile it keeps
 * no place from anybody.
 */
#include "protocol/messages.h"
#include "protocol/modes.h"
#include "protocol/protocol.h"
#include "protocol/side.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

enum
{
    TRIES_MAX = 10, /* after so many a person should know */
    REASON_MAX = 256,
};

/* What follows must not be part of a transaction that is still open on the session. */
static void leave_transaction(Side *side)
{
    PgTransaction transaction = session_transaction(side->session);
    if (transaction == PG_TRANSACTION_IDLE)
        return;
    session_add(side->session, STATEMENT_ROLLBACK, NULL);
    session_sync(side->session);
}

/* The try came to nothing: another one, or no more for now. Missing rights do not come by
 * themselves, and shards that are away are waited for by recovery. */
static Stage again(const Batch *batch)
{
    const Side *last = batch->last;
    bool away = batch->is_recovered && !shard_is_usable(last->shard);
    bool forbidden = strcmp(last->sqlstate, "42501") == 0;
    return away || forbidden || batch->tries + 1 >= TRIES_MAX ? STAGE_STUCK : batch->stage;
}

static PgParams *batch_params(const Side *side)
{
    PgParams *params = protocol_params(side->batch->protocol);
    pg_params_reset(params);
    pg_params_uuid(params, side->batch->id);
    return params;
}

/* ---- apply ----------------------------------------------------------------------------------- */

static void apply_compose(Side *side)
{
    leave_transaction(side);
    session_add_gid(side->session, STATEMENT_COMMIT_PREPARED, side->batch->gid);
}

static void apply_read(Side *side, const PgAnswer *answers, size_t count)
{
    const PgAnswer *last = &answers[count - 1];
    side_record(side, answer_of_ending(last, "COMMIT PREPARED"), last);
    side->batch->leg_is_settled = side->outcome == ANSWER_DONE;
    if (side->batch->leg_is_settled)
        side_note_mark(side);
}

void apply_send(Batch *batch)
{
    if (batch->tries == 0)
    {
        side_release(batch->home); /* its part is done: other batches may have the session */
        loop_timer_start(batch->visible, protocol_options(batch->protocol)->visible_wait_ms);
    }
    side_send(batch->remote, apply_compose, apply_read);
}

Stage apply_settle(Batch *batch)
{
    const Side *remote = batch->remote;
    if (remote->outcome == ANSWER_DONE)
        return batch->is_recovered ? STAGE_FINISH : STAGE_RELEASE;
    return strcmp(remote->sqlstate, "42704") == 0 ? STAGE_LOOK : again(batch);
}

/* ---- look: "does not exist" is answered; who took the leg away, and how did it end? ---------- */

static void add_leg_exists(Side *side)
{
    session_add(side->session, STATEMENT_LEG_EXISTS, batch_params(side));
}

/* First the prepared list, then, in a statement of its own, the row: in the other order a COMMIT
 * PREPARED that falls between the two looks like a missing leg (tried). */
static void look_compose(Side *side)
{
    PgParams *params = protocol_params(side->batch->protocol);
    leave_transaction(side);
    pg_params_reset(params);
    pg_params_text(params, side->batch->gid);
    session_add(side->session, STATEMENT_PREPARED_EXISTS, params);
    session_sync(side->session);
    add_leg_exists(side);
}

static void look_read(Side *side, const PgAnswer *answers, size_t count)
{
    side_record_calls(side, answers, count);
    if (side->outcome != ANSWER_DONE)
        return;
    side->batch->leg_is_prepared = pg_bool(answers[count - 2].rows, 0, 0);
    side->batch->leg_stands = pg_bool(answers[count - 1].rows, 0, 0);
    side->batch->leg_is_settled = side->batch->leg_stands;
}

void look_send(Batch *batch)
{
    side_send(batch->remote, look_compose, look_read);
}

Stage look_settle(Batch *batch)
{
    if (batch->remote->outcome != ANSWER_DONE)
        return again(batch);
    if (batch->leg_stands)
        return STAGE_FINISH;
    return batch->leg_is_prepared ? STAGE_APPLY : STAGE_MISSING;
}

/* ---- missing: decided "commit", but somebody rolled the leg back ----------------------------- */

static void missing_compose(Side *side)
{
    const Batch *batch = side->batch;
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason,
             "the credit was rolled back on shard %s after the decision; it is done again",
             shard_name(batch->remote->shard));
    leave_transaction(side);
    PgParams *params = batch_params(side);
    pg_params_text(params, reason);
    session_add(side->session, STATEMENT_MISSING_LEG, params);
}

static void missing_read(Side *side, const PgAnswer *answers, size_t count)
{
    side_record_calls(side, answers, count);
    side->batch->leg_is_settled = side->outcome == ANSWER_DONE;
}

void missing_send(Batch *batch)
{
    if (batch->tries == 0)
        log_error("gid=%s was rolled back on shard %s although it is decided: credits are missing",
                  batch->gid, shard_name(batch->remote->shard));
    batch->leg_is_missing = true;
    side_send(batch->home, missing_compose, missing_read);
}

Stage missing_settle(Batch *batch)
{
    return batch->home->outcome == ANSWER_DONE ? STAGE_RELEASE : again(batch);
}

/* ---- finish: the leg is visible; what was noted about it is over ----------------------------- */

static void finish_compose(Side *side)
{
    leave_transaction(side);
    session_add(side->session, STATEMENT_SETTLED_LEG, batch_params(side));
}

static void finish_read(Side *side, const PgAnswer *answers, size_t count)
{
    side_record_calls(side, answers, count);
    side->batch->is_finished = side->outcome == ANSWER_DONE;
}

void finish_send(Batch *batch)
{
    side_send(batch->home, finish_compose, finish_read);
}

Stage finish_settle(Batch *batch)
{
    (void)batch; /* without the note it is found, and looked for, once more */
    return STAGE_RELEASE;
}

/* ---- stuck: it does not get on for now ------------------------------------------------------- */

static void stuck_compose(Side *side)
{
    const Batch *batch = side->batch;
    const Side *remote = batch->remote;
    char reason[REASON_MAX];
    snprintf(reason, sizeof reason, "shard %s: SQLSTATE %s: %s", shard_name(remote->shard),
             remote->sqlstate, remote->text);
    leave_transaction(side);
    PgParams *params = batch_params(side);
    pg_params_text(params, reason);
    session_add(side->session, STATEMENT_STUCK_LEG, params);
}

static void stuck_read(Side *side, const PgAnswer *answers, size_t count)
{
    side_record_calls(side, answers, count);
}

/* People are told what the remote shard said of a decided leg. That a shard is away is no news. */
void stuck_send(Batch *batch)
{
    const Side *last = batch->last;
    bool away = answer_is_outage(last->sqlstate);
    if (!away || !batch->is_recovered)
        log_error("gid=%s does not get on: shard %s: %s %s", batch->gid, shard_name(last->shard),
                  last->sqlstate, last->text);
    if (!away && last == batch->remote && batch->outcome == BATCH_COMMITTED)
        side_send(batch->home, stuck_compose, stuck_read);
}

Stage stuck_settle(Batch *batch)
{
    (void)batch; /* without the note it is noted the next time */
    return STAGE_RELEASE;
}

/* ---- ask ------------------------------------------------------------------------------------- */

static void ask_compose(Side *side)
{
    leave_transaction(side);
    message_verdict(side);
    message_find_transfers(side);
}

/* The times of the batch's own rows, which the lost answer would have told. */
static void read_times(Batch *batch, const PgRows *rows)
{
    const Directory *directory = protocol_directory(batch->protocol);
    for (size_t i = 0; i < batch->count; i++)
    {
        for (size_t row = 0; judge_is_recorded(&batch->judged[i]) && row < pg_row_count(rows);
             row++)
        {
            TransferRecord record;
            transfer_record_read(&record, rows, row, directory);
            if (memcmp(record.id, batch->transfers[i]->id, sizeof record.id) != 0)
                continue;
            batch->created_at_us = record.created_at_us;
            batch->decided_at_us = record.decided_at_us;
            return;
        }
    }
}

static void ask_read(Side *side, const PgAnswer *answers, size_t count)
{
    Batch *batch = side->batch;
    /* Both calls are one implicit transaction: if either failed, no verdict was left behind, and
     * the next try asks again. */
    side_record_calls(side, answers, count);
    if (side->outcome != ANSWER_DONE)
        return;
    bool commit = strcmp(pg_text(answers[count - 2].rows, 0, 0), "commit") == 0;
    batch->outcome = commit ? BATCH_COMMITTED : BATCH_FAILED;
    if (!commit)
        return;
    side_note_mark(side);
    read_times(batch, answers[count - 1].rows);
}

void ask_send(Batch *batch)
{
    const Side *home = batch->home;
    if (batch->tries > 0 && batch->tries % TRIES_MAX == 0)
        log_error("gid=%s asking shard %s fails for the %dth time: %s %s", batch->gid,
                  shard_name(home->shard), batch->tries, home->sqlstate, home->text);
    side_send(batch->home, ask_compose, ask_read);
}

Stage ask_settle_local(Batch *batch)
{
    return batch->home->outcome == ANSWER_DONE ? STAGE_RELEASE : STAGE_ASK;
}

Stage ask_settle_two_phase(Batch *batch)
{
    if (batch->home->outcome != ANSWER_DONE)
        return batch->is_recovered ? again(batch) : STAGE_ASK;
    if (batch->accepted == 0 && !batch->is_recovered)
        return STAGE_RELEASE; /* only refusals: there is no leg */
    return batch->outcome == BATCH_COMMITTED ? STAGE_APPLY : STAGE_CANCEL;
}

/* ---- cancel ---------------------------------------------------------------------------------- */

static bool holds_preparing_backend(const Side *side)
{
    return session_backend_pid(side->session) == side->backend_pid &&
           session_backend_start_us(side->session) == side->backend_start_us;
}

/* The row is looked at as well: somebody may have committed the leg by hand.
 *
 * A PREPARE without an answer may still be executed, by a backend that does not know that its
 * client is gone. It is ended first; only when it is gone does "does not exist" mean that there is
 * nothing left to roll back. */
static void cancel_compose(Side *side)
{
    Batch *batch = side->batch;
    leave_transaction(side);
    batch->backend_gone = !batch->prepare_unknown || holds_preparing_backend(side);
    if (!batch->backend_gone)
    {
        PgParams *params = protocol_params(batch->protocol);
        pg_params_reset(params);
        pg_params_int4(params, side->backend_pid);
        pg_params_timestamp_us(params, side->backend_start_us);
        session_add(side->session, STATEMENT_END_SESSION, params);
        session_sync(side->session);
    }
    session_add_gid(side->session, STATEMENT_ROLLBACK_PREPARED, batch->gid);
    session_sync(side->session);
    add_leg_exists(side);
}

static bool is_cancelled(const Batch *batch)
{
    const Side *remote = batch->remote;
    bool nothing_left = strcmp(remote->sqlstate, "42704") == 0 && batch->backend_gone;
    return remote->outcome == ANSWER_DONE || nothing_left;
}

static void cancel_read(Side *side, const PgAnswer *answers, size_t count)
{
    Batch *batch = side->batch;
    const PgAnswer *leg = &answers[count - 1];
    const PgAnswer *rollback = &answers[count - 2];
    if (!batch->backend_gone && answers[count - 3].kind == PG_DONE)
        batch->backend_gone = pg_bool(answers[count - 3].rows, 0, 0);
    side_record(side, answer_of_ending(rollback, "ROLLBACK PREPARED"), rollback);
    if (answer_of_call(leg) != ANSWER_DONE)
        side_record(side, ANSWER_UNKNOWN, leg);
    else if (pg_bool(leg->rows, 0, 0))
        log_error("gid=%s was committed on shard %s although its batch is given up: credits stand "
                  "without their debits",
                  batch->gid, shard_name(side->shard));
    batch->leg_is_settled = is_cancelled(batch);
    /* The backend is gone, or has answered what came after the PREPARE. */
    if (batch->backend_gone && rollback->kind != PG_LOST)
        batch->prepare_unknown = false;
}

void cancel_send(Batch *batch)
{
    if (batch->tries == 0)
    {
        side_release(batch->home);
        protocol_report(batch); /* the abort row stands: clients need not wait for the clean-up */
    }
    side_send(batch->remote, cancel_compose, cancel_read);
}

Stage cancel_settle(Batch *batch)
{
    return is_cancelled(batch) ? STAGE_RELEASE : again(batch);
}
