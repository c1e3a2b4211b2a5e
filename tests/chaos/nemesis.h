/*
 * Does what the plan says, at its times, and says what it does, a line each.
 */
#ifndef GIRO_CHAOS_NEMESIS_H
#define GIRO_CHAOS_NEMESIS_H

#include "cluster.h"
#include "history.h"
#include "plan.h"

typedef struct NemesisCounts
{
    int kills;
    int stops;
    int storms;
    int swallowed; /* replies */
    int cuts;      /* of connections, and holes */
    int delays;
    int skipped; /* troubles that came too late, since the machine is slow */
    int deaths;  /* coordinators that ended by themselves: a bug, or nobody looked after them */
} NemesisCounts;

/* Returns when all trouble has ended and everything is up again. Called by the test's thread. */
void nemesis_run(Cluster *cluster, const Plan *plan, const History *history,
                 NemesisCounts *ret_counts);

#endif
