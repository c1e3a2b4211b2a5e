/*
 * What it takes: CPU and memory of girod, CPU of the Postgres servers, and what the servers of all
 * shards count: statements, WAL synced and written.
 */
#ifndef GIRO_BENCH_USAGE_H
#define GIRO_BENCH_USAGE_H

#include "world.h"

typedef struct Usage
{
    double postgres_cpu_s; /* of all shards */
    double statements;     /* as pg_stat_statements counts them, top level */
    double wal_syncs;
    double wal_bytes;
    double batches; /* decided at home */
} Usage;

/* Whether statements are counted from now on: it costs a little, so it is off elsewhere. */
void usage_count_statements(const World *world, bool on);

/* Reads the counters. Sessions report theirs with delay or when they end, so those of the
 * coordinators are ended first; girod opens others. Nothing may be under way. */
void usage_read(const World *world, Usage *ret_usage);
void usage_subtract(Usage *usage, const Usage *earlier);

double usage_girod_peak_mib(const World *world, int coordinator);
double usage_girod_cpu_s(const World *world, int coordinator);

#endif
