/*
 * What a session asks of a server before it is used, whom it refuses, and whom it fences off.
 *
 * Fakes: tests/unit/session_world.c tests/unit/fake_pg.c tests/unit/fake_server.c
 * Fakes: tests/unit/fake_values.c
 */
#include "session_world.h"

#include <stdio.h>
#include <string.h>

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
    open_probe((Backend){77, INT64_C(1700000000123456)});
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
    open_probe((Backend){0});
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
    assert_int_equal(fake_array_count(params, 4), 2);
    assert_memory_equal(fake_array_bytes(params, 4, 0, &length), marks[0], MARK_LENGTH);
    assert_memory_equal(fake_array_bytes(params, 4, 1, &length), marks[1], MARK_LENGTH);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_session(asks_for_its_time_outs_and_prepares_everything),
        with_session(a_probe_commits_something_and_ends_the_forsaken_backend),
        with_session(refuses_another_cluster),
        with_session(refuses_another_shard),
        with_session(refuses_another_ordinal),
        with_session(refuses_an_unknown_format),
        with_session(refuses_a_database_that_is_not_set_up),
        with_session(refuses_a_server_in_recovery),
        with_session(refuses_a_read_only_server),
        with_session(refuses_a_server_without_prepared_transactions),
        with_session(refuses_a_weak_commit),
        with_session(refuses_another_isolation_level),
        with_session(refuses_other_time_outs),
        with_session(refuses_a_statement_timeout_of_the_session),
        with_session(refuses_another_idle_time_out),
        with_session(accepts_remote_apply),
        with_session(refuses_a_missing_function),
        with_session(reports_a_server_that_is_not_reached),
        with_session(a_probe_that_cannot_commit_is_named_for_its_successor),
        with_session(asks_for_all_marks_that_are_known),
        with_session(a_missing_mark_fences_the_shard_off),
        with_session(a_changed_timeline_fences_the_shard_off),
        with_session(an_older_epoch_fences_the_shard_off),
        with_session(a_shard_that_cannot_be_fenced_off_is_not_used_either),
        with_session(a_fence_that_stands_is_reported_and_nothing_is_sent),
        with_session(a_newer_epoch_is_refused_and_not_fenced_off),
        with_session(another_server_is_refused_and_not_fenced_off),
        with_session(a_history_that_changes_under_way_is_not_mixed_with_the_old_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
