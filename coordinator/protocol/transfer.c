/* See transfer.h. */
#include "protocol/transfer.h"

#include <string.h>

static const char *const state_names[TRANSFER_STATE_COUNT] = {
    [TRANSFER_PENDING] = "pending",
    [TRANSFER_POSTED] = "posted",
    [TRANSFER_REFUSED] = "refused",
    [TRANSFER_REVERSED] = "reversed",
};

const char *transfer_state_name(TransferState state)
{
    ASSERT(state >= 0 && state < TRANSFER_STATE_COUNT);
    return state_names[state];
}

bool transfer_state_parse(const char *name, TransferState *ret_state)
{
    for (int state = 0; state < TRANSFER_STATE_COUNT; state++)
    {
        if (strcmp(name, state_names[state]) == 0)
        {
            *ret_state = (TransferState)state;
            return true;
        }
    }
    return false;
}

bool transfer_state_is_final(TransferState state)
{
    return state != TRANSFER_PENDING;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

unsigned transfer_differences(const TransferRequest *request, const TransferRecord *record)
{
    unsigned differing = 0;
    if (strcmp(request->credit_account, record->credit_account) != 0)
        differing |= DIFFERS_CREDIT_ACCOUNT;
    if (request->amount != record->amount)
        differing |= DIFFERS_AMOUNT;
    if (strcmp(request->currency, record->currency) != 0)
        differing |= DIFFERS_CURRENCY;
    if (!same_text(request->reference, record->reference))
        differing |= DIFFERS_REFERENCE;
    return differing;
}

/* Columns of transfers_by_id, in order. */
enum
{
    COLUMN_ID,
    COLUMN_HOME,
    COLUMN_STATE,
    COLUMN_MODE,
    COLUMN_DEBIT_ACCOUNT,
    COLUMN_CREDIT_ACCOUNT,
    COLUMN_AMOUNT,
    COLUMN_CURRENCY,
    COLUMN_IDEMPOTENCY_KEY,
    COLUMN_REFERENCE,
    COLUMN_METADATA,
    COLUMN_REFUSAL,
    COLUMN_ATTENTION,
    COLUMN_ATTEMPTS,
    COLUMN_NEXT_ATTEMPT_AT,
    COLUMN_LAST_ERROR,
    COLUMN_CREATED_AT,
    COLUMN_DECIDED_AT,
    COLUMN_WAITS_FOR, /* of transfer_get and transfers_list */
};

static int64_t time_or_zero(const PgRows *rows, size_t row, size_t column)
{
    return pg_is_null(rows, row, column) ? 0 : pg_timestamp_us(rows, row, column);
}

static const char *owner_name(const Directory *directory, const char *account)
{
    Location location;
    return directory_locate(directory, account, &location) ? shard_name(location.shard) : "";
}

void transfer_record_read(TransferRecord *ret_record, const PgRows *rows, size_t row,
                          const Directory *directory)
{
    TransferRecord *record = ret_record;
    const char *refusal = pg_text(rows, row, COLUMN_REFUSAL);
    *record = (TransferRecord){
        .debit_account = pg_text(rows, row, COLUMN_DEBIT_ACCOUNT),
        .credit_account = pg_text(rows, row, COLUMN_CREDIT_ACCOUNT),
        .amount = pg_int8(rows, row, COLUMN_AMOUNT),
        .currency = pg_text(rows, row, COLUMN_CURRENCY),
        .idempotency_key = pg_text(rows, row, COLUMN_IDEMPOTENCY_KEY),
        .reference = pg_text(rows, row, COLUMN_REFERENCE),
        .metadata = pg_text(rows, row, COLUMN_METADATA),
        .attention = pg_text(rows, row, COLUMN_ATTENTION),
        .attempts = pg_int4(rows, row, COLUMN_ATTEMPTS),
        .next_attempt_at_us = time_or_zero(rows, row, COLUMN_NEXT_ATTEMPT_AT),
        .last_error = pg_text(rows, row, COLUMN_LAST_ERROR),
        .created_at_us = pg_timestamp_us(rows, row, COLUMN_CREATED_AT),
        .decided_at_us = time_or_zero(rows, row, COLUMN_DECIDED_AT),
        .refusal = refusal == NULL ? ERROR_NONE : error_by_name(refusal, true),
    };
    memcpy(record->id, pg_uuid(rows, row, COLUMN_ID), sizeof record->id);
    /* CHECK constraints on the shard name the same words (a test compares them). */
    ASSERT(transfer_state_parse(pg_text(rows, row, COLUMN_STATE), &record->state));
    ASSERT(mode_parse(pg_text(rows, row, COLUMN_MODE), &record->mode));
    record->debit_shard = owner_name(directory, record->debit_account);
    record->credit_shard = owner_name(directory, record->credit_account);
}

void transfer_record_read_whole(TransferRecord *ret_record, const PgRows *rows, size_t row,
                                const Directory *directory)
{
    transfer_record_read(ret_record, rows, row, directory);
    ret_record->waits_for = pg_text(rows, row, COLUMN_WAITS_FOR);
}

void transfer_record_start(TransferRecord *ret_record, const uint8_t id[16],
                           const TransferRequest *request)
{
    *ret_record = (TransferRecord){
        .state = TRANSFER_PENDING,
        .debit_account = request->debit_account,
        .credit_account = request->credit_account,
        .amount = request->amount,
        .currency = request->currency,
        .idempotency_key = request->idempotency_key,
        .reference = request->reference,
        .metadata = request->metadata != NULL ? request->metadata : "{}",
        .debit_shard = "",
        .credit_shard = "",
    };
    memcpy(ret_record->id, id, sizeof ret_record->id);
}

TransferRecord *transfer_record_copy(const TransferRecord *record)
{
    const char *texts[] = {record->debit_account,   record->credit_account, record->currency,
                           record->idempotency_key, record->reference,      record->metadata,
                           record->debit_shard,     record->credit_shard,   record->attention,
                           record->last_error,      record->waits_for};
    const char *copies[ARRAY_LENGTH(texts)];
    size_t size = sizeof *record;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        size += texts[i] != NULL ? strlen(texts[i]) + 1 : 0;

    TransferRecord *copy = base_malloc(size);
    char *at = (char *)(copy + 1);
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
    {
        size_t length = texts[i] != NULL ? strlen(texts[i]) + 1 : 0;
        copies[i] = length > 0 ? memcpy(at, texts[i], length) : NULL;
        at += length;
    }
    *copy = *record;
    copy->debit_account = copies[0];
    copy->credit_account = copies[1];
    copy->currency = copies[2];
    copy->idempotency_key = copies[3];
    copy->reference = copies[4];
    copy->metadata = copies[5];
    copy->debit_shard = copies[6];
    copy->credit_shard = copies[7];
    copy->attention = copies[8];
    copy->last_error = copies[9];
    copy->waits_for = copies[10];
    return copy;
}
