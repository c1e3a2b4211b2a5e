/*
 * Pausing and resuming what takes new transfers: POST /v1/intake/actions/{pause,resume}. See
 * handler.h and shard/intake.h.
 *
 * Both are safe to repeat: what is paused stays paused, with the newer reason; what is not paused
 * stays so. The answer has all that is paused then.
 */
#include "api/handler.h"

#include "api/intake_document.h"
#include "base/log.h"

#include <string.h>

/* Lives in the request's arena. */
typedef struct IntakeCall
{
    Api *api;
    HttpRequest *request;
} IntakeCall;

void intake_document_write(JsonWriter *writer, const Intake *intake)
{
    json_begin_array(writer, "paused");
    for (size_t i = 0; i < intake_count(intake); i++)
    {
        const PausedScope *paused = intake_scope(intake, i);
        json_begin_object(writer, NULL);
        json_put_string(writer, "scope", paused->scope);
        json_put_string(writer, "reason", paused->reason);
        json_put_timestamp(writer, "since", paused->since_us);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void on_changed(void *context, ErrorCode code, const char *detail)
{
    const IntakeCall *call = context;
    if (code != ERROR_NONE)
    {
        problem_send(call->request, code, detail);
        return;
    }
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    intake_document_write(writer, call->api->options.intake);
    json_end_object(writer);
    answer_json(call->request, 200, writer, &(HttpReply){0});
}

/* Who wants it and why; the reason is escaped, so that it cannot forge a line. */
static void log_wish(const HttpRequest *request, const IntakeChange *change)
{
    JsonWriter *writer = json_writer_new(ANSWER_BYTES_MAX);
    json_begin_object(writer, NULL);
    json_put_string(writer, "request_id", http_request_id(request));
    json_put_string(writer, "scope", change->scope);
    json_put_string(writer, "reason", change->reason);
    json_end_object(writer);
    log_info("intake %s %s", change->pause ? "pause" : "resume", json_writer_text(writer, NULL));
    json_writer_free(writer);
}

static void change(Api *api, HttpRequest *request, bool pause)
{
    Fault fault;
    IntakeChange wanted = {.pause = pause, .done = on_changed};
    Json *document = body_json(request, &fault);
    if (document == NULL || !fields_intake(document, &wanted.reason, &wanted.scope, &fault))
        problem_send_fault(request, &fault);
    else
    {
        IntakeCall *call = arena_take(http_arena(request), sizeof *call);
        *call = (IntakeCall){api, request};
        wanted.context = call;
        log_wish(request, &wanted);
        intake_change(api->options.intake, &wanted);
    }
    json_free(document);
}

void intake_pause(Api *api, HttpRequest *request)
{
    change(api, request, true);
}

void intake_resume(Api *api, HttpRequest *request)
{
    change(api, request, false);
}
