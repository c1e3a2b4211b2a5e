/*
 * Every request once more, in batches over all coordinators, until each has an answer for good.
 */
#ifndef GIRO_CHAOS_REPLAY_H
#define GIRO_CHAOS_REPLAY_H

#include "cluster.h"
#include "history.h"

/* Repeats the orders from the number `first` on; nobody else may use the history meanwhile. Returns
 * how many have no answer for good when timeout_ms have passed. */
size_t replay_run(const Cluster *cluster, History *history, size_t first, int timeout_ms);

#endif
