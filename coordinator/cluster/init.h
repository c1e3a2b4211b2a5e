/*
 * `girod init`: makes directory and shards out of the databases of a cluster description.
 *
 * The steps, each done for all databases before the next begins:
 *
 *   1. look      every database is looked at as its owner; one that is unfit (fitness.h) ends it
 *   2. roles     the coordinator's role is created where it is missing, without any right
 *   3. enter     every dsn is logged in with, and must lead to the database of its owner_dsn
 *   4. decide    a new directory is filled, and says from then on who owns what; on one that stands
 *                this is only tried and rolled back, which finds what contradicts it
 *   5. shards    each is set up in a transaction of its own, from what the directory says, and is
 *                tried as the coordinator
 *   6. publish   in one transaction the directory takes over what is new (a shard, a DSN, tags, a
 *                default mode) and may be read by coordinators
 *
 * Why a failed init harms no running service: coordinators know only what the directory lets them
 * read, and the one transaction that changes this is the last step. Until then nothing that they
 * use is altered but by step 5, which adds to a shard and takes nothing away. A DSN is published
 * only if it has been logged in with and leads to the database that was set up under its name.
 *
 * Why it may die anywhere and be repeated: after 2 there is a role without rights, which the next
 * run finds. After 4 a new directory has decided, once, under the lock, before any shard knows of a
 * partition; the next run takes the owners from it and never deals them out again, so no range gets
 * two owners, even if the description has changed in between. Nobody else can read it yet. After
 * part of 5 some shards have what the directory gave them, the others nothing; setting up again
 * adds what is missing. After 6 all is done. Two at once wait for each other in 2, 4, 5 and 6.
 *
 * What stands is left as it is; what contradicts it (another ordinal, kind or number of partitions,
 * a shard or keyspace left out) is refused. Partitions are spread round-robin when a keyspace is
 * new; those of a standing keyspace are not moved.
 */
#ifndef GIRO_INIT_H
#define GIRO_INIT_H

#include "cluster/config.h"
#include "loop/loop.h"

#include <stdio.h>

typedef struct InitOptions
{
    bool allow_fsync_off; /* also full_page_writes */
    FILE *report;         /* one line per step done */
} InitOptions;

/* Runs the loop until it is done. False with ERROR_SETUP or ERROR_CONFIG. */
bool init_cluster(Loop *loop, const Config *config, const InitOptions *options,
                  Error *error) ATTR_MUST_USE;

#endif
