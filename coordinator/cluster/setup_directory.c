/*
 * Sets up the directory, see setup.h: cluster, shards, keyspaces, partitions. What stands in it and
 * not in the description is refused before anything is added.
 */
#include "cluster/setup.h"

#include <string.h>

static bool add_shards(const Site *sites, const Config *config, Error *error)
{
    for (size_t i = 0; i < config->shard_count; i++)
    {
        const ConfigShard *shard = &config->shards[i];
        PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
        pg_params_text(params, shard->name);
        pg_params_int4(params, shard->ordinal);
        pg_params_text(params, shard->database.dsn);
        pg_params_text(params, shard->tags);
        pg_params_text(params, sites[i + 1].facts.system_identifier);
        bool done = target_run(sites[0].owner, INIT_DIRECTORY_SETUP_SHARD, params, error);
        pg_params_free(params);
        if (!done)
        {
            return false;
        }
    }
    return true;
}

/* The same order for all keyspaces: partition number i of each goes to shard i modulo n. */
static bool split_keyspace(Target *target, const ConfigKeyspace *keyspace, const Config *config,
                           int32_t *ret_made, Error *error)
{
    size_t count = keyspace->partition_count;
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, keyspace->prefix);
    pg_params_array(params, PG_ELEMENT_BYTES, count);
    for (size_t i = 0; i < count; i++)
    {
        setup_add_bound(params, &keyspace->bounds[i]);
    }
    pg_params_array(params, PG_ELEMENT_BYTES, count);
    for (size_t i = 1; i < count; i++)
    {
        setup_add_bound(params, &keyspace->bounds[i]);
    }
    pg_params_add_null(params);
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < count; i++)
    {
        pg_params_add_text(params, config->shards[i % config->shard_count].name);
    }
    bool done = target_ask(target, INIT_DIRECTORY_SETUP_PARTITIONS, params, setup_read_int4,
                           ret_made, error);
    pg_params_free(params);
    return done;
}

/* All keyspaces before any of their partitions: a keyspace in use gives no ids away. */
static bool add_keyspaces(Target *target, const Config *config, FILE *report, Error *error)
{
    for (size_t i = 0; i < config->keyspace_count; i++)
    {
        const ConfigKeyspace *keyspace = &config->keyspaces[i];
        PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
        pg_params_text(params, keyspace->prefix);
        pg_params_text(params, keyspace_kind_name(keyspace->kind));
        pg_params_text(params, mode_name(keyspace->default_mode));
        bool done = target_run(target, INIT_DIRECTORY_SETUP_KEYSPACE, params, error);
        pg_params_free(params);
        if (!done)
        {
            return false;
        }
    }
    for (size_t i = 0; i < config->keyspace_count; i++)
    {
        const ConfigKeyspace *keyspace = &config->keyspaces[i];
        int32_t made = 0;
        if (!split_keyspace(target, keyspace, config, &made, error))
        {
            return false;
        }
        if (made > 0)
        {
            fprintf(report, "directory: keyspace \"%s\" (%s) split into %d partitions\n",
                    keyspace->prefix, keyspace_kind_name(keyspace->kind), made);
        }
    }
    return true;
}

/* The first name that stands in the directory and not in the description. */
typedef struct Stray
{
    const Config *config;
    char name[ACCOUNT_ID_MAX + 1];
    bool found;
} Stray;

static void note_stray(Stray *stray, const char *name)
{
    snprintf(stray->name, sizeof(stray->name), "%s", name);
    stray->found = true;
}

static void look_for_stray_shard(void *context, const PgRows *rows)
{
    Stray *stray = context;
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        const char *name = pg_text(rows, row, 0);
        bool described = false;
        for (size_t i = 0; i < stray->config->shard_count; i++)
        {
            described = described || strcmp(stray->config->shards[i].name, name) == 0;
        }
        if (!described)
        {
            note_stray(stray, name);
        }
    }
}

static void look_for_stray_keyspace(void *context, const PgRows *rows)
{
    Stray *stray = context;
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        const char *prefix = pg_text(rows, row, 0);
        bool described = false;
        for (size_t i = 0; i < stray->config->keyspace_count; i++)
        {
            described = described || strcmp(stray->config->keyspaces[i].prefix, prefix) == 0;
        }
        if (!described)
        {
            note_stray(stray, prefix);
        }
    }
}

