/* See protocol.h. */
#include "protocol/protocol.h"

#include "base/log.h"
#include "base/map.h"
#include "protocol/finisher.h"
#include "protocol/gid.h"
#include "protocol/setbacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TAILQ_HEAD(BatchList, Batch);

struct Protocol
{
    Loop *loop;
    Directory *directory;
    ProtocolOptions options;
    char instance[NAME_MAX_LENGTH + 1];
    PgParams *params;
    struct BatchList ready;
    struct BatchList pool;
    size_t in_flight;
    Map *two_phase; /* those in flight, by batch id */
    size_t recovering;
    Setbacks *setbacks;
    RecoveryCounts counts;
    Finisher *finisher;
    BatchMeters *meters;
};

/* The phase: drives whatever became ready in this turn, and what that makes ready. */
static void step(void *context)
{
    Protocol *protocol = context;
    Batch *batch;
    while ((batch = TAILQ_FIRST(&protocol->ready)) != NULL)
    {
        TAILQ_REMOVE(&protocol->ready, batch, link);
        batch->ready = false;
        stage_drive(batch);
    }
}

Protocol *protocol_new(Loop *loop, Directory *directory, const ProtocolOptions *options)
{
    Protocol *protocol = base_calloc(1, sizeof *protocol);
    ASSERT(route_name_is_valid(options->instance));
    protocol->loop = loop;
    protocol->directory = directory;
    protocol->options = *options;
    snprintf(protocol->instance, sizeof protocol->instance, "%s", options->instance);
    protocol->options.instance = protocol->instance;
    protocol->params = pg_params_new(BATCH_PARAMETER_BYTES);
    protocol->finisher = finisher_new(protocol);
    protocol->meters = batch_meters_new(options->metrics);
    protocol->two_phase = map_new();
    protocol->setbacks = setbacks_new();
    TAILQ_INIT(&protocol->ready);
    TAILQ_INIT(&protocol->pool);
    loop_add_phase(loop, step, protocol);
    return protocol;
}

void protocol_free(Protocol *protocol)
{
    Batch *batch;
    if (protocol == NULL)
        return;
    ASSERT(protocol->in_flight == 0);
    while ((batch = TAILQ_FIRST(&protocol->pool)) != NULL)
    {
        TAILQ_REMOVE(&protocol->pool, batch, link);
        batch_dispose(batch);
    }
    map_free(protocol->two_phase);
    setbacks_free(protocol->setbacks);
    finisher_free(protocol->finisher);
    batch_meters_free(protocol->meters);
    pg_params_free(protocol->params);
    free(protocol);
}

bool protocol_has_room(const Protocol *protocol)
{
    return protocol->in_flight < protocol->options.batches_max;
}

size_t protocol_batch_count(const Protocol *protocol)
{
    return protocol->in_flight;
}

Loop *protocol_loop(const Protocol *protocol)
{
    return protocol->loop;
}

Directory *protocol_directory(const Protocol *protocol)
{
    return protocol->directory;
}

const ProtocolOptions *protocol_options(const Protocol *protocol)
{
    return &protocol->options;
}

BatchMeters *protocol_meters(Protocol *protocol)
{
    return protocol->meters;
}

PgParams *protocol_params(Protocol *protocol)
{
    return protocol->params;
}

static void tell_though_not_visible(void *context)
{
    protocol_report(context);
}

Batch *protocol_take_batch(Protocol *protocol)
{
    ASSERT(protocol_has_room(protocol));
    Batch *batch = TAILQ_FIRST(&protocol->pool);
    if (batch != NULL)
        TAILQ_REMOVE(&protocol->pool, batch, link);
    else
    {
        batch = base_calloc(1, sizeof *batch);
        batch->protocol = protocol;
        batch->timer = loop_timer_new(protocol->loop, stage_pause_over, batch);
        batch->visible = loop_timer_new(protocol->loop, tell_though_not_visible, batch);
    }
    protocol->in_flight++;
    return batch;
}

void protocol_enlist(Batch *batch)
{
    map_put(batch->protocol->two_phase, batch->id, batch);
}

/* ---- recovery -------------------------------------------------------------------------------- */

bool protocol_recover(Protocol *protocol, const Gid *gid, bool decided)
{
    Shard *home = directory_shard_by_name(protocol->directory, gid->home);
    Shard *remote = directory_shard_by_name(protocol->directory, gid->remote);
    BatchPlan plan = {.kind = BATCH_TWO_PHASE, .home = home, .remote = remote};
    char name[GID_MAX + 1];
    bool away =
        home == NULL || remote == NULL || !shard_is_usable(home) || !shard_is_usable(remote);
    if (away || map_get(protocol->two_phase, gid->batch) != NULL)
        return true;
    if (!protocol_has_room(protocol) || protocol->recovering == RECOVERIES_MAX)
        return false;
    gid_format(gid, name);
    if (decided)
        log_info("gid=%s is decided and not finished: looking on shard %s", name, gid->remote);
    else
        log_info("gid=%s was left prepared on shard %s: asking its home", name, gid->remote);
    protocol->recovering++;
    batch_recover(batch_new(protocol, &plan), name, decided);
    return true;
}

