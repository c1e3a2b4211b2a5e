/* See messages.h. */
#include "protocol/messages.h"

#include "protocol/protocol.h"

PgParams *message_params(const Side *side)
{
    PgParams *params = protocol_params(side->batch->protocol);
    pg_params_reset(params);
    return params;
}

void message_add_partitions(PgParams *params, const Side *side)
{
    pg_params_array(params, PG_ELEMENT_INT4, side->partition_count);
    for (size_t i = 0; i < side->partition_count; i++)
        pg_params_add_int4(params, side->partitions[i]);
    pg_params_array(params, PG_ELEMENT_INT8, side->partition_count);
    for (size_t i = 0; i < side->partition_count; i++)
        pg_params_add_int8(params, side->epochs[i]);
}

void message_add_route(PgParams *params, const Location *location)
{
    pg_params_add_bytes(params, location->route.bytes, location->route.length);
}

static const Location *location_on(const Side *side, const Transfer *transfer, size_t account)
{
    if (side->role == SIDE_HOME && transfer->debit_index == account)
        return &transfer->debit;
    return &transfer->credit;
}

/* Where each account of the side's slice lives; borrowed from any transfer that names it. */
static const Location *account_location(const Side *side, size_t account)
{
    const Batch *batch = side->batch;
    const Transfer *transfer = batch->transfers[batch->accounts[account].place];
    return location_on(side, transfer, account);
}

/* Lets every account know one transfer that names it. */
static void point_accounts_to_transfers(const Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
    {
        const Transfer *transfer = batch->transfers[i];
        if (transfer->debit_index != JUDGE_ELSEWHERE)
            batch->accounts[transfer->debit_index].place = (int32_t)i;
        if (transfer->credit_index != JUDGE_ELSEWHERE)
            batch->accounts[transfer->credit_index].place = (int32_t)i;
    }
}

void message_lock(Side *side)
{
    const Batch *batch = side->batch;
    PgParams *params = message_params(side);
    size_t end = side->account_first + side->account_count;
    point_accounts_to_transfers(batch);
    message_add_partitions(params, side);
    pg_params_array(params, PG_ELEMENT_TEXT, side->account_count);
    for (size_t i = side->account_first; i < end; i++)
        pg_params_add_text(params, batch->accounts[i].id);
    pg_params_array(params, PG_ELEMENT_BYTES, side->account_count);
    for (size_t i = side->account_first; i < end; i++)
        message_add_route(params, account_location(side, i));
    pg_params_array(params, PG_ELEMENT_INT4, side->account_count);
    for (size_t i = side->account_first; i < end; i++)
        pg_params_add_int4(params, account_location(side, i)->partition);
    session_add(side->session, STATEMENT_LOCK, params);
}

void message_find_transfers(Side *side)
{
    const Batch *batch = side->batch;
    PgParams *params = message_params(side);
    pg_params_array(params, PG_ELEMENT_UUID, batch->count);
    for (size_t i = 0; i < batch->count; i++)
        pg_params_add_uuid(params, batch->transfers[i]->id);
    session_add(side->session, STATEMENT_TRANSFERS_BY_ID, params);
}

static const char *instance_name(const Batch *batch)
{
    return protocol_options(batch->protocol)->instance;
}

static bool is_on(const Side *side, const JudgeEntry *entry)
{
    return entry->account >= side->account_first &&
           entry->account < side->account_first + side->account_count;
}

/* Numbers the side's touched accounts from 1, in order; returns how many there are. */
static size_t number_touched_accounts(const Side *side)
{
    int32_t count = 0;
    for (size_t i = 0; i < side->account_count; i++)
    {
        JudgeAccount *account = &side->batch->accounts[side->account_first + i];
        if (batch_account_is_touched(account))
            account->place = ++count;
    }
    return (size_t)count;
}

static size_t count_entries(const Side *side)
{
    size_t count = 0;
    for (size_t i = 0; i < side->batch->entry_count; i++)
        count += is_on(side, &side->batch->entries[i]) ? 1 : 0;
    return count;
}

static void add_touched_accounts(PgParams *params, const Side *side, size_t count)
{
    const JudgeAccount *first = side->batch->accounts + side->account_first;
    const JudgeAccount *end = first + side->account_count;
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (const JudgeAccount *account = first; account < end; account++)
    {
        if (batch_account_is_touched(account))
            pg_params_add_text(params, account->id);
    }
    pg_params_array(params, PG_ELEMENT_INT8, count);
    for (const JudgeAccount *account = first; account < end; account++)
    {
        if (batch_account_is_touched(account))
            pg_params_add_int8(params, account->locked_version);
    }
    pg_params_array(params, PG_ELEMENT_INT8, count);
    for (const JudgeAccount *account = first; account < end; account++)
    {
        if (batch_account_is_touched(account))
            pg_params_add_int8(params, account->balance);
    }
}

