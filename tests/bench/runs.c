/* See runs.h. */
#include "runs.h"

#include "base/base.h"
#include "check.h"
#include "clock.h"
#include "limit.h"
#include "plain.h"
#include "traffic.h"
#include "usage.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum
{
    CLASSIC_CONNECTIONS = 16,
    OPEN_CONNECTIONS = 1000, /* of an open loop: enough that none is ever missing */
    TOUCHING_CONNECTIONS = 64,
    RESUME_SECONDS = 30,
};

static const double WARM_S = 0.4;

/* What a figure is besides its name; `what` is the part of the name behind the measurement's. A
 * reference that ends with a star means the other measurement's figure of the same `what`. */
typedef struct Says
{
    const char *what; /* NULL: the measurement's own figure */
    const char *unit;
    bool compared;
    bool detail;
} Says;

static void name_references(const Measure *measure, const Says *says, char *ret_text, size_t size)
{
    size_t length = 0;
    const char *from = says->compared && measure->references != NULL ? measure->references : "";
    for (; *from != '\0' && length + FIGURE_NAME_MAX < size; from++)
    {
        if (*from == '*')
            length += (size_t)snprintf(ret_text + length, size - length, "%s", says->what);
        else
            ret_text[length++] = *from;
    }
    ret_text[length] = '\0';
}

static void say(Bench *bench, const Measure *measure, const Says *says, double value)
{
    char name[FIGURE_NAME_MAX];
    char references[FIGURE_REFERENCES_MAX];
    snprintf(name, sizeof name, "%s%s%s", measure->name, says->what == NULL ? "" : ".",
             says->what == NULL ? "" : says->what);
    name_references(measure, says, references, sizeof references);
    FigureKind kind = {.name = name,
                       .unit = says->unit,
                       .load = measure->load,
                       .references = references,
                       .detail = says->detail};
    figures_add(bench->figures, &kind, bench->round, value);
}

static const World *world_of(const Bench *bench, const Measure *measure)
{
    return bench->worlds[measure->world];
}

static void say_rate(Bench *bench, const Measure *measure, double value)
{
    say(bench, measure, &(Says){.unit = "transfers/s", .compared = true}, value);
}

static void say_quantiles(Bench *bench, const Measure *measure, const Histogram *latency)
{
    static const char *const names[] = {"p50", "p95", "p99", "p99.9"};
    static const double parts[] = {0.5, 0.95, 0.99, 0.999};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        say(bench, measure, &(Says){.what = names[i], .unit = "ms", .compared = true},
            histogram_quantile(latency, parts[i]) / 1000);
}

/* Answers that are not final transfers spoil a measurement: they are told of. */
static void say_failures(Bench *bench, const Measure *measure, const TrafficResult *result)
{
    if (result->others == 0)
        return;
    fprintf(stderr, "\nbench: %s: %llu transfers were not posted, one of them with status %d\n",
            measure->name, (unsigned long long)result->others, result->other_status);
    say(bench, measure, &(Says){.what = "failed", .unit = "transfers"}, (double)result->others);
}

/* commit_delay is slept by whoever syncs for all, with the lock on the WAL held: as a slow disk. */
void run_measure(Bench *bench, const Measure *measure)
{
    const World *world = world_of(bench, measure);
    char delay[16];
    snprintf(delay, sizeof delay, "%d", measure->sync_delay_us);
    if (measure->sync_delay_us > 0)
    {
        world_set(world, "commit_siblings", "0");
        world_set(world, "commit_delay", delay);
    }
    measure->run(bench, measure);
    if (measure->sync_delay_us > 0)
    {
        world_set(world, "commit_delay", NULL);
        world_set(world, "commit_siblings", NULL);
    }
}

/* ---- without Giro ---------------------------------------------------------------------------- */

static PlainResult pgbench(const Bench *bench, const Measure *measure)
{
    const char *protocol = measure->protocol == NULL ? "simple" : measure->protocol;
    return plain_pgbench(&(PgbenchOptions){.world = world_of(bench, measure),
                                           .script = measure->script,
                                           .protocol = protocol,
                                           .clients = measure->connections,
                                           .seconds = bench->options.seconds});
}

void run_pgbench(Bench *bench, const Measure *measure)
{
    say_rate(bench, measure, pgbench(bench, measure).transfers_per_s);
}

static PlainResult classic(const Bench *bench, const Measure *measure)
{
    return plain_two_phase(world_of(bench, measure), CLASSIC_CONNECTIONS, bench->options.seconds);
}

void run_classic(Bench *bench, const Measure *measure)
{
    say_rate(bench, measure, classic(bench, measure).transfers_per_s);
}

