/* See measures.h. */
#include "measures.h"

#include "base/base.h"
#include "runs.h"

#include <string.h>

static const char against_2pc[] = "ref.plain ref.classic limit.2pc limit.2pc.b128";
static const char against_saga[] = "ref.plain ref.classic limit.saga limit.saga.b128";
static const char against_local[] = "ref.function ref.plain";

// clang-format off
static const Measure measures[] = {
    /* what it is compared with */
    {"ref.plain", run_pgbench, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL, .connections = 16,
     .script = "plain.pgbench",
     .load = "pgbench, one shard, 16 clients, one SQL statement at a time"},
    {"ref.plain.prepared", run_pgbench, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL, .connections = 16,
     .script = "plain.pgbench", .protocol = "prepared", .references = "ref.plain",
     .load = "the same, statements prepared"},
    {"ref.function", run_pgbench, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL, .connections = 16,
     .script = "function.pgbench", .references = "ref.plain",
     .load = "pgbench, one shard, 16 clients, one function call per transfer"},
    {"ref.classic", run_classic, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL, .references = "ref.plain",
     .load = "two-phase commit over libpq, 16 pairs of connections, one transfer at a time"},

    /* what the shards can take */
    {"limit.2pc", run_limit, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .batch = 1000, .in_flight = 2,
     .references = "ref.plain ref.classic",
     .load = "participant functions over libpq, batches of 1,000, 2 per direction"},
    {"limit.saga", run_limit, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .batch = 1000, .in_flight = 2,
     .references = "ref.plain ref.classic", .load = "the same, as sagas"},
    {"limit.2pc.b128", run_limit, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .batch = 128, .in_flight = 2,
     .references = "limit.2pc ref.plain",
     .load = "batches of 128: the most that 256 connections, half in each direction, can fill"},
    {"limit.saga.b128", run_limit, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .batch = 128, .in_flight = 2,
     .references = "limit.saga ref.plain", .load = "the same, as sagas"},

    /* Giro over HTTP */
    {"local.c1", run_http, WORLD_MAIN, FLOW_LOCAL, MODE_LOCAL, .connections = 1,
     .references = against_local, .load = "HTTP, 1 connection"},
    {"local.c16", run_http, WORLD_MAIN, FLOW_LOCAL, MODE_LOCAL, .connections = 16,
     .references = against_local, .load = "HTTP, 16 connections"},
    {"local.c64", run_http, WORLD_MAIN, FLOW_LOCAL, MODE_LOCAL, .connections = 64,
     .references = against_local, .load = "HTTP, 64 connections"},
    {"local.c256", run_http, WORLD_MAIN, FLOW_LOCAL, MODE_LOCAL, .connections = 256,
     .references = against_local, .load = "HTTP, 256 connections"},
    {"local.b100", run_http, WORLD_MAIN, FLOW_LOCAL, MODE_LOCAL, .connections = 16, .batch = 100,
     .references = against_local, .load = "HTTP, 16 connections, batches of 100"},
    {"local.b1000", run_http, WORLD_MAIN, FLOW_LOCAL, MODE_LOCAL, .connections = 6, .batch = 1000,
     .references = against_local, .load = "HTTP, 6 connections, batches of 1,000"},
    {"2pc.c1", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 1,
     .references = against_2pc, .load = "HTTP, 1 connection"},
    {"2pc.c16", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 16,
     .references = against_2pc, .load = "HTTP, 16 connections"},
    {"2pc.c64", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 64,
     .references = against_2pc, .load = "HTTP, 64 connections"},
    {"2pc.c256", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 256,
     .references = against_2pc, .load = "HTTP, 256 connections"},
    {"2pc.b100", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 16, .batch = 100,
     .references = against_2pc, .load = "HTTP, 16 connections, batches of 100"},
    {"2pc.b1000", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 6, .batch = 1000,
     .references = against_2pc, .load = "HTTP, 6 connections, batches of 1,000"},
    {"saga.c1", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 1,
     .references = against_saga, .load = "HTTP, 1 connection, final answers"},
    {"saga.c16", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 16,
     .references = against_saga, .load = "HTTP, 16 connections, final answers"},
    {"saga.c64", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 64,
     .references = against_saga, .load = "HTTP, 64 connections, final answers"},
    {"saga.c256", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 256,
     .references = against_saga, .load = "HTTP, 256 connections, final answers"},
    {"saga.b100", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 16, .batch = 100,
     .references = against_saga, .load = "HTTP, 16 connections, batches of 100, final answers"},
    {"saga.b1000", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 6, .batch = 1000,
     .references = against_saga, .load = "HTTP, 6 connections, batches of 1,000, final answers"},

    /* one account in all transfers */
    {"hot.credit.2pc", run_http, WORLD_MAIN, FLOW_HOT_CREDIT, MODE_2PC, .connections = 256,
     .references = "2pc.c256", .load = "all credit one account"},
    {"hot.debit.2pc", run_http, WORLD_MAIN, FLOW_HOT_DEBIT, MODE_2PC, .connections = 256,
     .references = "2pc.c256", .load = "all debit one account"},
    {"hot.credit.saga", run_http, WORLD_MAIN, FLOW_HOT_CREDIT, MODE_SAGA, .connections = 256,
     .references = "saga.c256", .load = "all credit one account"},
    {"hot.debit.saga", run_http, WORLD_MAIN, FLOW_HOT_DEBIT, MODE_SAGA, .connections = 256,
     .references = "saga.c256", .load = "all debit one account"},

    /* growth: of data, of connections */
    {"growth.small.2pc", run_growth, WORLD_SMALL, FLOW_CROSS, MODE_2PC, .connections = 256,
     .load = "a tenth of the accounts, no history, 256 connections"},
    {"growth.main.2pc", run_growth, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 256,
     .references = "growth.small.2pc", .load = "the world of all other lines, 256 connections"},
    {"growth.wide.2pc", run_growth, WORLD_WIDE, FLOW_CROSS, MODE_2PC, .connections = 256,
     .references = "growth.small.2pc", .load = "10 times the accounts, 256 connections"},
    {"growth.large.2pc", run_growth, WORLD_LARGE, FLOW_CROSS, MODE_2PC, .connections = 256,
     .references = "growth.small.2pc",
     .load = "10 times the accounts, 50 times the history, 256 connections"},
    {"growth.small.saga", run_growth, WORLD_SMALL, FLOW_CROSS, MODE_SAGA, .connections = 256,
     .load = "a tenth of the accounts, no history, 256 connections"},
    {"growth.large.saga", run_growth, WORLD_LARGE, FLOW_CROSS, MODE_SAGA, .connections = 256,
     .references = "growth.small.saga",
     .load = "10 times the accounts, 50 times the history, 256 connections"},
    {"crowd.c10", run_crowd, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 10, .coordinator = 2,
     .references = "2pc.c256", .load = "HTTP, 10 connections, 2pc, a girod of its own"},
    {"crowd.c1000", run_crowd, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 1000,
     .coordinator = 2, .references = "2pc.c256",
     .load = "HTTP, 1,000 connections, 2pc, a girod of its own"},

    /* latency */
    {"plain.idle", run_alone, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL,
     .load = "one local transfer at a time over libpq, one SQL statement at a time"},
    {"2pc.idle", run_idle, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 1,
     .references = "plain.idle.p50", .load = "one transfer at a time"},
    {"saga.idle", run_idle, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 1,
     .references = "plain.idle.p50", .load = "one transfer at a time"},
    {"2pc.load10", run_latency, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .part = 0.1, .needs = "2pc.c256",
     .references = "2pc.idle.p50", .load = "open loop at 10 % of 2pc.c256"},
    {"2pc.load50", run_latency, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .part = 0.5, .needs = "2pc.c256",
     .references = "2pc.idle.p50", .load = "open loop at 50 % of 2pc.c256"},
    {"2pc.load80", run_latency, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .part = 0.8, .needs = "2pc.c256",
     .references = "2pc.idle.p50", .load = "open loop at 80 % of 2pc.c256"},
    {"saga.load50", run_latency, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .part = 0.5,
     .needs = "saga.c256", .references = "saga.idle.p50",
     .load = "open loop at 50 % of saga.c256"},

    /* what it takes */
    {"cost.plain", run_cost_plain, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL, .connections = 16,
     .script = "plain.pgbench", .load = "like ref.plain"},
    {"cost.classic", run_cost_plain, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL,
     .references = "cost.plain.*", .load = "like ref.classic"},
    {"cost.local", run_cost, WORLD_MAIN, FLOW_LOCAL, MODE_LOCAL, .connections = 256,
     .references = "cost.plain.*", .load = "like local.c256"},
    {"cost.2pc", run_cost, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 256,
     .references = "cost.plain.*", .load = "like 2pc.c256"},
    {"cost.saga", run_cost, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 256,
     .references = "cost.plain.*", .load = "like saga.c256"},

    /* slow disks: every sync of the WAL takes so much longer */
    {"slow1.plain", run_pgbench, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL, .connections = 16,
     .sync_delay_us = 1000, .script = "plain.pgbench", .references = "ref.plain",
     .load = "like ref.plain, a sync of the WAL takes 1 ms longer"},
    {"slow1.2pc", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 256,
     .sync_delay_us = 1000, .references = "2pc.c256 slow1.plain",
     .load = "like 2pc.c256, a sync takes 1 ms longer"},
    {"slow1.saga", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 256,
     .sync_delay_us = 1000, .references = "saga.c256 slow1.plain",
     .load = "like saga.c256, a sync takes 1 ms longer"},
    {"slow5.plain", run_pgbench, WORLD_MAIN, FLOW_CROSS, MODE_LOCAL, .connections = 16,
     .sync_delay_us = 5000, .script = "plain.pgbench", .references = "ref.plain",
     .load = "like ref.plain, a sync of the WAL takes 5 ms longer"},
    {"slow5.2pc", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 256,
     .sync_delay_us = 5000, .references = "2pc.c256 slow5.plain",
     .load = "like 2pc.c256, a sync takes 5 ms longer"},
    {"slow5.2pc.c1000", run_http, WORLD_MAIN, FLOW_CROSS, MODE_2PC, .connections = 1000,
     .sync_delay_us = 5000, .references = "2pc.c256 slow5.plain",
     .load = "the same, 1,000 connections"},
    {"slow5.saga", run_http, WORLD_MAIN, FLOW_CROSS, MODE_SAGA, .connections = 256,
     .sync_delay_us = 5000, .references = "saga.c256 slow5.plain",
     .load = "like saga.c256, a sync takes 5 ms longer"},

    /* the weather comes last: it disturbs */
    {"three.c256", run_http, WORLD_THREE, FLOW_CROSS, MODE_2PC, .connections = 256,
     .load = "between 2 of 3 shards, 256 connections"},
    {"bystanders.before", run_bystanders, WORLD_THREE, FLOW_CROSS, MODE_2PC, .part = 0.5,
     .needs = "three.c256",
     .load = "open loop at 50 % of three.c256, a tenth wants the third shard"},
    {"bystanders.paused", run_bystanders, WORLD_THREE, FLOW_CROSS, MODE_2PC, .part = 0.5,
     .paused = true, .needs = "three.c256", .references = "bystanders.before.*",
     .load = "the same, the third shard paused"},
};
// clang-format on

