/*
 * The audit: `audit list|verify`.
 */
#include "commands.h"
#include "context.h"
#include "field.h"
#include "list.h"
#include "progress.h"
#include "say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const Column audit_rows[] = {
    {"SEQ", "seq", COLUMN_NUMBER},     {"AT", "at", COLUMN_TIME},
    {"WHO", "name", COLUMN_TEXT},      {"ROLE", "role", COLUMN_TEXT},
    {"EVENT", "event", COLUMN_STATE},  {"OPERATION", "operation", COLUMN_TEXT},
    {"OBJECT", "object", COLUMN_TEXT}, {"STATUS", "status", COLUMN_NUMBER},
    {"REASON", "reason", COLUMN_LONG}, {"", "about", COLUMN_WIDE},
    {"", "token_id", COLUMN_WIDE},     {"", "peer", COLUMN_WIDE},
    {"", "coordinator", COLUMN_WIDE},  {"", "request_id", COLUMN_WIDE},
    {"", "request", COLUMN_WIDE},      {"", "before", COLUMN_WIDE},
    {"", "after", COLUMN_WIDE},        {"", "code", COLUMN_WIDE},
    {"", "times", COLUMN_WIDE},        {"", "hash", COLUMN_WIDE},
};
static const Columns columns = {audit_rows, ARRAY_LENGTH(audit_rows)};

ExitCode run_audit_list(Context *context)
{
    List list = {.path = "/v1/audit"};
    return list_show(context, &list, &columns);
}

/* ---- the chain ------------------------------------------------------------------------------ */

/* Each answer checks a part of the chain and says where the next one begins. */
static ExitCode check_part(const Context *context, char **cursor, Answer *ret_answer)
{
    Address address;
    address_begin(&address, "/v1/audit/verification");
    address_query(&address, "cursor", *cursor);
    context_get(context, address.text, ret_answer);
    ExitCode code = answer_report(ret_answer);
    const char *next = field_string(ret_answer->document, "next_cursor");
    free(*cursor);
    *cursor = code == EXIT_CODE_DONE && next[0] != '\0' ? base_strdup(next) : NULL;
    return code;
}

static void tell_progress(Progress *progress, int64_t checked)
{
    char text[PROGRESS_MAX];
    snprintf(text, sizeof text, "%" PRId64 " rows", checked);
    progress_tell(progress, text);
}

static ExitCode tell(const Context *context, const Json *verdict, int64_t checked)
{
    output_record(context->output, verdict);
    if (!field_is(verdict, "verdict", "broken"))
    {
        say("%" PRId64 " rows, each as it was written", checked);
        return EXIT_CODE_DONE;
    }
    say("the chain breaks at row %" PRId64 ": %s", field_integer(verdict, "broken_seq"),
        field_string(verdict, "broken_reason"));
    return EXIT_CODE_PROBLEMS;
}

ExitCode run_audit_verify(Context *context)
{
    char *cursor = NULL;
    int64_t checked = 0;
    ExitCode code;
    Answer answer = {0};
    Progress *progress = progress_new();
    do
    {
        answer_done(&answer);
        code = check_part(context, &cursor, &answer);
        checked += field_integer(answer.document, "checked");
        if (cursor != NULL)
            tell_progress(progress, checked);
    } while (cursor != NULL && !interrupt_came(context->interrupt));
    progress_free(progress);
    if (cursor != NULL)
        code = EXIT_CODE_INTERRUPTED;
    if (code == EXIT_CODE_DONE)
        code = tell(context, answer.document, checked);
    free(cursor);
    answer_done(&answer);
    return code;
}
