/*
 * The lines of the bench: one row per measurement, in the order in which each round runs them. A
 * measurement gives one figure of its own name, or several named <measurement>.<what>.
 */
#ifndef GIRO_BENCH_MEASURES_H
#define GIRO_BENCH_MEASURES_H

#include "bench.h"
#include "flow.h"
#include "shard/mode.h"

typedef struct Measure Measure;

struct Measure
{
    const char *name;
    void (*run)(Bench *bench, const Measure *measure);
    WorldKind world;
    FlowShape shape;
    TransferMode mode;

    int connections;   /* or clients */
    size_t batch;      /* transfers per request, or of the limit's batches */
    int in_flight;     /* of the limit: batches per direction */
    double part;       /* open loop: of the capacity that `needs` names */
    int coordinator;   /* 0 = 1 */
    bool paused;       /* a shard is */
    int sync_delay_us; /* every sync of the WAL takes so much longer */
    const char *script;
    const char *protocol; /* of pgbench; NULL = simple */

    const char *needs;      /* the figure without which it cannot run: earlier in the table */
    const char *references; /* figures that it is compared with */
    const char *load;       /* in what circumstances, for people */
};

size_t measure_count(void);
const Measure *measure_at(size_t place);
/* The one that gives this figure; NULL if there is none. */
const Measure *measure_of_figure(const char *figure);
/* How long it measures; rare latencies need longer. */
double measure_length_s(const Bench *bench, const Measure *measure);
/* About how long one run takes, with all that is around it. */
double measure_cost_s(const Bench *bench, const Measure *measure);

#endif
