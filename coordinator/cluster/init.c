/*
 * The order of set-up, see init.h: look, roles, enter, decide, shards, publish. How one database is
 * set up is in setup.c.
 */
#include "cluster/init.h"

#include "cluster/setup.h"

#include <stdlib.h>

static void free_sites(Site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        site_done(&sites[i]);
    }
    free(sites);
}

static void name_sites(Site *sites, const Config *config, const InitOptions *options)
{
    for (size_t i = 0; i <= config->shard_count; i++)
    {
        const ConfigShard *shard = i == 0 ? NULL : &config->shards[i - 1];
        sites[i].shard = shard;
        sites[i].purpose = (Purpose){
            .cluster = config->cluster,
            .name = shard == NULL ? "directory" : shard->name,
            .ordinal = shard == NULL ? 0 : shard->ordinal,
            .may_lose_writes = options->allow_fsync_off,
        };
    }
}

static bool check_distinct(const Site *sites, size_t count, Error *error)
{
    for (size_t i = 1; i < count; i++)
    {
        for (size_t before = 1; before < i; before++)
        {
            if (fitness_is_same_database(&sites[before].facts, &sites[i].facts))
            {
                return error_set(error, ERROR_SETUP, "%s and %s are the same database (%s)",
                                 sites[before].purpose.name, sites[i].purpose.name,
                                 sites[i].facts.database);
            }
        }
    }
    return true;
}

static bool look_at_all(Site *sites, Loop *loop, const Config *config, Error *error)
{
    for (size_t i = 0; i <= config->shard_count; i++)
    {
        const ConfigDatabase *database =
            i == 0 ? &config->directory : &config->shards[i - 1].database;
        if (!site_open(&sites[i], loop, database, error) || !site_look(&sites[i], error))
        {
            return false;
        }
    }
    return check_distinct(sites, config->shard_count + 1, error);
}

static bool create_roles(Site *sites, size_t count, FILE *report, Error *error)
{
    bool done = true;
    for (size_t i = 0; done && i < count; i++)
    {
        done = setup_role(&sites[i], report, error);
    }
    return done;
}

static bool enter_all(Site *sites, size_t count, Loop *loop, Error *error)
{
    bool done = true;
    for (size_t i = 0; done && i < count; i++)
    {
        done = site_enter(&sites[i], loop, error);
    }
    return done;
}

static bool set_up_shards(Site *sites, const Config *config, FILE *report, Error *error)
{
    SetupPartitions *partitions = NULL;
    if (!setup_decide(sites, config, report, &partitions, error))
    {
        return false;
    }
    bool done = true;
    for (size_t i = 1; done && i <= config->shard_count; i++)
    {
        done = setup_shard(&sites[i], partitions, report, error) &&
               site_try_coordinator(&sites[i], error);
    }
    setup_partitions_free(partitions);
    return done;
}

bool init_cluster(Loop *loop, const Config *config, const InitOptions *options, Error *error)
{
    size_t count = config->shard_count + 1;
    FILE *report = options->report;
    Site *sites = base_calloc(count, sizeof(*sites));
    name_sites(sites, config, options);
    bool ready =
        look_at_all(sites, loop, config, error) && create_roles(sites, count, report, error) &&
        enter_all(sites, count, loop, error) && set_up_shards(sites, config, report, error) &&
        setup_publish(sites, config, report, error) && site_try_coordinator(&sites[0], error);
    free_sites(sites, count);
    if (ready)
    {
        fprintf(report, "cluster %s: ready\n", config->cluster);
    }
    return ready;
}
