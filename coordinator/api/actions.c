/*
 * Actions on a transfer: POST /v1/transfers/{id}/actions/{cancel,retry,resolve}. See handler.h and
 * action_plan.h.
 *
 *   look up -> probe its shards -> plan -> note the wish at home -> look again until it is settled,
 *   or the wait is over
 *
 * Shards are probed for a dry run, which ends with the plan, and for a resolve, which needs all of
 * them. The wish is durable once it is noted, and any coordinator carries it out. What becomes of
 * the money is decided by the receipt on the credit's shard alone: if the credit came first, a saga
 * that was given up is posted all the same. So the answer is what stands in the row, never what was
 * wished for. Every step may be repeated, and so may the action.
 */
#include "api/handler.h"

#include "api/action_plan.h"
#include "api/lookup.h"
#include "api/probe.h"
#include "api/transfer_document.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_FIRST_MS = 20,
    PAUSE_LAST_MS = 200,
    OUTCOME_COLUMN = 0, /* of give_up, retry and acknowledge */
};

/* An action under way; ends with its request's answer. */
typedef struct Deed
{
    Api *api;
    HttpRequest *request;
    Action action;
    TransferState outcome; /* wished for by a resolve */
    bool dry_run;
    uint8_t id[16];
    Shard *home;
    TransferRecord *record; /* as last seen; owned */
    Plan plan;
    uint64_t wait_ms; /* how long to wait for the end once the wish is noted */
    uint64_t deadline_at_ms;
    uint64_t pause_ms;
    LoopTimer *timer;
} Deed;

static void look_again(Deed *deed);

static uint64_t now_ms(const Deed *deed)
{
    return loop_now_ms(deed->api->options.loop);
}

static void deed_free(Deed *deed)
{
    loop_timer_free(deed->timer);
    free(deed->record);
    loop_defer_free(deed->api->options.loop, deed);
}

