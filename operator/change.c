/* See change.h. */
#include "change.h"

#include "field.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    BODY_BYTES_MAX = 64 * 1024,
    DOCUMENT_BYTES_MAX = 16 * 1024 * 1024,
};

/* ---- what is sent --------------------------------------------------------------------------- */

static char *body_with_reason(const Context *context, const Change *change)
{
    JsonWriter *writer = json_writer_new(BODY_BYTES_MAX);
    json_begin_object(writer, NULL);
    if (change->put != NULL)
        change->put(context, writer);
    json_put_string(writer, "reason", context_value(context, OPTION_REASON));
    json_end_object(writer);
    return json_writer_take(writer, NULL);
}

static void send(const Context *context, const Change *change, bool plan, Answer *ret_answer)
{
    char *body = body_with_reason(context, change);
    Address address;
    address_begin(&address, change->path);
    address_query(&address, "dry_run", plan ? "true" : NULL);
    ServiceRequest request = {
        .method = change->method != NULL ? change->method : "POST",
        .path = address.text,
        .body = body,
        .prefer = change->prefer,
        .timeout_ms = context->timeout_ms,
        .once = change->once,
    };
    service_call(context->service, &request, ret_answer);
    free(body);
}

/* ---- what is shown -------------------------------------------------------------------------- */

static void tell(const Change *change, const Json *object)
{
    say_more("%s", change->title);
    for (size_t i = 0; i < CHANGE_SHOWN_MAX && change->shown[i] != NULL; i++)
    {
        char *text = field_text(field_at(object, change->shown[i]));
        if (text[0] != '\0')
            say_more("  %-16s %s", change->shown[i], text);
        free(text);
    }
    say_more("effect: %s", change->effect);
}

/* The plan as a record, in the form that was asked for. */
static void show_plan(const Context *context, const Change *change, const Json *object)
{
    JsonWriter *writer = json_writer_new(DOCUMENT_BYTES_MAX);
    json_begin_object(writer, NULL);
    json_put_bool(writer, "dry_run", true);
    json_put_string(writer, "change", change->title);
    json_put_string(writer, "effect", change->effect);
    char *text = object != NULL ? json_format(object, false) : NULL;
    json_put_raw(writer, "now", text);
    json_end_object(writer);
    free(text);
    size_t length = 0;
    char *plan = json_writer_take(writer, &length);
    Json *document = plan != NULL ? json_parse(plan, length, NULL) : NULL;
    if (document != NULL)
        output_record(context->output, document);
    json_free(document);
    free(plan);
}

/* ---- the question --------------------------------------------------------------------------- */

static ExitCode ask(const Context *context)
{
    if (context_has(context, OPTION_YES))
        return EXIT_CODE_DONE;
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
    {
        say("there is no terminal to ask at: repeat it with --yes");
        return EXIT_CODE_USAGE;
    }
    char line[16] = "";
    fputs("Go on? [y/N] ", stderr);
    if (!interrupt_await_input(context->interrupt, STDIN_FILENO))
    {
        say_more("\nnothing was sent");
        return EXIT_CODE_INTERRUPTED;
    }
    bool yes = fgets(line, sizeof line, stdin) != NULL &&
               (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
    if (!yes)
        say("nothing was sent");
    return yes ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static ExitCode look(const Context *context, const Change *change, Answer *ret_answer)
{
    if (change->has_plan)
        send(context, change, true, ret_answer);
    else if (change->look_path != NULL)
        context_get(context, change->look_path, ret_answer);
    else
        return EXIT_CODE_DONE;
    return answer_report(ret_answer);
}

/* The question, and what it rests on. */
static ExitCode prepare(const Context *context, const Change *change)
{
    Answer now = {0};
    ExitCode code = look(context, change, &now);
    if (code == EXIT_CODE_DONE && context_has(context, OPTION_DRY_RUN))
    {
        show_plan(context, change, now.document);
        answer_done(&now);
        return code;
    }
    if (code == EXIT_CODE_DONE)
    {
        tell(change, now.document);
        code = ask(context);
    }
    answer_done(&now);
    return code;
}

ExitCode change_run(const Context *context, const Change *change, Answer *ret_answer)
{
    Answer answer = {0};
    if (!context_has(context, OPTION_REASON))
    {
        say("--reason is needed: why, for people who ask later");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = prepare(context, change);
    if (code == EXIT_CODE_DONE && !context_has(context, OPTION_DRY_RUN))
    {
        send(context, change, false, &answer);
        code = answer_report(&answer);
        if (answer.in_doubt)
            say("repeating it is safe");
        if (code == EXIT_CODE_DONE && ret_answer == NULL && answer.document != NULL)
            output_record(context->output, answer.document);
    }
    if (ret_answer != NULL)
        *ret_answer = answer;
    else
        answer_done(&answer);
    return code;
}
