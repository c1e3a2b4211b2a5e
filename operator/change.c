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

static char *make_body(const Context *context, const Change *change)
{
    if (change->is_plain && change->put == NULL)
        return NULL;
    JsonWriter *writer = json_writer_new(BODY_BYTES_MAX);
    json_begin_object(writer, NULL);
    if (change->put != NULL)
        change->put(context, writer);
    if (!change->is_plain)
        json_put_string(writer, "reason", context_value(context, OPTION_REASON));
    json_end_object(writer);
    return json_writer_take(writer, NULL);
}

static void send(const Context *context, const Change *change, bool plan, Answer *ret_answer)
{
    char *body = make_body(context, change);
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
        .only_asks = plan,
    };
    service_call(context->service, &request, ret_answer);
    free(body);
}

/* ---- what is shown -------------------------------------------------------------------------- */

static void tell_steps(const Json *plan)
{
    const Json *steps = field_at(plan, "plan");
    for (size_t i = 0; i < field_count(plan, "plan"); i++)
    {
        char *step = field_text(json_array_at(steps, i));
        say_more("  %zu. %s", i + 1, step);
        free(step);
    }
}

/* `now` is the object, or the server's plan. */
static void tell(const Change *change, const Json *now)
{
    say_more("%s", change->title);
    for (size_t i = 0; i < CHANGE_SHOWN_MAX && change->shown[i] != NULL; i++)
    {
        char *text = field_text(field_at(now, change->shown[i]));
        if (text[0] != '\0')
            say_more("  %-31s %s", change->shown[i], text);
        free(text);
    }
    say_more("effect: %s", change->has_plan ? field_string(now, "explanation") : change->effect);
    if (change->has_plan)
        tell_steps(now);
}

/* What would be done, as a record. */
static void show_plan(const Context *context, const Change *change, const Json *object)
{
    if (change->has_plan)
    {
        output_record(context->output, object);
        return;
    }
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
    bool good = code == EXIT_CODE_DONE;
    if (good && context_has(context, OPTION_DRY_RUN))
        show_plan(context, change, now.document);
    else if (good)
        tell(change, now.document);
    if (good && change->has_plan && !field_bool(now.document, "possible"))
    {
        say("this cannot be done: %s", field_string(now.document, "explanation"));
        code = EXIT_CODE_CONFLICT;
    }
    else if (good && !context_has(context, OPTION_DRY_RUN))
        code = ask(context);
    answer_done(&now);
    return code;
}

ExitCode change_run(const Context *context, const Change *change, Answer *ret_answer)
{
    Answer answer = {0};
    if (!change->is_plain && !context_has(context, OPTION_REASON))
    {
        say("--reason is needed: why, for people who ask later");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = prepare(context, change);
    if (code == EXIT_CODE_DONE && !context_has(context, OPTION_DRY_RUN))
    {
        send(context, change, false, &answer);
        code = answer_report(&answer);
        if (answer.in_doubt && !change->once)
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
