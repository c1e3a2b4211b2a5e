/*
 * Is a database fit to be the directory or a shard? Pure: facts in, verdict out.
 *
 * All databases are looked at before anything is changed, so a cluster is set up whole or not at
 * all as far as this can tell.
 */
#ifndef GIRO_FITNESS_H
#define GIRO_FITNESS_H

#include "base/error.h"
#include "shard/route.h"

enum
{
    FITNESS_VERSION_MIN = 150000,
    FITNESS_PREPARED_MIN = 8,
    FITNESS_NAME_MAX = 64, /* of roles and databases, with the NUL */
};

typedef struct Facts
{
    int32_t version; /* server_version_num */
    bool fsync;
    bool full_page_writes;
    int32_t max_prepared_transactions;
    bool in_recovery;
    char system_identifier[24];
    char database[FITNESS_NAME_MAX];
    char owner[FITNESS_NAME_MAX]; /* whom set-up is connected as */
    bool may_create_schemas;
    bool may_create_roles;
    bool role_exists;        /* the coordinator's */
    bool role_is_too_strong; /* superuser, the owner, or a member of it */
    bool schema_is_ours;     /* absent, or the owner's */
    bool is_set_up;          /* the schema and its first table stand */
    char timeline[12];       /* "" in recovery */
    /* of a shard that is set up */
    char cluster[NAME_MAX_LENGTH + 1];
    char name[NAME_MAX_LENGTH + 1];
    int32_t ordinal;
    int64_t epoch; /* 0 before it is set up */
} Facts;

/* What the database is to become. */
typedef struct Purpose
{
    const char *cluster;
    const char *name;     /* of the shard; "directory" */
    int ordinal;          /* 0 for the directory */
    const char *role;     /* the coordinator's */
    bool may_lose_writes; /* --allow-fsync-off */
} Purpose;

/* False with ERROR_SETUP "name: …", which says what is wrong and what would be right. */
bool fitness_check(const Facts *facts, const Purpose *purpose, Error *error) ATTR_MUST_USE;

/* Are these the same database of the same Postgres cluster? */
bool fitness_is_same_database(const Facts *a, const Facts *b);

#endif
