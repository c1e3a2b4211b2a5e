/*
 * The stages of a batch on which nothing goes wrong: acquire, lock, judge, prepare, decide,
 * release.
 *
 * Both modes share them; the tables (local.c, two_phase.c) say what follows what.
 */
#include "protocol/messages.h"
#include "protocol/modes.h"
#include "protocol/protocol.h"
#include "protocol/receipt.h"
#include "protocol/side.h"

#include <stdlib.h>
#include <string.h>

bool any_side_failed(const Batch *batch)
{
    for (int i = 0; i < batch->side_count; i++)
    {
        AnswerClass outcome = batch->sides[i].outcome;
        if (outcome == ANSWER_NOT_DONE || outcome == ANSWER_UNKNOWN)
            return true;
    }
    return false;
}

static size_t recorded_count(const Batch *batch)
{
    return batch->accepted + batch->refused;
}

/* ---- acquire: all sessions are at hand before the first lock is taken anywhere --------------- */

static Side *side_without_session(Batch *batch)
{
    for (int i = 0; i < batch->side_count; i++)
    {
        if (batch->sides[i].session == NULL)
            return &batch->sides[i];
    }
    return NULL;
}

void acquire_send(Batch *batch)
{
    side_acquire(side_without_session(batch));
}

Stage acquire_settle(Batch *batch)
{
    if (any_side_failed(batch))
        return STAGE_RELEASE;
    return side_without_session(batch) != NULL ? STAGE_ACQUIRE : STAGE_LOCK;
}

/* ---- lock: shards ascending; inside a shard partitions, accounts, transfers ------------------ */

static Side *side_without_locks(Batch *batch)
{
    for (int i = 0; i < batch->side_count; i++)
    {
        if (!batch->sides[i].locked)
            return &batch->sides[i];
    }
    return NULL;
}

/* Columns of the participant function lock. */
enum
{
    LOCK_PLACE,
    LOCK_STATE,
    LOCK_CURRENCY,
    LOCK_BALANCE,
    LOCK_VERSION,
    LOCK_FLOOR,
    LOCK_STATUS,
};

static void read_locked_state(JudgeAccount *account, const PgRows *rows, size_t row)
{
    const char *currency = pg_text(rows, row, LOCK_CURRENCY);
    ASSERT(strlen(currency) <= CURRENCY_MAX);
    memcpy(account->currency, currency, strlen(currency) + 1);
    account->balance = pg_int8(rows, row, LOCK_BALANCE);
    account->version = pg_int8(rows, row, LOCK_VERSION);
    account->locked_version = account->version;
    account->has_floor = !pg_is_null(rows, row, LOCK_FLOOR);
    account->floor = account->has_floor ? pg_int8(rows, row, LOCK_FLOOR) : 0;
    account->status = judge_status_parse(pg_text(rows, row, LOCK_STATUS));
    ASSERT(account->status != JUDGE_STATUS_COUNT);
}

static void read_accounts(Side *side, const PgRows *rows)
{
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        size_t place = (size_t)pg_int4(rows, row, LOCK_PLACE);
        ASSERT(place >= 1 && place <= side->account_count);
        JudgeAccount *account = &side->batch->accounts[side->account_first + place - 1];
        if (account->presence != JUDGE_UNSEEN)
            continue; /* the first row counts */
        account->presence = judge_presence_parse(pg_text(rows, row, LOCK_STATE));
        ASSERT(account->presence != JUDGE_PRESENCE_COUNT);
        if (account->presence == JUDGE_LOCKED)
            read_locked_state(account, rows, row);
    }
}

/* Twins that were decided before: their rows stand at home. */
static void read_found(Batch *batch, const PgRows *rows)
{
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        TransferRecord record;
        transfer_record_read(&record, rows, row, protocol_directory(batch->protocol));
        Transfer *transfer = batch_find(batch, record.id);
        free(transfer->found);
        transfer->found = transfer_record_copy(&record);
    }
}

