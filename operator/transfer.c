/*
 * Looking at transfers: `transfer get|list|steps|watch`.
 */
#include "transfer.h"

#include "commands.h"
#include "context.h"
#include "field.h"
#include "list.h"
#include "order.h"
#include "say.h"

#include <inttypes.h>
#include <stdio.h>

static const Column transfer_rows[] = {
    {"ID", "id", COLUMN_TEXT},
    {"STATE", "state", COLUMN_STATE},
    {"MODE", "mode", COLUMN_TEXT},
    {"DEBIT", "debit_account", COLUMN_TEXT},
    {"CREDIT", "credit_account", COLUMN_TEXT},
    {"AMOUNT", "amount", COLUMN_NUMBER},
    {"", "currency", COLUMN_TEXT},
    {"CREATED", "created_at", COLUMN_TIME},
    {"REFERENCE", "reference", COLUMN_LONG},
    {"", "idempotency_key", COLUMN_WIDE},
    {"", "debit_shard", COLUMN_WIDE},
    {"", "credit_shard", COLUMN_WIDE},
    {"", "decided_at", COLUMN_WIDE},
    {"", "refusal.code", COLUMN_WIDE},
    {"", "needs_attention", COLUMN_WIDE},
    {"", "attention.reason", COLUMN_WIDE},
    {"", "waits_for", COLUMN_WIDE},
    {"", "attempts", COLUMN_WIDE},
    {"", "next_attempt_at", COLUMN_WIDE},
    {"", "last_error", COLUMN_WIDE},
};
static const Columns columns = {transfer_rows, ARRAY_LENGTH(transfer_rows)};

static const Column step_rows[] = {
    {"STAGE", "stage", COLUMN_TEXT},      {"SHARD", "shard", COLUMN_TEXT},
    {"OUTCOME", "outcome", COLUMN_STATE}, {"AT", "at", COLUMN_TIME},
    {"TRIES", "attempts", COLUMN_NUMBER}, {"COORDINATOR", "coordinator", COLUMN_TEXT},
    {"ERROR", "error", COLUMN_LONG},      {"", "batch_id", COLUMN_WIDE},
};
static const Columns step_columns = {step_rows, ARRAY_LENGTH(step_rows)};

const Columns *transfer_columns(void)
{
    return &columns;
}

/* ---- one ------------------------------------------------------------------------------------ */

/* A list of one or none. */
static ExitCode find_by_key(const Context *context)
{
    Address address;
    Answer answer;
    address_begin(&address, "/v1/transfers");
    address_query(&address, "debit_account", context_value(context, OPTION_DEBIT_ACCOUNT));
    address_query(&address, "idempotency_key", context_value(context, OPTION_KEY));
    context_get(context, address.text, &answer);
    ExitCode code = answer_report(&answer);
    if (code == EXIT_CODE_DONE && field_count(answer.document, "items") == 0)
    {
        say("no transfer of this account has this key");
        code = EXIT_CODE_NOT_FOUND;
    }
    if (code == EXIT_CODE_DONE)
        output_record(context->output, json_array_at(field_at(answer.document, "items"), 0));
    answer_done(&answer);
    return code;
}

ExitCode run_transfer_get(Context *context)
{
    const char *id = context_operand(context, 0);
    bool has_account = context_has(context, OPTION_DEBIT_ACCOUNT);
    bool has_key = context_has(context, OPTION_KEY);
    Address address;
    if (id == NULL ? !has_account || !has_key : has_account || has_key)
    {
        say("transfer get takes an ID, or --debit-account and --key");
        return EXIT_CODE_USAGE;
    }
    if (id == NULL)
        return find_by_key(context);
    if (!context_is_id(id, "transfer"))
        return EXIT_CODE_USAGE;
    context_path(&address, "/v1/transfers", id, "");
    return context_show(context, address.text);
}

ExitCode run_transfer_steps(Context *context)
{
    const char *id = context_operand(context, 0);
    Address address;
    if (!context_is_id(id, "transfer"))
        return EXIT_CODE_USAGE;
    context_path(&address, "/v1/transfers", id, "/steps");
    List list = {.path = address.text, .is_whole = true};
    return list_show(context, &list, &step_columns);
}

/* ---- many ----------------------------------------------------------------------------------- */

ExitCode run_transfer_list(Context *context)
{
    const char *age = context_value(context, OPTION_OLDER_THAN);
    char age_ms[24];
    int64_t ms;
    if (age != NULL && !order_age(age, &ms))
        return EXIT_CODE_USAGE;
    if (age != NULL)
        snprintf(age_ms, sizeof age_ms, "%" PRId64 "ms", ms);
    List list = {
        .path = "/v1/transfers",
        .parameters =
            {
                {"state", context_value(context, OPTION_STATE)},
                {"mode", context_value(context, OPTION_MODE)},
                {"shard", context_value(context, OPTION_SHARD)},
                {"account", context_value(context, OPTION_ACCOUNT)},
                {"needs_attention", context_has(context, OPTION_NEEDS_ATTENTION) ? "true" : NULL},
                {"older_than", age != NULL ? age_ms : NULL},
                {"reference", context_value(context, OPTION_REFERENCE)},
                {"partial", context_has(context, OPTION_PARTIAL) ? "true" : NULL},
            },
    };
    return list_show(context, &list, &columns);
}
