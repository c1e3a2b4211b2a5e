/*
 * `girod init`: makes directory and shards out of the databases of a cluster description.
 *
 * First every database is looked at, and nothing is changed if one of them is unfit (fitness.h).
 * Then the directory is set up in one transaction, which decides who owns what, and after it each
 * shard in one of its own, from what the directory says. At last the coordinator's role is tried on
 * every database.
 *
 * Safely repeatable, at any time and after any crash: what stands is left as it is, what is new in
 * the description (a shard, tags, a DSN, a default mode) is added, and what contradicts it (another
 * ordinal, a missing shard or keyspace) is refused. Partitions are spread round-robin when a
 * keyspace is new; those of a standing keyspace are not moved.
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
