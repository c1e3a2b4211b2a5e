/*
 * A run of the bench: what was asked for, the worlds that it needs, the figures so far.
 */
#ifndef GIRO_BENCH_BENCH_H
#define GIRO_BENCH_BENCH_H

#include "figures.h"
#include "machine.h"
#include "world.h"

typedef enum WorldKind
{
    WORLD_MAIN,  /* 2 shards, BENCH_ACCOUNTS, BENCH_HISTORY */
    WORLD_SMALL, /* a tenth of the accounts, no history */
    WORLD_WIDE,  /* ten times the accounts */
    WORLD_LARGE, /* ten times the accounts, fifty times the history */
    WORLD_THREE, /* main, with three shards */
    WORLD_COUNT,
} WorldKind;

typedef struct BenchOptions
{
    double seconds;             /* BENCH_SECONDS: per measurement */
    int rounds;                 /* BENCH_ROUNDS */
    const char *filter;         /* BENCH_FILTER: a regular expression; "" for all */
    size_t accounts;            /* BENCH_ACCOUNTS, of the main world */
    size_t history;             /* BENCH_HISTORY, of the main world */
    const char *shared_buffers; /* BENCH_SHARED_BUFFERS, of each server */
    const char *output;         /* BENCH_JSON: where bench.json goes */
    bool alone;                 /* BENCH_ALONE: not what the filtered lines are compared with */
    bool details;               /* BENCH_DETAILS: print all figures */
    char girod_flags[384];      /* BENCH_GIROD_FLAGS, and ours */
    char postgres_settings[256];
    int girod_sessions; /* per shard, as girod_flags say or by default */
    int girod_batch;    /* transfers, the same */
} BenchOptions;

typedef struct Bench
{
    BenchOptions options;
    Machine machine;
    World *worlds[WORLD_COUNT]; /* NULL: not needed */
    Figures *figures;
    int round;
} Bench;

#endif