void run_alone(Bench *bench, const Measure *measure)
{
    Histogram latency;
    plain_alone(world_of(bench, measure), bench->options.seconds, &latency);
    say_quantiles(bench, measure, &latency);
}

void run_limit(Bench *bench, const Measure *measure)
{
    LimitResult result = limit_run(&(LimitOptions){.world = world_of(bench, measure),
                                                   .mode = measure->mode,
                                                   .batch = measure->batch,
                                                   .in_flight = measure->in_flight,
                                                   .warm_s = WARM_S,
                                                   .seconds = bench->options.seconds});
    say_rate(bench, measure, result.transfers_per_s);
    say(bench, measure, &(Says){.what = "client", .unit = "cores", .detail = true},
        result.cpu_share);
}

/* ---- traffic --------------------------------------------------------------------------------- */

/* What one stream over HTTP gives. */
typedef struct Run
{
    TrafficResult result;
    double client_cores;
    double girod_cpu_s; /* per transfer */
} Run;

static int coordinator_of(const Measure *measure)
{
    return measure->coordinator == 0 ? 1 : measure->coordinator;
}

static Flow *flow_of(const Bench *bench, const Measure *measure)
{
    return flow_new(&(FlowOptions){
        .world = world_of(bench, measure),
        .shape = measure->shape,
        .shards = measure->shape == FLOW_CROSS ? 2 : 0,
        .mode = measure->mode == MODE_LOCAL ? "auto" : mode_name(measure->mode),
    });
}

/* rate: of transfers, 0 for a closed loop. */
static void run_traffic(Bench *bench, const Measure *measure, double rate, Run *ret_run)
{
    const World *world = world_of(bench, measure);
    Flow *flow = flow_of(bench, measure);
    TrafficOptions options = {
        .url = cluster_url(world_cluster(world), coordinator_of(measure)),
        .streams = {{.flow = flow,
                     .connections = rate > 0 ? OPEN_CONNECTIONS : measure->connections,
                     .batch = measure->batch == 0 ? 1 : measure->batch,
                     .rate = rate}},
        .stream_count = 1,
        .warm_s = WARM_S,
        .seconds = measure_length_s(bench, measure),
    };
    double cpu = usage_girod_cpu_s(world, coordinator_of(measure));
    ret_run->client_cores = traffic_run(&options, &ret_run->result);
    cpu = usage_girod_cpu_s(world, coordinator_of(measure)) - cpu;
    ret_run->girod_cpu_s = cpu / (double)ret_run->result.posted;
    flow_free(flow);
    if (ret_run->result.others > 0)
        world_settle(world);
    check(ret_run->result.posted > 0, "%s: nothing was posted", measure->name);
    say_failures(bench, measure, &ret_run->result);
}

static void say_details(Bench *bench, const Measure *measure, const Run *run)
{
    const Histogram *latency = &run->result.latency;
    say(bench, measure, &(Says){.what = "p50", .unit = "ms", .detail = true},
        histogram_quantile(latency, 0.5) / 1000);
    say(bench, measure, &(Says){.what = "p99", .unit = "ms", .detail = true},
        histogram_quantile(latency, 0.99) / 1000);
    say(bench, measure, &(Says){.what = "girod", .unit = "us CPU/transfer", .detail = true},
        run->girod_cpu_s * 1e6);
    say(bench, measure, &(Says){.what = "client", .unit = "cores", .detail = true},
        run->client_cores);
}

void run_http(Bench *bench, const Measure *measure)
{
    Run run;
    run_traffic(bench, measure, 0, &run);
    say_rate(bench, measure, run.result.transfers_per_s);
    say_details(bench, measure, &run);
}

void run_growth(Bench *bench, const Measure *measure)
{
    Run run;
    run_traffic(bench, measure, 0, &run);
    say(bench, measure, &(Says){.unit = "us/transfer", .compared = true},
        1e6 / run.result.transfers_per_s);
    say_details(bench, measure, &run);
}

void run_crowd(Bench *bench, const Measure *measure)
{
    run_http(bench, measure);
    say(bench, measure, &(Says){.what = "memory", .unit = "MiB peak"},
        usage_girod_peak_mib(world_of(bench, measure), coordinator_of(measure)));
}

void run_idle(Bench *bench, const Measure *measure)
{
    Run run;
    run_traffic(bench, measure, 0, &run);
    say_quantiles(bench, measure, &run.result.latency);
}

/* Of this round, so that a slow moment of the machine does not turn 80 % into overload. */
static double capacity(const Bench *bench, const Measure *measure)
{
    const Figure *figure = figures_find(bench->figures, measure->needs);
    check(figure != NULL && !isnan(figure->samples[bench->round]), "%s was not measured before %s",
          measure->needs, measure->name);
    return figure->samples[bench->round];
}

