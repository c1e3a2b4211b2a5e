/* Accounts: create, get, patch and the list of entries. See handler.h. */
#include "api/handler.h"

#include "api/account_document.h"
#include "api/cursor.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

/* Columns of account_entries. */
enum
{
    ENTRY_OUTCOME,
    ENTRY_SEQ,
    ENTRY_TRANSFER,
    ENTRY_AMOUNT,
    ENTRY_BALANCE,
    ENTRY_COUNTERPARTY,
    ENTRY_REFERENCE,
    ENTRY_AT,
};

/* What an outcome of the participants means to a client. */
typedef struct OutcomeRow
{
    const char *outcome;
    int status;     /* with the account; 0 = a problem */
    ErrorCode code; /* of the problem */
    const char *detail;
} OutcomeRow;

static const OutcomeRow outcomes[] = {
    {"created", 201, ERROR_NONE, NULL},
    {"exists", 200, ERROR_NONE, NULL},
    {"found", 200, ERROR_NONE, NULL},
    {"changed", 200, ERROR_NONE, NULL},
    {"conflict", 0, ERROR_ACCOUNT_EXISTS, "the account exists with another currency or floor"},
    {"missing", 0, ERROR_ACCOUNT_NOT_FOUND, NULL},
    {"not_empty", 0, ERROR_STATE_CONFLICT, "only an account with balance 0 can be closed"},
    {"in_transit", 0, ERROR_STATE_CONFLICT, "money of the account is in transit"},
    {"below_floor", 0, ERROR_STATE_CONFLICT, "the balance is below that floor"},
    {"closed", 0, ERROR_STATE_CONFLICT, "the account is closed"},
};

/* One account operation under way; lives in the request's arena. */
typedef struct AccountCall
{
    HttpRequest *request;
    char currency[CURRENCY_MAX + 1];
    char status[sizeof "frozen"]; /* "" = keep */
    FloorField floor;
    const char *metadata;
    const char *id;     /* of the account that is changed or listed */
    const char *reason; /* for the change */
    int64_t before;     /* 0 = newest */
    int limit;
} AccountCall;

static AccountCall *account_call(HttpRequest *request)
{
    AccountCall *call = arena_take(http_arena(request), sizeof *call);
    call->request = request;
    return call;
}

static void fill_floor(const FloorField *floor, PgParams *params)
{
    if (!floor->given || floor->unlimited)
        pg_params_null(params);
    else
        pg_params_int8(params, floor->value);
    pg_params_bool(params, floor->given);
}

static void write_account(JsonWriter *writer, const CallResult *result)
{
    const Location *location = result->location;
    AccountPlace place = {
        .keyspace = location->keyspace,
        .partition = location->partition,
        .shard = shard_name(location->shard),
    };
    account_document_write(writer, result->rows, 0, &place);
}

static const OutcomeRow *find_outcome(const char *outcome)
{
    for (size_t i = 0; i < ARRAY_LENGTH(outcomes); i++)
    {
        if (strcmp(outcomes[i].outcome, outcome) == 0)
            return &outcomes[i];
    }
    return NULL;
}

static void answer_outcome(HttpRequest *request, const CallResult *result)
{
    const OutcomeRow *row = find_outcome(pg_text(result->rows, 0, ACCOUNT_OUTCOME));
    ASSERT(row != NULL);
    if (row->status == 0)
    {
        problem_send(request, row->code, row->detail);
        return;
    }
    HttpReply reply = {0};
    char location[LOCATION_MAX];
    if (row->status == 201)
    {
        snprintf(location, sizeof location, "/v1/accounts/%s",
                 pg_text(result->rows, 0, ACCOUNT_ID));
        http_reply_header(&reply, "Location", location);
    }
    JsonWriter *writer = answer_writer();
    write_account(writer, result);
    answer_json(request, row->status, writer, &reply);
}

static void on_account(void *context, const CallResult *result)
{
    AccountCall *call = context;
    if (result->code != ERROR_NONE)
        problem_send(call->request, result->code, result->detail);
    else
        answer_outcome(call->request, result);
}

/* ---- create --------------------------------------------------------------------------------- */

static void fill_create(void *context, PgParams *params)
{
    const AccountCall *call = context;
    pg_params_text(params, call->currency);
    fill_floor(&call->floor, params);
    pg_params_text(params, call->metadata);
}

void accounts_create(Api *api, HttpRequest *request)
{
    Fault fault;
    AccountBody body;
    Json *document = body_json(request, &fault);
    if (document == NULL || !fields_account(document, http_arena(request), &body, &fault))
        problem_send_fault(request, &fault);
    else
    {
        AccountCall *call = account_call(request);
        snprintf(call->currency, sizeof call->currency, "%s", body.currency);
        call->floor = body.floor;
        call->metadata = body.metadata;
        call_account(api->caller, body.id,
                     &(Call){STATEMENT_ACCOUNT_CREATE, fill_create, on_account, call});
    }
    json_free(document);
}

/* ---- get ------------------------------------------------------------------------------------ */

void accounts_get(Api *api, HttpRequest *request)
{
    const char *id;
    if (path_account(request, &id))
        call_account(api->caller, id,
                     &(Call){STATEMENT_ACCOUNT_GET, NULL, on_account, account_call(request)});
}

/* ---- patch ---------------------------------------------------------------------------------- */

static void fill_patch(void *context, PgParams *params)
{
    const AccountCall *call = context;
    pg_params_text(params, call->status[0] != '\0' ? call->status : NULL);
    fill_floor(&call->floor, params);
}

