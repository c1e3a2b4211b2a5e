/* See reconciler.h. */
#include "reconcile/reconciler.h"

#include "base/log.h"
#include "reconcile/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    FIRST_LOOK_MS = 5000, /* after the start */
    LOOK_AGAIN_MS = 5000, /* at most between two looks whether a pass is due */
    LOOKS = 10,           /* … of that part of the period, if it is shorter */
    LOOK_MIN_MS = 200,
};

static const MetricFamily passes_family = {
    .name = "giro_reconciliations_total",
    .help = "Passes of reconciliation that ended here, by result.",
    .type = METRIC_COUNTER,
    .labels = {"result"},
};

static const MetricFamily findings_family = {
    .name = "giro_reconciliation_findings_total",
    .help = "What these passes found to be wrong; each pass counts what still is.",
    .type = METRIC_COUNTER,
};

/* A run and its report, which is the pass's own while it goes on. */
typedef struct Kept
{
    Run run;
    Report *owned;
} Kept;

struct Reconciler
{
    ReconcilerOptions options;
    Caller *caller;
    LoopTimer *look;
    LoopTimer *turn;            /* starts a request that waits, in a later turn */
    Kept kept[RECONCILER_KEPT]; /* the oldest first */
    size_t count;
    Pass *pass;
    bool pass_is_scheduled;
    Counter *passes[VERDICT_BROKEN + 1];
    Counter *findings;
    bool draining;
    void (*drained)(void *context);
    void *drained_context;
};

/* ---- runs that are kept --------------------------------------------------------------------- */

/* The oldest one goes; the running one is among the newest. */
static Kept *keep(Reconciler *reconciler, bool full, bool by_schedule)
{
    uint8_t id[16];
    if (reconciler->count == RECONCILER_KEPT)
    {
        report_free(reconciler->kept[0].owned);
        memmove(&reconciler->kept[0], &reconciler->kept[1],
                (RECONCILER_KEPT - 1) * sizeof reconciler->kept[0]);
        reconciler->count--;
    }
    Kept *kept = &reconciler->kept[reconciler->count++];
    *kept = (Kept){.run = {.wants_full = full,
                           .by_schedule = by_schedule,
                           .asked_at_us = base_wall_clock_us()}};
    uuid_random(id);
    uuid_format(id, kept->run.id);
    return kept;
}

/* The first that waits for its turn. */
static Kept *waiting(Reconciler *reconciler)
{
    for (size_t i = 0; i < reconciler->count; i++)
    {
        if (reconciler->kept[i].run.report == NULL)
            return &reconciler->kept[i];
    }
    return NULL;
}

static Kept *running(Reconciler *reconciler)
{
    for (size_t i = 0; i < reconciler->count; i++)
    {
        Kept *kept = &reconciler->kept[i];
        if (kept->run.report != NULL && kept->owned == NULL)
            return kept;
    }
    return NULL;
}

size_t reconciler_count(const Reconciler *reconciler)
{
    return reconciler->count;
}

Run reconciler_run(const Reconciler *reconciler, size_t i)
{
    ASSERT(i < reconciler->count);
    return reconciler->kept[reconciler->count - 1 - i].run;
}

bool reconciler_find(const Reconciler *reconciler, const char *id, Run *ret_run)
{
    for (size_t i = 0; i < reconciler->count; i++)
    {
        if (strcmp(reconciler->kept[i].run.id, id) != 0)
            continue;
        *ret_run = reconciler->kept[i].run;
        return true;
    }
    return false;
}

/* ---- passes --------------------------------------------------------------------------------- */

static void log_result(const Report *report)
{
    const ReportCounts *counts = report_counts(report);
    Verdict verdict = report_verdict(report);
    LogLevel level = verdict == VERDICT_BROKEN ? LOG_ERROR
                     : verdict == VERDICT_NONE ? LOG_WARN
                                               : LOG_INFO;
    log_line(level,
             "reconciliation %s: %s, findings=%lld in_flight=%lld accounts=%lld entries=%lld"
             " transfers=%lld",
             report_is_full(report) ? "full" : "increment", report_result(report),
             (long long)report_finding_count(report), (long long)report_in_flight_count(report),
             (long long)counts->accounts, (long long)counts->entries, (long long)counts->transfers);
}

static void count_result(Reconciler *reconciler, const Report *report)
{
    counter_add(reconciler->passes[report_verdict(report)], 1);
    counter_add(reconciler->findings, (uint64_t)report_finding_count(report));
}

static void make_counters(Reconciler *reconciler)
{
    static const char *const results[] = {
        [VERDICT_NONE] = "incomplete",
        [VERDICT_BALANCED] = "balanced",
        [VERDICT_EXPLAINED] = "explained",
        [VERDICT_BROKEN] = "broken",
    };
    Metrics *metrics = reconciler->options.metrics;
    for (size_t i = 0; i < ARRAY_LENGTH(results); i++)
        reconciler->passes[i] = metrics_counter(metrics, &passes_family, results[i], NULL);
    reconciler->findings = metrics_counter(metrics, &findings_family, NULL, NULL);
}

