/* See messages.h: the parameters of the participant functions that only sagas use. */
#include "protocol/messages.h"

static void add_ids(PgParams *params, const Batch *batch)
{
    pg_params_array(params, PG_ELEMENT_UUID, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        pg_params_add_uuid(params, batch->transfers[i]->id);
}

void message_find_receipts(Side *side)
{
    PgParams *params = message_params(side);
    add_ids(params, side->batch);
    session_add(side->session, STATEMENT_RECEIPTS_BY_ID, params);
}

static void add_refusal(PgParams *params, ErrorCode refusal)
{
    pg_params_add_text(params, refusal != ERROR_NONE ? error_row(refusal)->name : NULL);
}

void message_receive(Side *side)
{
    const Batch *batch = side->batch;
    const size_t count = batch->accepted + batch->refused;
    PgParams *params = message_params(side);
    pg_params_uuid(params, batch->id);
    pg_params_array(params, PG_ELEMENT_UUID, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (judge_is_recorded(&batch->judged[i]))
            pg_params_add_uuid(params, batch->transfers[i]->id);
    }
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (judge_is_recorded(&batch->judged[i]))
            pg_params_add_text(params, batch->transfers[i]->request.credit_account);
    }
    pg_params_array(params, PG_ELEMENT_BYTES, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (judge_is_recorded(&batch->judged[i]))
            message_add_route(params, &batch->transfers[i]->credit);
    }
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (judge_is_recorded(&batch->judged[i]))
            add_refusal(params, batch->judged[i].refusal);
    }
    session_add(side->session, STATEMENT_RECEIVE, params);
}

/* A close settles all its transfers, a refund those whose money could be paid back. */
static bool is_settled(const Batch *batch, size_t i)
{
    return batch->kind == BATCH_CLOSE ||
           (!batch->judged[i].skip && batch->judged[i].verdict == JUDGE_ACCEPTED);
}

void message_settle(Side *side)
{
    const Batch *batch = side->batch;
    const size_t count = batch->kind == BATCH_CLOSE ? batch->count : batch->accepted;
    PgParams *params = message_params(side);
    message_add_partitions(params, side);
    pg_params_array(params, PG_ELEMENT_UUID, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (is_settled(batch, i))
            pg_params_add_uuid(params, batch->transfers[i]->id);
    }
    pg_params_array(params, PG_ELEMENT_BYTES, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (is_settled(batch, i))
            message_add_route(params, &batch->transfers[i]->debit);
    }
    pg_params_array(params, PG_ELEMENT_INT4, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (is_settled(batch, i))
            pg_params_add_int4(params, batch->transfers[i]->debit.partition);
    }
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < batch->count; i++)
    {
        if (is_settled(batch, i))
            add_refusal(params, batch->transfers[i]->receipt_refusal);
    }
    session_add(side->session, STATEMENT_SETTLE, params);
}

void message_tombstone(Side *side)
{
    const Batch *batch = side->batch;
    PgParams *params = message_params(side);
    message_add_partitions(params, side);
    pg_params_uuid(params, batch->id);
    add_ids(params, batch);
    pg_params_array(params, PG_ELEMENT_TEXT, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        pg_params_add_text(params, batch->transfers[i]->request.credit_account);
    pg_params_array(params, PG_ELEMENT_BYTES, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        message_add_route(params, &batch->transfers[i]->credit);
    pg_params_array(params, PG_ELEMENT_INT4, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        pg_params_add_int4(params, batch->transfers[i]->credit.partition);
    session_add(side->session, STATEMENT_TOMBSTONE, params);
}
