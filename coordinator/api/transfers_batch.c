/*
 * Many transfers in one request. See handler.h.
 *
 * The items are independent of each other: each is judged, submitted and answered as if it had come
 * alone, and what is wrong with one concerns no other. The wait is that of the whole batch.
 *
 * What 5,000 items hold while they wait is one block of waiters in the request's arena, what the
 * batcher keeps of each, and the results so far: the document and the body are given back as soon
 * as the items are submitted. A result is rendered when it is known, and moves into the answer when
 * all before it have; so the answer exists once, whatever the order in which items end. The number
 * of batches under way is bounded.
 */
#include "api/handler.h"

#include "api/transfer_answer.h"
#include "api/transfer_document.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum
{
    BATCHES_AT_ONCE_MAX = 16,
    ITEM_ARENA_BYTES = 16 * 1024, /* metadata and key of one item */
    RESULT_BYTES_MAX = 16 * 1024, /* metadata, as Postgres spells it, is the largest part */
    ENVELOPE_BYTES = 64,          /* around the results */
    ITEM_POINTER_MAX = POINTER_MAX + 32,
};

typedef struct BatchItem
{
    struct BatchCall *call;
    char *result; /* rendered; NULL until it is known, and after it has moved into the answer */
    TransferWaiter waiter;
} BatchItem;

typedef struct BatchCall
{
    Api *api;
    HttpRequest *request;
    JsonWriter *writer; /* the answer so far */
    size_t count;
    size_t moved; /* results in the answer */
    size_t grave; /* problems for operators; the first one is logged … */
    bool told;    /* … unless there are too many such lines already */
    BatchItem items[];
} BatchCall;

_Static_assert(sizeof(BatchCall) + BATCH_ITEMS_MAX * sizeof(BatchItem) < HTTP_ARENA_BYTES * 3 / 4,
               "the waiters of a batch fit the arena of its request");

static size_t index_of(const BatchItem *item)
{
    return (size_t)(item - item->call->items);
}

/* ---- results -------------------------------------------------------------------------------- */

static JsonWriter *begin_result(const BatchItem *item, int status, bool replayed)
{
    JsonWriter *writer = json_writer_new(RESULT_BYTES_MAX);
    json_begin_object(writer, NULL);
    json_put_integer(writer, "index", (int64_t)index_of(item));
    json_put_integer(writer, "status", status);
    json_put_bool(writer, "replayed", replayed);
    return writer;
}

static char *end_result(JsonWriter *writer)
{
    json_end_object(writer);
    return json_writer_take(writer, NULL);
}

static char *render_problem(const BatchItem *item, const Problem *problem, bool replayed)
{
    JsonWriter *writer = begin_result(item, error_row(problem->code)->status, replayed);
    problem_write(writer, "problem", problem, http_request_id(item->call->request));
    return end_result(writer);
}

static char *render_record(const BatchItem *item, const TransferAnswer *answer)
{
    JsonWriter *writer = begin_result(item, answer->status, answer->replayed);
    transfer_document_write(writer, "transfer", answer->record);
    return end_result(writer);
}

static void keep_result(BatchItem *item, char *result)
{
    static const Problem too_large = {.code = ERROR_INTERNAL, .detail = "the answer is too large"};
    item->result = result != NULL ? result : render_problem(item, &too_large, false);
    ASSERT(item->result != NULL);
}

static void keep_fault(BatchItem *item, const Fault *fault)
{
    char pointer[ITEM_POINTER_MAX];
    snprintf(pointer, sizeof pointer, "/transfers/%zu%s", index_of(item), fault->pointer);
    Problem problem = {.code = fault->code, .detail = fault->detail, .pointer = pointer};
    keep_result(item, render_problem(item, &problem, false));
}

