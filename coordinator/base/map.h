/*
 * A hash map from 16 bytes (a transfer id, a pair of pointers) to a pointer (uthash.h is included
 * by map.c alone).
 */
#ifndef GIRO_MAP_H
#define GIRO_MAP_H

#include "base/base.h"

#include <stdint.h>

enum
{
    MAP_KEY_SIZE = 16,
};

typedef struct Map Map;

Map *map_new(void);
void map_free(Map *map);                              /* not the values; accepts NULL */
void *map_get(const Map *map, const void *key);       /* NULL if absent */
void map_put(Map *map, const void *key, void *value); /* the key must be absent */
void map_remove(Map *map, const void *key);           /* the key must be present */
size_t map_count(const Map *map);
/* Visits every value; visit may remove the value that it is given, and no other. */
void map_each(Map *map, void (*visit)(void *context, void *value), void *context);

#endif