/* The columns of an entry, in the order of apply's parameters. */
typedef enum EntryColumn
{
    ENTRY_ACCOUNT,
    ENTRY_TRANSFER,
    ENTRY_STEP,
    ENTRY_AMOUNT,
    ENTRY_SEQ,
    ENTRY_BALANCE,
    ENTRY_COUNTERPARTY,
    ENTRY_REFERENCE,
    ENTRY_COLUMN_COUNT,
} EntryColumn;

static const PgElement entry_elements[ENTRY_COLUMN_COUNT] = {
    PG_ELEMENT_INT4, PG_ELEMENT_UUID, PG_ELEMENT_TEXT, PG_ELEMENT_INT8,
    PG_ELEMENT_INT8, PG_ELEMENT_INT8, PG_ELEMENT_TEXT, PG_ELEMENT_TEXT,
};

static void add_entry_column(PgParams *params, const Batch *batch, const JudgeEntry *entry,
                             EntryColumn column)
{
    const Transfer *transfer = batch->transfers[entry->transfer];
    const TransferRequest *request = &transfer->request;
    bool refund = batch->kind == BATCH_REFUND;
    bool debit = entry->amount < 0;
    switch (column)
    {
    case ENTRY_ACCOUNT:
        pg_params_add_int4(params, batch->accounts[entry->account].place);
        break;
    case ENTRY_TRANSFER:
        pg_params_add_uuid(params, transfer->id);
        break;
    case ENTRY_STEP:
        pg_params_add_text(params, refund ? "refund" : debit ? "debit" : "credit");
        break;
    case ENTRY_AMOUNT:
        pg_params_add_int8(params, entry->amount);
        break;
    case ENTRY_SEQ:
        pg_params_add_int8(params, entry->seq);
        break;
    case ENTRY_BALANCE:
        pg_params_add_int8(params, entry->balance);
        break;
    case ENTRY_COUNTERPARTY:
        pg_params_add_text(params,
                           debit || refund ? request->credit_account : request->debit_account);
        break;
    case ENTRY_REFERENCE:
        pg_params_add_text(params, request->reference);
        break;
    case ENTRY_COLUMN_COUNT:
        break;
    }
}

static void add_entries(PgParams *params, const Side *side)
{
    const Batch *batch = side->batch;
    size_t count = count_entries(side);
    for (EntryColumn column = 0; column < ENTRY_COLUMN_COUNT; column++)
    {
        pg_params_array(params, entry_elements[column], count);
        for (size_t i = 0; i < batch->entry_count; i++)
        {
            if (is_on(side, &batch->entries[i]))
                add_entry_column(params, batch, &batch->entries[i], column);
        }
    }
}

void message_apply(Side *side)
{
    const Batch *batch = side->batch;
    PgParams *params = message_params(side);
    size_t recorded = batch->accepted + (side->role == SIDE_HOME ? batch->refused : 0);
    pg_params_uuid(params, batch->id);
    pg_params_text(params, side_role_name(side->role));
    pg_params_text(params, mode_name(batch_kind_row(batch->kind)->mode));
    pg_params_text(params, batch_home_name(batch));
    pg_params_text(params, batch_remote_name(batch));
    pg_params_text(params, instance_name(batch));
    pg_params_int4(params, (int32_t)recorded);
    add_touched_accounts(params, side, number_touched_accounts(side));
    add_entries(params, side);
    session_add(side->session, STATEMENT_APPLY, params);
}

/* The columns of a transfer, in the order of record's parameters. */
typedef enum RecordColumn
{
    RECORD_ID,
    RECORD_DEBIT_ACCOUNT,
    RECORD_DEBIT_ROUTE,
    RECORD_CREDIT_ACCOUNT,
    RECORD_CREDIT_ROUTE,
    RECORD_KEY,
    RECORD_AMOUNT,
    RECORD_CURRENCY,
    RECORD_STATE,
    RECORD_REFUSAL,
    RECORD_REFERENCE,
    RECORD_METADATA,
    RECORD_DEADLINE,
    RECORD_COLUMN_COUNT,
} RecordColumn;

