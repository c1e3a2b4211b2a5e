/*
 * One copy of the directory's contents, checked and ready for look-ups; immutable once built. The
 * inside of Directory, free of I/O.
 */
#ifndef GIRO_ROUTING_H
#define GIRO_ROUTING_H

#include "shard/directory.h"

enum
{
    ROUTING_SHARDS_MAX = 1024,
    ROUTING_KEYSPACES_MAX = 1024,
    ROUTING_PARTITIONS_MAX = 262144,
};

/* What the directory's read functions answered. */
typedef struct RoutingSource
{
    const PgRows *cluster;    /* name, format_version, version */
    const PgRows *shards;     /* name, ordinal, dsn, system_identifier, epoch, timeline */
    const PgRows *keyspaces;  /* prefix, kind, default_mode */
    const PgRows *partitions; /* partition, keyspace, lo, hi, shard, epoch */
} RoutingSource;

typedef struct RoutingShard
{
    char *name;
    char *dsn;
    int ordinal;
    Incarnation incarnation;
} RoutingShard;

typedef struct RoutingKeyspace
{
    char *prefix;
    size_t prefix_length;
    KeyspaceKind kind;
    TransferMode default_mode;
    size_t first; /* its partitions: [first, first + count), ascending lo */
    size_t count;
} RoutingKeyspace;

typedef struct RoutingPartition
{
    int32_t id;
    int64_t epoch;
    size_t shard; /* place among the shards */
    Route lo;
    Route hi;
    bool endless; /* no upper end */
} RoutingPartition;

typedef struct Routing
{
    char *cluster;
    int64_t version;
    RoutingShard *shards; /* ascending ordinals */
    size_t shard_count;
    RoutingKeyspace *keyspaces; /* longest prefixes first */
    size_t keyspace_count;
    RoutingPartition *partitions;
    size_t partition_count;
} Routing;

/* NULL, with the reason, if the contents are not sound. */
Routing *routing_new(const RoutingSource *source, Error *error) ATTR_MUST_USE;
void routing_free(Routing *routing); /* accepts NULL */

/* The keyspace of an id, and the partition that holds its route. Never fail for a sound copy. */
const RoutingKeyspace *routing_keyspace(const Routing *routing, const char *account_id);
const RoutingPartition *routing_partition(const Routing *routing, const RoutingKeyspace *keyspace,
                                          const Route *route);

/* Marks the places of the shards that can be home to a transfer with this id. */
void routing_candidates(const Routing *routing, const uint8_t transfer_id[16], bool *marks);

#endif
