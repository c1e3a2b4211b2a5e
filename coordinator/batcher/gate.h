/*
 * Which accounts batches of this coordinator work on: at most one batch at a time works on an
 * account.
 *
 * Two batches that meet on an account would meet on its row's lock: the second one finds its
 * transfers busy, and each of them costs a round trip of waiting for the lock. Here they keep their
 * places in the queue until the first batch has ended, and then go together.
 *
 * An account is known by a hash of its id, in a table of fixed size: two accounts that share a
 * place keep each other waiting and nothing else. What other coordinators lock is not known here:
 * the shards say "busy" for it.
 */
#ifndef GIRO_GATE_H
#define GIRO_GATE_H

#include "protocol/batch.h"

typedef struct Gate Gate;

Gate *gate_new(void);
void gate_free(Gate *gate); /* accepts NULL */

/* Notes the places of the transfer's accounts; once, before anything else. */
void gate_name_places(Transfer *transfer);

/* May a batch take the transfer: are the accounts that its next work locks free, or the batch's
 * own? NULL stands for a batch that has none yet. */
bool gate_admits(const Gate *gate, const Transfer *transfer, const Batch *batch);
/* The batch works on the transfer's accounts from now on, until it leaves. */
void gate_enter(Gate *gate, const Transfer *transfer, const Batch *batch);
void gate_leave(Gate *gate, const Batch *batch);

#endif
