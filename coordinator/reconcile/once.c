/* See once.h. */
#include "reconcile/once.h"

#include "reconcile/pass.h"

enum
{
    DIRECTORY_MS = 10000,
    DIRECTORY_LIMIT_MS = 15000, /* its refresh answers before */
    PROGRESS_MS = 500,
};

typedef struct Once
{
    Loop *loop;
    bool loaded;
    bool refreshed;
    bool done;
} Once;

static void on_refreshed(void *context, bool fresh)
{
    Once *once = context;
    once->loaded = fresh;
    once->refreshed = true;
}

static void on_done(void *context, Pass *pass)
{
    Once *once = context;
    (void)pass;
    once->done = true;
}

static void show(const Report *report, FILE *out)
{
    const ReportCounts *counts = report_counts(report);
    if (out == NULL)
        return;
    fprintf(out, "\r%lld accounts, %lld entries, %lld transfers, %lld batches, %lld findings",
            (long long)counts->accounts, (long long)counts->entries, (long long)counts->transfers,
            (long long)counts->batches, (long long)report_finding_count(report));
    fflush(out);
}

static Report *run(Once *once, Directory *directory, const OnceOptions *options)
{
    CallerOptions calls = pass_caller_options();
    Caller *caller = caller_new(once->loop, directory, &calls);
    PassOptions pass_options = {
        .loop = once->loop,
        .directory = directory,
        .caller = caller,
        .holder = options->instance,
        .full = options->full,
        .patience_ms = options->patience_ms,
        .done = on_done,
        .context = once,
    };
    Pass *pass = pass_new(&pass_options);
    while (!loop_run_until(once->loop, &once->done, PROGRESS_MS))
        show(pass_report(pass), options->progress);
    if (options->progress != NULL)
        fputs("\r\033[K", options->progress);
    Report *report = pass_take_report(pass);
    pass_free(pass);
    caller_free(caller);
    return report;
}

Report *reconcile_once(const OnceOptions *options, Error *error)
{
    Once once = {.loop = loop_new()};
    Directory *directory = directory_new(once.loop, options->directory);
    Report *report = NULL;
    directory_refresh(directory, DIRECTORY_MS, on_refreshed, &once);
    loop_run_until(once.loop, &once.refreshed, DIRECTORY_LIMIT_MS);
    if (once.loaded && directory_shard_count(directory) > 0)
        report = run(&once, directory, options);
    else
        error_set(error, ERROR_SETUP, "the directory cannot be read");
    directory_free(directory);
    loop_free(once.loop);
    return report;
}