static void lock_read(Side *side, const PgAnswer *answers, size_t count)
{
    side_record_calls(side, answers, count);
    if (side->outcome == ANSWER_UNKNOWN)
        side->outcome =
            ANSWER_NOT_DONE; /* neither PREPARE nor COMMIT was sent: it ends as a rollback */
    if (side->outcome != ANSWER_DONE)
        return;
    side->locked = true;
    read_accounts(side, answers[1].rows);
    if (side->role == SIDE_HOME)
        read_found(side->batch, answers[2].rows);
    else if (side->batch->kind == BATCH_CREDIT)
        receipts_read(side->batch, answers[2].rows);
}

static void lock_compose(Side *side)
{
    session_add(side->session, STATEMENT_BEGIN, NULL);
    message_lock(side);
    if (side->role == SIDE_HOME)
        message_find_transfers(side);
    else if (side->batch->kind == BATCH_CREDIT)
        message_find_receipts(side);
}

void lock_send(Batch *batch)
{
    side_send(side_without_locks(batch), lock_compose, lock_read);
}

Stage lock_settle(Batch *batch)
{
    if (any_side_failed(batch))
        return STAGE_RELEASE;
    return side_without_locks(batch) != NULL ? STAGE_LOCK : STAGE_JUDGE;
}

/* ---- judge ----------------------------------------------------------------------------------- */

static void count_verdicts(Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
    {
        const JudgeTransfer *judged = &batch->judged[i];
        if (judged->skip)
            batch->replays++;
        else if (judged->verdict == JUDGE_ACCEPTED)
            batch->accepted++;
        else if (judged->verdict == JUDGE_REFUSED)
            batch->refused++;
    }
}

/* Does its outcome stand already? A refund's row is found pending: that is why it is to be paid
 * back. Without the row nothing is paid: this shard is not its home any more. */
static bool is_settled_already(const Batch *batch, const Transfer *transfer)
{
    if (batch->kind == BATCH_CREDIT)
        return transfer->receipt != RECEIPT_NONE;
    if (batch->kind != BATCH_REFUND)
        return transfer->found != NULL;
    return transfer->found == NULL || transfer_state_is_final(transfer->found->state);
}

/* Is it new, and nothing new taken where it goes? What was accepted goes on. */
static bool is_closed(const Batch *batch, Transfer *transfer)
{
    bool is_new =
        batch->kind == BATCH_LOCAL || batch->kind == BATCH_TWO_PHASE || batch->kind == BATCH_HOLD;
    IntakeTouch touch = {
        .debit_account = transfer->request.debit_account,
        .credit_account = transfer->request.credit_account,
        .debit_shard = shard_name(transfer->debit.shard),
        .credit_shard = shard_name(transfer->credit.shard),
    };
    const char *why =
        is_new ? intake_obstacle(protocol_options(batch->protocol)->intake, &touch) : NULL;
    if (why != NULL)
        error_set(&transfer->failure, ERROR_DRAINING, "%s", why);
    return why != NULL;
}

void judge_send(Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
    {
        JudgeTransfer *judged = &batch->judged[i];
        judged->skip = is_settled_already(batch, batch->transfers[i]);
        judged->is_closed = !judged->skip && is_closed(batch, batch->transfers[i]);
    }
    batch->entry_count = judge(batch->accounts, batch->judged, batch->count, batch->entries);
    batch->judged_once = true;
    count_verdicts(batch);
}

Stage judge_settle_local(Batch *batch)
{
    return recorded_count(batch) + batch->replays > 0 ? STAGE_DECIDE : STAGE_RELEASE;
}

Stage judge_settle_two_phase(Batch *batch)
{
    return batch->accepted > 0 ? STAGE_PREPARE : judge_settle_local(batch);
}

/* ---- prepare --------------------------------------------------------------------------------- */

static void prepare_compose(Side *side)
{
    message_apply(side);
    session_add_gid(side->session, STATEMENT_PREPARE, side->batch->gid);
}

