/*
 * See session.h for the life of a session and statement.h for the limit that is put before calls.
 *
 * The session's own messages in a group (the limit) are hidden from the holder: their answers are
 * taken out again. If one fails, its error stands in for the first message that it made the server
 * skip, so that the holder still sees why.
 */
#include "shard/session.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PARAMS_MAX = 128 + HISTORY_MARKS_MAX * (MARK_LENGTH + 4) + SESSION_REASON_MAX,
    GID_SQL_MAX = 32 + GID_MAX + 3, /* command, quotes, NUL */
};

_Static_assert(PG_GROUP_MAX <= 64, "a bit of Session.hidden for every message of a group");

static void verify(Session *session);

static void fail(Session *session, SessionFailure failure, const char *why)
{
    session->state = SESSION_CLOSED;
    session->events->failed(session->shard, session, failure, why);
}

static void lost_while_idle(void *context)
{
    Session *session = context;
    if (session->state != SESSION_IDLE)
        return;
    session->state = SESSION_CLOSED;
    session->events->lost(session->shard, session, pg_trouble(session->pg));
}

/* ---- opening --------------------------------------------------------------------------------- */

static void connected(void *context, bool is_connected, const char *text)
{
    Session *session = context;
    if (is_connected)
        verify(session);
    else
        fail(session, SESSION_UNREACHABLE, text);
}

static PgParams *make_limit(uint64_t timeout_ms)
{
    char text[24];
    PgParams *limit = pg_params_new(sizeof text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)timeout_ms);
    pg_params_text(limit, text);
    return limit;
}

Session *session_open(const SessionOrder *order)
{
    Session *session = base_calloc(1, sizeof *session);
    session->loop = order->loop;
    session->shard = order->shard;
    session->options = order->options;
    session->history = order->history;
    session->events = order->events;
    session->probe = order->probe;
    session->forsaken = order->forsaken;
    session->state = SESSION_OPENING;
    session->opening_since_ms = loop_now_ms(session->loop);
    session->transaction = PG_TRANSACTION_UNKNOWN;
    session->limit = make_limit(session->options->statement_timeout_ms);
    session->long_limit = make_limit(LONG_READ_MS);
    session->pg = pg_connect(session->loop, session->options->dsn,
                             session->options->connect_deadline_ms, connected, session);
    return session;
}

void session_free(Session *session)
{
    if (session == NULL)
        return;
    pg_close(session->pg);
    pg_params_free(session->limit);
    pg_params_free(session->long_limit);
    free(session);
}

/* The first answer that is not done, if any. */
static const PgAnswer *first_failure(const PgAnswer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        if (answers[i].kind != PG_DONE)
            return &answers[i];
    }
    return NULL;
}

static void fail_fenced(Session *session)
{
    char text[SESSION_REASON_MAX + 16];
    snprintf(text, sizeof text, "fenced: %s", session->reason);
    session->identity.backend.pid = 0; /* it has nothing under way */
    fail(session, SESSION_FENCED, text);
}

static void fenced_off(void *context, const PgAnswer *answers, size_t count,
                       PgTransaction transaction)
{
    Session *session = context;
    (void)count;
    (void)transaction;
    if (answers[0].kind == PG_DONE)
        log_error("shard=%s is fenced off until it is readmitted: %s", session->options->name,
                  session->reason);
    else
        log_error("shard=%s could not be fenced off: %s", session->options->name, answers[0].text);
    fail_fenced(session);
}

/* The epoch that was seen rides along: if somebody readmits the shard meanwhile, nothing happens.
 */
static void fence_off(Session *session)
{
    PgParams *params = pg_params_new(PARAMS_MAX);
    pg_params_int8(params, session->identity.incarnation.epoch);
    pg_params_text(params, session->reason);
    pg_group_begin(session->pg);
    pg_group_sql(session->pg, statement_row(STATEMENT_FENCE_OFF)->sql, params);
    pg_group_send(session->pg, session->options->connect_deadline_ms, fenced_off, session);
    pg_params_free(params);
}

/* False if the session ends here. */
static bool accept_history(Session *session, const PgRows *rows)
{
    HistoryReport report;
    session_report(rows, &report);
    report.marks = session->marks;
    switch (history_judge(&session->expected, &report, session->reason, sizeof session->reason))
    {
    case HISTORY_INTACT:
        return true;
    case HISTORY_OTHER:
        session->identity.backend.pid = 0;
        fail(session, SESSION_REFUSED, session->reason);
        return false;
    case HISTORY_FENCED:
        fail_fenced(session);
        return false;
    case HISTORY_LOST:
        fence_off(session);
        return false;
    }
    return false;
}

