/*
 * Memory that lives as long as one HTTP request: taken piece by piece, given back at once.
 *
 * Pieces are aligned for any type and never moved. An arena is bounded; its users bound what they
 * take from it, so that reaching the limit is a bug and aborts.
 */
#ifndef GIRO_ARENA_H
#define GIRO_ARENA_H

#include "base/base.h"

#include <stddef.h>

typedef struct Arena Arena;

Arena *arena_new(size_t max_bytes);
void arena_free(Arena *arena); /* accepts NULL */

void *arena_take(Arena *arena, size_t size) ATTR_MUST_USE;                     /* zeroed */
char *arena_copy(Arena *arena, const char *text, size_t length) ATTR_MUST_USE; /* adds a NUL */

#endif
