/* See fake_batcher.h. */
#include "fake_batcher.h"

#include <stdio.h>
#include <string.h>

enum
{
    FAKE_WAITERS_MAX = 5000, /* a whole batch */
};

typedef struct Waiting
{
    TransferWaiter *waiter;
    char key[IDEMPOTENCY_KEY_MAX + 1];
} Waiting;

static struct
{
    LoopTimer *timer;
    const TransferOutcome *outcome;
    Waiting waiting[FAKE_WAITERS_MAX];
    size_t waiting_count;
    FakeSubmission last;
    size_t given_up;
    size_t hurried;
} fake;

static void tell_one(const Waiting *waiting)
{
    TransferOutcome outcome = *fake.outcome;
    TransferRecord record;
    if (outcome.record != NULL)
    {
        record = *outcome.record;
        record.idempotency_key = waiting->key;
        outcome.record = &record;
    }
    waiting->waiter->told(waiting->waiter, &outcome);
}

static void tell(void *context)
{
    (void)context;
    while (fake.waiting_count > 0)
        tell_one(&fake.waiting[--fake.waiting_count]);
}

void fake_batcher_reset(Loop *loop, const TransferOutcome *outcome)
{
    memset(&fake, 0, sizeof fake);
    fake.timer = loop_timer_new(loop, tell, NULL);
    fake.outcome = outcome;
}

void fake_batcher_done(void)
{
    loop_timer_free(fake.timer);
}

const FakeSubmission *fake_batcher_last(void)
{
    return &fake.last;
}

size_t fake_batcher_given_up(void)
{
    return fake.given_up;
}

void batcher_give_up(Batcher *batcher, const uint8_t transfer_id[16], ErrorCode reason)
{
    (void)batcher;
    ASSERT(reason == ERROR_CANCELLED);
    memcpy(fake.last.given_up, transfer_id, sizeof fake.last.given_up);
    fake.given_up++;
}

size_t fake_batcher_hurried(void)
{
    return fake.hurried;
}

void batcher_hurry(Batcher *batcher)
{
    (void)batcher;
    fake.hurried++;
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void batcher_submit(Batcher *batcher, const TransferRequest *request, TransferWaiter *waiter,
                    uint64_t wait_ms)
{
    FakeSubmission *last = &fake.last;
    (void)batcher;
    ASSERT(fake.waiting_count < FAKE_WAITERS_MAX);
    last->count++;
    last->amount = request->amount;
    last->mode = request->mode;
    last->wait_ms = wait_ms;
    snprintf(last->debit_account, sizeof last->debit_account, "%s", request->debit_account);
    snprintf(last->credit_account, sizeof last->credit_account, "%s", request->credit_account);
    snprintf(last->currency, sizeof last->currency, "%s", request->currency);
    snprintf(last->key, sizeof last->key, "%s", request->idempotency_key);
    snprintf(last->reference, sizeof last->reference, "%s", text_or_empty(request->reference));
    snprintf(last->metadata, sizeof last->metadata, "%s", text_or_empty(request->metadata));
    last->respond_async = waiter->respond_async;
    Waiting *waiting = &fake.waiting[fake.waiting_count++];
    waiting->waiter = waiter;
    snprintf(waiting->key, sizeof waiting->key, "%s", request->idempotency_key);
    loop_timer_start(fake.timer, 0);
}

BatcherCounts batcher_counts(const Batcher *batcher)
{
    (void)batcher;
    return (BatcherCounts){.transfers = 2, .queued = 1, .batches = 1, .in_doubt = 1};
}

void batcher_show_shard(Batcher *batcher, const Shard *shard)
{
    (void)batcher;
    (void)shard;
}

const RecoveryCounts *batcher_recovery_counts(const Batcher *batcher)
{
    static const RecoveryCounts counts = {.done = {[RECOVERY_LEG_APPLIED] = 3}};
    (void)batcher;
    return &counts;
}

void batcher_write_partitions(const Batcher *batcher, FILE *out)
{
    (void)batcher;
    fputs("# HELP giro_partition_rows_total Rows.\n", out);
}
