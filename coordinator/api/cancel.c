/*
 * Giving a saga up: POST /v1/transfers/{id}/actions/cancel. See handler.h.
 *
 *   look up -> note the wish at home -> look again until the saga is final, or the wait is over
 *
 * The wish is durable once it is noted, and any coordinator carries it out. What becomes of the
 * money is decided by the receipt on the credit's shard alone: if the credit came first, the saga
 * is posted all the same. So the answer is what stands in the row, never what was wished for. Every
 * step may be repeated, and so may the action.
 */
#include "api/handler.h"

#include "api/lookup.h"
#include "api/transfer_document.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_FIRST_MS = 20,
    PAUSE_LAST_MS = 200,
};

/* The first column of give_up. */
enum
{
    GIVE_UP_OUTCOME,
};

/* An action under way; ends with its request's answer. */
typedef struct Cancel
{
    Api *api;
    HttpRequest *request;
    uint8_t id[16];
    Shard *home;
    TransferRecord *record; /* as last seen; owned */
    uint64_t wait_ms;       /* how long to wait for the end once the wish is noted */
    uint64_t deadline_at_ms;
    uint64_t pause_ms;
    LoopTimer *timer;
} Cancel;

static void look_again(Cancel *cancel);

static uint64_t now_ms(const Cancel *cancel)
{
    return loop_now_ms(cancel->api->options.loop);
}

static void cancel_free(Cancel *cancel)
{
    loop_timer_free(cancel->timer);
    free(cancel->record);
    loop_defer_free(cancel->api->options.loop, cancel);
}

