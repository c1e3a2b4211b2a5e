/* See finisher.h. */
#include "protocol/finisher.h"

#include <stdlib.h>
#include <string.h>

enum
{
    FLUSH_AFTER_MS = 1000,
    FLUSH_DEADLINE_MS = 5000,
};

/* The ids that wait for one home shard. */
typedef struct Shelf
{
    Finisher *finisher;
    Shard *home;
    uint8_t ids[FINISHER_MAX][16];
    size_t count;
    ShardWaiter waiter;
    Session *session;
    bool flushing;
} Shelf;

struct Finisher
{
    Protocol *protocol;
    LoopTimer *timer;
    Shelf **shelves;
    size_t shelf_count;
};

static void flush_all(void *context);

Finisher *finisher_new(Protocol *protocol)
{
    Finisher *finisher = base_calloc(1, sizeof *finisher);
    finisher->protocol = protocol;
    finisher->timer = loop_timer_new(protocol_loop(protocol), flush_all, finisher);
    return finisher;
}

void finisher_free(Finisher *finisher)
{
    if (finisher == NULL)
        return;
    for (size_t i = 0; i < finisher->shelf_count; i++)
    {
        Shelf *shelf = finisher->shelves[i];
        if (shelf->session != NULL)
            session_release(shelf->session);
        else if (shelf->flushing)
            shard_give_up(shelf->home, &shelf->waiter);
        free(shelf);
    }
    free(finisher->shelves);
    loop_timer_free(finisher->timer);
    free(finisher);
}

static Shelf *shelf_of(Finisher *finisher, Shard *home)
{
    for (size_t i = 0; i < finisher->shelf_count; i++)
    {
        if (finisher->shelves[i]->home == home)
            return finisher->shelves[i];
    }
    Shelf *shelf = base_calloc(1, sizeof *shelf);
    shelf->finisher = finisher;
    shelf->home = home;
    size_t size = (finisher->shelf_count + 1) * sizeof *finisher->shelves;
    finisher->shelves = base_realloc(finisher->shelves, size);
    finisher->shelves[finisher->shelf_count++] = shelf;
    return shelf;
}

void finisher_add(Finisher *finisher, Shard *home, const uint8_t batch_id[16])
{
    Shelf *shelf = shelf_of(finisher, home);
    if (shelf->count == FINISHER_MAX)
        return;
    memcpy(shelf->ids[shelf->count++], batch_id, 16);
    if (!loop_timer_running(finisher->timer))
        loop_timer_start(finisher->timer, FLUSH_AFTER_MS);
}

size_t finisher_take(Finisher *finisher, Shard *home, uint8_t (*ret_ids)[16], size_t max)
{
    Shelf *shelf = shelf_of(finisher, home);
    size_t count = shelf->count < max ? shelf->count : max;
    memcpy(ret_ids, shelf->ids[shelf->count - count], count * sizeof *ret_ids);
    shelf->count -= count;
    return count;
}

static void flushed(void *context, const PgAnswer *answers, size_t count, PgTransaction transaction)
{
    Shelf *shelf = context;
    (void)answers; /* what did not succeed, recovery verifies */
    (void)count;
    (void)transaction;
    session_release(shelf->session);
    shelf->session = NULL;
    shelf->flushing = false;
}

static void granted(ShardWaiter *waiter, Session *session)
{
    Shelf *shelf = container_of(waiter, Shelf, waiter);
    shelf->session = session;
    if (session == NULL || shelf->count == 0)
    {
        if (session != NULL)
            session_release(session);
        shelf->session = NULL;
        shelf->flushing = false;
        return;
    }
    PgParams *params = protocol_params(shelf->finisher->protocol);
    pg_params_reset(params);
    pg_params_array(params, PG_ELEMENT_UUID, shelf->count);
    for (size_t i = 0; i < shelf->count; i++)
        pg_params_add_uuid(params, shelf->ids[i]);
    shelf->count = 0;
    session_begin(session);
    session_add(session, STATEMENT_FINISH, params);
    session_send(session, FLUSH_DEADLINE_MS, flushed, shelf);
}

static void flush_all(void *context)
{
    Finisher *finisher = context;
    for (size_t i = 0; i < finisher->shelf_count; i++)
    {
        Shelf *shelf = finisher->shelves[i];
        if (shelf->count == 0 || shelf->flushing || !shard_is_usable(shelf->home))
            continue;
        shelf->flushing = true;
        shelf->waiter.granted = granted;
        shard_acquire(shelf->home, &shelf->waiter, SESSION_TRAFFIC, FLUSH_DEADLINE_MS);
    }
}
