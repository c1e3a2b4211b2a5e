/*
 * A database on its way into the cluster, see site.h.
 */
#include "cluster/site.h"

#include "pg/pg_dsn.h"

#include <stdio.h>
#include <string.h>

enum
{
    PARAMS_MAX = 4096,
};

static bool copy_setting(const PgDsn *dsn, const char *keyword, char *ret_value, size_t size)
{
    for (size_t i = 0; i < dsn->setting_count; i++)
    {
        if (strcmp(dsn->keywords[i], keyword) == 0)
        {
            int length = snprintf(ret_value, size, "%s", dsn->values[i]);
            return length > 0 && (size_t)length < size;
        }
    }
    ret_value[0] = '\0';
    return true;
}

static bool read_role(Site *site, Error *error)
{
    PgDsn dsn;
    Error cause = {0};
    if (!pg_dsn_init(&dsn, site->database->dsn, &cause))
    {
        return error_set(error, ERROR_CONFIG, "%s: dsn: %s", site->purpose.name, cause.text);
    }
    bool fits = copy_setting(&dsn, "user", site->role, sizeof(site->role)) &&
                copy_setting(&dsn, "password", site->password, sizeof(site->password));
    pg_dsn_done(&dsn);
    if (!fits || site->role[0] == '\0')
    {
        return error_set(error, ERROR_CONFIG,
                         "%s: dsn: must name the coordinator's role as user, in up to %d bytes",
                         site->purpose.name, FITNESS_NAME_MAX - 1);
    }
    return true;
}

bool site_open(Site *site, Loop *loop, const ConfigDatabase *database, Error *error)
{
    site->database = database;
    site->purpose.role = site->role;
    if (database->owner_dsn == NULL)
    {
        return error_set(error, ERROR_CONFIG, "%s: owner_dsn is missing, and init needs it",
                         site->purpose.name);
    }
    if (!read_role(site, error))
    {
        return false;
    }
    site->owner = target_new(loop, site->purpose.name, database->owner_dsn, error);
    return site->owner != NULL;
}

void site_done(Site *site)
{
    target_free(site->coordinator);
    target_free(site->owner);
    site->coordinator = NULL;
    site->owner = NULL;
}

static void copy_text(char *ret_text, size_t size, const PgRows *rows, size_t column)
{
    const char *text = pg_text(rows, 0, column);
    snprintf(ret_text, size, "%s", text == NULL ? "" : text);
}

/* The columns of INIT_FACTS. */
static void read_facts(void *context, const PgRows *rows)
{
    Facts *facts = context;
    facts->version = pg_int4(rows, 0, 0);
    facts->fsync = pg_bool(rows, 0, 1);
    facts->full_page_writes = pg_bool(rows, 0, 2);
    facts->max_prepared_transactions = pg_int4(rows, 0, 3);
    facts->in_recovery = pg_bool(rows, 0, 4);
    copy_text(facts->system_identifier, sizeof(facts->system_identifier), rows, 5);
    copy_text(facts->database, sizeof(facts->database), rows, 6);
    copy_text(facts->owner, sizeof(facts->owner), rows, 7);
    facts->may_create_schemas = pg_bool(rows, 0, 8);
    facts->may_create_roles = pg_bool(rows, 0, 9);
    facts->role_exists = pg_bool(rows, 0, 10);
    facts->role_is_too_strong = pg_bool(rows, 0, 11);
    facts->schema_is_ours = pg_bool(rows, 0, 12);
    facts->is_set_up = pg_bool(rows, 0, 13);
    copy_text(facts->timeline, sizeof(facts->timeline), rows, 14);
}

static void read_identity(void *context, const PgRows *rows)
{
    Facts *facts = context;
    if (pg_row_count(rows) == 1)
    {
        copy_text(facts->cluster, sizeof(facts->cluster), rows, 0);
        copy_text(facts->name, sizeof(facts->name), rows, 1);
        facts->ordinal = pg_int4(rows, 0, 2);
        facts->epoch = pg_int8(rows, 0, 3);
    }
}

bool site_look(Site *site, Error *error)
{
    PgParams *params = pg_params_new(PARAMS_MAX);
    pg_params_text(params, site->role);
    pg_params_text(params, site->shard == NULL ? "giro_directory" : "giro");
    pg_params_text(params, site->shard == NULL ? "cluster" : "shard");
    site->facts = (Facts){0};
    bool known = target_ask(site->owner, INIT_FACTS, params, read_facts, &site->facts, error);
    pg_params_free(params);
    if (known && site->shard != NULL && site->facts.is_set_up && site->facts.schema_is_ours)
    {
        known =
            target_ask(site->owner, INIT_SHARD_IDENTITY, NULL, read_identity, &site->facts, error);
    }
    return known && fitness_check(&site->facts, &site->purpose, error);
}

/* ---- the coordinator's way in --------------------------------------------------------------- */

typedef struct Entrance
{
    const Site *site;
    bool is_right;
} Entrance;

static bool is_text(const PgRows *rows, size_t column, const char *wanted)
{
    const char *text = pg_text(rows, 0, column);
    return text != NULL && strcmp(text, wanted) == 0;
}

static void read_session(void *context, const PgRows *rows)
{
    Entrance *entrance = context;
    const Site *site = entrance->site;
    entrance->is_right = pg_row_count(rows) == 1 && is_text(rows, 0, site->purpose.cluster) &&
                         is_text(rows, 1, site->purpose.name) &&
                         is_text(rows, 2, site->facts.system_identifier) &&
                         is_text(rows, 3, site->facts.database);
}

static void read_cluster(void *context, const PgRows *rows)
{
    Entrance *entrance = context;
    entrance->is_right =
        pg_row_count(rows) == 1 && is_text(rows, 0, entrance->site->purpose.cluster);
}

/* The columns of INIT_WHERE. */
static void read_where(void *context, const PgRows *rows)
{
    Facts *facts = context;
    copy_text(facts->system_identifier, sizeof(facts->system_identifier), rows, 0);
    copy_text(facts->database, sizeof(facts->database), rows, 1);
    facts->in_recovery = pg_bool(rows, 0, 2);
}

bool site_enter(Site *site, Loop *loop, Error *error)
{
    snprintf(site->coordinator_name, sizeof(site->coordinator_name), "%s, as the coordinator",
             site->purpose.name);
    site->coordinator = target_new(loop, site->coordinator_name, site->database->dsn, error);
    Facts there = {0};
    if (site->coordinator == NULL ||
        !target_ask(site->coordinator, INIT_WHERE, NULL, read_where, &there, error))
    {
        return false;
    }
    if (!fitness_is_same_database(&there, &site->facts))
    {
        return target_complain(site->coordinator, error,
                               "dsn and owner_dsn lead to different databases: %s of server %s, "
                               "%s of server %s",
                               there.database, there.system_identifier, site->facts.database,
                               site->facts.system_identifier);
    }
    return !there.in_recovery ||
           target_complain(site->coordinator, error,
                           "dsn leads to a standby of the server that owner_dsn leads to");
}

bool site_try_coordinator(const Site *site, Error *error)
{
    Entrance entrance = {.site = site};
    bool is_shard = site->shard != NULL;
    return target_ask(site->coordinator, is_shard ? INIT_READ_SESSION : INIT_READ_CLUSTER, NULL,
                      is_shard ? read_session : read_cluster, &entrance, error) &&
           (entrance.is_right ||
            target_complain(site->coordinator, error, "this is not what was set up"));
}
