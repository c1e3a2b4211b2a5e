/* See setbacks.h. */
#include "protocol/setbacks.h"

#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_FIRST_MS = 1000,
    PAUSE_LAST_MS = 30000,
};

typedef struct Setback
{
    uint8_t id[16];
    uint64_t pause_ms;
    uint64_t due_at_ms;
} Setback;

struct Setbacks
{
    Setback items[SETBACKS_MAX];
    size_t count;
};

Setbacks *setbacks_new(void)
{
    return base_calloc(1, sizeof(Setbacks));
}

void setbacks_free(Setbacks *setbacks)
{
    free(setbacks);
}

static Setback *find(Setbacks *setbacks, const uint8_t batch_id[16])
{
    for (size_t i = 0; i < setbacks->count; i++)
    {
        if (memcmp(setbacks->items[i].id, batch_id, sizeof setbacks->items[i].id) == 0)
            return &setbacks->items[i];
    }
    return NULL;
}

static Setback *first_due(Setbacks *setbacks)
{
    Setback *first = &setbacks->items[0];
    for (size_t i = 1; i < setbacks->count; i++)
    {
        if (setbacks->items[i].due_at_ms < first->due_at_ms)
            first = &setbacks->items[i];
    }
    return first;
}

static Setback *add(Setbacks *setbacks, const uint8_t batch_id[16])
{
    bool full = setbacks->count == SETBACKS_MAX;
    Setback *setback = full ? first_due(setbacks) : &setbacks->items[setbacks->count++];
    *setback = (Setback){.pause_ms = PAUSE_FIRST_MS};
    memcpy(setback->id, batch_id, sizeof setback->id);
    return setback;
}

void setbacks_note(Setbacks *setbacks, const uint8_t batch_id[16], uint64_t now_ms)
{
    Setback *setback = find(setbacks, batch_id);
    if (setback == NULL)
        setback = add(setbacks, batch_id);
    setback->due_at_ms = now_ms + setback->pause_ms;
    setback->pause_ms *= 2;
    if (setback->pause_ms > PAUSE_LAST_MS)
        setback->pause_ms = PAUSE_LAST_MS;
}

void setbacks_forget(Setbacks *setbacks, const uint8_t batch_id[16])
{
    Setback *setback = find(setbacks, batch_id);
    if (setback != NULL)
        *setback = setbacks->items[--setbacks->count];
}

size_t setbacks_waiting(const Setbacks *setbacks, uint64_t now_ms, uint8_t (*ret_ids)[16])
{
    size_t waiting = 0;
    for (size_t i = 0; i < setbacks->count; i++)
    {
        if (setbacks->items[i].due_at_ms > now_ms)
            memcpy(ret_ids[waiting++], setbacks->items[i].id, sizeof *ret_ids);
    }
    return waiting;
}
