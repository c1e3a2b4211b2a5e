/*
 * A thread per shard that looks at the books in one snapshot after the other while traffic runs: in
 * each of them balances and clearing add up to nothing, per currency, and nobody is below the
 * floor.
 *
 * A shard that is away is tried again until it is there. cmocka's checks belong to the thread of
 * the test: these threads only count.
 */
#ifndef GIRO_TESTS_SNAPSHOTS_H
#define GIRO_TESTS_SNAPSHOTS_H

#include "cluster.h"

typedef struct Snapshots Snapshots;

typedef struct SnapshotCounts
{
    int taken;
    int with_transit; /* in which money had left this shard in a saga and was not there yet */
    int unbalanced;
    int below_floor;
    int lost; /* looks that failed since the shard was away or the session was ended */
    int failed;
    char trouble[6]; /* the SQLSTATE of the last failure */
} SnapshotCounts;

/* Between two looks at a shard pause_ms pass. */
Snapshots *snapshots_start(const Cluster *cluster, int pause_ms);
/* All Postgres servers must run. Fills one row per shard and frees the snapshots. */
void snapshots_stop(Snapshots *snapshots, SnapshotCounts *ret_counts);

#endif