static void see(Cancel *cancel, const PgRows *rows)
{
    TransferRecord record;
    transfer_record_read_whole(&record, rows, 0, cancel->api->directory);
    free(cancel->record);
    cancel->record = transfer_record_copy(&record);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answer_problem(Cancel *cancel, ErrorCode code, const char *detail)
{
    char id[UUID_TEXT_MAX + 1];
    uuid_format(cancel->id, id);
    bool found = cancel->record != NULL;
    Problem problem = {
        .code = code,
        .detail = detail,
        .transfer_id = found ? id : NULL,
        .state = found ? transfer_state_name(cancel->record->state) : NULL,
    };
    problem_reply(cancel->request, &problem, &(HttpReply){0});
    cancel_free(cancel);
}

static void answer_record(Cancel *cancel)
{
    HttpReply reply = {0};
    char id[UUID_TEXT_MAX + 1];
    char location[LOCATION_MAX];
    bool pending = cancel->record->state == TRANSFER_PENDING;
    uuid_format(cancel->id, id);
    snprintf(location, sizeof location, "/v1/transfers/%s", id);
    if (pending)
    {
        http_reply_header(&reply, "Location", location);
        http_reply_header(&reply, "Retry-After", "1");
    }
    JsonWriter *writer = answer_writer();
    transfer_document_write(writer, NULL, cancel->record);
    answer_json(cancel->request, pending ? 202 : 200, writer, &reply);
    cancel_free(cancel);
}

/* ---- waiting for the end -------------------------------------------------------------------- */

static void on_timer(void *context)
{
    look_again(context);
}

static void wait_or_answer(Cancel *cancel)
{
    bool is_over = cancel->api->draining || now_ms(cancel) >= cancel->deadline_at_ms;
    if (transfer_state_is_final(cancel->record->state) || is_over)
    {
        answer_record(cancel);
        return;
    }
    uint64_t left_ms = cancel->deadline_at_ms - now_ms(cancel);
    loop_timer_start(cancel->timer, cancel->pause_ms < left_ms ? cancel->pause_ms : left_ms);
    cancel->pause_ms *= 2;
    if (cancel->pause_ms > PAUSE_LAST_MS)
        cancel->pause_ms = PAUSE_LAST_MS;
}

/* The wish stands whether or not this look succeeds. */
static void on_seen(void *context, const LookupResult *result)
{
    Cancel *cancel = context;
    if (result->code == ERROR_NONE)
        see(cancel, result->rows);
    wait_or_answer(cancel);
}

static void look_again(Cancel *cancel)
{
    Lookup lookup = {.statement = STATEMENT_TRANSFER_GET, .done = on_seen, .context = cancel};
    memcpy(lookup.id, cancel->id, sizeof lookup.id);
    lookup_on_shard(cancel->api, cancel->home, &lookup);
}

/* ---- the wish ------------------------------------------------------------------------------- */

static void fill_wish(void *context, PgParams *params)
{
    const Cancel *cancel = context;
    pg_params_uuid(params, cancel->id);
    pg_params_text(params, error_row(ERROR_CANCELLED)->name);
}

static void on_noted(void *context, const CallResult *result)
{
    Cancel *cancel = context;
    if (result->code != ERROR_NONE)
    {
        answer_problem(cancel, result->code, result->detail);
        return;
    }
    cancel->deadline_at_ms = now_ms(cancel) + cancel->wait_ms;
    if (strcmp(pg_text(result->rows, 0, GIVE_UP_OUTCOME), "noted") != 0)
    {
        look_again(cancel); /* it has become final meanwhile */
        return;
    }
    batcher_give_up(cancel->api->batcher, cancel->id, ERROR_CANCELLED);
    wait_or_answer(cancel);
}

static void on_found(void *context, const LookupResult *result)
{
    Cancel *cancel = context;
    if (result->code != ERROR_NONE)
    {
        answer_problem(cancel, result->code, result->detail);
        return;
    }
    see(cancel, result->rows);
    const TransferRecord *record = cancel->record;
    cancel->home = result->shard;
    if (record->state == TRANSFER_PENDING)
        call_account(cancel->api->caller, record->debit_account,
                     &(Call){STATEMENT_GIVE_UP, fill_wish, on_noted, cancel});
    else if (record->state == TRANSFER_REVERSED && record->refusal == ERROR_CANCELLED)
        answer_record(cancel);
    else if (record->mode != MODE_SAGA)
        answer_problem(cancel, ERROR_STATE_CONFLICT, "only a saga can be cancelled");
    else
        answer_problem(cancel, ERROR_STATE_CONFLICT, "the transfer is final");
}

/* Who wants it and why; the reason is escaped, so that it cannot forge a line. */
static void log_wish(const HttpRequest *request, const char *reason)
{
    JsonWriter *writer = json_writer_new(ANSWER_BYTES_MAX);
    json_begin_object(writer, NULL);
    json_put_string(writer, "request_id", http_request_id(request));
    json_put_string(writer, "transfer", path_segment(request, 2));
    json_put_string(writer, "reason", reason);
    json_end_object(writer);
    log_info("transfer cancel %s", json_writer_text(writer, NULL));
    json_writer_free(writer);
}

static void start(Api *api, HttpRequest *request, const uint8_t id[16],
                  const Preferences *preferences)
{
    Cancel *cancel = base_calloc(1, sizeof *cancel);
    Lookup lookup = {.statement = STATEMENT_TRANSFER_GET, .done = on_found, .context = cancel};
    cancel->api = api;
    cancel->request = request;
    cancel->wait_ms = preferences->respond_async ? 0 : (uint64_t)preferences->wait_s * MS_PER_S;
    cancel->pause_ms = PAUSE_FIRST_MS;
    cancel->timer = loop_timer_new(api->options.loop, on_timer, cancel);
    memcpy(cancel->id, id, sizeof cancel->id);
    memcpy(lookup.id, id, sizeof lookup.id);
    if (!lookup_start(api, &lookup))
        answer_problem(cancel, ERROR_DIRECTORY_UNAVAILABLE, NULL);
}

void transfers_cancel(Api *api, HttpRequest *request)
{
    Fault fault;
    const char *reason;
    Preferences preferences;
    uint8_t id[16];
    if (!path_transfer(request, id))
        return;
    Json *document = body_json(request, &fault);
    if (document == NULL || !read_preferences(request, &preferences, &fault) ||
        !fields_action(document, &reason, &fault))
        problem_send_fault(request, &fault);
    else
    {
        log_wish(request, reason);
        start(api, request, id, &preferences);
    }
    json_free(document);
}
