/* See problem.h. */
#include "api/problem.h"

#include "base/log.h"
#include "protocol/transfer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum
{
    PROBLEM_BYTES_MAX = 16 * 1024,
    TYPE_MAX = 64,
};

/* Appends the reference token of a field, escaped as RFC 6901 says; cut where it does not fit. */
static void write_pointer(char *pointer, const char *field)
{
    size_t used = 0;
    pointer[used++] = '/';
    for (; *field != '\0' && used + 2 < POINTER_MAX; field++)
    {
        if (*field == '~' || *field == '/')
        {
            pointer[used++] = '~';
            pointer[used++] = *field == '~' ? '0' : '1';
        }
        else
            pointer[used++] = *field;
    }
    pointer[used] = '\0';
}

bool fault_set(Fault *fault, ErrorCode code, const char *field, const char *format, ...)
{
    va_list arguments;
    fault->code = code;
    fault->pointer[0] = '\0';
    if (field != NULL)
        write_pointer(fault->pointer, field);
    va_start(arguments, format);
    vsnprintf(fault->detail, sizeof fault->detail, format, arguments);
    va_end(arguments);
    return false;
}

static void write_errors(JsonWriter *writer, const char *pointer, const char *detail)
{
    json_begin_array(writer, "errors");
    json_begin_object(writer, NULL);
    json_put_string(writer, "pointer", pointer);
    json_put_string(writer, "detail", detail);
    json_end_object(writer);
    json_end_array(writer);
}

static void write_differing(JsonWriter *writer, unsigned differing)
{
    static const struct
    {
        unsigned bit;
        const char *name;
    } fields[] = {
        {DIFFERS_CREDIT_ACCOUNT, "credit_account"},
        {DIFFERS_AMOUNT, "amount"},
        {DIFFERS_CURRENCY, "currency"},
        {DIFFERS_REFERENCE, "reference"},
    };
    json_begin_array(writer, "differing_fields");
    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
    {
        if ((differing & fields[i].bit) != 0)
            json_put_string(writer, NULL, fields[i].name);
    }
    json_end_array(writer);
}

void problem_write(JsonWriter *writer, const char *name, const Problem *problem,
                   const char *request_id)
{
    const ErrorRow *row = error_row(problem->code);
    bool explained = problem->detail != NULL && problem->detail[0] != '\0';
    const char *detail = explained ? problem->detail : row->title;
    char type[TYPE_MAX];
    snprintf(type, sizeof type, "/problems/%s", row->name);
    json_begin_object(writer, name);
    json_put_string(writer, "type", type);
    json_put_string(writer, "title", row->title);
    json_put_integer(writer, "status", row->status);
    json_put_string(writer, "detail", detail);
    json_put_string(writer, "code", row->name);
    json_put_string(writer, "request_id", request_id);
    if (problem->transfer_id != NULL)
        json_put_string(writer, "transfer_id", problem->transfer_id);
    if (problem->state != NULL)
        json_put_string(writer, "state", problem->state);
    json_put_bool(writer, "retryable", row->retryable);
    if (row->retry_after_ms > 0)
        json_put_integer(writer, "retry_after_ms", row->retry_after_ms);
    json_put_string(writer, "effect", row->effect == ERROR_EFFECT_NONE ? "none" : "unknown");
    if (problem->pointer != NULL && problem->pointer[0] != '\0')
        write_errors(writer, problem->pointer, detail);
    if (problem->differing != 0)
        write_differing(writer, problem->differing);
    json_end_object(writer);
}

bool problem_is_for_operators(ErrorCode code)
{
    return code == ERROR_INTERNAL || code == ERROR_OUTCOME_UNKNOWN || code == ERROR_SHARD_ERROR;
}

void problem_put_ids(JsonWriter *writer, const HttpRequest *request)
{
    json_put_string(writer, "request_id", http_request_id(request));
    if (http_trace_id(request)[0] != '\0')
        json_put_string(writer, "trace_id", http_trace_id(request));
}

/* One line per answer that is a problem, by which a client's request_id leads to its cause: what is
 * our fault as a warning, with its detail, and what is the client's only for debugging. */
static void log_answer(const HttpRequest *request, const Problem *problem)
{
    const ErrorRow *row = error_row(problem->code);
    bool is_ours = row->status >= 500;
    LogLevel level = is_ours ? LOG_WARN : LOG_DEBUG;
    if (!log_admits(level))
        return;
    JsonWriter *writer = json_writer_new(PROBLEM_BYTES_MAX);
    json_begin_object(writer, NULL);
    problem_put_ids(writer, request);
    json_put_string(writer, "method", http_method(request));
    json_put_string(writer, "path", http_path(request));
    json_put_integer(writer, "status", row->status);
    json_put_string(writer, "code", row->name);
    if (problem->transfer_id != NULL)
        json_put_string(writer, "transfer_id", problem->transfer_id);
    if (is_ours && problem->detail != NULL && problem->detail[0] != '\0')
        json_put_string(writer, "detail", problem->detail);
    json_end_object(writer);
    const char *line = json_writer_text(writer, NULL);
    if (line != NULL)
        log_document(level, "answer", line);
    else
        log_line(level, "answer request_id=%s status=%d", http_request_id(request), row->status);
    json_writer_free(writer);
}

void problem_retry_header(HttpReply *reply, ErrorCode code, char ret_text[PROBLEM_RETRY_AFTER_MAX])
{
    const ErrorRow *row = error_row(code);
    if (row->retry_after_ms <= 0)
        return;
    snprintf(ret_text, PROBLEM_RETRY_AFTER_MAX, "%d", (row->retry_after_ms + 999) / 1000);
    http_reply_header(reply, "Retry-After", ret_text);
}

void problem_reply(HttpRequest *request, const Problem *problem, HttpReply *reply)
{
    const ErrorRow *row = error_row(problem->code);
    JsonWriter *writer = json_writer_new(PROBLEM_BYTES_MAX);
    char retry_after[PROBLEM_RETRY_AFTER_MAX];
    problem_write(writer, NULL, problem, http_request_id(request));
    problem_retry_header(reply, problem->code, retry_after);
    reply->status = row->status;
    reply->content_type = "application/problem+json";
    reply->body = json_writer_text(writer, &reply->body_length);
    ASSERT(reply->body != NULL);
    log_answer(request, problem);
    http_reply(request, reply);
    json_writer_free(writer);
}

void problem_send(HttpRequest *request, ErrorCode code, const char *detail)
{
    problem_reply(request, &(Problem){.code = code, .detail = detail}, &(HttpReply){0});
}

void problem_send_fault(HttpRequest *request, const Fault *fault)
{
    Problem problem = {.code = fault->code, .detail = fault->detail, .pointer = fault->pointer};
    problem_reply(request, &problem, &(HttpReply){0});
}
