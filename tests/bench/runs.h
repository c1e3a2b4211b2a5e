/* How each kind of measurement is made; for the table in measures.c. */
#ifndef GIRO_BENCH_RUNS_H
#define GIRO_BENCH_RUNS_H

#include "measures.h"

enum
{
    PAUSE_SECONDS_MIN = 6, /* a shard is paused for longer than the longest deadline of girod */
};

/* Runs the measurement, under the conditions that its row names. */
void run_measure(Bench *bench, const Measure *measure);

void run_pgbench(Bench *bench, const Measure *measure);
void run_classic(Bench *bench, const Measure *measure);
void run_alone(Bench *bench, const Measure *measure);
void run_limit(Bench *bench, const Measure *measure);

void run_http(Bench *bench, const Measure *measure);       /* transfers per second */
void run_growth(Bench *bench, const Measure *measure);     /* time per transfer */
void run_crowd(Bench *bench, const Measure *measure);      /* and peak memory */
void run_idle(Bench *bench, const Measure *measure);       /* latency, one at a time */
void run_latency(Bench *bench, const Measure *measure);    /* open loop */
void run_bystanders(Bench *bench, const Measure *measure); /* beside a shard that may be paused */

void run_cost(Bench *bench, const Measure *measure);       /* of Giro */
void run_cost_plain(Bench *bench, const Measure *measure); /* of pgbench and classic 2PC */

#endif
