/* See batch.h. */
#include "protocol/batch.h"

#include "protocol/gid.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *side_role_name(SideRole role)
{
    return role == SIDE_HOME ? "home" : "remote";
}

static Side *add_side(Batch *batch, Shard *shard, SideRole role)
{
    Side *side = &batch->sides[batch->side_count++];
    *side = (Side){.batch = batch, .role = role, .shard = shard};
    return side;
}

Batch *batch_new(Protocol *protocol, const BatchPlan *plan)
{
    const BatchKindRow *kind = batch_kind_row(plan->kind);
    Batch *batch = protocol_take_batch(protocol);
    ASSERT((plan->home != NULL) == kind->at_home && (plan->remote != NULL) == kind->at_remote);
    bool remote_first = plan->home != NULL && plan->remote != NULL &&
                        shard_ordinal(plan->remote) < shard_ordinal(plan->home);
    batch->kind = plan->kind;
    if (remote_first)
        batch->remote = add_side(batch, plan->remote, SIDE_REMOTE);
    if (plan->home != NULL)
        batch->home = add_side(batch, plan->home, SIDE_HOME);
    if (plan->remote != NULL && !remote_first)
        batch->remote = add_side(batch, plan->remote, SIDE_REMOTE);
    return batch;
}

static void grow(Batch *batch)
{
    if (batch->count < batch->capacity)
        return;
    batch->capacity = batch->capacity == 0 ? 16 : 2 * batch->capacity;
    size_t n = batch->capacity;
    batch->transfers = base_realloc(batch->transfers, n * sizeof *batch->transfers);
    batch->sorted = base_realloc(batch->sorted, n * sizeof *batch->sorted);
    batch->accounts = base_realloc(batch->accounts, 2 * n * sizeof *batch->accounts);
    batch->judged = base_realloc(batch->judged, n * sizeof *batch->judged);
    batch->entries = base_realloc(batch->entries, 2 * n * sizeof *batch->entries);
    batch->finishing = base_realloc(batch->finishing, n * sizeof *batch->finishing);
}

/* Where the partition stands, or belongs, in the side's ascending list. */
static size_t partition_place(const Side *side, int32_t partition)
{
    size_t place = side->partition_count;
    while (place > 0 && side->partitions[place - 1] >= partition)
        place--;
    return place;
}

static bool add_partition(Side *side, const Location *location)
{
    size_t place = partition_place(side, location->partition);
    if (place < side->partition_count && side->partitions[place] == location->partition)
        return side->epochs[place] == location->epoch;
    if (side->partition_count == BATCH_PARTITIONS_MAX)
        return false;
    size_t tail = side->partition_count - place;
    memmove(&side->partitions[place + 1], &side->partitions[place], tail * sizeof(int32_t));
    memmove(&side->epochs[place + 1], &side->epochs[place], tail * sizeof(int64_t));
    side->partitions[place] = location->partition;
    side->epochs[place] = location->epoch;
    side->partition_count++;
    return true;
}

/* The side that the credit accounts are on. */
static Side *credit_side(const Batch *batch)
{
    return batch->remote != NULL ? batch->remote : batch->home;
}

static bool add_partitions(Batch *batch, const Transfer *transfer)
{
    const BatchKindRow *kind = batch_kind_row(batch->kind);
    ASSERT(!kind->debit || transfer->debit.shard == batch->home->shard);
    ASSERT(!kind->credit || transfer->credit.shard == credit_side(batch)->shard);
    return (!kind->debit || add_partition(batch->home, &transfer->debit)) &&
           (!kind->credit || add_partition(credit_side(batch), &transfer->credit));
}

bool batch_add(Batch *batch, Transfer *transfer)
{
    if (batch->count == BATCH_TRANSFERS_MAX)
        return false;
    if (batch->count > 0 && batch->bytes + transfer->bytes > BATCH_BYTES_MAX)
        return false;
    /* A partition that was added for a transfer which then does not fit costs one more lock. */
    if (!add_partitions(batch, transfer))
        return false;
    grow(batch);
    batch->transfers[batch->count++] = transfer;
    batch->bytes += transfer->bytes;
    transfer->result = RESULT_NONE;
    free(transfer->found);
    transfer->found = NULL;
    if (batch->kind == BATCH_CREDIT)
        transfer->receipt = RECEIPT_NONE;
    return true;
}

static int compare_accounts(const void *a, const void *b)
{
    return strcmp(((const JudgeAccount *)a)->id, ((const JudgeAccount *)b)->id);
}

static size_t account_index(const Batch *batch, const Side *side, const char *id)
{
    JudgeAccount wanted = {.id = id};
    const JudgeAccount *first = batch->accounts + side->account_first;
    const JudgeAccount *found =
        bsearch(&wanted, first, side->account_count, sizeof wanted, compare_accounts);
    ASSERT(found != NULL);
    return (size_t)(found - batch->accounts);
}

/* Fills the side's slice: the distinct accounts, ascending. */
static void collect_accounts(Batch *batch, Side *side, size_t first)
{
    const BatchKindRow *kind = batch_kind_row(batch->kind);
    JudgeAccount *accounts = batch->accounts + first;
    size_t count = 0;
    for (size_t i = 0; kind->locks && i < batch->count; i++)
    {
        const TransferRequest *request = &batch->transfers[i]->request;
        if (kind->debit && side == batch->home)
            accounts[count++] = (JudgeAccount){.id = request->debit_account};
        if (kind->credit && side == credit_side(batch))
            accounts[count++] = (JudgeAccount){.id = request->credit_account};
    }
    qsort(accounts, count, sizeof *accounts, compare_accounts);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
    {
        if (distinct == 0 || strcmp(accounts[distinct - 1].id, accounts[i].id) != 0)
            accounts[distinct++] = accounts[i];
    }
    side->account_first = first;
    side->account_count = distinct;
}

