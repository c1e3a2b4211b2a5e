/* See answer.h. */
#include "answer.h"

#include "field.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

bool answer_is_good(const Answer *answer)
{
    bool has_body = answer->document != NULL || answer->status == 204;
    return answer->status >= 200 && answer->status < 300 && has_body;
}

/* Refused and reversed are final states of a transfer; the other 422 say that the request is wrong,
 * or that its key stands for something else. */
static ExitCode unprocessable(const Json *problem)
{
    if (field_string(problem, "state")[0] != '\0')
        return EXIT_CODE_REFUSED;
    if (field_is(problem, "code", "idempotency-key-reused"))
        return EXIT_CODE_CONFLICT;
    return EXIT_CODE_USAGE;
}

ExitCode answer_exit(const Answer *answer)
{
    if (answer->interrupted)
        return EXIT_CODE_INTERRUPTED;
    if (answer_is_good(answer))
        return EXIT_CODE_DONE;
    if (answer->in_doubt || answer->document == NULL)
        return EXIT_CODE_UNAVAILABLE;
    switch (answer->status)
    {
    case 400:
    case 405:
    case 413:
    case 415:
        return EXIT_CODE_USAGE;
    case 401:
    case 403:
        return EXIT_CODE_AUTH;
    case 404:
        return EXIT_CODE_NOT_FOUND;
    case 409:
        return EXIT_CODE_CONFLICT;
    case 422:
        return unprocessable(answer->document);
    default:
        return EXIT_CODE_UNAVAILABLE;
    }
}

static void report_fields(const Json *problem)
{
    for (size_t i = 0; i < field_count(problem, "errors"); i++)
    {
        const Json *error = json_array_at(field_at(problem, "errors"), i);
        say_more("  %s: %s", field_string(error, "pointer"), field_string(error, "detail"));
    }
}

static void report_problem(const Answer *answer)
{
    const Json *problem = answer->document;
    const char *detail = field_string(problem, "detail");
    const char *code = field_string(problem, "code");
    say("%s (%s, request %s)", detail[0] != '\0' ? detail : field_string(problem, "title"), code,
        field_string(problem, "request_id"));
    report_fields(problem);
}

ExitCode answer_report(const Answer *answer)
{
    ExitCode code = answer_exit(answer);
    if (code == EXIT_CODE_DONE)
        return code;
    if (field_string(answer->document, "code")[0] != '\0')
        report_problem(answer);
    else if (answer->trouble[0] != '\0')
        say("%s", answer->trouble);
    else
        say("the answer (status %d) makes no sense", answer->status);
    if (answer->in_doubt)
        say("whether it has taken effect is not known: it may have, or may yet");
    return code;
}
