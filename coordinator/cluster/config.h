/*
 * The cluster description: one JSON file from which `girod init` creates directory and shards, and
 * in which `girod serve` finds the directory.
 *
 *   {"cluster": "demo",
 *    "directory": {"dsn": "…", "owner_dsn": "…"},
 *    "shards": [
 *      {"name": "shard-1", "ordinal": 1, "dsn": "…", "owner_dsn": "…", "tags": {"zone": "a"}}],
 *    "keyspaces": [
 *      {"prefix": "", "kind": "hash", "partitions": 64, "default_mode": "2pc"}]}
 *
 * `dsn` is for the coordinators' role, `owner_dsn` for the role that owns the tables (only init
 * uses it, so it may be left out of the copy that a coordinator reads). A hash keyspace says into
 * how many equal `partitions` it is split at first (64 if it does not say); a range or compound one
 * lists its `splits`, the lower bounds of all partitions but the first. Exactly one keyspace has
 * the empty prefix.
 *
 * Every mistake is reported with the JSON pointer of its place: "/shards/1/name: …".
 */
#ifndef GIRO_CONFIG_H
#define GIRO_CONFIG_H

#include "shard/directory.h"

enum
{
    CONFIG_BYTES_MAX = 1 << 20,
    CONFIG_SHARDS_MAX = 256,
    CONFIG_KEYSPACES_MAX = 256,
    CONFIG_PARTITIONS_MAX = 4096, /* of one keyspace */
    CONFIG_PARTITIONS_DEFAULT = 64,
    CONFIG_ORDINAL_MAX = 1000000,
};

typedef struct ConfigDatabase
{
    char *dsn;
    char *owner_dsn; /* NULL when the description leaves it out */
} ConfigDatabase;

typedef struct ConfigShard
{
    char *name;
    int ordinal;
    ConfigDatabase database;
    char *tags; /* a JSON object of strings, compact */
} ConfigShard;

/* The lower bound of a partition; the upper one is that of the next, the last has none. */
typedef struct ConfigBound
{
    uint8_t bytes[ROUTE_MAX];
    size_t length; /* 0 for the first */
} ConfigBound;

typedef struct ConfigKeyspace
{
    char *prefix;
    KeyspaceKind kind;
    TransferMode default_mode; /* MODE_2PC or MODE_SAGA */
    ConfigBound *bounds;       /* strictly ascending */
    size_t partition_count;
    bool is_split_stated; /* by "partitions" or "splits"; else a standing one keeps what it has */
} ConfigKeyspace;

/* Read-only once it is parsed. */
typedef struct Config
{
    char *cluster;
    ConfigDatabase directory;
    ConfigShard *shards; /* by ascending ordinal */
    size_t shard_count;
    ConfigKeyspace *keyspaces; /* in the order of the description */
    size_t keyspace_count;
} Config;

/* Both return NULL with ERROR_CONFIG. The file is read at once, blocking: before the loop runs. */
Config *config_read(const char *path, Error *error) ATTR_MUST_USE;
Config *config_parse(const char *text, size_t length, Error *error) ATTR_MUST_USE;
void config_free(Config *config); /* accepts NULL */

#endif
