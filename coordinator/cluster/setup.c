/*
 * What the set-up of directory and shards has in common, see setup.h.
 */
#include "cluster/setup.h"

#include "cluster/embedded.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum
{
    STATEMENT_TEXT_MAX = 1024,
};

void setup_partitions_free(SetupPartitions *partitions)
{
    if (partitions != NULL)
    {
        free(partitions->rows);
        free(partitions);
    }
}

void setup_read_int4(void *context, const PgRows *rows)
{
    int32_t *value = context;
    *value = pg_int4(rows, 0, 0);
}

static void read_text(void *context, const PgRows *rows)
{
    char *text = context;
    snprintf(text, STATEMENT_TEXT_MAX, "%s", pg_text(rows, 0, 0));
}

bool setup_run_with_text(Target *target, InitStatement statement, const char *text, Error *error)
{
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, text);
    bool done = target_run(target, statement, params, error);
    pg_params_free(params);
    return done;
}

void setup_say(FILE *report, const char *format, ...)
{
    if (report == NULL)
    {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vfprintf(report, format, arguments);
    va_end(arguments);
}

static bool create_role(const Site *site, FILE *report, Error *error)
{
    if (site->facts.role_exists)
    {
        return true;
    }
    char sql[STATEMENT_TEXT_MAX] = "";
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, site->role);
    pg_params_text(params, site->password);
    bool done = target_ask(site->owner, INIT_CREATE_ROLE, params, read_text, sql, error) &&
                target_run_text(site->owner, "create the coordinator's role", sql, error);
    pg_params_free(params);
    if (done)
    {
        setup_say(report, "%s: role %s created\n", site->purpose.name, site->role);
    }
    return done;
}

bool setup_begin(Site *site, Error *error)
{
    return target_run(site->owner, INIT_BEGIN, NULL, error) &&
           target_run(site->owner, INIT_LOCK, NULL, error) && site_look(site, error);
}

bool setup_role(Site *site, FILE *report, Error *error)
{
    return site->facts.role_exists ||
           (setup_begin(site, error) && create_role(site, report, error) &&
            target_commit(site->owner, error));
}

static bool record_migration(const Site *site, const char *path, int number, Error *error)
{
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_int4(params, number);
    pg_params_text(params, strrchr(path, '/') + 1);
    bool done = target_run(site->owner,
                           site->shard == NULL ? INIT_DIRECTORY_RECORD_MIGRATION
                                               : INIT_SHARD_RECORD_MIGRATION,
                           params, error);
    pg_params_free(params);
    return done;
}

bool setup_migrate(const Site *site, FILE *report, Error *error)
{
    const char *folder = site->shard == NULL ? "schema/directory/" : "schema/shard/";
    InitStatement ask = site->shard == NULL ? INIT_DIRECTORY_MIGRATED : INIT_SHARD_MIGRATED;
    int32_t applied = 0;
    if (site->facts.is_set_up &&
        !target_ask(site->owner, ask, NULL, setup_read_int4, &applied, error))
    {
        return false;
    }
    for (const EmbeddedFile *file = embedded_files(); file->path != NULL; file++)
    {
        if (strncmp(file->path, folder, strlen(folder)) != 0)
        {
            continue;
        }
        int number = (int)strtol(file->path + strlen(folder), NULL, 10);
        ASSERT(number > 0);
        if (number <= applied)
        {
            continue;
        }
        if (!target_run_file(site->owner, file->path, file->text, error) ||
            !record_migration(site, file->path, number, error))
        {
            return false;
        }
        setup_say(report, "%s: %s applied\n", site->purpose.name, file->path);
    }
    return true;
}

void setup_add_bound(PgParams *params, const ConfigBound *bound)
{
    pg_params_add_bytes(params, bound->bytes, bound->length);
}