static void verified(void *context, const PgAnswer *answers, size_t count,
                     PgTransaction transaction)
{
    Session *session = context;
    char text[SESSION_REASON_MAX];
    const PgAnswer *failure = first_failure(answers, count);
    if (answers[0].kind == PG_DONE)
    {
        const char *problem = session_verify(session->options, answers[0].rows, text, sizeof text);
        if (problem != NULL)
        {
            fail(session, SESSION_REFUSED, problem);
            return;
        }
        session_identify(answers[0].rows, &session->identity);
        if (!accept_history(session, answers[0].rows))
            return;
    }
    if (failure != NULL)
    {
        snprintf(text, sizeof text, "session set-up: %s%s%s", failure->text,
                 failure->sqlstate[0] != '\0' ? ", SQLSTATE " : "", failure->sqlstate);
        fail(session, failure->kind == PG_LOST ? SESSION_UNREACHABLE : SESSION_REFUSED, text);
        return;
    }
    session->transaction = transaction;
    session->state = SESSION_IDLE;
    pg_on_lost(session->pg, lost_while_idle, session);
    session->events->opened(session->shard, session);
}

static void add_marks(Session *session, PgParams *params)
{
    uint8_t marks[HISTORY_MARKS_MAX][MARK_LENGTH];
    session->expected = session->history->expected;
    session->marks = history_marks(session->history, marks);
    pg_params_array(params, PG_ELEMENT_UUID, session->marks);
    for (size_t i = 0; i < session->marks; i++)
        pg_params_add_uuid(params, marks[i]);
}

/* Settings, an abandoned backend's end, prepared statements, and the commit that proves a shard. */
static void verify(Session *session)
{
    const ShardOptions *options = session->options;
    PgParams *params = pg_params_new(PARAMS_MAX);
    pg_params_int4(params, (int32_t)options->lock_timeout_ms);
    pg_params_int4(params, 0);
    pg_params_int4(params, (int32_t)options->idle_in_transaction_timeout_ms);
    pg_params_text(params, options->instance);
    add_marks(session, params);
    pg_group_begin(session->pg);
    pg_group_sql(session->pg, statement_row(STATEMENT_SESSION)->sql, params);
    pg_group_sync(session->pg);
    if (session->forsaken.pid != 0)
    {
        pg_params_reset(params);
        pg_params_int4(params, session->forsaken.pid);
        pg_params_timestamp_us(params, session->forsaken.started_us);
        pg_group_sql(session->pg, statement_row(STATEMENT_END_SESSION)->sql, params);
        pg_group_sync(session->pg);
    }
    for (int i = 0; i < STATEMENT_COUNT; i++)
    {
        const StatementRow *row = statement_row((Statement)i);
        if (statement_is_prepared((Statement)i))
            pg_group_prepare(session->pg, row->name, row->sql);
    }
    if (session->probe)
    {
        pg_group_sync(session->pg);
        pg_group_sql(session->pg, statement_row(STATEMENT_PING)->sql, NULL);
    }
    pg_group_send(session->pg, options->connect_deadline_ms, verified, session);
    pg_params_free(params);
}

/* ---- giving back ----------------------------------------------------------------------------- */

static void end_return(Session *session, SessionState state)
{
    session->state = state;
    session->events->returned(session->shard, session);
}

/* Reports a missed deadline once per session. */
static void check_overdue(Session *session)
{
    if (session->overdue || !pg_is_timed_out(session->pg))
        return;
    session->overdue = true;
    session->events->overdue(session->shard, session);
}

static void rolled_back(void *context, const PgAnswer *answers, size_t count,
                        PgTransaction transaction)
{
    Session *session = context;
    (void)answers;
    (void)count;
    session->transaction = transaction;
    bool clean = pg_is_open(session->pg) && transaction == PG_TRANSACTION_IDLE;
    check_overdue(session);
    end_return(session, clean ? SESSION_IDLE : SESSION_CLOSED);
}

/* No group is under way. */
static void clean_up(Session *session)
{
    if (!pg_is_open(session->pg) || session->transaction == PG_TRANSACTION_UNKNOWN)
    {
        end_return(session, SESSION_CLOSED);
        return;
    }
    if (session->transaction == PG_TRANSACTION_IDLE)
    {
        end_return(session, SESSION_IDLE);
        return;
    }
    session->state = SESSION_RETURNING;
    pg_group_begin(session->pg);
    pg_group_sql(session->pg, statement_row(STATEMENT_ROLLBACK)->sql, NULL);
    pg_group_send(session->pg, session->options->connect_deadline_ms, rolled_back, session);
}

void session_release(Session *session)
{
    ASSERT(session->state == SESSION_HELD);
    if (session->done != NULL)
    {
        session->state = SESSION_RETURNING;
        session->done = NULL;
        return;
    }
    clean_up(session);
}

void session_take(Session *session)
{
    ASSERT(session->state == SESSION_IDLE);
    session->state = SESSION_HELD;
}

/* ---- what the holder may ask ----------------------------------------------------------------- */