static void prepare_read(Side *side, const PgAnswer *answers, size_t count)
{
    const PgAnswer *apply = &answers[0];
    const PgAnswer *prepare = &answers[count - 1];
    const PgAnswer *cause = apply->kind == PG_DONE ? prepare : apply;
    side_record(side, answer_of_ending(prepare, "PREPARE TRANSACTION"), cause);
    side->batch->prepare_unknown = side->outcome == ANSWER_UNKNOWN;
}

void prepare_send(Batch *batch)
{
    side_send_in_transaction(batch->remote, prepare_compose, prepare_read);
}

Stage prepare_settle(Batch *batch)
{
    switch (batch->remote->outcome)
    {
    case ANSWER_DONE:
        return STAGE_DECIDE;
    case ANSWER_UNKNOWN:
        return STAGE_ASK;
    default:
        return STAGE_RELEASE;
    }
}

/* ---- decide ---------------------------------------------------------------------------------- */

/* A batch with nothing to record commits all the same: only so are rows that it found known to be
 * durable (also on a synchronous standby) before a client is told of them. */
static void decide_compose(Side *side)
{
    Batch *batch = side->batch;
    if (recorded_count(batch) > 0)
    {
        message_apply(side);
        message_record(side);
        batch->finishing_count =
            protocol_take_finished(batch->protocol, side->shard, batch->finishing, batch->capacity);
        if (batch->finishing_count > 0)
            message_finish(side);
    }
    session_add(side->session, STATEMENT_COMMIT, NULL);
}

static void decide_read(Side *side, const PgAnswer *answers, size_t count)
{
    Batch *batch = side->batch;
    side_record(side, answer_of_ending(&answers[count - 1], "COMMIT"),
                answer_first_not_done(answers, count));
    if (side->outcome != ANSWER_DONE)
        return;
    batch->outcome = BATCH_COMMITTED;
    batch->finishing_count = 0;
    if (recorded_count(batch) > 0)
    {
        side_note_mark(side);
        batch->created_at_us = pg_timestamp_us(answers[1].rows, 0, 0);
        batch->decided_at_us = pg_timestamp_us(answers[1].rows, 0, 1);
    }
}

void decide_send(Batch *batch)
{
    if (batch->remote != NULL && batch->accepted == 0)
        side_release(batch->remote); /* only refusals: nothing to apply there */
    side_send_in_transaction(batch->home, decide_compose, decide_read);
}

/* Nothing but an unknown COMMIT needs to be asked about; with nothing recorded there is nothing to
 * ask for. */
Stage decide_settle_local(Batch *batch)
{
    bool ask = batch->home->outcome == ANSWER_UNKNOWN && recorded_count(batch) > 0;
    return ask ? STAGE_ASK : STAGE_RELEASE;
}

/* With a prepared leg about, also a definite failure goes through `ask`: the abort row is what
 * permits to roll the leg back, for us and for whoever takes over. */
Stage decide_settle_two_phase(Batch *batch)
{
    if (batch->accepted == 0)
        return decide_settle_local(batch);
    return batch->home->outcome == ANSWER_DONE ? STAGE_APPLY : STAGE_ASK;
}

/* ---- release --------------------------------------------------------------------------------- */

/* Its own leg is visible, and home has not been told yet. */
static bool is_to_be_finished(const Batch *batch)
{
    return batch->kind == BATCH_TWO_PHASE && batch->outcome == BATCH_COMMITTED &&
           batch->accepted > 0 && batch->leg_is_settled && !batch->leg_is_missing &&
           !batch->is_finished;
}

void release_send(Batch *batch)
{
    loop_timer_stop(batch->visible);
    if (batch->outcome == BATCH_UNDECIDED)
        batch->outcome = BATCH_FAILED;
    for (size_t i = 0; i < batch->finishing_count; i++)
        protocol_finished(batch->protocol, batch->home->shard, batch->finishing[i]);
    if (is_to_be_finished(batch))
        protocol_finished(batch->protocol, batch->home->shard, batch->id);
    protocol_report(batch);
    for (int i = 0; i < batch->side_count; i++)
        side_release(&batch->sides[i]);
}
