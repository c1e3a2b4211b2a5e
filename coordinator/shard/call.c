/*
 * See call.h.
 *
 * A call is in one of these states, and moves only in callbacks of the layers below:
 *
 *   waiting for a session -> waiting for the answer -> done
 *            ^                        |
 *            +--- pause <-------------+   lost, stale, moving or locked: again, while there is time
 *            ^                        |
 *            +--- ending the backend <+   lost, and the statement writes: first that backend goes
 *
 * An attempt of a statement that writes gets less than the whole time, so that there is some left
 * to end its backend. If that is too little the caller is answered, and the ending goes on for as
 * long again.
 *
 * A pause also follows the directory's refresh, so that a refresh that brings nothing new does not
 * turn into a tight loop. A shard that cannot be used at all is waited for only for a moment: its
 * clients are better served by a quick answer than by a full deadline.
 */
#include "shard/call.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_FIRST_MS = 10,
    PAUSE_MAX_MS = 250,
    UNUSABLE_PATIENCE_MS = 1000,
    WRITE_PERCENT = 70,  /* of the deadline, for one attempt that writes */
    ENDING_MIN_MS = 100, /* an attempt to end a backend is given at least */
    DETAIL_MAX = 160,
};

struct Caller
{
    Loop *loop;
    Directory *directory;
    CallerOptions options;
    PgParams *params; /* built and copied out within one callback */
    size_t count;
};

typedef struct Running
{
    ShardWaiter waiter;
    Caller *caller;
    Call call;
    char account_id[ACCOUNT_ID_MAX + 1]; /* "" for a given shard */
    Location location;
    Session *session;
    LoopTimer *timer;
    uint64_t started_at_ms;
    uint64_t pause_ms;
    uint64_t sent_at_ms;
    uint64_t answer_ms; /* how long the last error took to come (a wait for a lock), or an ending
                         * needs: no attempt is begun without that much time */
    bool answered;      /* done was called; all that is left is to end a backend */
    bool doubtful;      /* an attempt that writes was sent, and its answer was lost */
    Shard *forsaken_on; /* where that attempt's backend may still be at work; NULL = nowhere */
    int forsaken_pid;   /* names the backend, with its start: a pid alone is reused */
    int64_t forsaken_at_us;
    ErrorCode code; /* why the last attempt failed */
    char detail[DETAIL_MAX];
} Running;

static void attempt(Running *running);

Caller *caller_new(Loop *loop, Directory *directory, const CallerOptions *options)
{
    Caller *caller = base_calloc(1, sizeof *caller);
    caller->loop = loop;
    caller->directory = directory;
    caller->options = *options;
    caller->params = pg_params_new(options->parameter_bytes);
    return caller;
}

void caller_free(Caller *caller)
{
    if (caller == NULL)
        return;
    ASSERT(caller->count == 0);
    pg_params_free(caller->params);
    free(caller);
}

size_t caller_count(const Caller *caller)
{
    return caller->count;
}

static bool is_routed(const Running *running)
{
    return running->account_id[0] != '\0';
}

static uint64_t elapsed_ms(const Running *running)
{
    return loop_now_ms(running->caller->loop) - running->started_at_ms;
}

/* After the answer there is as much time again to end a backend. */
static uint64_t left_ms(const Running *running)
{
    uint64_t deadline_ms = running->caller->options.deadline_ms * (running->answered ? 2 : 1);
    uint64_t elapsed = elapsed_ms(running);
    return elapsed < deadline_ms ? deadline_ms - elapsed : 0;
}

static void note(Running *running, ErrorCode code, const char *detail)
{
    running->code = code;
    snprintf(running->detail, sizeof running->detail, "%s", detail);
}

static bool writes(const Running *running)
{
    return statement_writes(running->call.statement);
}

static void tell(Running *running, const PgRows *rows)
{
    bool failed = running->code != ERROR_NONE;
    CallResult result = {
        .code = failed && running->doubtful ? ERROR_OUTCOME_UNKNOWN : running->code,
        .detail = running->detail,
        .rows = rows,
        .location = is_routed(running) ? &running->location : NULL,
    };
    running->answered = true;
    running->call.done(running->call.context, &result);
}

/* The answer; then the end, unless there is a backend left to be ended. */
static void finish(Running *running, const PgRows *rows)
{
    Caller *caller = running->caller;
    if (!running->answered)
    {
        tell(running, rows);
        if (running->forsaken_on != NULL)
        {
            running->pause_ms = PAUSE_FIRST_MS;
            loop_timer_start(running->timer, running->pause_ms);
            return;
        }
    }
    caller->count--;
    loop_timer_free(running->timer);
    loop_defer_free(caller->loop, running);
}

/* Another attempt after a pause, or the end if there is no time left for one as long as the last:
 * a wait for a lock that the deadline cuts would cost a session, and the shard its good name. */
