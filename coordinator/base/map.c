/* See map.h. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM   0
#define uthash_malloc(size) base_malloc(size)
#include <uthash.h>

typedef struct MapEntry
{
    uint8_t key[MAP_KEY_SIZE];
    void *value;
    UT_hash_handle hh;
} MapEntry;

struct Map
{
    MapEntry *entries;
};

Map *map_new(void)
{
    return base_calloc(1, sizeof(Map));
}

void map_free(Map *map)
{
    MapEntry *entry;
    MapEntry *next;
    if (map == NULL)
        return;
    HASH_ITER(hh, map->entries, entry, next)
    {
        HASH_DEL(map->entries, entry); /* NOLINT(clang-analyzer-unix.Malloc): it loses track */
        free(entry);
    }
    free(map);
}

static MapEntry *find(const Map *map, const void *key)
{
    MapEntry *entry;
    HASH_FIND(hh, map->entries, key, MAP_KEY_SIZE, entry);
    return entry;
}

void *map_get(const Map *map, const void *key)
{
    const MapEntry *entry = find(map, key);
    return entry != NULL ? entry->value : NULL;
}

void map_put(Map *map, const void *key, void *value)
{
    MapEntry *entry = base_malloc(sizeof *entry);
    ASSERT(find(map, key) == NULL);
    memcpy(entry->key, key, MAP_KEY_SIZE);
    entry->value = value;
    HASH_ADD(hh, map->entries, key, MAP_KEY_SIZE, entry);
}

void map_remove(Map *map, const void *key)
{
    MapEntry *entry = find(map, key);
    ASSERT(entry != NULL);
    HASH_DEL(map->entries, entry);
    free(entry);
}

size_t map_count(const Map *map)
{
    return HASH_COUNT(map->entries);
}

void map_each(Map *map, void (*visit)(void *context, void *value), void *context)
{
    MapEntry *entry;
    MapEntry *next;
    HASH_ITER(hh, map->entries, entry, next)
    {
        visit(context, entry->value);
    }
}