int session_backend_pid(const Session *session)
{
    return session->identity.backend.pid;
}

int64_t session_backend_start_us(const Session *session)
{
    return session->identity.backend.started_us;
}

PgTransaction session_transaction(const Session *session)
{
    return pg_is_open(session->pg) ? session->transaction : PG_TRANSACTION_UNKNOWN;
}

bool session_is_open(const Session *session)
{
    return pg_is_open(session->pg);
}

void session_cut(Session *session)
{
    pg_cut(session->pg);
}

/* ---- groups ---------------------------------------------------------------------------------- */

void session_begin(Session *session)
{
    ASSERT(session->state == SESSION_HELD && session->done == NULL);
    session->hidden = 0;
    session->messages = 0;
    session->in_block = session->transaction == PG_TRANSACTION_OPEN;
    session->limited = session->in_block;
    pg_group_begin(session->pg);
}

static void add_limit(Session *session, const PgParams *limit)
{
    if (session->limited)
        return;
    session->limited = true;
    session->hidden |= UINT64_C(1) << session->messages++;
    pg_group_execute(session->pg, statement_row(STATEMENT_LIMIT)->name, limit);
}

void session_add(Session *session, Statement statement, const PgParams *params)
{
    const StatementRow *row = statement_row(statement);
    ASSERT(row->kind != STATEMENT_IS_GID && row->kind != STATEMENT_IS_DIRECTORY);
    if (statement_is_limited(statement))
        add_limit(session, session->limit);
    else if (row->kind == STATEMENT_IS_LONG_READ)
        add_limit(session, session->long_limit);
    session->messages++;
    if (statement_is_prepared(statement))
        pg_group_execute(session->pg, row->name, params);
    else
        pg_group_sql(session->pg, row->sql, params);
    if (row->kind == STATEMENT_IS_PLAIN)
    {
        session->in_block = statement == STATEMENT_BEGIN;
        session->limited = false;
    }
}

void session_add_gid(Session *session, Statement statement, const char *gid)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789:-";
    const StatementRow *row = statement_row(statement);
    char sql[GID_SQL_MAX];
    ASSERT(row->kind == STATEMENT_IS_GID);
    ASSERT(strlen(gid) <= GID_MAX && gid[strspn(gid, allowed)] == '\0');
    snprintf(sql, sizeof sql, "%s'%s'", row->sql, gid);
    bool stands_alone = statement != STATEMENT_PREPARE;
    if (stands_alone)
        session_sync(session);
    session->messages++;
    pg_group_sql(session->pg, sql, NULL);
    session->in_block = false;
    session->limited = false;
    if (stands_alone)
        session_sync(session);
}

void session_sync(Session *session)
{
    pg_group_sync(session->pg);
    session->limited = session->limited && session->in_block;
}

/* The wall of a shard that another coordinator has fenced off, or a server that takes no writes any
 * more. */
static void check_fitness(Session *session, const PgAnswer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        if (answers[i].kind != PG_ERROR)
            continue;
        if (strcmp(answers[i].sqlstate, "GR004") == 0)
            session->events->unfit(session->shard, session, SESSION_FENCED,
                                   "fenced: another coordinator has found that history is lost");
        else if (strcmp(answers[i].sqlstate, "25006") == 0)
            session->events->unfit(session->shard, session, SESSION_REFUSED,
                                   "the server has become read-only");
    }
}

/* Takes the session's own answers out; returns how many are left. */
static size_t show(const Session *session, const PgAnswer *answers, size_t count,
                   PgAnswer *ret_shown)
{
    const PgAnswer *failure = NULL;
    size_t shown = 0;
    for (size_t i = 0; i < count; i++)
    {
        if ((session->hidden >> i & 1) != 0)
        {
            failure = answers[i].kind == PG_ERROR ? &answers[i] : NULL;
            continue;
        }
        bool blamed = failure != NULL && answers[i].kind == PG_SKIPPED;
        ret_shown[shown++] = blamed ? *failure : answers[i];
        failure = NULL;
    }
    return shown;
}

static void group_done(void *context, const PgAnswer *answers, size_t count,
                       PgTransaction transaction)
{
    Session *session = context;
    PgAnswer shown[PG_GROUP_MAX];
    size_t shown_count = show(session, answers, count, shown);
    PgGroupDone done = session->done;
    session->done = NULL;
    session->transaction = transaction;
    check_overdue(session);
    check_fitness(session, answers, count);
    if (done != NULL)
        done(session->done_context, shown, shown_count, transaction);
    else
        clean_up(session);
}

void session_send(Session *session, uint64_t deadline_ms, PgGroupDone done, void *context)
{
    ASSERT(done != NULL);
    session->done = done;
    session->done_context = context;
    session->transaction = PG_TRANSACTION_UNKNOWN;
    pg_group_send(session->pg, deadline_ms, group_done, session);
}