static RecoveryKind recovery_kind(const Batch *batch)
{
    if (batch->outcome != BATCH_COMMITTED)
        return RECOVERY_LEG_CANCELLED;
    if (batch->leg_is_missing)
        return RECOVERY_LEG_REDONE;
    return batch->leg_stands ? RECOVERY_BATCH_FINISHED : RECOVERY_LEG_APPLIED;
}

static void note_recovered(const Batch *batch, RecoveryKind kind)
{
    protocol_count(batch->protocol, kind, batch->leg_is_settled, 1);
    if (batch->leg_is_settled)
        log_info("gid=%s recovered: %s", batch->gid, recovery_kind_name(kind));
}

static void end_recovery(const Batch *batch)
{
    Protocol *protocol = batch->protocol;
    bool away = !shard_is_usable(batch->home->shard) || !shard_is_usable(batch->remote->shard);
    protocol->recovering--;
    note_recovered(batch, recovery_kind(batch));
    if (batch->leg_is_settled || away)
        setbacks_forget(protocol->setbacks, batch->id); /* it is not this batch's fault */
    else
        setbacks_note(protocol->setbacks, batch->id, loop_now_ms(protocol->loop));
}

/* Ids of batches in flight, as they are collected. */
typedef struct Passed
{
    uint8_t (*ids)[16];
    size_t count;
} Passed;

static void pass(void *context, void *value)
{
    Passed *passed = context;
    const Batch *batch = value;
    if (passed->count < PROTOCOL_PASSED_MAX)
        memcpy(passed->ids[passed->count++], batch->id, sizeof *passed->ids);
}

size_t protocol_passed(const Protocol *protocol, uint8_t (*ret_ids)[16])
{
    Passed passed = {
        .ids = ret_ids,
        .count = setbacks_waiting(protocol->setbacks, loop_now_ms(protocol->loop), ret_ids),
    };
    map_each(protocol->two_phase, pass, &passed);
    return passed.count;
}

void protocol_count(Protocol *protocol, RecoveryKind kind, bool done, uint64_t count)
{
    uint64_t *counters = done ? protocol->counts.done : protocol->counts.failed;
    counters[kind] += count;
}

const RecoveryCounts *protocol_recovery_counts(const Protocol *protocol)
{
    return &protocol->counts;
}

/* ---- the end of a batch ---------------------------------------------------------------------- */

void protocol_return_batch(Batch *batch)
{
    Protocol *protocol = batch->protocol;
    ASSERT(batch->pending == 0 && batch->reported);
    batch_meters_end(protocol->meters, batch);
    if (batch->kind == BATCH_TWO_PHASE)
        map_remove(protocol->two_phase, batch->id);
    if (batch->is_recovered)
        end_recovery(batch);
    else if (batch->leg_is_missing)
        note_recovered(batch, RECOVERY_LEG_REDONE);
    batch_recycle(batch);
    TAILQ_INSERT_HEAD(&protocol->pool, batch, link);
    protocol->in_flight--;
}

void protocol_ready(Batch *batch)
{
    if (batch->driven || batch->ready)
        return;
    batch->ready = true;
    TAILQ_INSERT_TAIL(&batch->protocol->ready, batch, link);
    loop_wake(batch->protocol->loop);
}

/* ---- results --------------------------------------------------------------------------------- */

static void fail_transfer(const Batch *batch, Transfer *transfer)
{
    ASSERT(batch->cause.code != ERROR_NONE);
    transfer->failure = batch->cause;
    transfer->debit_is_busy = transfer->credit_is_busy = false;
    transfer->result = answer_is_contention(batch->cause.sqlstate) ? RESULT_BUSY
                       : batch->cause.code == ERROR_OVERLOADED     ? RESULT_EXHAUSTED
                                                                   : RESULT_FAILED;
}

static bool is_busy(const Batch *batch, size_t account)
{
    return account != JUDGE_ELSEWHERE && (batch->accounts[account].presence == JUDGE_BUSY ||
                                          batch->accounts[account].presence == JUDGE_UNSEEN);
}

