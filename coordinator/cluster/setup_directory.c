/*
 * Sets up the directory, see setup.h: cluster, shards, keyspaces, partitions. What stands in it and
 * not in the description, or otherwise than described, is refused before anything is added.
 */
#include "cluster/setup.h"

#include <string.h>

static bool add_shard(Target *target, const ConfigShard *shard, const Facts *facts, Error *error)
{
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, shard->name);
    pg_params_int4(params, shard->ordinal);
    pg_params_text(params, shard->database.dsn);
    pg_params_text(params, shard->tags);
    pg_params_text(params, facts->system_identifier);
    bool done = target_run(target, INIT_DIRECTORY_SETUP_SHARD, params, error);
    pg_params_free(params);
    return done;
}

/* A shard begins with epoch 1. */
static bool add_history(Target *target, const ConfigShard *shard, const Facts *facts, Error *error)
{
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, shard->name);
    pg_params_int8(params, facts->epoch > 0 ? facts->epoch : 1);
    pg_params_text(params, facts->timeline);
    bool done = target_run(target, INIT_DIRECTORY_SETUP_HISTORY, params, error);
    pg_params_free(params);
    return done;
}

static bool add_shards(const Site *sites, const Config *config, Error *error)
{
    for (size_t i = 0; i < config->shard_count; i++)
    {
        const ConfigShard *shard = &config->shards[i];
        const Facts *facts = &sites[i + 1].facts;
        if (!add_shard(sites[0].owner, shard, facts, error) ||
            !add_history(sites[0].owner, shard, facts, error))
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
            setup_say(report, "directory: keyspace \"%s\" (%s) split into %d partitions\n",
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
        setup_say(report, "directory: routing version %lld\n", (long long)after);
    }
    return true;
}

/* ---- does a standing keyspace have the partitions that are described? ------------------------ */

static bool has_bound(const SetupPartitions *partitions, const char *keyspace,
                      const ConfigBound *bound)
{
    for (size_t i = 0; i < partitions->count; i++)
    {
        const PartitionRow *row = &partitions->rows[i];
        if (strcmp(row->keyspace, keyspace) == 0 &&
            route_compare(row->lo.bytes, row->lo.length, bound->bytes, bound->length) == 0)
        {
            return true;
        }
    }
    return false;
}

static size_t count_partitions(const SetupPartitions *partitions, const char *keyspace)
{
    size_t count = 0;
    for (size_t i = 0; i < partitions->count; i++)
    {
        count += strcmp(partitions->rows[i].keyspace, keyspace) == 0;
    }
    return count;
}

/* Of a hash keyspace only the number is described. */
static bool check_split(const Target *target, const SetupPartitions *partitions,
                        const ConfigKeyspace *keyspace, Error *error)
{
    size_t count = count_partitions(partitions, keyspace->prefix);
    bool is_hash = keyspace->kind == KEYSPACE_HASH;
    const char *field = is_hash ? "partitions" : "splits";
    if (count != keyspace->partition_count)
    {
        return target_complain(target, error,
                               "keyspace \"%s\" has %zu partitions, which init does not change, "
                               "not %zu; correct \"%s\" or leave it out",
                               keyspace->prefix, count, keyspace->partition_count, field);
    }
    for (size_t i = 1; !is_hash && i < keyspace->partition_count; i++)
    {
        const ConfigBound *bound = &keyspace->bounds[i];
        if (!has_bound(partitions, keyspace->prefix, bound))
        {
            return target_complain(target, error,
                                   "keyspace \"%s\" is not split at \"%.*s\", and init does not "
                                   "change that; correct \"%s\" or leave it out",
                                   keyspace->prefix, (int)bound->length, (const char *)bound->bytes,
                                   field);
        }
    }
    return true;
}

static bool check_splits(const Target *target, const SetupPartitions *partitions,
                         const Config *config, Error *error)
{
    for (size_t i = 0; i < config->keyspace_count; i++)
    {
        const ConfigKeyspace *keyspace = &config->keyspaces[i];
        if (keyspace->is_split_stated && !check_split(target, partitions, keyspace, error))
        {
            return false;
        }
    }
    return true;
}

/* ---- the two steps --------------------------------------------------------------------------- */

/* Within the transaction that is open. */
static bool decide(const Site *sites, const Config *config, FILE *report,
                   SetupPartitions *partitions, Error *error)
{
    Target *target = sites[0].owner;
    return setup_migrate(&sites[0], report, error) &&
           fill_directory(sites, config, report, error) &&
           target_ask(target, INIT_DIRECTORY_PARTITIONS, NULL, read_partitions, partitions,
                      error) &&
           check_splits(target, partitions, config, error);
}

bool setup_decide(Site *sites, const Config *config, FILE *report, SetupPartitions **ret_partitions,
                  Error *error)
{
    Target *target = sites[0].owner;
    if (!setup_begin(&sites[0], error))
    {
        return false;
    }
    bool stands = sites[0].facts.is_set_up;
    SetupPartitions *partitions = base_calloc(1, sizeof(*partitions));
    bool done =
        decide(sites, config, stands ? NULL : report, partitions, error) &&
        (stands ? target_run(target, INIT_ROLLBACK, NULL, error) : target_commit(target, error));
    if (!done)
    {
        setup_partitions_free(partitions);
        return false;
    }
    *ret_partitions = partitions;
    return true;
}

bool setup_publish(Site *sites, const Config *config, FILE *report, Error *error)
{
    Site *site = &sites[0];
    return setup_begin(site, error) && setup_migrate(site, report, error) &&
           fill_directory(sites, config, report, error) &&
           setup_run_with_text(site->owner, INIT_DIRECTORY_GRANT, site->role, error) &&
           target_commit(site->owner, error);
}
