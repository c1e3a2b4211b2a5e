/*
 * One session over a scripted connection: hidden limits, answers, giving back, being lost.
 *
 * Fakes: tests/unit/session_world.c tests/unit/fake_pg.c tests/unit/fake_server.c
 * Fakes: tests/unit/fake_values.c
 */
#include "session_world.h"

#define BEGIN_SQL "BEGIN ISOLATION LEVEL READ COMMITTED"

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
    send_later();
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
    send_later();
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
        with_session(the_wall_of_a_fenced_shard_is_reported_before_the_holder_is_told),
        with_session(a_server_that_takes_no_writes_any_more_is_reported),
        with_session(limits_the_first_call_of_a_transaction_and_hides_it),
        with_session(limits_each_call_outside_of_a_transaction),
        with_session(finishes_prepared_transactions_alone_and_without_a_limit),
        with_session(prepares_in_the_segment_of_the_work),
        with_session(blames_a_failed_limit_on_the_call_behind_it),
        with_session(is_idle_again_after_release),
        with_session(rolls_back_what_was_left_open),
        with_session(waits_for_the_group_under_way_before_it_is_given_back),
        with_session(is_closed_when_the_rollback_does_not_come_back),
        with_session(reports_a_missed_deadline_once),
        with_session(a_cut_session_answers_what_was_under_way),
        with_session(notices_that_it_ended_while_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
