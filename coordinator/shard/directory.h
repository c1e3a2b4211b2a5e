/*
 * The routing that a coordinator works by: a cached copy of the directory database.
 *
 * The cache is refreshed when asked (a shard answered stale_route), and by a slow poll. While the
 * directory database is down the copy at hand goes on to be used: a stale copy can cost a retry but
 * never money, since every write is fenced on the shard itself.
 *
 * It also carries marks between coordinators: what each has seen acknowledged is written about once
 * a second, and what all have written is read with every copy, see history.h.
 *
 * An account id is turned into a *route*, a byte string, by the keyspace with the longest matching
 * prefix; the partition whose half-open range [lo, hi) holds the route owns the account (route.h).
 *
 * A copy is read in one snapshot and replaces the one at hand only if it is sound: same cluster,
 * known format, every range of every keyspace covered once, every owner known, no ordinal changed.
 * Shard objects are kept from copy to copy; a shard that left the directory is only listed no more.
 */
#ifndef GIRO_DIRECTORY_H
#define GIRO_DIRECTORY_H

#include "shard/mode.h"
#include "shard/route.h"
#include "shard/shard.h"

typedef struct Directory Directory;

enum
{
    DIRECTORY_REFRESH_MAX = 4096,
};

typedef struct DirectoryOptions
{
    const char *dsn; /* of the directory database, coordinator's role */
    ShardOptions
        session; /* limits for the shards' sessions; what tells one shard from another is ignored */
    uint64_t poll_ms;
} DirectoryOptions;

/* Where an account lives, by the copy at hand. The shard object lives as long as the directory. */
typedef struct Location
{
    Shard *shard;
    int32_t partition;
    int64_t epoch;
    Route route;
    TransferMode default_mode; /* of the keyspace */
    const char *keyspace;      /* its prefix; lent as long as the directory */
} Location;

Directory *directory_new(Loop *loop, const DirectoryOptions *options);
void directory_free(Directory *directory); /* accepts NULL; frees the shards too */

/* False until the first copy has arrived. */
bool directory_is_loaded(const Directory *directory);
bool directory_is_reachable(const Directory *directory);
int64_t directory_version(const Directory *directory);
const char *directory_cluster(const Directory *directory); /* name; "" until loaded */

/* Calls done once, in a later turn, when a copy whose reading began after this call is in use
 * (true), or when none could be had within deadline_ms (false). Requests that come while a refresh
 * runs share the one after it. At most DIRECTORY_REFRESH_MAX wait; more are answered false in the
 * next turn. The done context must outlive the call. */
typedef void (*DirectoryRefreshed)(void *context, bool fresh);
void directory_refresh(Directory *directory, uint64_t deadline_ms, DirectoryRefreshed done,
                       void *context);

/* False if nothing is loaded. The id must be valid (route_account_id_is_valid). */
bool directory_locate(const Directory *directory, const char *account_id,
                      Location *ret_location) ATTR_MUST_USE;

size_t directory_shard_count(const Directory *directory);
/* By position 0 … count-1, ascending ordinals. */
Shard *directory_shard(const Directory *directory, size_t position);
Shard *directory_shard_by_name(const Directory *directory, const char *name); /* NULL if unknown */

/* The partitions and keyspaces of the copy at hand, by place. Lent until the next turn. */
typedef struct DirectoryPartition
{
    int32_t id;
    const char *keyspace; /* its prefix */
    KeyspaceKind kind;
    const Route *lo;
    const Route *hi; /* NULL: no upper end */
    const Shard *shard;
    int64_t epoch;
} DirectoryPartition;
size_t directory_partition_count(const Directory *directory);
void directory_partition(const Directory *directory, size_t place,
                         DirectoryPartition *ret_partition);

typedef struct DirectoryKeyspace
{
    const char *prefix;
    KeyspaceKind kind;
    TransferMode default_mode;
    size_t partition_count;
} DirectoryKeyspace;
size_t directory_keyspace_count(const Directory *directory);
void directory_keyspace(const Directory *directory, size_t place, DirectoryKeyspace *ret_keyspace);

/* The shards on which a transfer with this id can have its home: for hash keyspaces those that own
 * routes starting with the id's first 4 bytes, for others all owners. Returns the number written.
 */
size_t directory_candidates(const Directory *directory, const uint8_t transfer_id[16],
                            Shard **ret_shards, size_t max);

#endif
