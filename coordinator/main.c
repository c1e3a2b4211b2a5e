/*
 * girod: wires the parts and runs the loop. Reading order: README.md in this folder.
 *
 * Exit codes: 0 done, 1 failed, 2 the command line is wrong; of reconcile also 8 incomplete and 9
 * broken.
 */
#include "api/api.h"
#include "base/log.h"
#include "base/supervisor.h"
#include "batcher/batcher.h"
#include "cli/options.h"
#include "cluster/config.h"
#include "cluster/init.h"
#include "cluster/readmit.h"
#include "protocol/failpoint.h"
#include "protocol/stage.h"
#include "reconcile/folder.h"
#include "reconcile/once.h"
#include "reconcile/reconciler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum
{
    CONNECT_MS = 3000,
    LOCK_TIMEOUT_MS = 1000, /* < statement < stage */
    STATEMENT_TIMEOUT_MS = 3000,
    STAGE_DEADLINE_MS = 5000,
    IDLE_IN_TRANSACTION_MS = 30000, /* > 10 s above a batch's remote stages: lock, prepare */
    SESSION_WAIT_MS = 2000,
    VISIBLE_WAIT_MS = 250,
    DIRECTORY_POLL_MS = 5000,
    INTAKE_PERIOD_MS = 500,
    SAMPLE_PERIOD_MS = 5000,
    ARRIVE_TIMEOUT_MS = 10000,
    DRAIN_MS = 20000, /* what is decided and cannot be applied by then is left as it is */
    TRANSFERS_MAX = 16384,
    BATCHES_MAX = 256,
    CONNECTIONS_MAX = 4096,
    EXIT_INCOMPLETE = 8,
    EXIT_BROKEN = 9,
};

/* A serving coordinator. */
typedef struct Service
{
    Loop *loop;
    Metrics *metrics;
    Directory *directory;
    Intake *intake;
    Batcher *batcher;
    Reconciler *reconciler;
    Folder *folder;
    Api *api;
    int drains_left; /* the four above */
    LoopTimer *drain_limit;
    LoopTimer *watchdog;
} Service;

/* While this comes round, the loop turns. */
static void feed_watchdog(void *context)
{
    Service *service = context;
    supervisor_tell("WATCHDOG=1");
    loop_timer_start(service->watchdog, supervisor_watchdog_ms());
}

static void drained(void *context)
{
    Service *service = context;
    if (--service->drains_left == 0)
        loop_stop(service->loop);
}

static void drain_took_too_long(void *context)
{
    Service *service = context;
    log_warn("still at work after %d ms of draining: a decided leg waits for its shard", DRAIN_MS);
    loop_stop(service->loop);
}

/* The first signal drains; a second one does not wait for what is in flight: recovery settles it.
 */
static void on_signal(void *context, int number)
{
    Service *service = context;
    if (service->drains_left > 0)
    {
        log_warn("second signal (%d): stopping without waiting", number);
        loop_stop(service->loop);
        return;
    }
    log_info("signal %d: draining", number);
    supervisor_tell("STOPPING=1");
    service->drains_left = 4;
    loop_timer_start(service->drain_limit, DRAIN_MS);
    api_drain(service->api, drained, service);
    batcher_drain(service->batcher, drained, service);
    reconciler_drain(service->reconciler, drained, service);
    folder_stop(service->folder, drained, service);
}

static DirectoryOptions directory_options(const Options *options, const Config *config)
{
    return (DirectoryOptions){
        .dsn = config->directory.dsn,
        .session =
            {
                .instance = options->instance,
                .sessions_max = options->sessions,
                .connect_deadline_ms = CONNECT_MS,
                .lock_timeout_ms = LOCK_TIMEOUT_MS,
                .statement_timeout_ms = STATEMENT_TIMEOUT_MS,
                .idle_in_transaction_timeout_ms = IDLE_IN_TRANSACTION_MS,
            },
        .poll_ms = DIRECTORY_POLL_MS,
    };
}

static void start_parts(Service *service, const Options *options, const Config *config)
{
    DirectoryOptions directory = directory_options(options, config);
    IntakeOptions intake = {
        .dsn = config->directory.dsn,
        .period_ms = INTAKE_PERIOD_MS,
        .deadline_ms = CONNECT_MS,
    };
    service->intake = intake_new(service->loop, &intake);
    BatcherOptions batcher = {
        .instance = options->instance,
        .metrics = service->metrics,
        .intake = service->intake,
        .transfers_max = TRANSFERS_MAX,
        .batches_max = BATCHES_MAX,
        .batch_transfers = (size_t)options->batch,
        .stage_deadline_ms = STAGE_DEADLINE_MS,
        .session_wait_ms = SESSION_WAIT_MS,
        .visible_wait_ms = VISIBLE_WAIT_MS,
    };
    service->directory = directory_new(service->loop, &directory);
    service->batcher = batcher_new(service->loop, service->directory, &batcher);
    ReconcilerOptions reconciler = {
        .loop = service->loop,
        .directory = service->directory,
        .metrics = service->metrics,
        .instance = options->instance,
        .every_ms = (uint64_t)options->reconcile_every_s * 1000,
    };
    service->reconciler = reconciler_new(&reconciler);
    service->folder = folder_new(service->loop, service->directory);
}

