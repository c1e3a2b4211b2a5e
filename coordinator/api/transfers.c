/*
 * Transfers: create, get by id, find by key. See handler.h; the list is transfers_list.c.
 *
 * A create waits for the batcher; the others are look-ups.
 */
#include "api/handler.h"

#include "api/lookup.h"
#include "api/transfer_answer.h"
#include "api/transfer_document.h"

#include <stdio.h>
#include <string.h>

static void transfer_location(char location[LOCATION_MAX], const char *id)
{
    snprintf(location, LOCATION_MAX, "/v1/transfers/%s", id);
}

/* ---- create --------------------------------------------------------------------------------- */

/* One client that waits; lives in the request's arena. */
typedef struct CreateCall
{
    HttpRequest *request;
    TransferWaiter waiter;
} CreateCall;

static void answer_problem(HttpRequest *request, const TransferAnswer *answer)
{
    HttpReply reply = {0};
    if (answer->replayed)
        http_reply_header(&reply, "Idempotent-Replayed", "true");
    problem_reply(request, &answer->problem, &reply);
}

static void answer_transfer(HttpRequest *request, const TransferAnswer *answer)
{
    HttpReply reply = {0};
    char location[LOCATION_MAX];
    bool pending = answer->record->state == TRANSFER_PENDING;
    transfer_location(location, answer->id);
    if (answer->replayed)
        http_reply_header(&reply, "Idempotent-Replayed", "true");
    if (pending || !answer->replayed)
        http_reply_header(&reply, "Location", location);
    if (pending)
        http_reply_header(&reply, "Retry-After", "1");
    JsonWriter *writer = answer_writer();
    transfer_document_write(writer, NULL, answer->record);
    answer_json(request, answer->status, writer, &reply);
}

static void on_told(TransferWaiter *waiter, const TransferOutcome *outcome)
{
    CreateCall *call = container_of(waiter, CreateCall, waiter);
    TransferAnswer answer;
    transfer_answer_make(&answer, outcome);
    if (answer.record != NULL)
        answer_transfer(call->request, &answer);
    else
        answer_problem(call->request, &answer);
}

static void submit(Api *api, HttpRequest *request, const TransferRequest *transfer,
                   const Preferences *preferences)
{
    CreateCall *call = arena_take(http_arena(request), sizeof *call);
    call->request = request;
    call->waiter.told = on_told;
    call->waiter.respond_async = preferences->respond_async;
    batcher_submit(api->batcher, transfer, &call->waiter, (uint64_t)preferences->wait_s * MS_PER_S);
}

void transfers_create(Api *api, HttpRequest *request)
{
    Fault fault;
    char key[IDEMPOTENCY_KEY_MAX + 1];
    Preferences preferences;
    TransferRequest transfer;
    Json *document = body_json(request, &fault);
    if (document == NULL || !fields_key(http_header(request, "Idempotency-Key", 0), key, &fault) ||
        !read_preferences(request, &preferences, &fault) ||
        !fields_transfer(document, http_arena(request), &transfer, &fault))
        problem_send_fault(request, &fault);
    else
    {
        transfer.idempotency_key = key;
        submit(api, request, &transfer, &preferences);
    }
    json_free(document);
}

/* ---- look-ups ------------------------------------------------------------------------------- */

/* Lives in the request's arena. */
typedef struct Get
{
    Api *api;
    HttpRequest *request;
    const char *debit_account; /* both NULL for a look-up by id */
    const char *key;
} Get;

static void on_found(void *context, const LookupResult *result)
{
    Get *get = context;
    if (result->code != ERROR_NONE)
    {
        problem_send(get->request, result->code, result->detail);
        return;
    }
    TransferRecord record;
    JsonWriter *writer = answer_writer();
    transfer_record_read_whole(&record, result->rows, 0, get->api->directory);
    transfer_document_write(writer, NULL, &record);
    answer_json(get->request, 200, writer, &(HttpReply){0});
}

static Get *get_new(Api *api, HttpRequest *request)
{
    Get *get = arena_take(http_arena(request), sizeof *get);
    get->api = api;
    get->request = request;
    return get;
}

void transfers_get(Api *api, HttpRequest *request)
{
    Lookup lookup = {.statement = STATEMENT_TRANSFER_GET, .done = on_found};
    if (!path_transfer(request, lookup.id))
        return;
    lookup.context = get_new(api, request);
    if (!lookup_start(api, &lookup))
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
}

/* ---- by key: a list of one or none ---------------------------------------------------------- */

/* The id is a hash of account and key; the words themselves decide. */
static void write_if_asked_for(JsonWriter *writer, const Get *get, const PgRows *rows)
{
    TransferRecord record;
    transfer_record_read_whole(&record, rows, 0, get->api->directory);
    if (strcmp(record.debit_account, get->debit_account) == 0 &&
        strcmp(record.idempotency_key, get->key) == 0)
        transfer_document_write(writer, NULL, &record);
}

static void on_listed(void *context, const LookupResult *result)
{
    Get *get = context;
    if (result->code != ERROR_NONE && result->code != ERROR_TRANSFER_NOT_FOUND)
    {
        problem_send(get->request, result->code, result->detail);
        return;
    }
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    if (result->code == ERROR_NONE)
        write_if_asked_for(writer, get, result->rows);
    json_end_array(writer);
    json_put_null(writer, "next_cursor");
    json_end_object(writer);
    answer_json(get->request, 200, writer, &(HttpReply){0});
}

static bool read_key_query(const HttpRequest *request, const char **ret_account,
                           char ret_key[IDEMPOTENCY_KEY_MAX + 1], Fault *fault)
{
    const char *account = query_value(request, "debit_account");
    const char *key = query_value(request, "idempotency_key");
    if (account == NULL || key == NULL || http_uri(request)->parameter_count != 2)
        return fault_set(fault, ERROR_PARAMETER_INVALID, NULL,
                         "debit_account and idempotency_key are needed together, and alone");
    if (!route_account_id_is_valid(account))
        return fault_set(fault, ERROR_ACCOUNT_ID_INVALID, NULL, "debit_account is no account id");
    *ret_account = account;
    return fields_key(key, ret_key, fault);
}

void transfers_find(Api *api, HttpRequest *request)
{
    Fault fault;
    const char *account = NULL;
    char key[IDEMPOTENCY_KEY_MAX + 1];
    Location home;
    if (!read_key_query(request, &account, key, &fault))
        problem_send_fault(request, &fault);
    else if (!directory_locate(api->directory, account, &home))
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
    else
    {
        ASSERT(account != NULL);
        Lookup lookup = {.statement = STATEMENT_TRANSFER_GET, .done = on_listed};
        Get *get = get_new(api, request);
        get->debit_account = arena_copy(http_arena(request), account, strlen(account));
        get->key = arena_copy(http_arena(request), key, strlen(key));
        transfer_id_make(account, key, lookup.id);
        lookup.context = get;
        lookup_on_shard(api, home.shard, &lookup);
    }
}
