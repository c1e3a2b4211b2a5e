/*
 * `transfer watch`: follows a transfer until it is final, and shows every change of what is known
 * of it. A server that does not answer for a while is waited for; the transfer goes on without us.
 */
#include "commands.h"
#include "context.h"
#include "field.h"
#include "say.h"
#include "transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_FIRST_MS = 100,
    PAUSE_LAST_MS = 2000,
    TIMEOUT_MS = 60 * 60 * 1000,
    LINE_MAX_BYTES = 1024,
};

typedef struct Watch
{
    const Context *context;
    const char *path;
    char *last; /* what was shown last, as text */
    uint64_t deadline_ms;
    int pause_ms;
    bool has_list;
    bool waits; /* for the server, and has said so */
} Watch;

static uint64_t now_ms(void)
{
    return base_now_us() / 1000;
}

static void show_line(const Watch *watch, const Json *transfer)
{
    char line[LINE_MAX_BYTES];
    const char *next = field_string(transfer, "next_attempt_at");
    const char *error = field_string(transfer, "last_error");
    int64_t attempts = field_integer(transfer, "attempts");
    bool final = field_bool(transfer, "final");
    int length = snprintf(line, sizeof line, "%-9s", field_string(transfer, "state"));
    if (!final && attempts > 0)
        length += snprintf(line + length, sizeof line - (size_t)length,
                           "%" PRId64 " tries, the next at %.19s%s%.600s", attempts, next,
                           error[0] != '\0' ? ": " : "", error);
    if (final && field_string(transfer, "refusal.code")[0] != '\0')
        snprintf(line + length, sizeof line - (size_t)length, "%s: %.600s",
                 field_string(transfer, "refusal.code"), field_string(transfer, "refusal.detail"));
    output_text(watch->context->output, line);
}

static void show(Watch *watch, const Json *transfer)
{
    Output *output = watch->context->output;
    OutputForm form = output_form(output);
    bool final = field_bool(transfer, "final");
    if (form == OUTPUT_TABLE)
        show_line(watch, transfer);
    else if (form == OUTPUT_JSON && final)
        output_record(output, transfer);
    else if (form != OUTPUT_JSON)
    {
        if (!watch->has_list)
            output_begin_list(output, transfer_columns());
        watch->has_list = true;
        output_item(output, transfer);
        output_flush(output);
    }
}

/* Shows it if it is not what it was. */
static void notice(Watch *watch, const Json *transfer)
{
    char *text = json_format(transfer, false);
    bool changed = watch->last == NULL || strcmp(watch->last, text) != 0;
    if (changed)
    {
        show(watch, transfer);
        watch->pause_ms = PAUSE_FIRST_MS;
    }
    free(watch->last);
    watch->last = text;
}

static ExitCode end_of(const Json *transfer)
{
    return field_is(transfer, "state", "posted") ? EXIT_CODE_DONE : EXIT_CODE_REFUSED;
}

/* True when there is nothing more to wait for; *ret_code is why then. */
static bool look(Watch *watch, ExitCode *ret_code)
{
    Answer answer;
    int64_t left = (int64_t)(watch->deadline_ms - now_ms());
    ServiceRequest request = {.path = watch->path,
                              .timeout_ms = left < SERVICE_TIMEOUT_MS ? left : SERVICE_TIMEOUT_MS};
    service_call(watch->context->service, &request, &answer);
    ExitCode code = answer_exit(&answer);
    bool over = code != EXIT_CODE_DONE && code != EXIT_CODE_UNAVAILABLE;
    if (code == EXIT_CODE_DONE)
    {
        notice(watch, answer.document);
        over = field_bool(answer.document, "final");
        if (over)
            code = end_of(answer.document);
    }
    else if (over)
        (void)answer_report(&answer);
    else
        say("%s; it is waited for",
            answer.trouble[0] != '\0' ? answer.trouble : field_string(answer.document, "detail"));
    answer_done(&answer);
    *ret_code = code;
    return over;
}

static bool is_over(Watch *watch, ExitCode *ret_code)
{
    if (look(watch, ret_code) || output_is_closed(watch->context->output))
        return true;
    if (now_ms() + (uint64_t)watch->pause_ms >= watch->deadline_ms)
    {
        say("it is not final yet; it goes on by itself");
        *ret_code = EXIT_CODE_UNAVAILABLE;
        return true;
    }
    if (interrupt_wait(watch->context->interrupt, watch->pause_ms))
    {
        say("no longer followed; it goes on by itself");
        *ret_code = EXIT_CODE_INTERRUPTED;
        return true;
    }
    watch->pause_ms = watch->pause_ms < PAUSE_LAST_MS / 2 ? 2 * watch->pause_ms : PAUSE_LAST_MS;
    return false;
}

ExitCode run_transfer_watch(Context *context)
{
    const char *id = context_operand(context, 0);
    int64_t timeout_ms = context->timeout_ms > 0 ? context->timeout_ms : TIMEOUT_MS;
    Address address;
    ExitCode code;
    if (!context_is_id(id, "transfer"))
        return EXIT_CODE_USAGE;
    context_path(&address, "/v1/transfers", id, "");
    Watch watch = {.context = context,
                   .path = address.text,
                   .deadline_ms = now_ms() + (uint64_t)timeout_ms,
                   .pause_ms = PAUSE_FIRST_MS};
    while (!is_over(&watch, &code))
        continue;
    if (watch.has_list)
        output_end_list(context->output, NULL);
    free(watch.last);
    return code;
}
