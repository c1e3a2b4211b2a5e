/* See batch.h. */
#include "protocol/batch.h"

#include "protocol/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *side_role_name(SideRole role)
{
    return role == SIDE_HOME ? "home" : "remote";
}

static void side_reset(Side *side, Batch *batch, Shard *shard, SideRole role)
{
    *side = (Side){.batch = batch, .role = role, .shard = shard};
}

Batch *batch_new(Protocol *protocol, Shard *home, Shard *remote, bool wait_for_locks)
{
    Batch *batch = protocol_take_batch(protocol);
    bool home_first = remote == NULL || shard_ordinal(home) < shard_ordinal(remote);
    batch->mode = remote == NULL ? MODE_LOCAL : MODE_2PC;
    batch->wait_for_locks = wait_for_locks;
    batch->side_count = remote == NULL ? 1 : 2;
    batch->home = &batch->sides[home_first ? 0 : 1];
    batch->remote = remote == NULL ? NULL : &batch->sides[home_first ? 1 : 0];
    side_reset(batch->home, batch, home, SIDE_HOME);
    if (remote != NULL)
        side_reset(batch->remote, batch, remote, SIDE_REMOTE);
    return batch;
}

static void grow(Batch *batch)
{
    if (batch->count < batch->capacity)
        return;
    batch->capacity = batch->capacity == 0 ? 16 : 2 * batch->capacity;
    size_t n = batch->capacity;
    batch->transfers = base_realloc(batch->transfers, n * sizeof *batch->transfers);
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

bool batch_add(Batch *batch, Transfer *transfer)
{
    Side *credit_side = batch->remote != NULL ? batch->remote : batch->home;
    ASSERT(transfer->debit.shard == batch->home->shard);
    ASSERT(transfer->credit.shard == credit_side->shard);
    if (batch->count == BATCH_TRANSFERS_MAX)
        return false;
    if (batch->count > 0 && batch->bytes + transfer->bytes > BATCH_BYTES_MAX)
        return false;
    /* A partition that was added for a transfer which then does not fit costs one more shared lock.
     */
    if (!add_partition(batch->home, &transfer->debit) ||
        !add_partition(credit_side, &transfer->credit))
        return false;
    grow(batch);
    batch->transfers[batch->count++] = transfer;
    batch->bytes += transfer->bytes;
    transfer->result = RESULT_NONE;
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
    JudgeAccount *accounts = batch->accounts + first;
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
    {
        const TransferRequest *request = &batch->transfers[i]->request;
        if (side == batch->home)
            accounts[count++] = (JudgeAccount){.id = request->debit_account};
        if (side == batch->remote || batch->remote == NULL)
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

static void index_transfers(Batch *batch)
{
    const Side *credit_side = batch->remote != NULL ? batch->remote : batch->home;
    for (size_t i = 0; i < batch->count; i++)
    {
        Transfer *transfer = batch->transfers[i];
        const TransferRequest *request = &transfer->request;
        transfer->debit_index = account_index(batch, batch->home, request->debit_account);
        transfer->credit_index = account_index(batch, credit_side, request->credit_account);
        batch->judged[i] = (JudgeTransfer){
            .debit = transfer->debit_index,
            .credit = transfer->credit_index,
            .amount = request->amount,
            .currency = request->currency,
        };
    }
}

static void format_gid(Batch *batch)
{
    char id[UUID_TEXT_MAX + 1];
    uuid_format(batch->id, id);
    int length = snprintf(batch->gid, sizeof batch->gid, "giro:%s:%s:%s:%s:%s",
                          directory_cluster(protocol_directory(batch->protocol)),
                          protocol_options(batch->protocol)->instance, id,
                          shard_name(batch->home->shard), shard_name(batch->remote->shard));
    ASSERT(length > 0 && length <= GID_MAX);
}

void batch_start(Batch *batch)
{
    ASSERT(batch->count > 0);
    uuid_random(batch->id);
    if (batch->remote != NULL)
        format_gid(batch);
    size_t first = 0;
    for (int i = 0; i < batch->side_count; i++)
    {
        collect_accounts(batch, &batch->sides[i], first);
        first += batch->sides[i].account_count;
    }
    index_transfers(batch);
    stage_enter(batch, STAGE_ACQUIRE);
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
        .capacity = batch->capacity,
        .accounts = batch->accounts,
        .judged = batch->judged,
        .entries = batch->entries,
        .finishing = batch->finishing,
    };
    *batch = kept;
}
