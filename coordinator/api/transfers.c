/*
 * Transfers: create, get by id, find by key. See handler.h.
 *
 * A create waits for the batcher. A look-up asks every shard that may hold the record at once and
 * answers with the first one found; "it never happened" takes an answer from all of them.
 */
#include "api/handler.h"

#include "api/transfer_answer.h"
#include "api/transfer_document.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Several shards asked for one transfer. Outlives the request's answer. */
typedef struct Lookup
{
    Api *api;
    HttpRequest *request; /* NULL once answered */
    size_t outstanding;
    uint8_t id[16];
    bool as_list; /* by key: a list of one or none */
    char debit_account[ACCOUNT_ID_MAX + 1];
    char key[IDEMPOTENCY_KEY_MAX + 1];
    ErrorCode failure; /* of a shard that did not answer; ERROR_NONE = all did */
    char detail[FAULT_DETAIL_MAX + 1];
} Lookup;

static void fill_ids(void *context, PgParams *params)
{
    const Lookup *lookup = context;
    pg_params_array(params, PG_ELEMENT_UUID, 1);
    pg_params_add_uuid(params, lookup->id);
}

/* Answers with the record, or with an empty list (NULL). */
static void answer_lookup(Lookup *lookup, const TransferRecord *record)
{
    JsonWriter *writer = answer_writer();
    if (lookup->as_list)
    {
        json_begin_object(writer, NULL);
        json_begin_array(writer, "items");
    }
    if (record != NULL)
        transfer_document_write(writer, NULL, record);
    if (lookup->as_list)
    {
        json_end_array(writer);
        json_put_null(writer, "next_cursor");
        json_end_object(writer);
    }
    answer_json(lookup->request, 200, writer, &(HttpReply){0});
    lookup->request = NULL;
}

/* The id is a hash of account and key; the words themselves decide. */
static bool is_asked_for(const Lookup *lookup, const TransferRecord *record)
{
    return !lookup->as_list || (strcmp(record->debit_account, lookup->debit_account) == 0 &&
                                strcmp(record->idempotency_key, lookup->key) == 0);
}

static void take_rows(Lookup *lookup, const PgRows *rows)
{
    if (lookup->request == NULL || pg_row_count(rows) == 0)
        return;
    TransferRecord record;
    transfer_record_read(&record, rows, 0, lookup->api->directory);
    if (is_asked_for(lookup, &record))
        answer_lookup(lookup, &record);
}

static void end_lookup(Lookup *lookup)
{
    if (lookup->request != NULL && lookup->failure != ERROR_NONE)
        problem_send(lookup->request, lookup->failure, lookup->detail);
    else if (lookup->request != NULL && lookup->as_list)
        answer_lookup(lookup, NULL);
    else if (lookup->request != NULL)
        problem_send(lookup->request, ERROR_TRANSFER_NOT_FOUND, NULL);
    free(lookup);
}

static void on_shard(void *context, const CallResult *result)
{
    Lookup *lookup = context;
    lookup->outstanding--;
    if (result->code == ERROR_NONE)
        take_rows(lookup, result->rows);
    else
    {
        lookup->failure = result->code;
        snprintf(lookup->detail, sizeof lookup->detail, "%s", result->detail);
    }
    if (lookup->outstanding == 0)
        end_lookup(lookup);
}

static Lookup *lookup_new(Api *api, HttpRequest *request)
{
    Lookup *lookup = base_calloc(1, sizeof *lookup);
    lookup->api = api;
    lookup->request = request;
    return lookup;
}

static void ask(Lookup *lookup, Shard *const *shards, size_t count)
{
    Caller *caller = lookup->api->caller;
    Call call = {STATEMENT_TRANSFERS_BY_ID, fill_ids, on_shard, lookup};
    lookup->outstanding = count;
    for (size_t i = 0; i < count; i++)
        call_shard(caller, shards[i], &call);
}

void transfers_get(Api *api, HttpRequest *request)
{
    uint8_t id[16];
    if (!uuid_parse(path_segment(request, 2), id))
    {
        problem_send(request, ERROR_TRANSFER_NOT_FOUND, "the id is not that of a transfer");
        return;
    }
    size_t shard_count = directory_shard_count(api->directory);
    Shard **shards = arena_take(http_arena(request), (shard_count + 1) * sizeof *shards);
    size_t count = directory_candidates(api->directory, id, shards, shard_count);
    if (count == 0)
    {
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
        return;
    }
    Lookup *lookup = lookup_new(api, request);
    memcpy(lookup->id, id, sizeof lookup->id);
    ask(lookup, shards, count);
}

static bool read_key_query(const HttpRequest *request, const char **ret_account,
                           char ret_key[IDEMPOTENCY_KEY_MAX + 1], Fault *fault)
{
    const char *account = query_value(request, "debit_account");
    const char *key = query_value(request, "idempotency_key");
    if (account == NULL || key == NULL)
        return fault_set(fault, ERROR_PARAMETER_INVALID, NULL,
                         "debit_account and idempotency_key are both needed");
    if (!route_account_id_is_valid(account))
        return fault_set(fault, ERROR_ACCOUNT_ID_INVALID, NULL, "debit_account is no account id");
    *ret_account = account;
    return fields_key(key, ret_key, fault);
}

void transfers_list(Api *api, HttpRequest *request)
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
        Lookup *lookup = lookup_new(api, request);
        lookup->as_list = true;
        snprintf(lookup->debit_account, sizeof lookup->debit_account, "%s", account);
        snprintf(lookup->key, sizeof lookup->key, "%s", key);
        transfer_id_make(account, key, lookup->id);
        ask(lookup, &home.shard, 1);
    }
}
