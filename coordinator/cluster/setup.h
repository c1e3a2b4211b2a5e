/*
 * How a database is set up, step by step; the order of the steps, and why it is safe, is in init.h.
 * Each step is one transaction and may be repeated. `report` gets a line for each thing done.
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

/* Creates the coordinator's role if the server lacks it; it has no rights yet. */
bool setup_role(Site *site, FILE *report, Error *error) ATTR_MUST_USE;

/* `sites` are those of init: the directory, then the shards, whose facts are known.
 *
 * Says who owns what. A directory that is new is filled, which decides it, but no coordinator may
 * read it yet. One that stands is filled on trial and rolled back: it has decided long ago, and the
 * trial finds what contradicts it. */
bool setup_decide(Site *sites, const Config *config, FILE *report, SetupPartitions **ret_partitions,
                  Error *error) ATTR_MUST_USE;
bool setup_shard(Site *site, const SetupPartitions *partitions, FILE *report,
                 Error *error) ATTR_MUST_USE;
/* Puts into the directory what is new in the description and lets coordinators read it. */
bool setup_publish(Site *sites, const Config *config, FILE *report, Error *error) ATTR_MUST_USE;

/* ---- what both have in common --------------------------------------------------------------- */

/* Begins the transaction, waits for its turn and looks again: another init, or that of a database
 * on the same server, may have done something in between. */
bool setup_begin(Site *site, Error *error) ATTR_MUST_USE;

/* A line of the report; a NULL report hears nothing. */
void setup_say(FILE *report, const char *format, ...) ATTR_PRINTF(2, 3);

/* Applies the files of schema/<kind>/ with numbers above the last one applied. */
bool setup_migrate(const Site *site, FILE *report, Error *error) ATTR_MUST_USE;

/* A statement with one text parameter. */
bool setup_run_with_text(Target *target, InitStatement statement, const char *text,
                         Error *error) ATTR_MUST_USE;

/* A TargetRead for one int4; context is an int32_t. */
void setup_read_int4(void *context, const PgRows *rows);

void setup_add_bound(PgParams *params, const ConfigBound *bound);

#endif