/* A lost shard may fail thousands of items at once: one line says how, another how many. */
static void note_problem(const BatchItem *item, ErrorCode code)
{
    BatchCall *call = item->call;
    if (!problem_is_for_operators(code) || ++call->grave > 1)
        return;
    call->told = log_admits(LOG_WARN);
    if (call->told)
        log_document(LOG_WARN, "answer", item->result);
}

static void finish(BatchCall *call)
{
    HttpRequest *request = call->request;
    if (call->grave > 1 && call->told)
        log_warn("batch request_id=%s: %zu of %zu items had such problems",
                 http_request_id(request), call->grave, call->count);
    json_end_array(call->writer);
    json_end_object(call->writer);
    call->api->transfer_batches--;
    answer_json(request, 200, call->writer, &(HttpReply){0});
}

/* Moves into the answer what is next in order, and sends it when nothing is missing. */
static void move_on(BatchCall *call)
{
    while (call->moved < call->count && call->items[call->moved].result != NULL)
    {
        BatchItem *item = &call->items[call->moved++];
        json_put_raw(call->writer, NULL, item->result);
        free(item->result);
        item->result = NULL;
    }
    if (call->moved == call->count)
        finish(call);
}

static void on_told(TransferWaiter *waiter, const TransferOutcome *outcome)
{
    BatchItem *item = container_of(waiter, BatchItem, waiter);
    TransferAnswer answer;
    transfer_answer_make(&answer, outcome);
    if (answer.record != NULL)
        keep_result(item, render_record(item, &answer));
    else
    {
        keep_result(item, render_problem(item, &answer.problem, answer.replayed));
        note_problem(item, answer.problem.code);
    }
    move_on(item->call);
}

/* ---- submission ----------------------------------------------------------------------------- */

static void submit_item(BatchItem *item, const Json *document, const Preferences *preferences)
{
    Fault fault;
    TransferRequest transfer;
    Arena *arena = arena_new(ITEM_ARENA_BYTES); /* the batcher copies what it keeps */
    if (fields_batch_item(document, arena, &transfer, &fault))
    {
        item->waiter.told = on_told;
        item->waiter.respond_async = preferences->respond_async;
        batcher_submit(item->call->api->batcher, &transfer, &item->waiter,
                       (uint64_t)preferences->wait_s * MS_PER_S);
    }
    else
        keep_fault(item, &fault);
    arena_free(arena);
}

static BatchCall *call_new(Api *api, HttpRequest *request, size_t count)
{
    BatchCall *call = arena_take(http_arena(request), sizeof *call + count * sizeof call->items[0]);
    call->api = api;
    call->request = request;
    call->count = count;
    call->writer = json_writer_new(count * (RESULT_BYTES_MAX + 1) + ENVELOPE_BYTES);
    json_begin_object(call->writer, NULL);
    json_begin_array(call->writer, "results");
    api->transfer_batches++;
    return call;
}

/* Nobody is told from inside batcher_submit, hence nothing ends before all are submitted. */
static BatchCall *submit(Api *api, HttpRequest *request, const Json *items,
                         const Preferences *preferences)
{
    size_t count = json_array_length(items);
    BatchCall *call = call_new(api, request, count);
    for (size_t i = 0; i < count; i++)
    {
        call->items[i].call = call;
        submit_item(&call->items[i], json_array_at(items, i), preferences);
    }
    return call;
}

void transfers_batch(Api *api, HttpRequest *request)
{
    Fault fault;
    Preferences preferences;
    const Json *items;
    BatchCall *call = NULL;
    if (api->transfer_batches >= BATCHES_AT_ONCE_MAX)
    {
        problem_send(request, ERROR_OVERLOADED, "too many batches are under way");
        return;
    }
    Json *document = body_json(request, &fault);
    if (document == NULL || !read_preferences(request, &preferences, &fault) ||
        !fields_batch(document, &items, &fault))
        problem_send_fault(request, &fault);
    else
    {
        call = submit(api, request, items, &preferences);
        http_body_release(request);
    }
    json_free(document);
    if (call != NULL)
        move_on(call);
}
