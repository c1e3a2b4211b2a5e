/* See session_world.h. */
#include "session_world.h"

#include <stdio.h>
#include <string.h>

const ShardOptions options = {
    .instance = "c1",
    .cluster = "test",
    .name = "shard-1",
    .ordinal = 1,
    .dsn = "a",
    .incarnation = {"7000000000000000001", 1, "00000001"},
    .sessions_max = 4,
    .connect_deadline_ms = 50,
    .lock_timeout_ms = 1000,
    .statement_timeout_ms = 3000,
    .idle_in_transaction_timeout_ms = 30000,
};

Pool pool;

static void on_opened(Shard *shard, Session *session)
{
    (void)shard;
    assert_ptr_equal(session, pool.session);
    pool.opened = true;
    pool.ended = true;
}

static void on_failed(Shard *shard, Session *session, SessionFailure failure, const char *why)
{
    (void)shard;
    assert_ptr_equal(session, pool.session);
    pool.failure = failure;
    snprintf(pool.why, sizeof pool.why, "%s", why);
    pool.ended = true;
}

static void on_returned(Shard *shard, Session *session)
{
    (void)shard;
    (void)session;
    pool.returned = true;
}

static void on_lost(Shard *shard, Session *session, const char *why)
{
    (void)shard;
    (void)session;
    assert_string_not_equal(why, "");
    pool.lost = true;
}

static void on_overdue(Shard *shard, Session *session)
{
    (void)shard;
    (void)session;
    pool.overdue++;
}

static void on_unfit(Shard *shard, Session *session, SessionFailure failure, const char *why)
{
    (void)shard;
    (void)session;
    pool.failure = failure;
    snprintf(pool.why, sizeof pool.why, "%s", why);
    pool.unfit++;
}

const SessionEvents events = {on_opened, on_failed, on_returned, on_lost, on_overdue, on_unfit};

static void open_with(bool probe, Backend forsaken)
{
    SessionOrder order = {
        .loop = pool.loop,
        .options = &options,
        .history = &pool.history,
        .events = &events,
        .probe = probe,
        .forsaken = forsaken,
    };
    pool.session = session_open(&order);
    assert_true(loop_run_until(pool.loop, &pool.ended, 1000));
}

void open_session(void)
{
    open_with(false, (Backend){0});
}

void open_probe(Backend forsaken)
{
    open_with(true, forsaken);
}

void hold(void)
{
    open_session();
    assert_string_equal(pool.why, "");
    assert_true(pool.opened);
    session_take(pool.session);
    session_begin(pool.session);
}

static void on_answers(void *context, const PgAnswer *answers, size_t count,
                       PgTransaction transaction)
{
    (void)context;
    pool.answered = true;
    pool.count = count;
    pool.transaction = transaction;
    memcpy(pool.answers, answers, count * sizeof *answers);
}

void send_later(void)
{
    pool.answered = false;
    session_send(pool.session, 50, on_answers, NULL);
}

void send_now(void)
{
    send_later();
    assert_false(pool.answered);
    assert_true(loop_run_until(pool.loop, &pool.answered, 1000));
}

int set_up(void **state)
{
    (void)state;
    memset(&pool, 0, sizeof pool);
    fake_start();
    pool.loop = loop_new();
    pool.server = fake_server("a");
    history_expect(&pool.history, &options.incarnation);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    session_free(pool.session);
    loop_free(pool.loop);
    fake_stop();
    return 0;
}
