/*
 * Reconciliation: `reconcile run|list|show`. A pass runs in the server; `run` starts one, follows
 * it and turns its verdict into an exit code. Ctrl-C leaves the pass alone.
 */
#include "commands.h"
#include "context.h"
#include "field.h"
#include "list.h"
#include "progress.h"
#include "say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum
{
    PAUSE_MS = 200,
    TIMEOUT_MS = 6 * 60 * 60 * 1000,
};

static const Column brief_rows[] = {
    {"ID", "id", COLUMN_TEXT},
    {"STATE", "state", COLUMN_STATE},
    {"VERDICT", "verdict", COLUMN_STATE},
    {"FULL", "full", COLUMN_TEXT},
    {"ASKED", "asked_at", COLUMN_TIME},
    {"BY", "asked_by", COLUMN_TEXT},
    {"FINDINGS", "finding_count", COLUMN_NUMBER},
    {"IN FLIGHT", "in_flight_count", COLUMN_NUMBER},
    {"ACCOUNTS", "compared.accounts", COLUMN_NUMBER},
    {"ENTRIES", "compared.entries", COLUMN_NUMBER},
    {"", "compared.transfers", COLUMN_WIDE},
    {"", "compared.credits", COLUMN_WIDE},
    {"", "compared.batches", COLUMN_WIDE},
    {"", "started_at", COLUMN_WIDE},
    {"", "finished_at", COLUMN_WIDE},
    {"", "not_listed", COLUMN_WIDE},
};
static const Columns brief_columns = {brief_rows, ARRAY_LENGTH(brief_rows)};

static const Column finding_rows[] = {
    {"KIND", "kind", COLUMN_TEXT},
    {"SHARD", "shard", COLUMN_TEXT},
    {"ACCOUNT", "account", COLUMN_TEXT},
    {"TRANSFER", "transfer_id", COLUMN_TEXT},
    {"AMOUNT", "amount", COLUMN_NUMBER},
    {"", "currency", COLUMN_TEXT},
    {"WAITS FOR", "explained_by", COLUMN_LONG},
    {"DETAIL", "detail", COLUMN_LONG},
};
static const Columns finding_columns = {finding_rows, ARRAY_LENGTH(finding_rows)};

static const Column missed_rows[] = {
    {"NOT COMPARED", "shard", COLUMN_TEXT},
    {"REASON", "reason", COLUMN_LONG},
};
static const Columns missed_columns = {missed_rows, ARRAY_LENGTH(missed_rows)};

/* ---- showing -------------------------------------------------------------------------------- */

static void show_part(const Context *context, const Json *report, const char *name,
                      const Columns *columns)
{
    const Json *items = field_at(report, name);
    output_begin_list(context->output, columns);
    for (size_t i = 0; i < field_count(report, name); i++)
        output_item(context->output, json_array_at(items, i));
    output_end_list(context->output, NULL);
}

/* As csv it is the findings, which is what a sheet is for. */
static void show_report(const Context *context, const Json *report)
{
    if (output_form(context->output) == OUTPUT_CSV)
    {
        show_part(context, report, "findings", &finding_columns);
        return;
    }
    output_record(context->output, report);
    if (output_form(context->output) != OUTPUT_TABLE)
        return;
    if (field_count(report, "findings") > 0)
    {
        output_text(context->output, "");
        show_part(context, report, "findings", &finding_columns);
    }
    if (field_count(report, "not_compared") > 0)
    {
        output_text(context->output, "");
        show_part(context, report, "not_compared", &missed_columns);
    }
}

static bool is_over(const Json *report)
{
    return field_is(report, "state", "finished") || field_is(report, "state", "incomplete");
}

static ExitCode verdict_exit(const Json *report)
{
    if (field_is(report, "verdict", "broken"))
        return EXIT_CODE_PROBLEMS;
    return field_is(report, "state", "finished") ? EXIT_CODE_DONE : EXIT_CODE_UNAVAILABLE;
}

ExitCode run_reconcile_list(Context *context)
{
    List list = {.path = "/v1/reconciliations", .is_whole = true};
    return list_show(context, &list, &brief_columns);
}

ExitCode run_reconcile_show(Context *context)
{
    const char *id = context_operand(context, 0);
    Address address;
    Answer answer;
    if (!context_is_id(id, "reconciliation"))
        return EXIT_CODE_USAGE;
    context_path(&address, "/v1/reconciliations", id, "");
    context_get(context, address.text, &answer);
    ExitCode code = answer_report(&answer);
    if (code == EXIT_CODE_DONE)
    {
        show_report(context, answer.document);
        if (is_over(answer.document))
            code = verdict_exit(answer.document);
    }
    answer_done(&answer);
    return code;
}

/* ---- running -------------------------------------------------------------------------------- */

static ExitCode start(const Context *context, Answer *ret_answer)
{
    ServiceRequest request = {
        .method = "POST",
        .path = "/v1/reconciliations",
        .body = context_has(context, OPTION_FULL) ? "{\"full\":true}" : "{\"full\":false}",
        .timeout_ms = SERVICE_TIMEOUT_MS,
        .once = true,
    };
    service_call(context->service, &request, ret_answer);
    return answer_report(ret_answer);
}

static void tell_progress(Progress *progress, const Json *report)
{
    char text[PROGRESS_MAX];
    snprintf(text, sizeof text,
             "%s: %" PRId64 " accounts, %" PRId64 " entries, %" PRId64 " transfers, %" PRId64
             " batches",
             field_string(report, "state"), field_integer(report, "compared.accounts"),
             field_integer(report, "compared.entries"), field_integer(report, "compared.transfers"),
             field_integer(report, "compared.batches"));
    progress_tell(progress, text);
}

/* Until the pass is over, or the time. */
static ExitCode follow(const Context *context, const char *path, Answer *report)
{
    int64_t timeout_ms = context->timeout_ms > 0 ? context->timeout_ms : TIMEOUT_MS;
    uint64_t deadline_us = base_now_us() + (uint64_t)timeout_ms * 1000;
    Progress *progress = progress_new();
    ExitCode code = EXIT_CODE_DONE;
    while (code == EXIT_CODE_DONE && !is_over(report->document))
    {
        tell_progress(progress, report->document);
        if (interrupt_wait(context->interrupt, PAUSE_MS))
            code = EXIT_CODE_INTERRUPTED;
        else if (base_now_us() >= deadline_us)
            code = EXIT_CODE_UNAVAILABLE;
        else
        {
            answer_done(report);
            ServiceRequest request = {.path = path};
            service_call(context->service, &request, report);
            progress_pause(progress);
            code = answer_report(report);
        }
    }
    progress_free(progress);
    return code;
}

ExitCode run_reconcile_run(Context *context)
{
    Answer answer;
    Address address;
    ExitCode code = start(context, &answer);
    if (code == EXIT_CODE_DONE)
    {
        context_path(&address, "/v1/reconciliations", field_string(answer.document, "id"), "");
        code = follow(context, address.text, &answer);
        if (code == EXIT_CODE_DONE)
        {
            show_report(context, answer.document);
            code = verdict_exit(answer.document);
        }
        else
            say("the pass goes on; its report: giroctl reconcile show %s",
                strrchr(address.text, '/') + 1);
    }
    answer_done(&answer);
    return code;
}
