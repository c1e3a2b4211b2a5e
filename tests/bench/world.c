/* See world.h. The data is made inside the databases, by fill.sql and plain.sql. */
#include "world.h"

#include "base/base.h"
#include "check.h"
#include "clock.h"
#include "shard/route.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    OUTPUT_MAX = 16384,
    SETTLE_S = 30,
    HASH_PARTITIONS = 64, /* of the keyspace that docker/up.sh makes */
};

/* Until all processes of a server have seen a changed setting. */
static const double RELOAD_S = 0.1;

struct World
{
    WorldOptions options;
    Cluster *cluster;
    uint32_t *numbers[CLUSTER_SHARDS_MAX + 1]; /* by shard: those of its accounts */
    size_t counts[CLUSTER_SHARDS_MAX + 1];
};

const Cluster *world_cluster(const World *world)
{
    return world->cluster;
}

const WorldOptions *world_options(const World *world)
{
    return &world->options;
}

int world_shard_count(const World *world)
{
    return world->options.shards;
}

size_t world_account_count(const World *world, int shard)
{
    return world->counts[shard];
}

static void format_id(uint32_t number, WorldId ret_id)
{
    snprintf(ret_id, WORLD_ID_MAX, "acct-%08u", number);
}

void world_account(const World *world, int shard, size_t place, WorldId ret_id)
{
    ASSERT(place < world->counts[shard]);
    format_id(world->numbers[shard][place], ret_id);
}

/* Hash keyspaces are dealt out to the shards in turn; fill.sql says the same, and checks it. */
static int shard_of(const World *world, uint32_t number)
{
    WorldId id;
    Route route;
    format_id(number, id);
    route_make(KEYSPACE_HASH, 0, id, &route);
    return route.bytes[0] / (256 / HASH_PARTITIONS) % world->options.shards + 1;
}

static void deal_out(World *world)
{
    for (int shard = 1; shard <= world->options.shards; shard++)
        world->numbers[shard] = base_malloc(world->options.accounts * sizeof(uint32_t));
    for (uint32_t number = 1; number <= world->options.accounts; number++)
    {
        int shard = shard_of(world, number);
        world->numbers[shard][world->counts[shard]++] = number;
    }
}

/* What was written without fsync is on disk afterwards. */
static void fill(const World *world)
{
    char command[128];
    char output[OUTPUT_MAX];
    const WorldOptions *options = &world->options;
    snprintf(command, sizeof command, "bash tests/bench/fill.sh %d %zu %zu fill.sql %s",
             options->shards, options->accounts, options->history,
             options->plain ? "plain.sql" : "");
    int status = cluster_shell(world->cluster, command, output, sizeof output);
    check(status == 0, "the data cannot be made: %s", output);
    sync();
}

World *world_new(const WorldOptions *options)
{
    World *world = base_calloc(1, sizeof *world);
    world->options = *options;
    world->cluster = cluster_new(&(ClusterOptions){
        .shards = options->shards,
        .coordinators = options->coordinators,
        .girod_flags = options->girod_flags,
        .postgres_settings = options->postgres_settings,
    });
    deal_out(world);
    fill(world);
    world_check_books(world);
    return world;
}

void world_free(World *world)
{
    if (world == NULL)
        return;
    cluster_free(world->cluster);
    for (int shard = 1; shard <= world->options.shards; shard++)
        free(world->numbers[shard]);
    free(world);
}

void world_set(const World *world, const char *setting, const char *value)
{
    for (int shard = 1; shard <= world->options.shards; shard++)
    {
        const char *dsn = cluster_dsn(world->cluster, shard);
        if (value != NULL)
            sql_run(dsn, "alter system set %s = '%s'", setting, value);
        else
            sql_run(dsn, "alter system reset %s", setting);
        sql_run(dsn, "select pg_reload_conf()");
    }
    clock_pause(RELOAD_S);
}

static int64_t count_unsettled(const World *world)
{
    int64_t count = 0;
    for (int shard = 1; shard <= world->options.shards; shard++)
        count += sql_integer(
            cluster_dsn(world->cluster, shard),
            "select (select count(*) from giro.transfers where state = 'pending')"
            " + (select count(*) from pg_prepared_xacts where database = current_database())");
    return count;
}

void world_settle(const World *world)
{
    double until = clock_now() + SETTLE_S;
    while (count_unsettled(world) > 0)
    {
        check(clock_now() < until, "the %s world does not settle", world->options.name);
        clock_pause(0.1);
    }
}

void world_check_books(const World *world)
{
    for (int shard = 1; shard <= world->options.shards; shard++)
    {
        const char *dsn = cluster_dsn(world->cluster, shard);
        int64_t wrong = sql_integer(dsn, "select count(*) from giro.books() where difference <> 0");
        check(wrong == 0, "the books of shard %d of the %s world do not balance", shard,
              world->options.name);
    }
}
