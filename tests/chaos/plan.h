/*
 * What the nemesis will do, and when: a list made from the seed alone, before anything starts, so
 * that a run can be read, and repeated, as far as chance permits.
 *
 * Each server, each coordinator and each proxy has a track of its own: trouble, a pause, trouble, …
 * On one track nothing overlaps: what is stopped is continued before it is killed. Tracks know
 * nothing of each other. All trouble has ended when the plan ends.
 */
#ifndef GIRO_CHAOS_PLAN_H
#define GIRO_CHAOS_PLAN_H

#include "proxy.h"

#include <stddef.h>
#include <stdint.h>

enum
{
    PLAN_SECONDS_MAX = 24 * 3600,
};

typedef enum Deed
{
    DEED_KILL_POSTGRES,
    DEED_START_POSTGRES,
    DEED_STOP_POSTGRES,
    DEED_CONTINUE_POSTGRES,
    DEED_STORM, /* the coordinators' sessions are terminated, most of them */
    DEED_KILL_GIROD,
    DEED_START_GIROD,
    DEED_STOP_GIROD,
    DEED_CONTINUE_GIROD,
    DEED_RULE, /* of a proxy, see proxy.h */
    DEED_NO_RULE,
    DEED_CUT_ALL,
    DEED_HOLE,
    DEED_NO_HOLE,
    DEED_COUNT,
} Deed;

typedef struct PlanStep
{
    int at_ms;
    size_t number; /* in the order of making: what ends a trouble follows what begins it */
    Deed deed;
    int target; /* of postgres: 0 is the directory, else a shard; a coordinator; a proxy's shard */
    ProxyRule rule;
} PlanStep;

typedef struct Plan Plan;

typedef struct PlanOptions
{
    uint64_t seed;
    int seconds;
    int shards;
    int coordinators;
} PlanOptions;

Plan *plan_new(const PlanOptions *options);
void plan_free(Plan *plan); /* accepts NULL */
size_t plan_count(const Plan *plan);
const PlanStep *plan_step(const Plan *plan, size_t index); /* in the order of time */
/* Does it end a trouble that the step before it, by number, has begun? */
bool plan_ends_trouble(const PlanStep *step);

#endif