static void set_obstacle(const Batch *batch, Transfer *transfer, JudgeVerdict verdict)
{
    static const TransferResult by_verdict[] = {
        [JUDGE_NO_DEBIT_ACCOUNT] = RESULT_NO_DEBIT_ACCOUNT,
        [JUDGE_IS_BUSY] = RESULT_BUSY,
        [JUDGE_IS_STALE] = RESULT_STALE,
        [JUDGE_IS_MOVING] = RESULT_MOVING,
        [JUDGE_IS_CLOSED] = RESULT_CLOSED,
    };
    transfer->result = by_verdict[verdict];
    transfer->debit_is_busy = is_busy(batch, transfer->debit_index);
    transfer->credit_is_busy = is_busy(batch, transfer->credit_index);
}

static TransferState recorded_state(const Batch *batch, const JudgeTransfer *judged)
{
    if (judged->verdict == JUDGE_REFUSED)
        return TRANSFER_REFUSED;
    return batch->kind == BATCH_HOLD ? TRANSFER_PENDING : TRANSFER_POSTED;
}

static void record_transfer(const Batch *batch, Transfer *transfer, const JudgeTransfer *judged)
{
    TransferState state = recorded_state(batch, judged);
    TransferRecord *record = &transfer->record;
    transfer->result = RESULT_RECORDED;
    transfer_record_start(record, transfer->id, &transfer->request);
    record->state = state;
    record->mode = batch_kind_row(batch->kind)->mode;
    record->debit_shard = shard_name(transfer->debit.shard);
    record->credit_shard = shard_name(transfer->credit.shard);
    record->created_at_us = batch->created_at_us;
    record->decided_at_us = state != TRANSFER_PENDING ? batch->decided_at_us : 0;
    record->refusal = judged->refusal;
}

/* The row that was found: a twin's, or, for a refund, that somebody else has settled the saga. */
static void take_found(Transfer *transfer)
{
    if (transfer->found == NULL)
    {
        transfer->result = RESULT_STALE; /* a refund on a shard that is not its home any more */
        return;
    }
    transfer->result = RESULT_RECORDED;
    transfer->replayed = !transfer->held;
    transfer->record = *transfer->found;
}

static void receive_transfer(Transfer *transfer, const JudgeTransfer *judged)
{
    bool refused = judged->verdict == JUDGE_REFUSED;
    transfer->result = RESULT_RECEIVED;
    if (judged->skip)
        return; /* the receipt that was found */
    transfer->receipt = refused ? RECEIPT_REFUSED : RECEIPT_APPLIED;
    transfer->receipt_refusal = judged->refusal;
}

static void refuse_refund(const Batch *batch, Transfer *transfer, const JudgeTransfer *judged)
{
    transfer->result = RESULT_REFUND_REFUSED;
    error_set(&transfer->failure, judged->refusal, "shard %s: the refund is refused: %s",
              shard_name(batch->home->shard), error_row(judged->refusal)->name);
}

/* What a committed batch means for a transfer that is skipped, accepted or refused. */
static void set_committed_result(const Batch *batch, Transfer *transfer,
                                 const JudgeTransfer *judged)
{
    if (batch->kind == BATCH_CREDIT)
        receive_transfer(transfer, judged);
    else if (judged->skip)
        take_found(transfer);
    else if (batch_kind_row(batch->kind)->decides)
        record_transfer(batch, transfer, judged);
    else if (judged->verdict == JUDGE_REFUSED)
        refuse_refund(batch, transfer, judged);
    /* else: an accepted refund, whose final state was read */
}

static void set_result(const Batch *batch, size_t i)
{
    Transfer *transfer = batch->transfers[i];
    const JudgeTransfer *judged = &batch->judged[i];
    bool committed = batch->outcome == BATCH_COMMITTED;
    bool locks = batch_kind_row(batch->kind)->locks;
    /* There is a judgement to look at only once the judge was there. */
    bool needs_commit = locks && batch->judged_once && (judged->skip || judge_is_recorded(judged));
    if (!locks)
    {
        if (!committed || transfer->result == RESULT_NONE)
            fail_transfer(batch, transfer);
    }
    else if (!batch->judged_once || (needs_commit && !committed))
        fail_transfer(batch, transfer);
    else if (needs_commit)
        set_committed_result(batch, transfer, judged);
    else
        set_obstacle(batch, transfer, judged->verdict);
}

void protocol_report(Batch *batch)
{
    if (batch->reported)
        return;
    batch->reported = true;
    if (batch->is_recovered)
        return; /* whoever sent its transfers asks again by their keys */
    for (size_t i = 0; i < batch->count; i++)
        set_result(batch, i);
    batch->protocol->options.report(batch->protocol->options.context, batch);
    batch->count = 0;
}

void protocol_finished(Protocol *protocol, Shard *home, const uint8_t batch_id[16])
{
    finisher_add(protocol->finisher, home, batch_id);
}

size_t protocol_take_finished(Protocol *protocol, Shard *home, uint8_t (*ret_ids)[16], size_t max)
{
    return finisher_take(protocol->finisher, home, ret_ids, max);
}