static void pause_or_fail(Running *running)
{
    if (left_ms(running) <= running->pause_ms + running->answer_ms)
    {
        finish(running, NULL);
        return;
    }
    loop_timer_start(running->timer, running->pause_ms);
    running->pause_ms *= 2;
    if (running->pause_ms > PAUSE_MAX_MS)
        running->pause_ms = PAUSE_MAX_MS;
}

static void fail(Running *running, ErrorCode code, const char *detail)
{
    note(running, code, detail);
    finish(running, NULL);
}

static void on_timer(void *context)
{
    attempt(context);
}

static void on_refreshed(void *context, bool fresh)
{
    (void)fresh; /* the copy at hand may do; the fence decides */
    pause_or_fail(context);
}

/* Is it worth trying again after this error, and what is it called if not? */
static bool is_passing(const char *sqlstate, ErrorCode *ret_code)
{
    static const char *const locked[] = {"55P03", "40001", "40P01"};
    for (size_t i = 0; i < ARRAY_LENGTH(locked); i++)
    {
        if (strcmp(sqlstate, locked[i]) == 0)
        {
            *ret_code = ERROR_ACCOUNT_BUSY;
            return true;
        }
    }
    /* The server stops or starts (57P0x), was too slow (57014), serves no writes (25006), or is
     * fenced off (GR004). */
    *ret_code = ERROR_SHARD_UNAVAILABLE;
    if (strncmp(sqlstate, "57P0", 4) == 0 || strncmp(sqlstate, "08", 2) == 0 ||
        strcmp(sqlstate, "57014") == 0 || strcmp(sqlstate, "25006") == 0 ||
        strcmp(sqlstate, "GR004") == 0)
        return true;
    *ret_code = ERROR_SHARD_ERROR;
    return false;
}

static void settle_error(Running *running, const PgAnswer *answer)
{
    ErrorCode code;
    char detail[DETAIL_MAX];
    bool passing = is_passing(answer->sqlstate, &code);
    snprintf(detail, sizeof detail, "shard %s: SQLSTATE %s", shard_name(running->location.shard),
             answer->sqlstate);
    note(running, code, detail);
    if (passing)
        pause_or_fail(running);
    else
    {
        if (log_admits(LOG_ERROR))
            log_error("%s: %s: %s", detail, statement_row(running->call.statement)->name,
                      answer->text);
        finish(running, NULL);
    }
}

/* The fence's word in the first column, NULL if the statement was let through. */
static const char *fence_word(const Running *running, const PgRows *rows)
{
    if (!is_routed(running) || pg_row_count(rows) == 0)
        return NULL;
    const char *outcome = pg_text(rows, 0, 0);
    bool fenced = outcome != NULL &&
                  (strcmp(outcome, "stale_route") == 0 || strcmp(outcome, "partition_moving") == 0);
    return fenced ? outcome : NULL;
}

static void settle_rows(Running *running, const PgRows *rows)
{
    const char *fenced = fence_word(running, rows);
    if (fenced == NULL)
    {
        note(running, ERROR_NONE, "");
        finish(running, rows);
        return;
    }
    note(running, ERROR_PARTITION_MOVING, "the account's partition is changing its shard");
    directory_refresh(running->caller->directory, left_ms(running), on_refreshed, running);
}

/* The statement may have been executed, or may yet be. */
static void forsake(Running *running)
{
    running->doubtful = true;
    running->forsaken_on = running->location.shard;
    running->forsaken_pid = session_backend_pid(running->session);
    running->forsaken_at_us = session_backend_start_us(running->session);
    running->answer_ms = ENDING_MIN_MS;
}

static void settle_loss(Running *running, const PgAnswer *answer)
{
    note(running, ERROR_SHARD_UNAVAILABLE, "the connection to the shard was lost");
    if (left_ms(running) == 0)
        shard_suspect(running->location.shard, "a statement got no answer in time");
    if (answer->kind == PG_LOST && writes(running))
        forsake(running);
    pause_or_fail(running);
}

/* Done, but not confirmed by a standby: the commit may vanish in a failover. Again, since a repeat
 * waits for the standby too. */
static void settle_unconfirmed(Running *running)
{
    running->doubtful = true;
    note(running, ERROR_SHARD_UNAVAILABLE, "the shard could not confirm its commit");
    pause_or_fail(running);
}

static void settle(Running *running, const PgAnswer *answer)
{
    running->answer_ms = 0;
    switch (answer->kind)
    {
    case PG_DONE:
        if (answer->warned && writes(running))
            settle_unconfirmed(running);
        else
            settle_rows(running, answer->rows);
        break;
    case PG_ERROR:
        running->answer_ms = loop_now_ms(running->caller->loop) - running->sent_at_ms;
        settle_error(running, answer);
        break;
    case PG_SKIPPED:
    case PG_LOST:
        settle_loss(running, answer);
        break;
    }
}

/* Is the forsaken backend gone? A false answer has told it to go. */
static void settle_ending(Running *running, const PgAnswer *answer)
{
    if (answer->kind == PG_DONE && pg_bool(answer->rows, 0, 0))
    {
        running->forsaken_on = NULL;
        running->pause_ms = PAUSE_FIRST_MS;
    }
    pause_or_fail(running);
}

