/*
 * See pg.h. A connection is dialled (pg_dial.c), put into pipeline mode, and from then on carries
 * one group at a time (pg_group.c).
 *
 * Socket and timer callbacks only record: they feed results into the group, or mark the connection
 * as lost, and post one task. The task, `deliver`, is the only place that calls back into the
 * layers above, and touches nothing of the connection after a callback, which may have closed it.
 */
#include "pg/pg.h"

#include "pg/pg_dial.h"
#include "pg/pg_group.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    /* Between two results libpq returns NULL once or twice; more in a row mean it is out of step.
     */
    NULLS_MAX = 4,
};

struct Pg
{
    Loop *loop;
    PgDial *dial;
    PGconn *connection;
    LoopPoll *poll;
    LoopTimer *deadline;
    LoopTask deliver;

    bool open;
    bool timed_out;
    char trouble[256];

    PgConnected connected;
    void *connected_context;
    bool dialled; /* the outcome of connecting is known and not told yet */

    void (*lost)(void *context);
    void *lost_context;

    PgGroup group;
    bool under_way; /* the group was sent and its callback has not been called */
    PgGroupDone done;
    void *done_context;
    PgTransaction transaction;
};

static void set_trouble(Pg *pg, const char *text)
{
    if (pg->trouble[0] == '\0')
        snprintf(pg->trouble, sizeof pg->trouble, "%.*s", (int)strcspn(text, "\n"), text);
}

static void drop_connection(Pg *pg)
{
    loop_poll_free(pg->poll);
    pg->poll = NULL;
    PQfinish(pg->connection);
    pg->connection = NULL;
    pg->open = false;
}

/* The one way in which an open connection ends, except pg_close. */
static void lose(Pg *pg, const char *text)
{
    if (!pg->open)
        return;
    set_trouble(pg, text);
    drop_connection(pg);
    loop_timer_stop(pg->deadline);
    if (pg->under_way && !pg_group_is_complete(&pg->group))
    {
        pg_group_lose(&pg->group, pg->trouble);
        pg->transaction = PG_TRANSACTION_UNKNOWN;
    }
    loop_post(pg->loop, &pg->deliver);
}

static void deadline_missed(void *context)
{
    Pg *pg = context;
    pg->timed_out = true;
    lose(pg, "no answer before the deadline");
}

static void note_notice(void *context, const PGresult *notice)
{
    Pg *pg = context;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == NULL)
        return;
    if (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)
        set_trouble(pg, PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY));
    else if (strcmp(severity, "WARNING") == 0 && pg->under_way && !pg_group_is_complete(&pg->group))
        pg_group_warn(&pg->group, notice);
}

static PgTransaction transaction_of(const PGconn *connection)
{
    switch (PQtransactionStatus(connection))
    {
    case PQTRANS_IDLE:
        return PG_TRANSACTION_IDLE;
    case PQTRANS_INTRANS:
        return PG_TRANSACTION_OPEN;
    case PQTRANS_INERROR:
        return PG_TRANSACTION_FAILED;
    case PQTRANS_ACTIVE:
    case PQTRANS_UNKNOWN:
        break;
    }
    return PG_TRANSACTION_UNKNOWN;
}

/* Records every result that has arrived. */
static void drain(Pg *pg)
{
    int nulls = 0;
    while (pg->under_way && !pg_group_is_complete(&pg->group))
    {
        if (PQisBusy(pg->connection))
            return;
        PGresult *result = PQgetResult(pg->connection);
        nulls = result == NULL ? nulls + 1 : 0;
        bool goes_on = result == NULL ? nulls <= NULLS_MAX : pg_group_take(&pg->group, result);
        if (!goes_on)
        {
            lose(pg, PQerrorMessage(pg->connection));
            return;
        }
    }
    /* Nothing is expected: lets libpq read parameter changes and the reason of a shutdown. */
    (void)PQisBusy(pg->connection);
    if (pg->under_way)
    {
        pg->transaction = transaction_of(pg->connection);
        loop_timer_stop(pg->deadline);
        loop_post(pg->loop, &pg->deliver);
    }
}

static void flush(Pg *pg)
{
    int left = PQflush(pg->connection);
    if (left < 0)
        lose(pg, PQerrorMessage(pg->connection));
    else
        loop_poll_set(pg->poll, LOOP_READABLE | (left > 0 ? (unsigned)LOOP_WRITABLE : 0U));
}

static void socket_ready(void *context, unsigned events)
{
    Pg *pg = context;
    if ((events & LOOP_READABLE) != 0)
    {
        bool alive = PQconsumeInput(pg->connection) == 1;
        drain(pg);
        if (pg->open && !alive)
            lose(pg, PQerrorMessage(pg->connection));
    }
    if (pg->open && (events & LOOP_WRITABLE) != 0)
        flush(pg);
}

/* ---- what the layers above are told ---------------------------------------------------------- */

static void deliver_connected(Pg *pg)
{
    pg->dialled = false;
    pg->connected(pg->connected_context, pg->open, pg->open ? NULL : pg->trouble);
}

