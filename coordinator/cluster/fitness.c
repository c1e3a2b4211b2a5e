/*
 * Whether a database is fit, see fitness.h.
 */
#include "cluster/fitness.h"

#include <string.h>

static bool check_server(const Facts *facts, const Purpose *purpose, Error *error)
{
    if (facts->version < FITNESS_VERSION_MIN)
    {
        return error_set(error, ERROR_SETUP, "%s: this is PostgreSQL %d; Giro needs 15 or later",
                         purpose->name, facts->version / 10000);
    }
    if (facts->in_recovery)
    {
        return error_set(error, ERROR_SETUP, "%s: this server is a standby; name the primary",
                         purpose->name);
    }
    if (purpose->may_lose_writes)
    {
        return true;
    }
    if (!facts->fsync || !facts->full_page_writes)
    {
        return error_set(error, ERROR_SETUP,
                         "%s: %s is off, so a crash of the machine loses transfers that were "
                         "answered; switch it on (or say --allow-fsync-off, for tests)",
                         purpose->name, facts->fsync ? "full_page_writes" : "fsync");
    }
    return true;
}

/* Only shards prepare transactions. */
static bool check_prepared(const Facts *facts, const Purpose *purpose, Error *error)
{
    return purpose->ordinal == 0 || facts->max_prepared_transactions >= FITNESS_PREPARED_MIN ||
           error_set(error, ERROR_SETUP,
                     "%s: max_prepared_transactions is %d; two-phase commit needs at least %d "
                     "(better: as many as max_connections); set it and restart Postgres",
                     purpose->name, facts->max_prepared_transactions, FITNESS_PREPARED_MIN);
}

static bool check_rights(const Facts *facts, const Purpose *purpose, Error *error)
{
    if (!facts->schema_is_ours)
    {
        return error_set(error, ERROR_SETUP,
                         "%s: Giro's schema in database %s belongs to a role that %s is no member "
                         "of",
                         purpose->name, facts->database, facts->owner);
    }
    if (!facts->is_set_up && !facts->may_create_schemas)
    {
        return error_set(error, ERROR_SETUP,
                         "%s: role %s may not create schemas in database %s; grant it CREATE",
                         purpose->name, facts->owner, facts->database);
    }
    if (!facts->role_exists && !facts->may_create_roles)
    {
        return error_set(error, ERROR_SETUP,
                         "%s: the coordinator's role %s does not exist and %s may not create it; "
                         "create it, or give %s CREATEROLE",
                         purpose->name, purpose->role, facts->owner, facts->owner);
    }
    if (strcmp(purpose->role, facts->owner) == 0 || facts->role_is_too_strong)
    {
        return error_set(error, ERROR_SETUP,
                         "%s: the coordinator's role %s must be neither superuser nor the owner "
                         "nor a member of it: it may execute functions and nothing else",
                         purpose->name, purpose->role);
    }
    return true;
}

static bool check_identity(const Facts *facts, const Purpose *purpose, Error *error)
{
    if (purpose->ordinal == 0 || facts->cluster[0] == '\0')
    {
        return true;
    }
    if (strcmp(facts->cluster, purpose->cluster) != 0)
    {
        return error_set(error, ERROR_SETUP,
                         "%s: this database is a shard of cluster %s, not of %s", purpose->name,
                         facts->cluster, purpose->cluster);
    }
    if (strcmp(facts->name, purpose->name) != 0)
    {
        return error_set(error, ERROR_SETUP, "%s: this database is shard %s of this cluster",
                         purpose->name, facts->name);
    }
    return facts->ordinal == purpose->ordinal ||
           error_set(error, ERROR_SETUP, "%s: its ordinal is %d and never changes; %d is wrong",
                     purpose->name, facts->ordinal, purpose->ordinal);
}

bool fitness_check(const Facts *facts, const Purpose *purpose, Error *error)
{
    return check_server(facts, purpose, error) && check_prepared(facts, purpose, error) &&
           check_rights(facts, purpose, error) && check_identity(facts, purpose, error);
}

bool fitness_is_same_database(const Facts *a, const Facts *b)
{
    return strcmp(a->system_identifier, b->system_identifier) == 0 &&
           strcmp(a->database, b->database) == 0;
}