/* A refund is a credit of the debit account. */
static void index_transfer(const Batch *batch, Transfer *transfer, JudgeTransfer *judged)
{
    const BatchKindRow *kind = batch_kind_row(batch->kind);
    const TransferRequest *request = &transfer->request;
    bool refund = batch->kind == BATCH_REFUND;
    transfer->debit_index = transfer->credit_index = JUDGE_ELSEWHERE;
    if (!kind->locks)
        return;
    if (kind->debit)
        transfer->debit_index = account_index(batch, batch->home, request->debit_account);
    if (kind->credit)
        transfer->credit_index = account_index(batch, credit_side(batch), request->credit_account);
    *judged = (JudgeTransfer){
        .debit = refund ? JUDGE_ELSEWHERE : transfer->debit_index,
        .credit = refund ? transfer->debit_index : transfer->credit_index,
        .amount = request->amount,
        .currency = request->currency,
    };
}

static int compare_transfers(const void *a, const void *b)
{
    const Transfer *const *left = a;
    const Transfer *const *right = b;
    return memcmp((*left)->id, (*right)->id, sizeof(*left)->id);
}

Transfer *batch_find(Batch *batch, const uint8_t id[16])
{
    if (!batch->is_sorted)
    {
        memcpy(batch->sorted, batch->transfers, batch->count * sizeof *batch->sorted);
        qsort(batch->sorted, batch->count, sizeof *batch->sorted, compare_transfers);
        batch->is_sorted = true;
    }
    Transfer wanted;
    memcpy(wanted.id, id, sizeof wanted.id);
    const Transfer *key = &wanted;
    Transfer **place =
        bsearch(&key, batch->sorted, batch->count, sizeof *batch->sorted, compare_transfers);
    ASSERT(place != NULL);
    return *place;
}

const char *batch_home_name(const Batch *batch)
{
    if (batch->home != NULL)
        return shard_name(batch->home->shard);
    const Shard *common = batch->transfers[0]->debit.shard;
    for (size_t i = 1; i < batch->count; i++)
    {
        if (batch->transfers[i]->debit.shard != common)
            return "*";
    }
    return shard_name(common);
}

const char *batch_remote_name(const Batch *batch)
{
    if (batch->remote != NULL)
        return shard_name(batch->remote->shard);
    const Shard *common = batch->transfers[0]->credit.shard;
    for (size_t i = 1; i < batch->count; i++)
    {
        if (batch->transfers[i]->credit.shard != common)
            return "*";
    }
    return shard_name(common);
}

static void name_leg(Batch *batch)
{
    Gid gid;
    const Protocol *protocol = batch->protocol;
    snprintf(gid.cluster, sizeof gid.cluster, "%s",
             directory_cluster(protocol_directory(protocol)));
    snprintf(gid.instance, sizeof gid.instance, "%s", protocol_options(protocol)->instance);
    memcpy(gid.batch, batch->id, sizeof gid.batch);
    snprintf(gid.home, sizeof gid.home, "%s", shard_name(batch->home->shard));
    snprintf(gid.remote, sizeof gid.remote, "%s", shard_name(batch->remote->shard));
    gid_format(&gid, batch->gid);
}

void batch_start(Batch *batch)
{
    ASSERT(batch->count > 0);
    uuid_random(batch->id);
    if (batch->kind == BATCH_TWO_PHASE)
    {
        name_leg(batch);
        protocol_enlist(batch);
    }
    size_t first = 0;
    for (int i = 0; i < batch->side_count; i++)
    {
        collect_accounts(batch, &batch->sides[i], first);
        first += batch->sides[i].account_count;
    }
    ASSERT(batch->judged != NULL); /* as in every batch that ever took a transfer */
    for (size_t i = 0; i < batch->count; i++)
        index_transfer(batch, batch->transfers[i], &batch->judged[i]);
    batch_meters_start(protocol_meters(batch->protocol), batch);
    stage_enter(batch, STAGE_ACQUIRE);
    stage_drive(batch);
}

void batch_recover(Batch *batch, const char *gid, bool decided)
{
    Gid parts;
    ASSERT(batch->kind == BATCH_TWO_PHASE && batch->count == 0);
    ASSERT(gid_parse(gid, &parts));
    memcpy(batch->id, parts.batch, sizeof batch->id);
    snprintf(batch->gid, sizeof batch->gid, "%s", gid);
    batch->is_recovered = true;
    batch->outcome = decided ? BATCH_COMMITTED : BATCH_UNDECIDED;
    protocol_enlist(batch);
    stage_enter(batch, decided ? STAGE_LOOK : STAGE_ASK);
    stage_drive(batch);
}

bool batch_account_is_touched(const JudgeAccount *account)
{
    return account->version != account->locked_version;
}

void batch_dispose(Batch *batch)
{
    loop_timer_free(batch->timer);
    loop_timer_free(batch->visible);
    free(batch->transfers);
    free(batch->sorted);
    free(batch->accounts);
    free(batch->judged);
    free(batch->entries);
    free(batch->finishing);
    free(batch);
}

/* Everything back to zero but what is worth keeping: the arrays and the timers. */
void batch_recycle(Batch *batch)
{
    Batch kept = {
        .protocol = batch->protocol,
        .timer = batch->timer,
        .visible = batch->visible,
        .transfers = batch->transfers,
        .sorted = batch->sorted,
        .capacity = batch->capacity,
        .accounts = batch->accounts,
        .judged = batch->judged,
        .entries = batch->entries,
        .finishing = batch->finishing,
    };
    *batch = kept;
}