/* Who wanted what and why, and what came of it. The reason is escaped, so that it cannot forge a
 * line. */
static void log_patch(const AccountCall *call, const char *outcome)
{
    JsonWriter *writer = json_writer_new(ANSWER_BYTES_MAX);
    json_begin_object(writer, NULL);
    problem_put_ids(writer, call->request);
    json_put_string(writer, "account", call->id);
    json_put_string(writer, "status", call->status[0] != '\0' ? call->status : NULL);
    if (call->floor.given && !call->floor.unlimited)
        json_put_integer(writer, "floor", call->floor.value);
    else if (call->floor.given)
        json_put_null(writer, "floor");
    json_put_string(writer, "outcome", outcome);
    json_put_string(writer, "reason", call->reason);
    json_end_object(writer);
    log_document(LOG_INFO, "account patch", json_writer_text(writer, NULL));
    json_writer_free(writer);
}

static void on_patched(void *context, const CallResult *result)
{
    const AccountCall *call = context;
    bool answered = result->code == ERROR_NONE;
    log_patch(call,
              answered ? pg_text(result->rows, 0, ACCOUNT_OUTCOME) : error_row(result->code)->name);
    on_account(context, result);
}

static AccountCall *patch_call(HttpRequest *request, const char *id, const PatchBody *body)
{
    AccountCall *call = account_call(request);
    snprintf(call->status, sizeof call->status, "%s", body->status != NULL ? body->status : "");
    call->floor = body->floor;
    call->id = id;
    call->reason = arena_copy(http_arena(request), body->reason, strlen(body->reason));
    return call;
}

void accounts_patch(Api *api, HttpRequest *request)
{
    const char *id;
    Fault fault;
    PatchBody body;
    if (!path_account(request, &id))
        return;
    Json *document = body_json(request, &fault);
    if (document == NULL || !fields_patch(document, &body, &fault))
        problem_send_fault(request, &fault);
    else
        call_account(api->caller, id,
                     &(Call){STATEMENT_ACCOUNT_PATCH, fill_patch, on_patched,
                             patch_call(request, id, &body)});
    json_free(document);
}

/* ---- entries -------------------------------------------------------------------------------- */

static void write_entry(JsonWriter *writer, const PgRows *rows, size_t row)
{
    char transfer[UUID_TEXT_MAX + 1];
    uuid_format(pg_uuid(rows, row, ENTRY_TRANSFER), transfer);
    json_begin_object(writer, NULL);
    json_put_integer(writer, "seq", pg_int8(rows, row, ENTRY_SEQ));
    json_put_string(writer, "transfer_id", transfer);
    json_put_integer(writer, "amount", pg_int8(rows, row, ENTRY_AMOUNT));
    json_put_integer(writer, "balance", pg_int8(rows, row, ENTRY_BALANCE));
    json_put_string(writer, "counterparty", pg_text(rows, row, ENTRY_COUNTERPARTY));
    json_put_string(writer, "reference", pg_text(rows, row, ENTRY_REFERENCE));
    json_put_timestamp(writer, "at", pg_timestamp_us(rows, row, ENTRY_AT));
    json_end_object(writer);
}

/* The seqs of an account start at 1 and have no gaps: below the last one there is another page
 * unless it is 1. */
static void write_entries(JsonWriter *writer, const AccountCall *call, const PgRows *rows,
                          size_t count)
{
    char cursor[CURSOR_MAX + 1];
    int64_t last_seq = count > 0 ? pg_int8(rows, count - 1, ENTRY_SEQ) : 1;
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (size_t row = 0; row < count; row++)
        write_entry(writer, rows, row);
    json_end_array(writer);
    if (last_seq > 1)
        cursor_write_seq(call->id, last_seq, cursor);
    json_put_string(writer, "next_cursor", last_seq > 1 ? cursor : NULL);
    json_end_object(writer);
}

static void on_entries(void *context, const CallResult *result)
{
    AccountCall *call = context;
    if (result->code != ERROR_NONE)
    {
        problem_send(call->request, result->code, result->detail);
        return;
    }
    const char *outcome = pg_text(result->rows, 0, ENTRY_OUTCOME);
    if (strcmp(outcome, "missing") == 0)
    {
        problem_send(call->request, ERROR_ACCOUNT_NOT_FOUND, NULL);
        return;
    }
    bool any = strcmp(outcome, "entry") == 0;
    ASSERT(any || strcmp(outcome, "none") == 0);
    JsonWriter *writer = answer_writer();
    write_entries(writer, call, result->rows, any ? pg_row_count(result->rows) : 0);
    answer_json(call->request, 200, writer, &(HttpReply){0});
}

static void fill_entries(void *context, PgParams *params)
{
    const AccountCall *call = context;
    if (call->before > 0)
        pg_params_int8(params, call->before);
    else
        pg_params_null(params);
    pg_params_int4(params, call->limit);
}

void accounts_entries(Api *api, HttpRequest *request)
{
    const char *id;
    Fault fault;
    if (!path_account(request, &id))
        return;
    AccountCall *call = account_call(request);
    call->id = id;
    const char *cursor = query_value(request, "cursor");
    if (!fields_limit(query_value(request, "limit"), &call->limit, &fault) ||
        (cursor != NULL && !cursor_read_seq(cursor, id, &call->before, &fault)))
        problem_send_fault(request, &fault);
    else
        call_account(api->caller, id,
                     &(Call){STATEMENT_ACCOUNT_ENTRIES, fill_entries, on_entries, call});
}
