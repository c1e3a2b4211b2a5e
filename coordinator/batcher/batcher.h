/*
 * From single requests to batches, and back to single answers.
 *
 * Every request is filed under its transfer id: a concurrent twin of a key attaches to the transfer
 * in flight and gets the same answer. Transfers queue in the lane of their next batch (of their
 * ordered pair of shards, or, for a saga's steps, of one shard); while a batch of a lane is in
 * flight the next ones gather, and a lone transfer leaves at once. Transfers that met a locked
 * account wait for it outside of any batch, so that innocents never wait with them. No batch is
 * formed for a shard that is suspect. A saga that cannot go on is let go of: its row at home is
 * claimed when it is due, by whoever looks. Everything is bounded: transfers in flight, batches,
 * transfers and partitions per batch, attempts.
 */
#ifndef GIRO_BATCHER_H
#define GIRO_BATCHER_H

#include "base/metrics.h"
#include "protocol/recovery.h"
#include "protocol/transfer.h"
#include "shard/intake.h"

#include <stdio.h>
#include <sys/queue.h>

typedef struct Batcher Batcher;

typedef struct BatcherOptions
{
    const char *instance; /* this coordinator's name; part of every GID */
    Metrics *metrics;
    const Intake *intake;   /* what takes nothing new; NULL: everything is taken */
    size_t transfers_max;   /* in flight and queued; more get ERROR_OVERLOADED */
    size_t batches_max;     /* in flight */
    size_t batch_transfers; /* per batch */
    uint64_t stage_deadline_ms;
    uint64_t session_wait_ms; /* how long a batch waits for a session */
    uint64_t visible_wait_ms; /* how long a 201 waits for the remote leg to show */
} BatcherOptions;

/* One waiting client; embedded in the API's request, which keeps it alive until told. */
typedef struct TransferWaiter
{
    void (*told)(struct TransferWaiter *waiter, const TransferOutcome *outcome);
    bool respond_async; /* of a saga: told as soon as its debit is durable */
    /* private to the batcher */
    TAILQ_ENTRY(TransferWaiter) link;
    uint64_t deadline_at_ms;
    uint8_t id[16];
    ErrorCode early; /* the answer is known before anything was done */
    const char *early_detail;
} TransferWaiter;

Batcher *batcher_new(Loop *loop, Directory *directory, const BatcherOptions *options);
void batcher_free(Batcher *batcher); /* accepts NULL; nothing may be in flight */

/* Files the request. `told` is called exactly once, never from inside this function, at the latest
 * after wait_ms: with ERROR_OUTCOME_UNKNOWN if the transfer is under way then, with an error of
 * effect "none" if it had not been taken up yet. */
void batcher_submit(Batcher *batcher, const TransferRequest *request, TransferWaiter *waiter,
                    uint64_t wait_ms);

/* Asks for a pending saga in flight here to be reversed (its row says so already). What becomes of
 * it is decided by the receipt. Also makes the next claim start at once. */
void batcher_give_up(Batcher *batcher, const uint8_t transfer_id[16], ErrorCode reason);

/* Something is due: makes the next claim start at once. */
void batcher_hurry(Batcher *batcher);

/* Refuses new requests (ERROR_DRAINING) and calls drained once nothing is in flight. */
void batcher_drain(Batcher *batcher, void (*drained)(void *context), void *context);

typedef struct BatcherCounts
{
    size_t transfers;
    size_t queued; /* of these: in no batch */
    size_t batches;
    size_t in_doubt; /* of these: they ask for their verdict */
} BatcherCounts;
BatcherCounts batcher_counts(const Batcher *batcher);
const RecoveryCounts *batcher_recovery_counts(const Batcher *batcher);

/* What is counted of each partition, as text. */
void batcher_write_partitions(const Batcher *batcher, FILE *out);

/* Makes the metrics of this shard, so that they show before it has been worked on. */
void batcher_show_shard(Batcher *batcher, const Shard *shard);

#endif
