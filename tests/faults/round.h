/*
 * A round: cells of one kind of fault, each with a coordinator of its own, that meet their faults
 * one after the other and are settled together.
 *
 * Another coordinator, the bystander, works on the same shards all the time; only a crash with a
 * restart has to be got over alone.
 */
#ifndef GIRO_TESTS_ROUND_H
#define GIRO_TESTS_ROUND_H

#include "cell.h"

typedef struct World
{
    Cluster *cluster;
    Girod *bystander;
    size_t girods;  /* so many have been started: for their names */
    size_t at_once; /* coordinators beside the bystander, at most */
    int standstill_ms;
} World;

void world_start(World *world);
void world_stop(World *world);

/* How many of these cells, which are sorted by fault, make up the next round. */
size_t round_size(const World *world, const CellPlan *plans, size_t count);
/* Opens the accounts of the cells, lets their faults happen, and settles and checks them. */
void round_run(World *world, Cell *cells, size_t count);

#endif