static void see(Deed *deed, const PgRows *rows)
{
    TransferRecord record;
    transfer_record_read_whole(&record, rows, 0, deed->api->directory);
    free(deed->record);
    deed->record = transfer_record_copy(&record);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answer_problem(Deed *deed, ErrorCode code, const char *detail)
{
    char id[UUID_TEXT_MAX + 1];
    uuid_format(deed->id, id);
    bool found = deed->record != NULL;
    Problem problem = {
        .code = code,
        .detail = detail,
        .transfer_id = found ? id : NULL,
        .state = found ? transfer_state_name(deed->record->state) : NULL,
    };
    problem_reply(deed->request, &problem, &(HttpReply){0});
    deed_free(deed);
}

/* Final, and no step of it is left to be done. */
static bool is_settled(const TransferRecord *record)
{
    return transfer_state_is_final(record->state) && record->next_attempt_at_us == 0;
}

static void answer_record(Deed *deed)
{
    HttpReply reply = {0};
    char id[UUID_TEXT_MAX + 1];
    char location[LOCATION_MAX];
    bool settled = is_settled(deed->record);
    uuid_format(deed->id, id);
    snprintf(location, sizeof location, "/v1/transfers/%s", id);
    if (!settled)
    {
        http_reply_header(&reply, "Location", location);
        http_reply_header(&reply, "Retry-After", "1");
    }
    JsonWriter *writer = answer_writer();
    transfer_document_write(writer, NULL, deed->record);
    answer_json(deed->request, settled ? 200 : 202, writer, &reply);
    deed_free(deed);
}

static void answer_plan(Deed *deed, const PlanQuestion *question)
{
    JsonWriter *writer = answer_writer();
    plan_document_write(writer, question, &deed->plan);
    answer_json(deed->request, 200, writer, &(HttpReply){0});
    deed_free(deed);
}

/* ---- waiting for the end -------------------------------------------------------------------- */

static void on_timer(void *context)
{
    look_again(context);
}

static void wait_or_answer(Deed *deed)
{
    bool is_over = deed->api->draining || now_ms(deed) >= deed->deadline_at_ms;
    if (is_settled(deed->record) || is_over)
    {
        answer_record(deed);
        return;
    }
    uint64_t left_ms = deed->deadline_at_ms - now_ms(deed);
    loop_timer_start(deed->timer, deed->pause_ms < left_ms ? deed->pause_ms : left_ms);
    deed->pause_ms *= 2;
    if (deed->pause_ms > PAUSE_LAST_MS)
        deed->pause_ms = PAUSE_LAST_MS;
}

/* The wish stands whether or not this look succeeds. */
static void on_seen(void *context, const LookupResult *result)
{
    Deed *deed = context;
    if (result->code == ERROR_NONE)
        see(deed, result->rows);
    wait_or_answer(deed);
}

static void look_again(Deed *deed)
{
    Lookup lookup = {.statement = STATEMENT_TRANSFER_GET, .done = on_seen, .context = deed};
    memcpy(lookup.id, deed->id, sizeof lookup.id);
    lookup_on_shard(deed->api, deed->home, &lookup);
}

/* ---- the wish ------------------------------------------------------------------------------- */

static void fill_wish(void *context, PgParams *params)
{
    const Deed *deed = context;
    pg_params_uuid(params, deed->id);
    if (deed->plan.effect == PLAN_GIVE_UP)
        pg_params_text(params, error_row(ERROR_CANCELLED)->name);
}

static void on_noted(void *context, const CallResult *result)
{
    Deed *deed = context;
    if (result->code != ERROR_NONE)
    {
        answer_problem(deed, result->code, result->detail);
        return;
    }
    deed->deadline_at_ms = now_ms(deed) + deed->wait_ms;
    bool noted = strcmp(pg_text(result->rows, 0, OUTCOME_COLUMN), "noted") == 0;
    if (noted && deed->plan.effect == PLAN_GIVE_UP)
        batcher_give_up(deed->api->batcher, deed->id, ERROR_CANCELLED);
    else if (noted && deed->plan.effect == PLAN_RETRY)
        batcher_hurry(deed->api->batcher);
    if (noted && deed->plan.effect != PLAN_ACKNOWLEDGE)
        wait_or_answer(deed);
    else
        look_again(deed); /* something has changed its row */
}

static void carry_out(Deed *deed)
{
    static const Statement wishes[PLAN_EFFECT_COUNT] = {
        [PLAN_GIVE_UP] = STATEMENT_GIVE_UP,
        [PLAN_RETRY] = STATEMENT_RETRY,
        [PLAN_ACKNOWLEDGE] = STATEMENT_ACKNOWLEDGE,
    };
    if (deed->plan.effect == PLAN_STANDS)
        answer_record(deed);
    else if (deed->plan.effect == PLAN_CONFLICT)
        answer_problem(deed, ERROR_STATE_CONFLICT, deed->plan.why);
    else
        call_account(deed->api->caller, deed->record->debit_account,
                     &(Call){wishes[deed->plan.effect], fill_wish, on_noted, deed});
}

/* ---- the plan ------------------------------------------------------------------------------- */

static PlanQuestion question_of(const Deed *deed)
{
    return (PlanQuestion){.action = deed->action, .outcome = deed->outcome, .record = deed->record};
}

static void on_probed(void *context, const ProbeResult *result)
{
    Deed *deed = context;
    PlanQuestion question = question_of(deed);
    if (result->code != ERROR_NONE)
    {
        answer_problem(deed, result->code, result->detail);
        return;
    }
    question.home = result->home;
    question.remote = result->remote;
    plan_make(&question, &deed->plan);
    bool is_silent = result->remote != NULL && result->remote->trouble != NULL;
    if (deed->dry_run)
        answer_plan(deed, &question);
    else if (is_silent && deed->plan.effect != PLAN_STANDS)
        answer_problem(deed, ERROR_SHARD_UNAVAILABLE, result->remote->trouble);
    else
        carry_out(deed);
}

static void probe(Deed *deed)
{
    Probe probe = {
        .request = deed->request, .home = deed->home, .done = on_probed, .context = deed};
    memcpy(probe.id, deed->id, sizeof probe.id);
    if (!probe_start(deed->api, &probe))
        answer_problem(deed, ERROR_DIRECTORY_UNAVAILABLE, NULL);
}

static void on_found(void *context, const LookupResult *result)
{
    Deed *deed = context;
    if (result->code != ERROR_NONE)
    {
        answer_problem(deed, result->code, result->detail);
        return;
    }
    see(deed, result->rows);
    deed->home = result->shard;
    if (deed->dry_run || deed->action == ACTION_RESOLVE)
    {
        probe(deed);
        return;
    }
    PlanQuestion question = question_of(deed);
    plan_make(&question, &deed->plan);
    carry_out(deed);
}

/* ---- the request ---------------------------------------------------------------------------- */

/* Who wants it and why; the reason is escaped, so that it cannot forge a line. */
static void log_wish(const Deed *deed, const char *reason)
{
    char message[32];
    JsonWriter *writer = json_writer_new(ANSWER_BYTES_MAX);
    json_begin_object(writer, NULL);
    problem_put_ids(writer, deed->request);
    json_put_string(writer, "transfer", path_segment(deed->request, 2));
    if (deed->action == ACTION_RESOLVE)
        json_put_string(writer, "outcome", transfer_state_name(deed->outcome));
    json_put_string(writer, "reason", reason);
    json_end_object(writer);
    snprintf(message, sizeof message, "transfer %s", action_name(deed->action));
    log_document(LOG_INFO, message, json_writer_text(writer, NULL));
    json_writer_free(writer);
}

static void start(Deed *deed)
{
    Lookup lookup = {.statement = STATEMENT_TRANSFER_GET, .done = on_found, .context = deed};
    memcpy(lookup.id, deed->id, sizeof lookup.id);
    deed->timer = loop_timer_new(deed->api->options.loop, on_timer, deed);
    if (!lookup_start(deed->api, &lookup))
        answer_problem(deed, ERROR_DIRECTORY_UNAVAILABLE, NULL);
}

static bool read_body(Deed *deed, const Json *document, Fault *fault)
{
    const char *reason;
    Preferences preferences;
    bool is_resolve = deed->action == ACTION_RESOLVE;
    if (!read_preferences(deed->request, &preferences, fault) ||
        !(is_resolve ? fields_resolution(document, &reason, &deed->outcome, fault)
                     : fields_action(document, &reason, fault)))
        return false;
    deed->wait_ms = preferences.respond_async ? 0 : (uint64_t)preferences.wait_s * MS_PER_S;
    if (!deed->dry_run)
        log_wish(deed, reason);
    return true;
}

static void act(Api *api, HttpRequest *request, Action action)
{
    Fault fault;
    Deed draft = {.api = api, .request = request, .action = action, .pause_ms = PAUSE_FIRST_MS};
    if (!path_transfer(request, draft.id) || !query_flag(request, "dry_run", &draft.dry_run))
        return;
    Json *document = body_json(request, &fault);
    if (document == NULL || !read_body(&draft, document, &fault))
        problem_send_fault(request, &fault);
    else
    {
        Deed *deed = base_calloc(1, sizeof *deed);
        *deed = draft;
        start(deed);
    }
    json_free(document);
}

void transfers_cancel(Api *api, HttpRequest *request)
{
    act(api, request, ACTION_CANCEL);
}

void transfers_retry(Api *api, HttpRequest *request)
{
    act(api, request, ACTION_RETRY);
}

void transfers_resolve(Api *api, HttpRequest *request)
{
    act(api, request, ACTION_RESOLVE);
}