/* Answers move to the stack first: the callback may send the next group, or close. */
static void deliver_group(Pg *pg)
{
    PgGroup *group = &pg->group;
    PgAnswer answers[PG_GROUP_MAX];
    PGresult *results[PG_GROUP_MAX];
    size_t count = group->count;
    PgTransaction transaction = pg->transaction;
    memcpy(answers, group->answers, count * sizeof answers[0]);
    memcpy(results, group->results, count * sizeof(PGresult *));
    memset(group->results, 0, count * sizeof(PGresult *));
    pg_group_clear(group);
    pg->under_way = false;
    pg->done(pg->done_context, answers, count, transaction);
    for (size_t i = 0; i < count; i++)
        PQclear(results[i]);
}

static void deliver(void *context)
{
    Pg *pg = context;
    if (pg->dialled)
    {
        deliver_connected(pg);
    }
    else if (pg->under_way)
    {
        deliver_group(pg);
    }
    else if (!pg->open && pg->lost != NULL)
    {
        void (*lost)(void *) = pg->lost;
        pg->lost = NULL;
        lost(pg->lost_context);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void dial_ended(void *context, PGconn *connection, const char *text)
{
    Pg *pg = context;
    pg->dialled = true;
    if (connection == NULL)
        set_trouble(pg, text);
    else if (PQsetnonblocking(connection, 1) != 0 || PQenterPipelineMode(connection) != 1)
        set_trouble(pg, PQerrorMessage(connection));
    else
        pg->open = true;
    pg->connection = connection;
    if (pg->open)
    {
        PQsetNoticeReceiver(connection, note_notice, pg);
        pg->poll = loop_poll_new(pg->loop, PQsocket(connection), socket_ready, pg);
        loop_poll_set(pg->poll, LOOP_READABLE);
    }
    pg_dial_free(pg->dial);
    pg->dial = NULL;
    loop_post(pg->loop, &pg->deliver);
}

Pg *pg_connect(Loop *loop, const char *dsn, uint64_t deadline_ms, PgConnected connected,
               void *context)
{
    Pg *pg = base_calloc(1, sizeof *pg);
    pg->loop = loop;
    pg->deliver = (LoopTask){.run = deliver, .context = pg};
    pg->deadline = loop_timer_new(loop, deadline_missed, pg);
    pg->connected = connected;
    pg->connected_context = context;
    pg->transaction = PG_TRANSACTION_UNKNOWN;
    pg->dial = pg_dial_new(loop, dsn, deadline_ms, dial_ended, pg);
    return pg;
}

void pg_close(Pg *pg)
{
    if (pg == NULL)
        return;
    loop_unpost(pg->loop, &pg->deliver);
    pg_dial_free(pg->dial);
    drop_connection(pg);
    loop_timer_free(pg->deadline);
    pg_group_done(&pg->group);
    free(pg);
}

void pg_cut(Pg *pg)
{
    lose(pg, "cut by the coordinator");
}

bool pg_is_open(const Pg *pg)
{
    return pg->open;
}

bool pg_is_timed_out(const Pg *pg)
{
    return pg->timed_out;
}

const char *pg_trouble(const Pg *pg)
{
    return pg->open ? "" : pg->trouble;
}

int pg_backend_pid(const Pg *pg)
{
    return pg->open ? PQbackendPID(pg->connection) : 0;
}

void pg_on_lost(Pg *pg, void (*lost)(void *context), void *context)
{
    pg->lost = lost;
    pg->lost_context = context;
}

/* ---- groups ---------------------------------------------------------------------------------- */

void pg_group_begin(Pg *pg)
{
    ASSERT(!pg->under_way);
    pg_group_clear(&pg->group);
}

void pg_group_sql(Pg *pg, const char *sql, const PgParams *params)
{
    pg_group_append(&pg->group, PG_MESSAGE_SQL, NULL, sql, params);
}

void pg_group_prepare(Pg *pg, const char *name, const char *sql)
{
    pg_group_append(&pg->group, PG_MESSAGE_PREPARE, name, sql, NULL);
}

void pg_group_execute(Pg *pg, const char *name, const PgParams *params)
{
    pg_group_append(&pg->group, PG_MESSAGE_EXECUTE, name, NULL, params);
}

void pg_group_sync(Pg *pg)
{
    pg_group_end_segment(&pg->group);
}

void pg_group_send(Pg *pg, uint64_t deadline_ms, PgGroupDone done, void *context)
{
    ASSERT(!pg->under_way && pg->group.count > 0);
    pg_group_end_segment(&pg->group);
    pg->under_way = true;
    pg->done = done;
    pg->done_context = context;
    if (!pg->open)
    {
        pg_group_lose(&pg->group, pg->trouble);
        pg->transaction = PG_TRANSACTION_UNKNOWN;
        loop_post(pg->loop, &pg->deliver);
        return;
    }
    loop_timer_start(pg->deadline, deadline_ms);
    if (pg_group_feed(&pg->group, pg->connection))
        flush(pg);
    else
        lose(pg, PQerrorMessage(pg->connection));
}
