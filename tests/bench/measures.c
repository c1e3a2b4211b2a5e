/* See measures.h. */
#include "measures.h"

#include "base/base.h"
#include "runs.h"

#include <string.h>

/* The columns of the table that most rows set. */
#define HTTP   .run = run_http, .world = WORLD_MAIN
#define LOCAL  .shape = FLOW_LOCAL, .mode = MODE_LOCAL
#define TWO_PC .shape = FLOW_CROSS, .mode = MODE_2PC
#define SAGA   .shape = FLOW_CROSS, .mode = MODE_SAGA

static const char against_2pc[] = "ref.plain ref.classic limit.2pc";
static const char against_saga[] = "ref.plain ref.classic limit.saga";
static const char against_local[] = "ref.function ref.plain";

// clang-format off
static const Measure measures[] = {
    /* what it is compared with */
    {.name = "ref.plain", .run = run_pgbench, .script = "plain.pgbench", .protocol = "simple", .connections = 16,
     .load = "pgbench, one shard, 16 clients, one SQL statement at a time"},
    {.name = "ref.plain.prepared", .run = run_pgbench, .script = "plain.pgbench", .protocol = "prepared", .connections = 16,
     .load = "the same, statements prepared", .references = "ref.plain"},
    {.name = "ref.function", .run = run_pgbench, .script = "function.pgbench", .protocol = "simple", .connections = 16,
     .load = "pgbench, one shard, 16 clients, one function call per transfer", .references = "ref.plain"},
    {.name = "ref.classic", .run = run_classic,
     .load = "two-phase commit over libpq, 16 pairs of connections, one transfer at a time", .references = "ref.plain"},

    /* what the shards can take */
    {.name = "limit.2pc", .run = run_limit, .mode = MODE_2PC, .batch = 1000, .in_flight = 2,
     .load = "participant functions over libpq, batches of 1,000, 2 per direction", .references = "ref.plain ref.classic"},
    {.name = "limit.saga", .run = run_limit, .mode = MODE_SAGA, .batch = 1000, .in_flight = 2,
     .load = "the same, as sagas", .references = "ref.plain ref.classic"},

    /* Giro over HTTP */
    {.name = "local.c1", HTTP, LOCAL, .connections = 1, .load = "HTTP, 1 connection", .references = against_local},
    {.name = "local.c16", HTTP, LOCAL, .connections = 16, .load = "HTTP, 16 connections", .references = against_local},
    {.name = "local.c64", HTTP, LOCAL, .connections = 64, .load = "HTTP, 64 connections", .references = against_local},
    {.name = "local.c256", HTTP, LOCAL, .connections = 256, .load = "HTTP, 256 connections", .references = against_local},
    {.name = "local.b100", HTTP, LOCAL, .connections = 16, .batch = 100, .load = "HTTP, 16 connections, batches of 100", .references = against_local},
    {.name = "local.b1000", HTTP, LOCAL, .connections = 6, .batch = 1000, .load = "HTTP, 6 connections, batches of 1,000", .references = against_local},
    {.name = "2pc.c1", HTTP, TWO_PC, .connections = 1, .load = "HTTP, 1 connection", .references = against_2pc},
    {.name = "2pc.c16", HTTP, TWO_PC, .connections = 16, .load = "HTTP, 16 connections", .references = against_2pc},
    {.name = "2pc.c64", HTTP, TWO_PC, .connections = 64, .load = "HTTP, 64 connections", .references = against_2pc},
    {.name = "2pc.c256", HTTP, TWO_PC, .connections = 256, .load = "HTTP, 256 connections", .references = against_2pc},
    {.name = "2pc.b100", HTTP, TWO_PC, .connections = 16, .batch = 100, .load = "HTTP, 16 connections, batches of 100", .references = against_2pc},
    {.name = "2pc.b1000", HTTP, TWO_PC, .connections = 6, .batch = 1000, .load = "HTTP, 6 connections, batches of 1,000", .references = against_2pc},
    {.name = "saga.c1", HTTP, SAGA, .connections = 1, .load = "HTTP, 1 connection, final answers", .references = against_saga},
    {.name = "saga.c16", HTTP, SAGA, .connections = 16, .load = "HTTP, 16 connections, final answers", .references = against_saga},
    {.name = "saga.c64", HTTP, SAGA, .connections = 64, .load = "HTTP, 64 connections, final answers", .references = against_saga},
    {.name = "saga.c256", HTTP, SAGA, .connections = 256, .load = "HTTP, 256 connections, final answers", .references = against_saga},
    {.name = "saga.b100", HTTP, SAGA, .connections = 16, .batch = 100, .load = "HTTP, 16 connections, batches of 100, final answers", .references = against_saga},
    {.name = "saga.b1000", HTTP, SAGA, .connections = 6, .batch = 1000, .load = "HTTP, 6 connections, batches of 1,000, final answers", .references = against_saga},

    /* one account in all transfers */
    {.name = "hot.credit.2pc", HTTP, .shape = FLOW_HOT_CREDIT, .mode = MODE_2PC, .connections = 256, .load = "all credit one account", .references = "2pc.c256"},
    {.name = "hot.debit.2pc", HTTP, .shape = FLOW_HOT_DEBIT, .mode = MODE_2PC, .connections = 256, .load = "all debit one account", .references = "2pc.c256"},
    {.name = "hot.credit.saga", HTTP, .shape = FLOW_HOT_CREDIT, .mode = MODE_SAGA, .connections = 256, .load = "all credit one account", .references = "saga.c256"},
    {.name = "hot.debit.saga", HTTP, .shape = FLOW_HOT_DEBIT, .mode = MODE_SAGA, .connections = 256, .load = "all debit one account", .references = "saga.c256"},

    /* growth: of data, of connections */
    {.name = "growth.small.2pc", .run = run_growth, .world = WORLD_SMALL, TWO_PC, .connections = 256, .load = "a tenth of the accounts, no history, 256 connections"},
    {.name = "growth.main.2pc", .run = run_growth, .world = WORLD_MAIN, TWO_PC, .connections = 256, .load = "the world of all other lines, 256 connections", .references = "growth.small.2pc"},
    {.name = "growth.wide.2pc", .run = run_growth, .world = WORLD_WIDE, TWO_PC, .connections = 256, .load = "10 times the accounts, 256 connections", .references = "growth.small.2pc"},
    {.name = "growth.large.2pc", .run = run_growth, .world = WORLD_LARGE, TWO_PC, .connections = 256, .load = "10 times the accounts, 50 times the history, 256 connections", .references = "growth.small.2pc"},
    {.name = "growth.small.saga", .run = run_growth, .world = WORLD_SMALL, SAGA, .connections = 256, .load = "a tenth of the accounts, no history, 256 connections"},
    {.name = "growth.large.saga", .run = run_growth, .world = WORLD_LARGE, SAGA, .connections = 256, .load = "10 times the accounts, 50 times the history, 256 connections", .references = "growth.small.saga"},
    {.name = "crowd.c10", .run = run_crowd, .coordinator = 2, TWO_PC, .connections = 10, .load = "HTTP, 10 connections, 2pc, a girod of its own", .references = "2pc.c256"},
    {.name = "crowd.c1000", .run = run_crowd, .coordinator = 2, TWO_PC, .connections = 1000, .load = "HTTP, 1,000 connections, 2pc, a girod of its own", .references = "2pc.c256"},

    /* latency */
    {.name = "plain.idle", .run = run_alone, .load = "one local transfer at a time over libpq, one SQL statement at a time"},
    {.name = "2pc.idle", .run = run_idle, TWO_PC, .connections = 1, .load = "one transfer at a time", .references = "plain.idle.p50"},
    {.name = "saga.idle", .run = run_idle, SAGA, .connections = 1, .load = "one transfer at a time", .references = "plain.idle.p50"},
    {.name = "2pc.load10", .run = run_latency, TWO_PC, .needs = "2pc.c256", .part = 0.1, .load = "open loop at 10 % of 2pc.c256", .references = "2pc.idle.p50"},
    {.name = "2pc.load50", .run = run_latency, TWO_PC, .needs = "2pc.c256", .part = 0.5, .load = "open loop at 50 % of 2pc.c256", .references = "2pc.idle.p50"},
    {.name = "2pc.load80", .run = run_latency, TWO_PC, .needs = "2pc.c256", .part = 0.8, .load = "open loop at 80 % of 2pc.c256", .references = "2pc.idle.p50"},
    {.name = "saga.load50", .run = run_latency, SAGA, .needs = "saga.c256", .part = 0.5, .load = "open loop at 50 % of saga.c256", .references = "saga.idle.p50"},

    /* what it takes */
    {.name = "cost.plain", .run = run_cost_plain, .script = "plain.pgbench", .protocol = "simple", .connections = 16, .load = "like ref.plain"},
    {.name = "cost.classic", .run = run_cost_plain, .load = "like ref.classic", .references = "cost.plain.*"},
    {.name = "cost.local", .run = run_cost, LOCAL, .connections = 256, .load = "like local.c256", .references = "cost.plain.*"},
    {.name = "cost.2pc", .run = run_cost, TWO_PC, .connections = 256, .load = "like 2pc.c256", .references = "cost.plain.*"},
    {.name = "cost.saga", .run = run_cost, SAGA, .connections = 256, .load = "like saga.c256", .references = "cost.plain.*"},

    /* the weather comes last: it disturbs */
    {.name = "three.c256", .run = run_http, .world = WORLD_THREE, TWO_PC, .connections = 256, .load = "between 2 of 3 shards, 256 connections"},
    {.name = "bystanders.before", .run = run_bystanders, .world = WORLD_THREE, TWO_PC, .needs = "three.c256", .part = 0.5, .load = "open loop at 50 % of three.c256, a tenth wants the third shard"},
    {.name = "bystanders.paused", .run = run_bystanders, .world = WORLD_THREE, TWO_PC, .needs = "three.c256", .part = 0.5, .paused = true, .load = "the same, the third shard paused", .references = "bystanders.before.*"},
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

double measure_seconds(const Bench *bench, const Measure *measure)
{
    double seconds = bench->options.seconds;
    if (measure->run == run_bystanders && seconds < PAUSE_SECONDS_MIN)
        seconds = PAUSE_SECONDS_MIN;
    if (measure->run == run_bystanders && measure->paused)
        seconds += PAUSE_SECONDS_MIN;
    if (measure->run == run_limit)
        seconds += 2;
    return seconds + 0.7;
}
