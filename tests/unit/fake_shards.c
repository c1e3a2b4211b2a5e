/* See fake_shards.h. */
#include "fake_shards.h"

#include <stdio.h>
#include <string.h>

enum
{
    SHARDS_MAX = 4,
};

static struct
{
    bool loaded;
    int64_t version;
    Shard shards[SHARDS_MAX];
    size_t shard_count;
    LoopTimer *timer;
    DirectoryRefreshed refreshed;
    void *refreshed_context;
} fake;

static void finish_refresh(void *context)
{
    (void)context;
    fake.version++;
    fake.refreshed(fake.refreshed_context, true);
}

void fake_shards_start(Loop *loop)
{
    memset(&fake, 0, sizeof fake);
    fake.loaded = true;
    fake.version = 1;
    fake.timer = loop_timer_new(loop, finish_refresh, NULL);
}

void fake_shards_stop(void)
{
    loop_timer_free(fake.timer);
}

Shard *fake_shard(const char *name, int ordinal, char letter)
{
    ASSERT(fake.shard_count < SHARDS_MAX);
    Shard *shard = &fake.shards[fake.shard_count++];
    snprintf(shard->name, sizeof shard->name, "%s", name);
    shard->ordinal = ordinal;
    shard->letter = letter;
    shard->usable = true;
    TAILQ_INIT(&shard->waiters);
    return shard;
}

void fake_unload_directory(void)
{
    fake.loaded = false;
}

/* ---- directory.h ----------------------------------------------------------------------------- */

bool directory_is_loaded(const Directory *directory)
{
    (void)directory;
    return fake.loaded;
}

bool directory_is_reachable(const Directory *directory)
{
    (void)directory;
    return fake.loaded;
}

const char *directory_cluster(const Directory *directory)
{
    (void)directory;
    return "test";
}

int64_t directory_version(const Directory *directory)
{
    (void)directory;
    return fake.version;
}

static size_t owner_of(char letter)
{
    for (size_t i = 0; i < fake.shard_count; i++)
    {
        if (fake.shards[i].letter == letter)
            return i;
    }
    return 0;
}

bool directory_locate(const Directory *directory, const char *account_id, Location *ret_location)
{
    (void)directory;
    if (!fake.loaded)
        return false;
    size_t owner = owner_of(account_id[0]);
    *ret_location = (Location){.shard = &fake.shards[owner],
                               .partition = (int32_t)owner + 1,
                               .epoch = fake.version,
                               .keyspace = ""};
    route_make(KEYSPACE_HASH, 0, account_id, &ret_location->route);
    return true;
}

void directory_refresh(Directory *directory, uint64_t deadline_ms, DirectoryRefreshed done,
                       void *context)
{
    (void)directory;
    (void)deadline_ms;
    fake.refreshed = done;
    fake.refreshed_context = context;
    loop_timer_start(fake.timer, 0);
}

size_t directory_shard_count(const Directory *directory)
{
    (void)directory;
    return fake.loaded ? fake.shard_count : 0;
}

Shard *directory_shard(const Directory *directory, size_t position)
{
    (void)directory;
    ASSERT(position < fake.shard_count);
    return &fake.shards[position];
}

Shard *directory_shard_by_name(const Directory *directory, const char *name)
{
    for (size_t i = 0; i < directory_shard_count(directory); i++)
    {
        if (strcmp(fake.shards[i].name, name) == 0)
            return &fake.shards[i];
    }
    return NULL;
}

size_t directory_candidates(const Directory *directory, const uint8_t transfer_id[16],
                            Shard **ret_shards, size_t max)
{
    size_t count = directory_shard_count(directory);
    (void)transfer_id;
    ASSERT(count <= max);
    for (size_t i = 0; i < count; i++)
        ret_shards[i] = &fake.shards[i];
    return count;
}

/* ---- shard.h --------------------------------------------------------------------------------- */

const char *shard_name(const Shard *shard)
{
    return shard->name;
}

int shard_ordinal(const Shard *shard)
{
    return shard->ordinal;
}

bool shard_is_usable(const Shard *shard)
{
    return shard->usable;
}

bool shard_is_fenced(const Shard *shard)
{
    return shard->fenced;
}

const char *shard_trouble(const Shard *shard)
{
    return shard->usable ? "" : "connection refused";
}

const char *shard_excuse(const Shard *shard)
{
    return shard->fenced ? "fenced: it is an older copy" : "does not answer";
}

void shard_suspect(Shard *shard, const char *why)
{
    (void)why;
    shard->usable = false;
}

void shard_on_usable(Shard *shard, void (*usable)(void *context, Shard *shard), void *context)
{
    shard->on_usable = usable; /* of the last one that asked */
    shard->on_usable_context = context;
}

void fake_return(Shard *shard)
{
    shard->usable = true;
    if (shard->on_usable != NULL)
        shard->on_usable(shard->on_usable_context, shard);
}

ShardCounts shard_counts(const Shard *shard)
{
    (void)shard;
    return (ShardCounts){.sessions_open = 4, .sessions_busy = 1};
}

size_t directory_partition_count(const Directory *directory)
{
    (void)directory;
    return 0;
}

void directory_partition(const Directory *directory, size_t place,
                         DirectoryPartition *ret_partition)
{
    (void)directory;
    (void)place;
    (void)ret_partition;
    ASSERT(false);
}

size_t directory_keyspace_count(const Directory *directory)
{
    (void)directory;
    return 0;
}

void directory_keyspace(const Directory *directory, size_t place, DirectoryKeyspace *ret_keyspace)
{
    (void)directory;
    (void)place;
    (void)ret_keyspace;
    ASSERT(false);
}
