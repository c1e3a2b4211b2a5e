/*
 * A cluster with a given volume of data: accounts spread over its shards by the hash of their ids,
 * all with room for debits, and a history of finished transfers between shards as the participant
 * functions would have left it.
 *
 * Ids are "acct-00000001" and up. On request each shard also has tables of our own in the schema
 * `plain` with as many accounts, for what Giro is compared with (plain.sql).
 */
#ifndef GIRO_BENCH_WORLD_H
#define GIRO_BENCH_WORLD_H

#include "cluster.h"

#include <stdint.h>

typedef struct World World;

typedef struct WorldOptions
{
    const char *name; /* for progress */
    int shards;
    int coordinators;
    size_t accounts;         /* over all shards */
    size_t history;          /* transfers, over all shards */
    bool plain;              /* with the tables of plain.sql */
    const char *girod_flags; /* "" for none */
    const char *postgres_settings;
} WorldOptions;

enum
{
    WORLD_ID_MAX = 24,
};
typedef char WorldId[WORLD_ID_MAX];

/* Ends the program if the cluster does not come up. */
World *world_new(const WorldOptions *options);
void world_free(World *world); /* accepts NULL */

const Cluster *world_cluster(const World *world);
const WorldOptions *world_options(const World *world);
int world_shard_count(const World *world);
/* How many accounts the shard (1 … n) owns, and the id of one of them, by place. */
size_t world_account_count(const World *world, int shard);
void world_account(const World *world, int shard, size_t place, WorldId ret_id);

/* Changes a setting of all shards' servers; NULL puts back what the configuration says. */
void world_set(const World *world, const char *setting, const char *value);

/* Waits until no saga is pending and nothing is prepared; ends the program after 30 s. */
void world_settle(const World *world);

/* The books of all shards balance: ends the program if not. */
void world_check_books(const World *world);

#endif
