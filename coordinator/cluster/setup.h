/*
 * How one database is set up, in one transaction: the coordinator's role, the numbered files of
 * schema/, the participant functions, its rows, the coordinator's rights.
 */
#ifndef GIRO_SETUP_H
#define GIRO_SETUP_H

#include "cluster/site.h"

#include <stdio.h>

enum
{
    SETUP_PARAMS_MAX = 4 << 20, /* holds the arrays of CONFIG_PARTITIONS_MAX partitions */
    SETUP_KIND_MAX = 16,
};

/* Who owns what, as the directory says. */
typedef struct PartitionRow
{
    int32_t partition;
    char keyspace[ACCOUNT_ID_MAX + 1];
    char kind[SETUP_KIND_MAX];
    char shard[NAME_MAX_LENGTH + 1];
    ConfigBound lo;
    ConfigBound hi;
    bool has_hi;
    int64_t epoch;
} PartitionRow;

typedef struct SetupPartitions
{
    PartitionRow *rows;
    size_t count;
} SetupPartitions;
void setup_partitions_free(SetupPartitions *partitions); /* accepts NULL */

/* `sites` are those of init: the directory, then the shards, whose facts are known. */
bool setup_directory(Site *sites, const Config *config, FILE *report,
                     SetupPartitions **ret_partitions, Error *error) ATTR_MUST_USE;
bool setup_shard(Site *site, const SetupPartitions *partitions, FILE *report,
                 Error *error) ATTR_MUST_USE;

/* ---- what both have in common --------------------------------------------------------------- */

/* Begins the transaction, waits for its turn and looks again: another init, or that of a database
 * on the same server, may have done something in between. Creates the coordinator's role. */
bool setup_begin(Site *site, FILE *report, Error *error) ATTR_MUST_USE;

/* Applies the files of schema/<kind>/ with numbers above the last one applied. */
bool setup_migrate(const Site *site, FILE *report, Error *error) ATTR_MUST_USE;

/* A statement with one text parameter. */
bool setup_run_with_text(Target *target, InitStatement statement, const char *text,
                         Error *error) ATTR_MUST_USE;

/* A TargetRead for one int4; context is an int32_t. */
void setup_read_int4(void *context, const PgRows *rows);

void setup_add_bound(PgParams *params, const ConfigBound *bound);

#endif