static void on_answer(void *context, const PgAnswer *answers, size_t count,
                      PgTransaction transaction)
{
    Running *running = context;
    Session *session = running->session;
    (void)transaction;
    ASSERT(count > 0);
    if (running->forsaken_on != NULL)
        settle_ending(running, &answers[count - 1]);
    else
        settle(running, &answers[count - 1]);
    running->session = NULL;
    session_release(session);
}

/* Half of the time that is left: the session may be as dead as the one that was lost, and then
 * another one is needed. */
static void send_ending(Running *running)
{
    PgParams *params = running->caller->params;
    uint64_t half_ms = left_ms(running) / 2;
    pg_params_reset(params);
    pg_params_int4(params, running->forsaken_pid);
    pg_params_timestamp_us(params, running->forsaken_at_us);
    session_begin(running->session);
    session_add(running->session, STATEMENT_END_SESSION, params);
    session_send(running->session, half_ms > ENDING_MIN_MS ? half_ms : ENDING_MIN_MS, on_answer,
                 running);
}

static uint64_t attempt_ms(const Running *running)
{
    uint64_t left = left_ms(running);
    uint64_t most = running->caller->options.deadline_ms * WRITE_PERCENT / 100;
    return writes(running) && left > most ? most : left;
}

static void send(Running *running)
{
    PgParams *params = running->caller->params;
    const Location *location = &running->location;
    pg_params_reset(params);
    if (is_routed(running))
    {
        pg_params_int4(params, location->partition);
        pg_params_int8(params, location->epoch);
        pg_params_text(params, running->account_id);
        pg_params_bytes(params, location->route.bytes, location->route.length);
    }
    if (running->call.fill != NULL)
        running->call.fill(running->call.context, params);
    session_begin(running->session);
    session_add(running->session, running->call.statement, params);
    running->sent_at_ms = loop_now_ms(running->caller->loop);
    session_send(running->session, attempt_ms(running), on_answer, running);
}

static void on_granted(ShardWaiter *waiter, Session *session)
{
    Running *running = container_of(waiter, Running, waiter);
    if (session != NULL)
    {
        running->session = session;
        if (running->forsaken_on != NULL)
            send_ending(running);
        else
            send(running);
        return;
    }
    char detail[DETAIL_MAX];
    const Shard *shard = running->location.shard;
    snprintf(detail, sizeof detail, "shard %s: %s", shard_name(shard), shard_excuse(shard));
    note(running, ERROR_SHARD_UNAVAILABLE, detail);
    if (running->forsaken_on == NULL && elapsed_ms(running) >= UNUSABLE_PATIENCE_MS)
        finish(running, NULL);
    else
        pause_or_fail(running);
}

static void attempt(Running *running)
{
    bool is_over = running->answered && running->forsaken_on == NULL;
    if (is_over || running->code == ERROR_OVERLOADED)
        finish(running, NULL);
    else if (left_ms(running) == 0)
        fail(running, ERROR_SHARD_UNAVAILABLE, "no answer in time");
    else if (running->forsaken_on != NULL)
        shard_acquire(running->forsaken_on, &running->waiter, SESSION_SETTLE, left_ms(running));
    else if (is_routed(running) &&
             !directory_locate(running->caller->directory, running->account_id, &running->location))
        fail(running, ERROR_DIRECTORY_UNAVAILABLE, "no routing is known yet");
    else
        shard_acquire(running->location.shard, &running->waiter, SESSION_TRAFFIC, left_ms(running));
}

/* The first attempt happens in a later turn when it cannot even begin, as call.h promises. */
static void start(Caller *caller, const char *account_id, Shard *shard, const Call *call)
{
    Running *running = base_calloc(1, sizeof *running);
    Location location;
    running->caller = caller;
    running->call = *call;
    running->waiter.granted = on_granted;
    running->location.shard = shard;
    running->timer = loop_timer_new(caller->loop, on_timer, running);
    running->started_at_ms = loop_now_ms(caller->loop);
    running->pause_ms = PAUSE_FIRST_MS;
    if (account_id != NULL)
        snprintf(running->account_id, sizeof running->account_id, "%s", account_id);
    bool full = caller->count >= caller->options.calls_max;
    if (full)
        note(running, ERROR_OVERLOADED, "too many account operations and reads at once");
    caller->count++;
    if (full || (account_id != NULL && !directory_locate(caller->directory, account_id, &location)))
        loop_timer_start(running->timer, 0);
    else
        attempt(running);
}

void call_account(Caller *caller, const char *account_id, const Call *call)
{
    ASSERT(route_account_id_is_valid(account_id));
    start(caller, account_id, NULL, call);
}

void call_shard(Caller *caller, Shard *shard, const Call *call)
{
    ASSERT(shard != NULL);
    start(caller, NULL, shard, call);
}