static bool check_strays(const Target *target, const Stray *shard, const Stray *keyspace,
                         Error *error)
{
    if (shard->found)
    {
        return target_complain(target, error,
                               "shard %s stands in the directory but not in the description",
                               shard->name);
    }
    return !keyspace->found ||
           target_complain(target, error,
                           "keyspace \"%s\" stands in the directory but not in the description",
                           keyspace->name);
}

static bool look_for_strays(Target *target, const Config *config, Error *error)
{
    Stray shard = {.config = config};
    Stray keyspace = {.config = config};
    return target_ask(target, INIT_DIRECTORY_SHARDS, NULL, look_for_stray_shard, &shard, error) &&
           target_ask(target, INIT_DIRECTORY_KEYSPACES, NULL, look_for_stray_keyspace, &keyspace,
                      error) &&
           check_strays(target, &shard, &keyspace, error);
}

static void copy_bound(ConfigBound *ret_bound, const PgRows *rows, size_t row, size_t column)
{
    size_t length = 0;
    const uint8_t *bytes = pg_bytes(rows, row, column, &length);
    ASSERT(length <= sizeof(ret_bound->bytes));
    memcpy(ret_bound->bytes, bytes, length);
    ret_bound->length = length;
}

/* The columns of INIT_DIRECTORY_PARTITIONS. */
static void read_partitions(void *context, const PgRows *rows)
{
    SetupPartitions *partitions = context;
    partitions->count = pg_row_count(rows);
    partitions->rows = base_calloc(partitions->count + 1, sizeof(*partitions->rows));
    for (size_t i = 0; i < partitions->count; i++)
    {
        PartitionRow *row = &partitions->rows[i];
        row->partition = pg_int4(rows, i, 0);
        snprintf(row->keyspace, sizeof(row->keyspace), "%s", pg_text(rows, i, 1));
        snprintf(row->kind, sizeof(row->kind), "%s", pg_text(rows, i, 2));
        copy_bound(&row->lo, rows, i, 3);
        row->has_hi = !pg_is_null(rows, i, 4);
        if (row->has_hi)
        {
            copy_bound(&row->hi, rows, i, 4);
        }
        snprintf(row->shard, sizeof(row->shard), "%s", pg_text(rows, i, 5));
        row->epoch = pg_int8(rows, i, 6);
    }
}

static void read_version(void *context, const PgRows *rows)
{
    int64_t *version = context;
    *version = pg_int8(rows, 0, 1);
}

static bool fill_directory(const Site *sites, const Config *config, FILE *report, Error *error)
{
    Target *target = sites[0].owner;
    int64_t before = 0;
    int64_t after = 0;
    if (!setup_run_with_text(target, INIT_DIRECTORY_SETUP_CLUSTER, config->cluster, error) ||
        !target_ask(target, INIT_READ_CLUSTER, NULL, read_version, &before, error) ||
        !look_for_strays(target, config, error) || !add_shards(sites, config, error) ||
        !add_keyspaces(target, config, report, error) ||
        !target_ask(target, INIT_READ_CLUSTER, NULL, read_version, &after, error))
    {
        return false;
    }
    if (after != before)
    {
        fprintf(report, "directory: routing version %lld\n", (long long)after);
    }
    return true;
}

bool setup_directory(Site *sites, const Config *config, FILE *report,
                     SetupPartitions **ret_partitions, Error *error)
{
    Site *site = &sites[0];
    Target *target = site->owner;
    SetupPartitions *partitions = base_calloc(1, sizeof(*partitions));
    bool done =
        setup_begin(site, report, error) && setup_migrate(site, report, error) &&
        fill_directory(sites, config, report, error) &&
        setup_run_with_text(target, INIT_DIRECTORY_GRANT, site->role, error) &&
        target_ask(target, INIT_DIRECTORY_PARTITIONS, NULL, read_partitions, partitions, error) &&
        target_commit(target, error);
    if (!done)
    {
        setup_partitions_free(partitions);
        return false;
    }
    *ret_partitions = partitions;
    return true;
}
