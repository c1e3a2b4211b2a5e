/*
 * The steps of a saga after the hold: credit, close, cancel, refund. See saga.c for what follows
 * what.
 *
 * An answer that is lost or bad leaves the step to be done again by a new batch; so none of them
 * asks.
 */
#include "protocol/messages.h"
#include "protocol/modes.h"
#include "protocol/receipt.h"
#include "protocol/side.h"

#include "base/log.h"

#include <string.h>

Stage saga_acquire_settle(Batch *batch)
{
    if (any_side_failed(batch))
        return STAGE_RELEASE;
    if (batch->kind == BATCH_CLOSE)
        return STAGE_CLOSE;
    return batch->kind == BATCH_CANCEL ? STAGE_CANCEL : STAGE_LOCK;
}

Stage saga_judge_settle(Batch *batch)
{
    if (batch->accepted + batch->refused + batch->replays == 0)
        return STAGE_RELEASE;
    if (batch->kind == BATCH_HOLD)
        return STAGE_HOLD;
    return batch->kind == BATCH_CREDIT ? STAGE_CREDIT : STAGE_REFUND;
}

Stage step_settle(Batch *batch)
{
    (void)batch;
    return STAGE_RELEASE;
}

/* ---- credit ---------------------------------------------------------------------------------- */

/* What was only found is committed all the same: so it is durable before anybody acts on it. */
static void credit_compose(Side *side)
{
    const Batch *batch = side->batch;
    if (batch->accepted > 0)
        message_apply(side);
    if (batch->accepted + batch->refused > 0)
        message_receive(side);
    session_add(side->session, STATEMENT_COMMIT, NULL);
}

static void credit_read(Side *side, const PgAnswer *answers, size_t count)
{
    const PgAnswer *cause = answer_first_not_done(answers, count);
    side_record(side, answer_of_ending(&answers[count - 1], "COMMIT"), cause);
    if (side->outcome != ANSWER_DONE)
        return;
    side->batch->outcome = BATCH_COMMITTED;
    if (side->batch->accepted > 0) /* else there is no row of the batch */
        side_note_mark(side);
}

void credit_send(Batch *batch)
{
    side_send_in_transaction(batch->remote, credit_compose, credit_read);
}

/* ---- close and refund ------------------------------------------------------------------------ */

/* Columns of the participant function settle. */
enum
{
    SETTLE_TRANSFER,
    SETTLE_STATE,
    SETTLE_REFUSAL,
    SETTLE_DECIDED_AT,
};

/* A posted transfer comes this far only when its credit was lost and is done again. */
static void log_if_credit_is_refused(const Transfer *transfer)
{
    char id[UUID_TEXT_MAX + 1];
    if (transfer->record.state != TRANSFER_POSTED || transfer->receipt != RECEIPT_REFUSED)
        return;
    uuid_format(transfer->id, id);
    log_error("transfer=%s credit-refused: its credit was lost and can no longer apply (%s);"
              " the debit stands",
              id, error_row(transfer->receipt_refusal)->name);
}

static void read_final_state(Transfer *transfer, const PgRows *rows, size_t row)
{
    const char *state = pg_text(rows, row, SETTLE_STATE);
    const char *refusal = pg_text(rows, row, SETTLE_REFUSAL);
    TransferState final;
    if (state == NULL || strcmp(state, "stale_route") == 0)
        transfer->result = RESULT_STALE;
    else if (strcmp(state, "partition_moving") == 0)
        transfer->result = RESULT_MOVING;
    else
    {
        ASSERT(transfer_state_parse(state, &final));
        transfer->result = RESULT_RECORDED;
        transfer->record.state = final;
        transfer->record.refusal = refusal != NULL ? error_by_name(refusal, true) : ERROR_NONE;
        transfer->record.decided_at_us = pg_timestamp_us(rows, row, SETTLE_DECIDED_AT);
        log_if_credit_is_refused(transfer);
    }
}

static void read_settled(Batch *batch, const PgRows *rows)
{
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        Transfer *transfer = batch_find(batch, pg_uuid(rows, row, SETTLE_TRANSFER));
        read_final_state(transfer, rows, row);
    }
}

static void close_compose(Side *side)
{
    message_settle(side);
}

static void close_read(Side *side, const PgAnswer *answers, size_t count)
{
    side_record_calls(side, answers, count);
    if (side->outcome != ANSWER_DONE)
        return;
    side->batch->outcome = BATCH_COMMITTED;
    read_settled(side->batch, answers[0].rows);
}

void close_send(Batch *batch)
{
    side_send(batch->home, close_compose, close_read);
}

static void refund_compose(Side *side)
{
    if (side->batch->accepted > 0)
    {
        message_apply(side);
        message_settle(side);
    }
    session_add(side->session, STATEMENT_COMMIT, NULL);
}

static void refund_read(Side *side, const PgAnswer *answers, size_t count)
{
    credit_read(side, answers, count);
    if (side->outcome == ANSWER_DONE && side->batch->accepted > 0)
        read_settled(side->batch, answers[1].rows);
}

void refund_send(Batch *batch)
{
    side_send_in_transaction(batch->home, refund_compose, refund_read);
}

/* ---- cancel ---------------------------------------------------------------------------------- */

static void tombstone_compose(Side *side)
{
    message_tombstone(side);
}

static void tombstone_read(Side *side, const PgAnswer *answers, size_t count)
{
    side_record_calls(side, answers, count);
    if (side->outcome != ANSWER_DONE)
        return;
    side->batch->outcome = BATCH_COMMITTED;
    receipts_read(side->batch, answers[0].rows);
}

void tombstone_send(Batch *batch)
{
    side_send(batch->remote, tombstone_compose, tombstone_read);
}
