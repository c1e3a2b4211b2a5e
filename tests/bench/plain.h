/*
 * What people do without Giro, measured over libpq on the tables of plain.sql.
 */
#ifndef GIRO_BENCH_PLAIN_H
#define GIRO_BENCH_PLAIN_H

#include "histogram.h"
#include "world.h"

typedef struct PlainResult
{
    double transfers_per_s;
    double transfers;
} PlainResult;

/* pgbench with one of our scripts ("plain.pgbench") on shard 1. protocol: "simple", "prepared". */
typedef struct PgbenchOptions
{
    const World *world;
    const char *script;
    const char *protocol;
    int clients;
    double seconds; /* rounded up to whole ones */
} PgbenchOptions;
PlainResult plain_pgbench(const PgbenchOptions *options);

/*
 * Two-phase commit as an application does it: one transfer at a time per pair of connections, one
 * statement at a time, both shards prepared and then committed. Both directions; the shards are
 * locked in one order, so nothing deadlocks. There is no durable decision: a coordinator that dies
 * leaves legs that nobody can settle, so this is less than what Giro does.
 */
PlainResult plain_two_phase(const World *world, int connections, double seconds);

/* One local transfer at a time on an idle shard 1, one statement at a time, over one connection. */
void plain_alone(const World *world, double seconds, Histogram *ret_latency);

#endif