void run_latency(Bench *bench, const Measure *measure)
{
    Run run;
    double rate = measure->part * capacity(bench, measure);
    run_traffic(bench, measure, rate, &run);
    say_quantiles(bench, measure, &run.result.latency);
    say(bench, measure, &(Says){.what = "rate", .unit = "transfers/s", .detail = true},
        run.result.transfers_per_s);
    say(bench, measure, &(Says){.what = "client", .unit = "cores", .detail = true},
        run.client_cores);
}

/* ---- a paused shard -------------------------------------------------------------------------- */

static void pause_last_shard(void *context)
{
    const World *world = context;
    cluster_signal_postgres(world_cluster(world), world_shard_count(world), SIGSTOP);
}

/* And waits until transfers that touch it are posted again. */
static void resume_last_shard(const World *world, Flow *touching)
{
    TrafficResult result;
    double until = clock_now() + RESUME_SECONDS;
    TrafficOptions options = {
        .url = cluster_url(world_cluster(world), 1),
        .streams = {{.flow = touching, .connections = 1, .batch = 1}},
        .stream_count = 1,
        .seconds = 0.2,
    };
    cluster_signal_postgres(world_cluster(world), world_shard_count(world), SIGCONT);
    do
    {
        check(clock_now() < until, "the shard that was paused does not come back");
        traffic_run(&options, &result);
    } while (result.others > 0);
}

/* Nine tenths of the load stay away from the last shard and are measured, one tenth wants it. */
void run_bystanders(Bench *bench, const Measure *measure)
{
    const World *world = world_of(bench, measure);
    double rate = measure->part * capacity(bench, measure);
    TrafficResult results[2];
    Flow *flow = flow_of(bench, measure);
    Flow *touching = flow_new(
        &(FlowOptions){.world = world, .shape = FLOW_TOUCHING, .mode = mode_name(measure->mode)});
    TrafficOptions options = {
        .url = cluster_url(world_cluster(world), 1),
        .streams = {{.flow = flow, .connections = OPEN_CONNECTIONS, .batch = 1, .rate = 0.9 * rate},
                    {.flow = touching,
                     .connections = TOUCHING_CONNECTIONS,
                     .batch = 1,
                     .rate = 0.1 * rate,
                     .shed = true}},
        .stream_count = 2,
        .warm_s = WARM_S,
        .seconds = measure_length_s(bench, measure),
        .begin = measure->paused ? pause_last_shard : NULL,
        .context = (void *)world,
    };
    traffic_run(&options, results);
    if (measure->paused)
        resume_last_shard(world, touching);
    say_quantiles(bench, measure, &results[0].latency);
    if (measure->paused) /* accounts that the paused shard left in doubt: not a failure of ours */
        say(bench, measure, &(Says){.what = "in_doubt", .unit = "transfers"},
            (double)results[0].others);
    else
        say_failures(bench, measure, &results[0]);
    flow_free(flow);
    flow_free(touching);
}

/* ---- what it takes --------------------------------------------------------------------------- */

static void start_counting(const World *world, Usage *ret_before)
{
    usage_count_statements(world, true);
    usage_read(world, ret_before);
}

static void say_usage(Bench *bench, const Measure *measure, const Usage *before, double transfers)
{
    Usage usage;
    const World *world = world_of(bench, measure);
    usage_read(world, &usage);
    usage_count_statements(world, false);
    usage_subtract(&usage, before);
    say(bench, measure, &(Says){"postgres", "us CPU/transfer", true, false},
        usage.postgres_cpu_s * 1e6 / transfers);
    say(bench, measure, &(Says){"statements", "per transfer", true, false},
        usage.statements / transfers);
    say(bench, measure, &(Says){"wal_syncs", "per transfer", true, false},
        usage.wal_syncs / transfers);
    say(bench, measure, &(Says){"wal_bytes", "per transfer", true, false},
        usage.wal_bytes / transfers);
    if (usage.batches > 0)
        say(bench, measure, &(Says){.what = "batch", .unit = "transfers"},
            transfers / usage.batches);
}

void run_cost(Bench *bench, const Measure *measure)
{
    Usage before;
    Run run;
    start_counting(world_of(bench, measure), &before);
    run_traffic(bench, measure, 0, &run);
    say(bench, measure, &(Says){.what = "girod", .unit = "us CPU/transfer"}, run.girod_cpu_s * 1e6);
    say_usage(bench, measure, &before, (double)run.result.posted);
}

void run_cost_plain(Bench *bench, const Measure *measure)
{
    Usage before;
    start_counting(world_of(bench, measure), &before);
    PlainResult result =
        measure->script != NULL ? pgbench(bench, measure) : classic(bench, measure);
    say_usage(bench, measure, &before, result.transfers);
}
