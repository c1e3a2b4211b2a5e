/*
 * How long trouble lasts, measured under the load of the run: after a coordinator is killed, and
 * while and after one of the shards is away.
 */
#ifndef GIRO_CHAOS_MEASURE_H
#define GIRO_CHAOS_MEASURE_H

#include "load.h"

enum
{
    MEASURE_RUNS_MAX = 16,
    MEASURE_PATIENCE_MS = 60000, /* beyond it a measurement fails */
};

typedef struct Measures
{
    int kills; /* of coordinators */
    double
        final_seconds[MEASURE_RUNS_MAX]; /* from the kill until all that was in flight is final */
    size_t in_flight[MEASURE_RUNS_MAX];
    int away_seconds; /* how long the shard was away */
    size_t samples_before;
    size_t samples_during;
    double p99_before_ms; /* of transfers between the other shards */
    double p99_during_ms;
    double settled_seconds; /* from its return until all that was unfinished is final */
    long unfinished;
} Measures;

typedef struct Measuring
{
    Cluster *cluster;
    Load *load;
    Mixture *mixture;
    const History *history;
    int per_second;
} Measuring;

/* Kills each coordinator in turn, `kills` times in all, and starts it again at once. False if
 * something was not final in time. */
bool measure_coordinators(const Measuring *measuring, int kills, Measures *ret_measures);
/* Looks on for a while, kills the shard, starts it after away_seconds. The same. */
bool measure_shard(const Measuring *measuring, int shard, int away_seconds, Measures *ret_measures);
/* A table, each figure with its target. */
void measures_print(const Measures *measures);

#endif
