/*
 * What recovery does not get on with for now, and when to try it again: batches whose leg cannot be
 * finished. The pause doubles from 1 s to 30 s, so that none is tried in a tight loop, however many
 * there are and for however long, and none keeps the others waiting.
 *
 * At most SETBACKS_MAX are remembered; beyond them the one that is due first is forgotten, which
 * only means that it is tried again sooner.
 */
#ifndef GIRO_SETBACKS_H
#define GIRO_SETBACKS_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Setbacks Setbacks;

enum
{
    SETBACKS_MAX = 1024,
};

Setbacks *setbacks_new(void);
void setbacks_free(Setbacks *setbacks); /* accepts NULL */

/* Another setback of this batch. */
void setbacks_note(Setbacks *setbacks, const uint8_t batch_id[16], uint64_t now_ms);
/* It got on. */
void setbacks_forget(Setbacks *setbacks, const uint8_t batch_id[16]);

/* Copies the ids of those that are not due yet, at most SETBACKS_MAX; returns how many. */
size_t setbacks_waiting(const Setbacks *setbacks, uint64_t now_ms, uint8_t (*ret_ids)[16]);

#endif
