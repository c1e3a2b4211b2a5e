/* See arena.h. Blocks are chained; a piece larger than a block gets one of its own. */
#include "http/arena.h"

#include <stdlib.h>
#include <string.h>

enum
{
    BLOCK_BYTES = 2048,
    ALIGNMENT = 16,
};

typedef struct Block
{
    struct Block *next;
    size_t size;
    size_t used;
    _Alignas(ALIGNMENT) char bytes[];
} Block;

struct Arena
{
    Block *newest;
    size_t left;
};

Arena *arena_new(size_t max_bytes)
{
    Arena *arena = base_calloc(1, sizeof *arena);
    arena->left = max_bytes;
    return arena;
}

void arena_free(Arena *arena)
{
    if (arena == NULL)
        return;
    while (arena->newest != NULL)
    {
        Block *block = arena->newest;
        arena->newest = block->next;
        free(block);
    }
    free(arena);
}

void *arena_take(Arena *arena, size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    ASSERT(rounded >= size && rounded <= arena->left);
    arena->left -= rounded;
    Block *block = arena->newest;
    if (block == NULL || rounded > block->size - block->used)
    {
        size_t block_size = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES;
        block = base_malloc(sizeof *block + block_size);
        block->next = arena->newest;
        block->size = block_size;
        block->used = 0;
        arena->newest = block;
    }
    void *piece = block->bytes + block->used;
    block->used += rounded;
    memset(piece, 0, rounded);
    return piece;
}

char *arena_copy(Arena *arena, const char *text, size_t length)
{
    char *copy = arena_take(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}