size_t measure_count(void)
{
    return ARRAY_LENGTH(measures);
}

const Measure *measure_at(size_t place)
{
    ASSERT(place < measure_count());
    return &measures[place];
}

/* The longest name that the figure's begins with. */
const Measure *measure_of_figure(const char *figure)
{
    const Measure *best = NULL;
    for (size_t i = 0; i < measure_count(); i++)
    {
        size_t length = strlen(measures[i].name);
        bool fits = strncmp(figure, measures[i].name, length) == 0 &&
                    (figure[length] == '\0' || figure[length] == '.');
        if (fits && (best == NULL || strlen(best->name) < length))
            best = &measures[i];
    }
    return best;
}

double measure_length_s(const Bench *bench, const Measure *measure)
{
    double seconds = bench->options.seconds;
    if (measure->run == run_bystanders)
        return seconds > PAUSE_SECONDS_MIN ? seconds : PAUSE_SECONDS_MIN;
    return measure->run == run_latency ? 2 * seconds : seconds;
}

double measure_cost_s(const Bench *bench, const Measure *measure)
{
    double seconds = measure_length_s(bench, measure) + 0.7;
    if (measure->paused)
        seconds += PAUSE_SECONDS_MIN; /* until the last answers, and until the shard is back */
    if (measure->run == run_limit)
        seconds += 2;
    return seconds;
}
