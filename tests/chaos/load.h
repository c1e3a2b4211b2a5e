/*
 * The clients of a run: for each coordinator a thread whose clients send what the mixture says, as
 * fast as the pace permits and none waits for another.
 */
#ifndef GIRO_CHAOS_LOAD_H
#define GIRO_CHAOS_LOAD_H

#include "cluster.h"
#include "mixture.h"

typedef struct Load Load;

/* Begins with a pace of 0. The mixture must live longer. */
Load *load_start(const Cluster *cluster, Mixture *mixture, const History *history);
/* Requests per second, over all coordinators. */
void load_set_pace(Load *load, int per_second);
/* Sends nothing more, waits for what is on its way, and frees the load. */
void load_stop(Load *load);
/* How many requests have been sent. */
size_t load_requests(const Load *load);

#endif
