/* See waiting_room.h. */
#include "batcher/waiting_room.h"

#include "batcher/flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those who wait for one account. */
typedef struct Bench
{
    TAILQ_ENTRY(Bench) link;
    WaitingRoom *room;
    Shard *shard;
    char account[ACCOUNT_ID_MAX + 1];
    struct TransferList waiting;
    bool asking;
} Bench;

struct WaitingRoom
{
    Caller *caller;
    LoopTimer *rest; /* runs while somebody finds no place in a queue */
    void (*leave)(void *context, Transfer *transfer);
    void *context;
    TAILQ_HEAD(, Bench) benches; /* in the order of their first comers */
};

static void ask_more(WaitingRoom *room);
static void rested(void *context);

WaitingRoom *waiting_room_new(Loop *loop, Caller *caller,
                              void (*leave)(void *context, Transfer *transfer), void *context)
{
    WaitingRoom *room = base_calloc(1, sizeof *room);
    room->caller = caller;
    room->rest = loop_timer_new(loop, rested, room);
    room->leave = leave;
    room->context = context;
    TAILQ_INIT(&room->benches);
    return room;
}

void waiting_room_free(WaitingRoom *room)
{
    if (room == NULL)
        return;
    ASSERT(TAILQ_EMPTY(&room->benches));
    loop_timer_free(room->rest);
    free(room);
}

static void fill(void *context, PgParams *params)
{
    const Bench *bench = context;
    pg_params_text(params, bench->account);
}

static void leave(Bench *bench)
{
    WaitingRoom *room = bench->room;
    Transfer *transfer;
    TAILQ_REMOVE(&room->benches, bench, link);
    while ((transfer = TAILQ_FIRST(&bench->waiting)) != NULL)
    {
        flight_dequeue(transfer);
        room->leave(room->context, transfer);
    }
    free(bench);
}

/* Free, locked for too long, or no answer: the batch that tries again finds out. */
static void answered(void *context, const CallResult *result)
{
    Bench *bench = context;
    WaitingRoom *room = bench->room;
    (void)result;
    leave(bench);
    ask_more(room);
}

static void rested(void *context)
{
    WaitingRoom *room = context;
    Bench *next;
    for (Bench *bench = TAILQ_FIRST(&room->benches); bench != NULL; bench = next)
    {
        next = TAILQ_NEXT(bench, link);
        if (!bench->asking)
            leave(bench);
    }
}

static int count_asking(const WaitingRoom *room, const Shard *shard)
{
    const Bench *bench;
    int count = 0;
    TAILQ_FOREACH (bench, &room->benches, link)
    {
        count += bench->asking && bench->shard == shard ? 1 : 0;
    }
    return count;
}

static void ask_more(WaitingRoom *room)
{
    Bench *bench;
    TAILQ_FOREACH (bench, &room->benches, link)
    {
        if (bench->asking)
            continue;
        if (count_asking(room, bench->shard) >= WAITING_ROOM_ASKING)
        {
            if (!loop_timer_running(room->rest))
                loop_timer_start(room->rest, WAITING_ROOM_REST_MS);
            continue;
        }
        Call call = {STATEMENT_WAIT_FOR, fill, answered, bench};
        bench->asking = true;
        call_shard(room->caller, bench->shard, &call);
    }
}

static Bench *bench_for(WaitingRoom *room, Shard *shard, const char *account)
{
    Bench *bench;
    TAILQ_FOREACH (bench, &room->benches, link)
    {
        if (bench->shard == shard && strcmp(bench->account, account) == 0)
            return bench;
    }
    bench = base_calloc(1, sizeof *bench);
    bench->room = room;
    bench->shard = shard;
    snprintf(bench->account, sizeof bench->account, "%s", account);
    TAILQ_INIT(&bench->waiting);
    TAILQ_INSERT_TAIL(&room->benches, bench, link);
    return bench;
}

void waiting_room_enter(WaitingRoom *room, Transfer *transfer)
{
    bool debit = transfer->debit_is_busy;
    ASSERT(debit || transfer->credit_is_busy);
    Bench *bench = debit
                       ? bench_for(room, transfer->debit.shard, transfer->request.debit_account)
                       : bench_for(room, transfer->credit.shard, transfer->request.credit_account);
    flight_enqueue(transfer, &bench->waiting);
    ask_more(room);
}
