/* See transfer_document.h. */
#include "api/transfer_document.h"

#include "protocol/attention.h"

static void write_refusal(JsonWriter *writer, ErrorCode refusal)
{
    if (refusal == ERROR_NONE)
    {
        json_put_null(writer, "refusal");
        return;
    }
    const ErrorRow *row = error_row(refusal);
    json_begin_object(writer, "refusal");
    json_put_string(writer, "code", row->name);
    json_put_string(writer, "detail", row->title);
    json_end_object(writer);
}

static void write_attention(JsonWriter *writer, const char *reason)
{
    json_put_bool(writer, "needs_attention", reason != NULL);
    if (reason == NULL)
    {
        json_put_null(writer, "attention");
        return;
    }
    json_begin_object(writer, "attention");
    json_put_string(writer, "reason", reason);
    json_put_string(writer, "advice", attention_advice(reason));
    json_end_object(writer);
}

/* Of a pending one that nobody has read since it was recorded: its credit is next. */
static const char *waits_for(const TransferRecord *record)
{
    if (record->waits_for == NULL && record->state == TRANSFER_PENDING)
        return record->credit_shard;
    return record->waits_for;
}

void transfer_document_write(JsonWriter *writer, const char *name, const TransferRecord *record)
{
    char id[UUID_TEXT_MAX + 1];
    uuid_format(record->id, id);
    json_begin_object(writer, name);
    json_put_string(writer, "id", id);
    json_put_string(writer, "state", transfer_state_name(record->state));
    json_put_bool(writer, "final", transfer_state_is_final(record->state));
    json_put_string(writer, "mode", mode_name(record->mode));
    json_put_string(writer, "debit_account", record->debit_account);
    json_put_string(writer, "credit_account", record->credit_account);
    json_put_integer(writer, "amount", record->amount);
    json_put_string(writer, "currency", record->currency);
    json_put_string(writer, "reference", record->reference);
    json_put_raw(writer, "metadata", record->metadata != NULL ? record->metadata : "{}");
    json_put_string(writer, "idempotency_key", record->idempotency_key);
    json_put_string(writer, "debit_shard", record->debit_shard);
    json_put_string(writer, "credit_shard", record->credit_shard);
    json_put_timestamp(writer, "created_at", record->created_at_us);
    json_put_timestamp(writer, "decided_at", record->decided_at_us);
    write_refusal(writer, record->refusal);
    write_attention(writer, record->attention);
    json_put_integer(writer, "attempts", record->attempts);
    json_put_timestamp(writer, "next_attempt_at", record->next_attempt_at_us);
    json_put_string(writer, "last_error", record->last_error);
    json_put_string(writer, "waits_for", waits_for(record));
    json_end_object(writer);
}
