/*
 * Shards and a directory without databases (shard.h without its sessions, directory.h): a shard
 * owns the accounts whose ids start with its letter, the first one also those of letters that no
 * shard has. Tests set the shards' fields.
 */
#ifndef GIRO_FAKE_SHARDS_H
#define GIRO_FAKE_SHARDS_H

#include "shard/directory.h"

struct Shard
{
    char name[NAME_MAX_LENGTH + 1];
    int ordinal;
    char letter;
    bool usable;
    bool fenced;
    bool refuses_settling; /* no session for settling is granted */
    size_t marks;          /* how often a commit was said to be acknowledged */
    TAILQ_HEAD(, ShardWaiter) waiters;
    void (*on_usable)(void *context, Shard *shard);
    void *on_usable_context;
};

/* Around every test. A directory that is loaded, at version 1, with no shards. */
void fake_shards_start(Loop *loop);
void fake_shards_stop(void);

/* Adds a usable shard; ordinals in ascending order. */
Shard *fake_shard(const char *name, int ordinal, char letter);
/* The shard is usable again. */
void fake_return(Shard *shard);
/* Nothing is known of the directory's contents. */
void fake_unload_directory(void);

#endif