static bool start_api(Service *service, const Options *options, Error *error)
{
    ApiOptions api = {
        .loop = service->loop,
        .metrics = service->metrics,
        .directory = service->directory,
        .batcher = service->batcher,
        .reconciler = service->reconciler,
        .intake = service->intake,
        .address = {.host = options->host, .port = options->port},
        .connections_max = CONNECTIONS_MAX,
        .arrive_timeout_ms = ARRIVE_TIMEOUT_MS,
        .call_deadline_ms = STAGE_DEADLINE_MS,
        .sample_period_ms = SAMPLE_PERIOD_MS,
    };
    service->api = api_new(&api, error);
    return service->api != NULL;
}

static bool serve(const Options *options, const Config *config, Error *error)
{
    Service service = {.loop = loop_new(), .metrics = metrics_new()};
    if (options->enable_failpoints)
        failpoint_enable();
    service.drain_limit = loop_timer_new(service.loop, drain_took_too_long, &service);
    service.watchdog = loop_timer_new(service.loop, feed_watchdog, &service);
    start_parts(&service, options, config);
    bool started = start_api(&service, options, error);
    if (started)
    {
        loop_on_signal(service.loop, SIGTERM, on_signal, &service);
        loop_on_signal(service.loop, SIGINT, on_signal, &service);
        log_info("instance=%s cluster=%s listening on %s:%u", options->instance, config->cluster,
                 options->host, api_port(service.api));
        supervisor_tell("READY=1");
        if (supervisor_watchdog_ms() > 0)
            feed_watchdog(&service);
        loop_run(service.loop);
    }
    if (service.drains_left > 0)
        return true; /* stopped in the middle: the system takes the memory back */
    loop_timer_free(service.drain_limit);
    loop_timer_free(service.watchdog);
    api_free(service.api);
    folder_free(service.folder);
    reconciler_free(service.reconciler);
    batcher_free(service.batcher);
    intake_free(service.intake);
    directory_free(service.directory);
    metrics_free(service.metrics);
    loop_free(service.loop);
    return started;
}

static bool init(const Options *options, const Config *config, Error *error)
{
    Loop *loop = loop_new();
    InitOptions init_options = {.allow_fsync_off = options->allow_fsync_off, .report = stdout};
    bool done = init_cluster(loop, config, &init_options, error);
    loop_free(loop);
    return done;
}

static bool readmit(const Options *options, const Config *config, Error *error)
{
    Loop *loop = loop_new();
    ReadmitOptions readmit_options = {options->shard, options->reason, stdout};
    bool done = readmit_shard(loop, config, &readmit_options, error);
    loop_free(loop);
    return done;
}

static void print_json(const Report *report)
{
    JsonWriter *writer = json_writer_new(REPORT_DOCUMENT_MAX);
    json_begin_object(writer, NULL);
    report_write_json(report, writer, false);
    json_end_object(writer);
    char *text = json_writer_take(writer, NULL);
    ASSERT(text != NULL);
    puts(text);
    free(text);
}

/* Its own exit codes; 0 with false: there is no report. */
static bool reconcile(const Options *options, const Config *config, int *ret_status, Error *error)
{
    DirectoryOptions directory = directory_options(options, config);
    OnceOptions once = {
        .directory = &directory,
        .instance = options->instance,
        .full = options->full,
        .patience_ms = (uint64_t)options->patience_s * 1000,
        .progress = isatty(STDERR_FILENO) ? stderr : NULL,
    };
    Report *report = reconcile_once(&once, error);
    if (report == NULL)
        return false;
    if (options->json)
        print_json(report);
    else
        report_print(report, stdout);
    if (report_verdict(report) == VERDICT_BROKEN)
        *ret_status = EXIT_BROKEN;
    else if (!report_is_complete(report))
        *ret_status = EXIT_INCOMPLETE;
    report_free(report);
    return true;
}

static bool run_command(const Options *options, const Config *config, int *ret_status, Error *error)
{
    switch (options->command)
    {
    case COMMAND_INIT:
        return init(options, config, error);
    case COMMAND_READMIT:
        return readmit(options, config, error);
    case COMMAND_RECONCILE:
        return reconcile(options, config, ret_status, error);
    default:
        return serve(options, config, error);
    }
}

static bool run(const Options *options, int *ret_status, Error *error)
{
    switch (options->command)
    {
    case COMMAND_HELP:
        options_print_help(stdout);
        return true;
    case COMMAND_VERSION:
        puts("girod " GIRO_VERSION);
        return true;
    case COMMAND_PRINT_STAGES:
        stage_print(stdout);
        return true;
    case COMMAND_SERVE:
    case COMMAND_INIT:
    case COMMAND_READMIT:
    case COMMAND_RECONCILE:
        break;
    }
    Config *config = config_read(options->config, error);
    if (config == NULL)
        return false;
    bool done = run_command(options, config, ret_status, error);
    config_free(config);
    return done;
}

int main(int argc, char **argv)
{
    Options options;
    Error error = {0};
    route_library_init();
    signal(SIGPIPE, SIG_IGN); /* a peer that closes first ends a connection, not the process */
    if (!options_parse(argc, argv, &options, &error))
    {
        fprintf(stderr, "girod: %s\n", error.text);
        return 2;
    }
    log_set_level(options.log_level);
    log_set_format(options.log_format);
    if (options.command == COMMAND_RECONCILE && options.log_level > LOG_WARN)
        log_set_level(LOG_WARN); /* what it says is the report */
    int status = 0;
    if (!run(&options, &status, &error))
    {
        fprintf(stderr, "girod: %s\n", error.text);
        return 1;
    }
    return status;
}