static const PgElement record_elements[RECORD_COLUMN_COUNT] = {
    PG_ELEMENT_UUID, PG_ELEMENT_TEXT, PG_ELEMENT_BYTES, PG_ELEMENT_TEXT, PG_ELEMENT_BYTES,
    PG_ELEMENT_TEXT, PG_ELEMENT_INT8, PG_ELEMENT_TEXT,  PG_ELEMENT_TEXT, PG_ELEMENT_TEXT,
    PG_ELEMENT_TEXT, PG_ELEMENT_TEXT, PG_ELEMENT_INT8,
};

static const char *recorded_state(const Batch *batch, const JudgeTransfer *judged)
{
    if (judged->verdict == JUDGE_REFUSED)
        return transfer_state_name(TRANSFER_REFUSED);
    return transfer_state_name(batch->kind == BATCH_HOLD ? TRANSFER_PENDING : TRANSFER_POSTED);
}

static void add_record_column(PgParams *params, const Batch *batch, size_t i, RecordColumn column)
{
    const Transfer *transfer = batch->transfers[i];
    const JudgeTransfer *judged = &batch->judged[i];
    const TransferRequest *request = &transfer->request;
    bool refused = judged->verdict == JUDGE_REFUSED;
    switch (column)
    {
    case RECORD_ID:
        pg_params_add_uuid(params, transfer->id);
        break;
    case RECORD_DEBIT_ACCOUNT:
        pg_params_add_text(params, request->debit_account);
        break;
    case RECORD_DEBIT_ROUTE:
        message_add_route(params, &transfer->debit);
        break;
    case RECORD_CREDIT_ACCOUNT:
        pg_params_add_text(params, request->credit_account);
        break;
    case RECORD_CREDIT_ROUTE:
        message_add_route(params, &transfer->credit);
        break;
    case RECORD_KEY:
        pg_params_add_text(params, request->idempotency_key);
        break;
    case RECORD_AMOUNT:
        pg_params_add_int8(params, request->amount);
        break;
    case RECORD_CURRENCY:
        pg_params_add_text(params, request->currency);
        break;
    case RECORD_STATE:
        pg_params_add_text(params, recorded_state(batch, judged));
        break;
    case RECORD_REFUSAL:
        pg_params_add_text(params, refused ? error_row(judged->refusal)->name : NULL);
        break;
    case RECORD_REFERENCE:
        pg_params_add_text(params, request->reference);
        break;
    case RECORD_METADATA:
        pg_params_add_text(params, request->metadata);
        break;
    case RECORD_DEADLINE:
        if (batch->kind == BATCH_HOLD && request->deadline_ms > 0)
            pg_params_add_int8(params, request->deadline_ms);
        else
            pg_params_add_null(params);
        break;
    case RECORD_COLUMN_COUNT:
        break;
    }
}

void message_record(Side *side)
{
    const Batch *batch = side->batch;
    PgParams *params = message_params(side);
    pg_params_uuid(params, batch->id);
    pg_params_text(params, mode_name(batch_kind_row(batch->kind)->mode));
    pg_params_text(params, batch_home_name(batch));
    pg_params_text(params, batch_remote_name(batch));
    for (RecordColumn column = 0; column < RECORD_COLUMN_COUNT; column++)
    {
        pg_params_array(params, record_elements[column], batch->accepted + batch->refused);
        for (size_t i = 0; i < batch->count; i++)
        {
            if (judge_is_recorded(&batch->judged[i]))
                add_record_column(params, batch, i, column);
        }
    }
    pg_params_text(params, instance_name(batch));
    session_add(side->session, STATEMENT_RECORD, params);
}

void message_finish(Side *side)
{
    const Batch *batch = side->batch;
    PgParams *params = message_params(side);
    pg_params_array(params, PG_ELEMENT_UUID, batch->finishing_count);
    for (size_t i = 0; i < batch->finishing_count; i++)
        pg_params_add_uuid(params, batch->finishing[i]);
    session_add(side->session, STATEMENT_FINISH, params);
}

void message_verdict(Side *side)
{
    const Batch *batch = side->batch;
    PgParams *params = message_params(side);
    pg_params_uuid(params, batch->id);
    pg_params_text(params, mode_name(batch_kind_row(batch->kind)->mode));
    pg_params_text(params, batch_home_name(batch));
    pg_params_text(params, batch_remote_name(batch));
    pg_params_text(params, instance_name(batch));
    session_add(side->session, STATEMENT_VERDICT, params);
}
