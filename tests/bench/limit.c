/* See limit.h. */
#include "limit.h"

#include "base/log.h"
#include "base/metrics.h"
#include "batcher/flight.h"
#include "check.h"
#include "clock.h"
#include "flow.h"
#include "protocol/protocol.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
    READY_MS = 20000,
    END_MS = 30000,
    DEADLINE_MS = 30000, /* of a stage: nothing is given up here */
    SLOTS_MAX = 32,
};

typedef struct Limit Limit;

/* A batch after the other, on accounts that no other slot uses. */
typedef struct Slot
{
    Limit *limit;
    size_t number;
    int home; /* shard numbers */
    int remote;
    BatchKind next; /* kind of the next batch */
    Transfer *transfers[BATCH_TRANSFERS_MAX];
    size_t count;
    double started;
    LoopTask task;
} Slot;

struct Limit
{
    const LimitOptions *options;
    Loop *loop;
    Directory *directory;
    Protocol *protocol;
    Slot slots[SLOTS_MAX];
    size_t slot_count;
    Dice dice;
    uint64_t run;
    uint64_t keys;
    double posted; /* in the measured time; a batch that is partly in it counts in part */
    double from;
    double until;
    size_t working; /* slots */
    bool over;
};

ATTR_NORETURN
static void give_up(const char *why)
{
    fprintf(stderr, "bench: the limit cannot be measured: %s\n", why);
    _exit(1);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void any_account(Slot *slot, int shard, WorldId ret_id)
{
    Limit *limit = slot->limit;
    size_t share = world_account_count(limit->options->world, shard) / limit->slot_count;
    size_t place = dice_below(&limit->dice, share) * limit->slot_count + slot->number;
    world_account(limit->options->world, shard, place, ret_id);
}

static Transfer *make_transfer(Slot *slot)
{
    Limit *limit = slot->limit;
    WorldId debit;
    WorldId credit;
    char key[FLOW_KEY_MAX];
    uint8_t id[16];
    any_account(slot, slot->home, debit);
    any_account(slot, slot->remote, credit);
    snprintf(key, sizeof key, "limit-%016" PRIx64 "-%" PRIu64, limit->run, limit->keys++);
    TransferRequest request = {.debit_account = debit,
                               .credit_account = credit,
                               .amount = 1,
                               .currency = "EUR",
                               .idempotency_key = key,
                               .mode = limit->options->mode};
    transfer_id_make(debit, key, id);
    Transfer *transfer = flight_new(id, &request);
    if (!directory_locate(limit->directory, debit, &transfer->debit) ||
        !directory_locate(limit->directory, credit, &transfer->credit))
        give_up("the directory does not know an account");
    return transfer;
}

static void make_transfers(Slot *slot)
{
    for (slot->count = 0; slot->count < slot->limit->options->batch; slot->count++)
        slot->transfers[slot->count] = make_transfer(slot);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void start_batch(Slot *slot)
{
    const BatchKindRow *kind = batch_kind_row(slot->next);
    BatchPlan plan = {
        .kind = slot->next,
        .home = kind->at_home ? slot->transfers[0]->debit.shard : NULL,
        .remote = kind->at_remote ? slot->transfers[0]->credit.shard : NULL,
    };
    Batch *batch = batch_new(slot->limit->protocol, &plan);
    batch->lane = slot;
    for (size_t i = 0; i < slot->count; i++)
    {
        slot->transfers[i]->work = slot->next;
        if (!batch_add(batch, slot->transfers[i]))
            give_up("a transfer does not fit into its batch");
    }
    batch_start(batch);
}

static BatchKind first_kind(const Limit *limit)
{
    return limit->options->mode == MODE_2PC ? BATCH_TWO_PHASE : BATCH_HOLD;
}

static void go_on(void *context)
{
    Slot *slot = context;
    Limit *limit = slot->limit;
    if (slot->next == first_kind(limit))
    {
        if (clock_now() >= limit->until)
        {
            limit->over = --limit->working == 0;
            return;
        }
        make_transfers(slot);
        slot->started = clock_now();
    }
    start_batch(slot);
}

static void expect(const Slot *slot, size_t i)
{
    const Transfer *transfer = slot->transfers[i];
    bool done;
    if (slot->next == BATCH_CREDIT)
        done = transfer->result == RESULT_RECEIVED && transfer->receipt == RECEIPT_APPLIED;
    else
        done = transfer->result == RESULT_RECORDED &&
               transfer->record.state ==
                   (slot->next == BATCH_HOLD ? TRANSFER_PENDING : TRANSFER_POSTED);
    if (!done)
        give_up(transfer->result == RESULT_FAILED ? transfer->failure.text
                                                  : "a transfer was not taken");
}

static void end_transfers(Slot *slot)
{
    Limit *limit = slot->limit;
    double now = clock_now();
    double within = fmin(now, limit->until) - fmax(slot->started, limit->from);
    limit->posted += (double)slot->count * fmax(within, 0) / (now - slot->started);
    for (size_t i = 0; i < slot->count; i++)
        flight_free(slot->transfers[i]);
    slot->next = first_kind(limit);
}

/* A batch has ended: its transfers go on to the next step, or are done. */
static void take_report(void *context, Batch *batch)
{
    Limit *limit = context;
    Slot *slot = batch->lane;
    for (size_t i = 0; i < slot->count; i++)
    {
        expect(slot, i);
        slot->transfers[i]->held = true;
    }
    if (slot->next == BATCH_HOLD)
        slot->next = BATCH_CREDIT;
    else if (slot->next == BATCH_CREDIT)
        slot->next = BATCH_CLOSE;
    else
        end_transfers(slot);
    loop_post(limit->loop, &slot->task);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_ready(const Limit *limit)
{
    if (!directory_is_loaded(limit->directory))
        return false;
    for (size_t i = 0; i < directory_shard_count(limit->directory); i++)
    {
        if (!shard_is_usable(directory_shard(limit->directory, i)))
            return false;
    }
    return true;
}

static void await_ready(const Limit *limit)
{
    bool never = false;
    for (int waited = 0; !is_ready(limit); waited += 10)
    {
        if (waited >= READY_MS)
            give_up("the shards are not usable");
        loop_run_until(limit->loop, &never, 10);
    }
}

static void connect(Limit *limit)
{
    const Cluster *cluster = world_cluster(limit->options->world);
    DirectoryOptions directory = {
        .dsn = cluster_coord_dsn(cluster, 0),
        .session = {.instance = "limit",
                    .sessions_max = SLOTS_MAX,
                    .connect_deadline_ms = READY_MS,
                    .lock_timeout_ms = 1000,
                    .statement_timeout_ms = DEADLINE_MS,
                    .idle_in_transaction_timeout_ms = DEADLINE_MS},
        .poll_ms = DEADLINE_MS,
    };
    ProtocolOptions protocol = {
        .instance = "limit",
        .metrics = metrics_new(),
        .batches_max = SLOTS_MAX,
        .stage_deadline_ms = DEADLINE_MS,
        .session_wait_ms = DEADLINE_MS,
        .visible_wait_ms = DEADLINE_MS,
        .report = take_report,
        .context = limit,
    };
    limit->loop = loop_new();
    limit->directory = directory_new(limit->loop, &directory);
    limit->protocol = protocol_new(limit->loop, limit->directory, &protocol);
}

static void start_slots(Limit *limit)
{
    limit->slot_count = limit->working = 2 * (size_t)limit->options->in_flight;
    for (size_t i = 0; i < limit->slot_count; i++)
    {
        Slot *slot = &limit->slots[i];
        *slot = (Slot){.limit = limit,
                       .number = i,
                       .home = i % 2 == 0 ? 1 : 2,
                       .remote = i % 2 == 0 ? 2 : 1,
                       .next = first_kind(limit),
                       .task = {.run = go_on, .context = slot}};
        loop_post(limit->loop, &slot->task);
    }
}

/* In the child. What the last batches leave to be noted is written before it ends. */
static LimitResult measure(Limit *limit)
{
    bool never = false;
    connect(limit);
    await_ready(limit);
    double cpu = clock_cpu();
    double start = clock_now();
    limit->from = start + limit->options->warm_s;
    limit->until = limit->from + limit->options->seconds;
    start_slots(limit);
    if (!loop_run_until(limit->loop, &limit->over,
                        (uint64_t)(limit->until - start) * 1000 + END_MS))
        give_up("a batch does not end");
    LimitResult result = {
        .transfers_per_s = limit->posted / limit->options->seconds,
        .cpu_share = (clock_cpu() - cpu) / (clock_now() - start),
    };
    loop_run_until(limit->loop, &never, 1500);
    return result;
}

LimitResult limit_run(const LimitOptions *options)
{
    LimitResult result;
    int ends[2];
    int status = 0;
    check(options->in_flight * 2 <= SLOTS_MAX && options->batch <= BATCH_TRANSFERS_MAX,
          "too much in flight");
    check(pipe(ends) == 0, "no pipe");
    pid_t pid = fork();
    if (pid == 0)
    {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it holds open what the clusters' guardians wait for */
        Limit *limit = base_calloc(1, sizeof *limit);
        limit->options = options;
        limit->dice = dice_new();
        random_bytes(&limit->run, sizeof limit->run);
        log_set_level(LOG_ERROR);
        result = measure(limit);
        _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    }
    close(ends[1]);
    bool got = read(ends[0], &result, sizeof result) == sizeof result;
    close(ends[0]);
    waitpid(pid, &status, 0);
    check(got && status == 0, "no limit was measured");
    return result;
}
