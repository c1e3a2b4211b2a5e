/*
 * Sets up a shard, see setup.h. The participant functions are loaded anew each time: they are the
 * program's other half and must be of its version.
 */
#include "cluster/setup.h"

#include "cluster/embedded.h"

#include <stdlib.h>
#include <string.h>

static bool load_participants(const Site *site, Error *error)
{
    static const char folder[] = "participants/";
    for (const EmbeddedFile *file = embedded_files(); file->path != NULL; file++)
    {
        if (strncmp(file->path, folder, sizeof(folder) - 1) == 0 &&
            !target_run_file(site->owner, file->path, file->text, error))
        {
            return false;
        }
    }
    return true;
}

static bool say_who_it_is(const Site *site, Error *error)
{
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, site->purpose.cluster);
    pg_params_text(params, site->purpose.name);
    pg_params_int4(params, site->purpose.ordinal);
    bool done = target_run(site->owner, INIT_SHARD_SETUP, params, error);
    pg_params_free(params);
    return done;
}

/* The arrays of giro.setup_partitions, column by column. */
static void put_partitions(PgParams *params, const PartitionRow *const *rows, size_t count)
{
    pg_params_array(params, PG_ELEMENT_INT4, count);
    for (size_t i = 0; i < count; i++)
    {
        pg_params_add_int4(params, rows[i]->partition);
    }
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < count; i++)
    {
        pg_params_add_text(params, rows[i]->keyspace);
    }
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < count; i++)
    {
        pg_params_add_text(params, rows[i]->kind);
    }
    pg_params_array(params, PG_ELEMENT_BYTES, count);
    for (size_t i = 0; i < count; i++)
    {
        setup_add_bound(params, &rows[i]->lo);
    }
    pg_params_array(params, PG_ELEMENT_BYTES, count);
    for (size_t i = 0; i < count; i++)
    {
        if (rows[i]->has_hi)
        {
            setup_add_bound(params, &rows[i]->hi);
        }
        else
        {
            pg_params_add_null(params);
        }
    }
    pg_params_array(params, PG_ELEMENT_INT8, count);
    for (size_t i = 0; i < count; i++)
    {
        pg_params_add_int8(params, rows[i]->epoch);
    }
}

static bool add_partitions(const Site *site, const SetupPartitions *partitions, FILE *report,
                           Error *error)
{
    const PartitionRow **owned = base_calloc(partitions->count + 1, sizeof(const PartitionRow *));
    size_t count = 0;
    for (size_t i = 0; i < partitions->count; i++)
    {
        if (strcmp(partitions->rows[i].shard, site->purpose.name) == 0)
        {
            owned[count++] = &partitions->rows[i];
        }
    }
    int32_t added = 0;
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    put_partitions(params, owned, count);
    bool done = target_ask(site->owner, INIT_SHARD_SETUP_PARTITIONS, params, setup_read_int4,
                           &added, error);
    pg_params_free(params);
    free(owned);
    if (done && added > 0)
    {
        setup_say(report, "%s: %d partitions added\n", site->purpose.name, added);
    }
    return done;
}

bool setup_shard(Site *site, const SetupPartitions *partitions, FILE *report, Error *error)
{
    return setup_begin(site, error) && setup_migrate(site, report, error) &&
           load_participants(site, error) && say_who_it_is(site, error) &&
           add_partitions(site, partitions, report, error) &&
           setup_run_with_text(site->owner, INIT_SHARD_GRANT, site->role, error) &&
           target_commit(site->owner, error);
}
