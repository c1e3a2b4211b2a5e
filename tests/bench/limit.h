/*
 * The limit: how many transfers per second the shards can take at all from batches. The statements,
 * parameters and stages are girod's own (its protocol layer is linked), so this stays true when the
 * SQL changes; there is no HTTP, no JSON, no lane, and nothing ever waits for anything: several
 * full batches per ordered pair of shards are in flight all the time, on accounts of their own, so
 * that no batch meets an account that another one has locked.
 */
#ifndef GIRO_BENCH_LIMIT_H
#define GIRO_BENCH_LIMIT_H

#include "shard/mode.h"
#include "world.h"

typedef struct LimitOptions
{
    const World *world;
    TransferMode mode; /* MODE_2PC or MODE_SAGA */
    size_t batch;      /* transfers per batch */
    int in_flight;     /* batches per ordered pair of the first two shards */
    double warm_s;
    double seconds;
} LimitOptions;

typedef struct LimitResult
{
    double transfers_per_s;
    double cpu_share; /* of one CPU, taken by this side */
} LimitResult;

/* Runs in a process of its own. Ends the program if a transfer is not posted. */
LimitResult limit_run(const LimitOptions *options);

#endif
