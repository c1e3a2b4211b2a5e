/*
 * One session over a scripted connection: verification, hidden limits, giving back.
 * Fakes: tests/unit/fake_pg.c tests/unit/fake_server.c tests/unit/fake_values.c
 */
#include "shard/session.h"

#include "fake_pg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define BEGIN_SQL "BEGIN ISOLATION LEVEL READ COMMITTED"

static const ShardOptions options = {
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

/* Stands in for the pool. */
static struct
{
    Loop *loop;
    FakeServer *server;
    Session *session;
    History history;
    bool ended; /* the opening */
    bool opened;
    SessionFailure failure;
    char why[256];
    bool returned;
    bool lost;
    int overdue;
    int unfit;

    bool answered;
    size_t count;
    PgAnswer answers[PG_GROUP_MAX];
    PgTransaction transaction;
} pool;

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

static const SessionEvents events = {on_opened, on_failed,  on_returned,
                                     on_lost,   on_overdue, on_unfit};

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

static void open_session(void)
{
    open_with(false, (Backend){0});
}

static void hold(void)
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

static void send_now(void)
{
    pool.answered = false;
    session_send(pool.session, 50, on_answers, NULL);
    assert_false(pool.answered);
    assert_true(loop_run_until(pool.loop, &pool.answered, 1000));
}

static int setup(void **state)
{
    (void)state;
    memset(&pool, 0, sizeof pool);
    fake_start();
    pool.loop = loop_new();
    pool.server = fake_server("a");
    history_expect(&pool.history, &options.incarnation);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    session_free(pool.session);
    loop_free(pool.loop);
    fake_stop();
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void asks_for_its_time_outs_and_prepares_everything(void **state)
{
    (void)state;
    open_session();
    assert_true(pool.opened);
    assert_int_equal(pool.session->state, SESSION_IDLE);
    const PgParams *params = fake_params(pool.server, statement_row(STATEMENT_SESSION)->sql);
    assert_int_equal(fake_param_int4(params, 0), 1000);
    assert_int_equal(fake_param_int4(params, 1), 0);
    assert_int_equal(fake_param_int4(params, 2), 30000);
    assert_string_equal(fake_param_text(params, 3), "c1");
    for (int i = 0; i < STATEMENT_COUNT; i++)
    {
        char text[64];
        snprintf(text, sizeof text, "prepare %s", statement_row((Statement)i)->name);
        assert_true((fake_params(pool.server, text) != NULL) ==
                    statement_is_prepared((Statement)i));
    }
    assert_null(fake_params(pool.server, statement_row(STATEMENT_PING)->sql));
    assert_int_equal(session_backend_pid(pool.session), 1000);
    assert_true(session_backend_start_us(pool.session) == INT64_C(1700000000001000));
    assert_int_equal(fake_sent_count(pool.server), 0);
}

static void a_probe_commits_something_and_ends_the_forsaken_backend(void **state)
{
    (void)state;
    open_with(true, (Backend){77, INT64_C(1700000000123456)});
    assert_true(pool.opened);
    assert_non_null(fake_params(pool.server, statement_row(STATEMENT_PING)->sql));
    const PgParams *params = fake_params(pool.server, statement_row(STATEMENT_END_SESSION)->sql);
    assert_int_equal(fake_param_int4(params, 0), 77);
    assert_true(fake_param_int8(params, 1) + INT64_C(946684800000000) == INT64_C(1700000000123456));
}

static void assert_refused(const char *why)
{
    open_session();
    assert_false(pool.opened);
    assert_int_equal(pool.failure, SESSION_REFUSED);
    assert_string_equal(pool.why, why);
}

static void refuses_another_cluster(void **state)
{
    (void)state;
    fake_identity(pool.server)->cluster = "other";
    assert_refused("its cluster is other, not test");
}

static void refuses_another_shard(void **state)
{
    (void)state;
    fake_identity(pool.server)->name = "shard-2";
    assert_refused("its name is shard-2, not shard-1");
}

static void refuses_another_ordinal(void **state)
{
    (void)state;
    fake_identity(pool.server)->ordinal = 2;
    assert_refused("its ordinal is 2, not 1");
}

static void refuses_an_unknown_format(void **state)
{
    (void)state;
    fake_identity(pool.server)->format_version = 2;
    assert_refused("its format version is 2, not 1");
}

static void refuses_a_database_that_is_not_set_up(void **state)
{
    (void)state;
    fake_identity(pool.server)->cluster = NULL;
    assert_refused("it is not set up as a shard (see girod init)");
}

static void refuses_a_server_in_recovery(void **state)
{
    (void)state;
    fake_identity(pool.server)->in_recovery = true;
    assert_refused("the server is in recovery");
}

static void refuses_a_read_only_server(void **state)
{
    (void)state;
    fake_identity(pool.server)->read_only = true;
    assert_refused("the server or the role is read-only");
}

static void refuses_a_server_without_prepared_transactions(void **state)
{
    (void)state;
    fake_identity(pool.server)->max_prepared = 0;
    assert_refused("max_prepared_transactions is 0");
}

static void refuses_a_weak_commit(void **state)
{
    (void)state;
    fake_identity(pool.server)->synchronous_commit = "local";
    assert_refused("synchronous_commit is local, not on or remote_apply");
}

static void refuses_another_isolation_level(void **state)
{
    (void)state;
    fake_identity(pool.server)->isolation = "repeatable read";
    assert_refused("its isolation level is repeatable read, not read committed");
}

static void refuses_other_time_outs(void **state)
{
    (void)state;
    fake_identity(pool.server)->lock_timeout_ms = 5;
    assert_refused("lock_timeout is 5, not 1000");
}

static void refuses_a_statement_timeout_of_the_session(void **state)
{
    (void)state;
    fake_identity(pool.server)->statement_timeout_ms = 500;
    assert_refused("the session's statement_timeout is 500, not 0");
}

static void refuses_another_idle_time_out(void **state)
{
    (void)state;
    fake_identity(pool.server)->idle_timeout_ms = 0;
    assert_refused("idle_in_transaction_session_timeout is 0, not 30000");
}

static void accepts_remote_apply(void **state)
{
    (void)state;
    fake_identity(pool.server)->synchronous_commit = "remote_apply";
    open_session();
    assert_true(pool.opened);
}

static void refuses_a_missing_function(void **state)
{
    (void)state;
    fake_answer(pool.server, "prepare lock", fake_error("42883"));
    assert_refused("session set-up: scripted error, SQLSTATE 42883");
}

static void reports_a_server_that_is_not_reached(void **state)
{
    (void)state;
    fake_connects(pool.server, FAKE_REFUSES);
    open_session();
    assert_int_equal(pool.failure, SESSION_UNREACHABLE);
    assert_string_equal(pool.why, "connection refused");
}

static void a_probe_that_cannot_commit_is_named_for_its_successor(void **state)
{
    (void)state;
    fake_answer(pool.server, statement_row(STATEMENT_PING)->sql, fake_hang());
    open_with(true, (Backend){0});
    assert_false(pool.opened);
    assert_int_equal(pool.failure, SESSION_UNREACHABLE);
    assert_int_equal(pool.session->identity.backend.pid, 1000);
}

/* ---- history --------------------------------------------------------------------------------- */

#define FENCE_OFF_SQL "select giro.fence_off($1::bigint, $2::text)"

static void asks_for_all_marks_that_are_known(void **state)
{
    static const uint8_t marks[2][MARK_LENGTH] = {{1}, {2}};
    size_t length = 0;
    (void)state;
    history_note(&pool.history, marks[0]);
    history_list(&pool.history, marks[1]);
    open_session();
    assert_true(pool.opened);
    const PgParams *params = fake_params(pool.server, statement_row(STATEMENT_SESSION)->sql);
    assert_int_equal(fake_array_count(params, 3), 2);
    assert_memory_equal(fake_array_bytes(params, 3, 0, &length), marks[0], MARK_LENGTH);
    assert_memory_equal(fake_array_bytes(params, 3, 1, &length), marks[1], MARK_LENGTH);
}

static void assert_fenced_off(const char *why)
{
    open_session();
    assert_false(pool.opened);
    assert_int_equal(pool.failure, SESSION_FENCED);
    assert_string_equal(pool.why, why);
    assert_string_equal(fake_sent(pool.server, 0), FENCE_OFF_SQL);
    assert_int_equal(fake_sent_count(pool.server), 1);
    const PgParams *params = fake_params(pool.server, FENCE_OFF_SQL);
    assert_int_equal(fake_param_int8(params, 0), fake_identity(pool.server)->epoch);
    assert_string_equal(fake_param_text(params, 1), why + strlen("fenced: "));
}

static void a_missing_mark_fences_the_shard_off(void **state)
{
    static const uint8_t marks[3][MARK_LENGTH] = {{1}, {2}, {3}};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        history_note(&pool.history, marks[i]);
    fake_identity(pool.server)->missing_marks = 2;
    assert_fenced_off("fenced: 2 of 3 batches that it has acknowledged are missing: it is an older "
                      "copy, or a failover has lost them");
}

static void a_changed_timeline_fences_the_shard_off(void **state)
{
    (void)state;
    fake_identity(pool.server)->timeline = "00000002";
    assert_fenced_off("fenced: its timeline is 00000002, not 00000001: it was promoted, or "
                      "restored");
}

static void an_older_epoch_fences_the_shard_off(void **state)
{
    Incarnation newer = {"7000000000000000001", 3, "00000002"};
    (void)state;
    history_expect(&pool.history, &newer);
    assert_fenced_off("fenced: its epoch is 1, not 3: another server has taken its place");
}

static void a_shard_that_cannot_be_fenced_off_is_not_used_either(void **state)
{
    (void)state;
    fake_identity(pool.server)->timeline = "00000002";
    fake_answer(pool.server, FENCE_OFF_SQL, fake_lose());
    open_session();
    assert_false(pool.opened);
    assert_int_equal(pool.failure, SESSION_FENCED);
}

static void a_fence_that_stands_is_reported_and_nothing_is_sent(void **state)
{
    (void)state;
    fake_identity(pool.server)->fenced = "it is an older copy";
    fake_identity(pool.server)->timeline = "00000002";
    open_session();
    assert_false(pool.opened);
    assert_int_equal(pool.failure, SESSION_FENCED);
    assert_string_equal(pool.why, "fenced: it is an older copy");
    assert_int_equal(fake_sent_count(pool.server), 0);
}

/* Somebody has readmitted it, and the copy of the directory is old: so is what it says of
 * timelines and marks. */
static void a_newer_epoch_is_refused_and_not_fenced_off(void **state)
{
    (void)state;
    fake_identity(pool.server)->epoch = 2;
    fake_identity(pool.server)->timeline = "00000002";
    fake_identity(pool.server)->missing_marks = 1;
    assert_refused("its epoch is 2, and the directory knows only 1");
    assert_int_equal(fake_sent_count(pool.server), 0);
}

static void another_server_is_refused_and_not_fenced_off(void **state)
{
    (void)state;
    fake_identity(pool.server)->system_identifier = "7000000000000000002";
    fake_identity(pool.server)->timeline = "00000002";
    assert_refused("another server answers: its system identifier is 7000000000000000002, not "
                   "7000000000000000001");
    assert_int_equal(fake_sent_count(pool.server), 0);
}

/* What was asked with what was known then is not judged by what is known now. */
static void a_history_that_changes_under_way_is_not_mixed_with_the_old_one(void **state)
{
    Incarnation newer = {"7000000000000000001", 2, "00000001"};
    (void)state;
    fake_identity(pool.server)->epoch = 2;
    fake_identity(pool.server)->missing_marks = 1;
    SessionOrder order = {pool.loop, NULL, &options, &pool.history, &events, false, {0}};
    fake_answer(pool.server, statement_row(STATEMENT_SESSION)->sql, fake_hang());
    pool.session = session_open(&order);
    loop_run_until(pool.loop, &pool.lost, 10);
    history_expect(&pool.history, &newer);
    fake_resume(pool.server);
    assert_true(loop_run_until(pool.loop, &pool.ended, 1000));
    assert_false(pool.opened);
    assert_int_not_equal(pool.failure, SESSION_FENCED);
    assert_int_equal(fake_sent_count(pool.server), 0);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void limits_the_first_call_of_a_transaction_and_hides_it(void **state)
{
    (void)state;
    hold();
    FakeRows *rows = fake_rows_new(1);
    fake_int4(rows, 5);
    fake_answer(pool.server, "lock", fake_rows(rows));
    fake_answer(pool.server, "transfers_by_id", fake_done(NULL));
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    session_add(pool.session, STATEMENT_LOCK, NULL);
    session_add(pool.session, STATEMENT_TRANSFERS_BY_ID, NULL);
    send_now();
    assert_string_equal(fake_sent(pool.server, 0), BEGIN_SQL "; limit; lock; transfers_by_id");
    assert_string_equal(fake_param_text(fake_params(pool.server, "limit"), 0), "3000");
    assert_int_equal(pool.count, 3);
    assert_string_equal(pool.answers[0].tag, "BEGIN");
    assert_string_equal(pool.answers[1].tag, "SELECT 1");
    assert_int_equal(pool.transaction, PG_TRANSACTION_OPEN);
    assert_int_equal(session_transaction(pool.session), PG_TRANSACTION_OPEN);

    fake_answer(pool.server, "apply", fake_done(NULL));
    session_begin(pool.session);
    session_add(pool.session, STATEMENT_APPLY, NULL);
    session_add(pool.session, STATEMENT_COMMIT, NULL);
    send_now();
    assert_string_equal(fake_sent(pool.server, 1), "apply; COMMIT");
    assert_string_equal(pool.answers[1].tag, "COMMIT");
}

static void limits_each_call_outside_of_a_transaction(void **state)
{
    (void)state;
    hold();
    fake_answer(pool.server, "verdict", fake_done(NULL));
    fake_answer(pool.server, "leg_exists", fake_done(NULL));
    session_add(pool.session, STATEMENT_VERDICT, NULL);
    session_sync(pool.session);
    session_add(pool.session, STATEMENT_LEG_EXISTS, NULL);
    send_now();
    assert_string_equal(fake_sent(pool.server, 0), "limit; verdict | limit; leg_exists");
    assert_int_equal(pool.count, 2);
}

static void finishes_prepared_transactions_alone_and_without_a_limit(void **state)
{
    (void)state;
    hold();
    session_add_gid(pool.session, STATEMENT_COMMIT_PREPARED, "giro:test:a:b");
    session_add_gid(pool.session, STATEMENT_ROLLBACK_PREPARED, "giro:test:a:c");
    session_add(pool.session, STATEMENT_FINISH, NULL);
    send_now();
    assert_string_equal(fake_sent(pool.server, 0),
                        "COMMIT PREPARED 'giro:test:a:b' | ROLLBACK PREPARED 'giro:test:a:c' | "
                        "limit; finish");
    assert_int_equal(pool.count, 3);
    assert_string_equal(pool.answers[0].tag, "COMMIT PREPARED");
}

static void prepares_in_the_segment_of_the_work(void **state)
{
    (void)state;
    hold();
    fake_answer(pool.server, "apply", fake_done(NULL));
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    session_add(pool.session, STATEMENT_APPLY, NULL);
    session_add_gid(pool.session, STATEMENT_PREPARE, "giro:test:a:b");
    send_now();
    assert_string_equal(fake_sent(pool.server, 0),
                        BEGIN_SQL "; limit; apply; PREPARE TRANSACTION 'giro:test:a:b'");
    assert_string_equal(pool.answers[2].tag, "PREPARE TRANSACTION");
}

static void blames_a_failed_limit_on_the_call_behind_it(void **state)
{
    (void)state;
    hold();
    fake_answer(pool.server, "limit", fake_error("57014"));
    session_add(pool.session, STATEMENT_VERDICT, NULL);
    session_add(pool.session, STATEMENT_FINISH, NULL);
    send_now();
    assert_int_equal(pool.count, 2);
    assert_int_equal(pool.answers[0].kind, PG_ERROR);
    assert_string_equal(pool.answers[0].sqlstate, "57014");
    assert_int_equal(pool.answers[1].kind, PG_SKIPPED);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void is_idle_again_after_release(void **state)
{
    (void)state;
    hold();
    session_release(pool.session);
    assert_true(pool.returned);
    assert_int_equal(pool.session->state, SESSION_IDLE);
}

static void rolls_back_what_was_left_open(void **state)
{
    (void)state;
    hold();
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    send_now();
    session_release(pool.session);
    assert_false(pool.returned);
    assert_true(loop_run_until(pool.loop, &pool.returned, 1000));
    assert_string_equal(fake_sent(pool.server, 1), "ROLLBACK");
    assert_int_equal(pool.session->state, SESSION_IDLE);
}

static void waits_for_the_group_under_way_before_it_is_given_back(void **state)
{
    (void)state;
    hold();
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    session_send(pool.session, 50, on_answers, NULL);
    session_release(pool.session);
    assert_true(loop_run_until(pool.loop, &pool.returned, 1000));
    assert_false(pool.answered);
    assert_string_equal(fake_sent(pool.server, 1), "ROLLBACK");
    assert_int_equal(pool.session->state, SESSION_IDLE);
}

static void is_closed_when_the_rollback_does_not_come_back(void **state)
{
    (void)state;
    hold();
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    send_now();
    fake_answer(pool.server, "ROLLBACK", fake_hang());
    session_release(pool.session);
    assert_true(loop_run_until(pool.loop, &pool.returned, 1000));
    assert_int_equal(pool.session->state, SESSION_CLOSED);
    assert_int_equal(pool.overdue, 1);
}

static void reports_a_missed_deadline_once(void **state)
{
    (void)state;
    hold();
    fake_answer(pool.server, "COMMIT", fake_hang());
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    session_add(pool.session, STATEMENT_COMMIT, NULL);
    send_now();
    assert_int_equal(pool.answers[0].kind, PG_LOST);
    assert_int_equal(pool.answers[1].kind, PG_LOST);
    assert_int_equal(pool.overdue, 1);
    assert_false(session_is_open(pool.session));
    session_begin(pool.session);
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    send_now();
    assert_int_equal(pool.answers[0].kind, PG_LOST);
    assert_int_equal(pool.overdue, 1);
    session_release(pool.session);
    assert_int_equal(pool.session->state, SESSION_CLOSED);
}

static void the_wall_of_a_fenced_shard_is_reported_before_the_holder_is_told(void **state)
{
    (void)state;
    hold();
    fake_answer(pool.server, "verdict", fake_error("GR004"));
    session_add(pool.session, STATEMENT_VERDICT, NULL);
    send_now();
    assert_string_equal(pool.answers[0].sqlstate, "GR004");
    assert_int_equal(pool.unfit, 1);
    assert_int_equal(pool.failure, SESSION_FENCED);
    assert_string_equal(pool.why, "fenced: another coordinator has found that history is lost");
}

static void a_server_that_takes_no_writes_any_more_is_reported(void **state)
{
    (void)state;
    hold();
    fake_answer(pool.server, "verdict", fake_error("25006"));
    session_add(pool.session, STATEMENT_VERDICT, NULL);
    send_now();
    assert_int_equal(pool.unfit, 1);
    assert_int_equal(pool.failure, SESSION_REFUSED);
    assert_string_equal(pool.why, "the server has become read-only");
}

static void a_cut_session_answers_what_was_under_way(void **state)
{
    (void)state;
    hold();
    session_add(pool.session, STATEMENT_BEGIN, NULL);
    session_send(pool.session, 50, on_answers, NULL);
    session_cut(pool.session);
    assert_false(pool.answered);
    assert_true(loop_run_until(pool.loop, &pool.answered, 1000));
    assert_int_equal(pool.answers[0].kind, PG_LOST);
    assert_int_equal(session_transaction(pool.session), PG_TRANSACTION_UNKNOWN);
    assert_int_equal(pool.overdue, 0);
}

static void notices_that_it_ended_while_idle(void **state)
{
    (void)state;
    open_session();
    fake_crash(pool.server);
    assert_true(loop_run_until(pool.loop, &pool.lost, 1000));
    assert_int_equal(pool.session->state, SESSION_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(asks_for_its_time_outs_and_prepares_everything),
        TEST(a_probe_commits_something_and_ends_the_forsaken_backend),
        TEST(refuses_another_cluster),
        TEST(refuses_another_shard),
        TEST(refuses_another_ordinal),
        TEST(refuses_an_unknown_format),
        TEST(refuses_a_database_that_is_not_set_up),
        TEST(refuses_a_server_in_recovery),
        TEST(refuses_a_read_only_server),
        TEST(refuses_a_server_without_prepared_transactions),
        TEST(refuses_a_weak_commit),
        TEST(refuses_another_isolation_level),
        TEST(refuses_other_time_outs),
        TEST(refuses_a_statement_timeout_of_the_session),
        TEST(refuses_another_idle_time_out),
        TEST(accepts_remote_apply),
        TEST(refuses_a_missing_function),
        TEST(reports_a_server_that_is_not_reached),
        TEST(a_probe_that_cannot_commit_is_named_for_its_successor),
        TEST(asks_for_all_marks_that_are_known),
        TEST(a_missing_mark_fences_the_shard_off),
        TEST(a_changed_timeline_fences_the_shard_off),
        TEST(an_older_epoch_fences_the_shard_off),
        TEST(a_shard_that_cannot_be_fenced_off_is_not_used_either),
        TEST(a_fence_that_stands_is_reported_and_nothing_is_sent),
        TEST(a_newer_epoch_is_refused_and_not_fenced_off),
        TEST(another_server_is_refused_and_not_fenced_off),
        TEST(the_wall_of_a_fenced_shard_is_reported_before_the_holder_is_told),
        TEST(a_server_that_takes_no_writes_any_more_is_reported),
        TEST(a_history_that_changes_under_way_is_not_mixed_with_the_old_one),
        TEST(limits_the_first_call_of_a_transaction_and_hides_it),
        TEST(limits_each_call_outside_of_a_transaction),
        TEST(finishes_prepared_transactions_alone_and_without_a_limit),
        TEST(prepares_in_the_segment_of_the_work),
        TEST(blames_a_failed_limit_on_the_call_behind_it),
        TEST(is_idle_again_after_release),
        TEST(rolls_back_what_was_left_open),
        TEST(waits_for_the_group_under_way_before_it_is_given_back),
        TEST(is_closed_when_the_rollback_does_not_come_back),
        TEST(reports_a_missed_deadline_once),
        TEST(a_cut_session_answers_what_was_under_way),
        TEST(notices_that_it_ended_while_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