static void look_again(Reconciler *reconciler)
{
    uint64_t after_ms = reconciler->options.every_ms / LOOKS;
    if (after_ms > LOOK_AGAIN_MS)
        after_ms = LOOK_AGAIN_MS;
    if (after_ms < LOOK_MIN_MS)
        after_ms = LOOK_MIN_MS;
    if (reconciler->options.every_ms > 0 && !reconciler->draining)
        loop_timer_start(reconciler->look, after_ms);
}

static void done(void *context, Pass *pass)
{
    Reconciler *reconciler = context;
    if (pass_was_granted(pass))
    {
        Kept *kept = running(reconciler);
        if (kept == NULL)
            kept = keep(reconciler, report_is_full(pass_report(pass)), true);
        kept->owned = pass_take_report(pass);
        kept->run.report = kept->owned;
        log_result(kept->owned);
        report_log_findings(kept->owned);
        count_result(reconciler, kept->owned);
    }
    pass_free(pass);
    reconciler->pass = NULL;
    look_again(reconciler);
    if (reconciler->draining)
        reconciler->drained(reconciler->drained_context);
    else
        loop_timer_start(reconciler->turn, 0);
}

static void start(Reconciler *reconciler, Kept *kept)
{
    PassOptions options = {
        .loop = reconciler->options.loop,
        .directory = reconciler->options.directory,
        .caller = reconciler->caller,
        .holder = reconciler->options.instance,
        .full = kept != NULL && kept->run.wants_full,
        .rests = true,
        .patience_ms = PASS_PATIENCE_MS,
        .every_ms = kept == NULL ? reconciler->options.every_ms : 0,
        .done = done,
        .context = reconciler,
    };
    reconciler->pass = pass_new(&options);
    if (kept != NULL)
        kept->run.report = pass_report(reconciler->pass);
}

static bool can_start(const Reconciler *reconciler)
{
    return reconciler->pass == NULL && !reconciler->draining &&
           directory_shard_count(reconciler->options.directory) > 0;
}

static void on_turn(void *context)
{
    Reconciler *reconciler = context;
    Kept *kept = waiting(reconciler);
    if (kept != NULL && can_start(reconciler))
        start(reconciler, kept);
}

static void on_look(void *context)
{
    Reconciler *reconciler = context;
    if (can_start(reconciler))
        start(reconciler, NULL);
    else
        look_again(reconciler);
}

bool reconciler_request(Reconciler *reconciler, bool full, Run *ret_run)
{
    size_t waiting_count = 0;
    for (size_t i = 0; i < reconciler->count; i++)
        waiting_count += reconciler->kept[i].run.report == NULL ? 1 : 0;
    if (reconciler->draining || waiting_count == RECONCILER_WAITING_MAX ||
        directory_shard_count(reconciler->options.directory) == 0)
        return false;
    *ret_run = keep(reconciler, full, false)->run;
    loop_timer_start(reconciler->turn, 0);
    return true;
}

/* ---- life ----------------------------------------------------------------------------------- */

Reconciler *reconciler_new(const ReconcilerOptions *options)
{
    Reconciler *reconciler = base_calloc(1, sizeof *reconciler);
    CallerOptions calls = pass_caller_options();
    reconciler->options = *options;
    make_counters(reconciler);
    reconciler->caller = caller_new(options->loop, options->directory, &calls);
    reconciler->look = loop_timer_new(options->loop, on_look, reconciler);
    reconciler->turn = loop_timer_new(options->loop, on_turn, reconciler);
    if (options->every_ms > 0)
        loop_timer_start(reconciler->look, FIRST_LOOK_MS);
    return reconciler;
}

void reconciler_free(Reconciler *reconciler)
{
    if (reconciler == NULL)
        return;
    ASSERT(reconciler->pass == NULL);
    for (size_t i = 0; i < reconciler->count; i++)
        report_free(reconciler->kept[i].owned);
    loop_timer_free(reconciler->look);
    loop_timer_free(reconciler->turn);
    caller_free(reconciler->caller);
    free(reconciler);
}

void reconciler_drain(Reconciler *reconciler, void (*drained)(void *context), void *context)
{
    reconciler->draining = true;
    reconciler->drained = drained;
    reconciler->drained_context = context;
    loop_timer_stop(reconciler->look);
    loop_timer_stop(reconciler->turn);
    if (reconciler->pass != NULL)
        pass_stop(reconciler->pass);
    else
        drained(context);
}

void run_write_json(const Run *run, JsonWriter *writer, bool brief)
{
    json_begin_object(writer, NULL);
    json_put_string(writer, "id", run->id);
    json_put_timestamp(writer, "asked_at", run->asked_at_us);
    json_put_string(writer, "asked_by", run->by_schedule ? "schedule" : "request");
    if (run->report != NULL)
        report_write_json(run->report, writer, brief);
    else
    {
        json_put_string(writer, "state", "waiting");
        json_put_null(writer, "verdict");
        json_put_bool(writer, "full", run->wants_full);
    }
    json_end_object(writer);
}
