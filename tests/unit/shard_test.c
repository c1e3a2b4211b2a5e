/*
 * The pool of one shard over scripted connections: granting, caps, suspicion, probes, failover,
 * lost history.
 *
 * Fakes: tests/unit/fake_pg.c tests/unit/fake_server.c tests/unit/fake_values.c
 */
#include "shard/shard.h"

#include "fake_pg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const ShardOptions options = {
    .instance = "c1",
    .cluster = "test",
    .name = "shard-1",
    .ordinal = 1,
    .dsn = "a",
    .incarnation = {"7000000000000000001", 1, "00000001"},
    .sessions_max = 2,
    .connect_deadline_ms = 40,
    .lock_timeout_ms = 1000,
    .statement_timeout_ms = 3000,
    .idle_in_transaction_timeout_ms = 30000,
};

typedef struct Wanter
{
    ShardWaiter waiter;
    bool told;
    Session *session;
    Shard *again; /* ask again from inside the answer */
    int answers;
} Wanter;

static struct
{
    Loop *loop;
    FakeServer *server;
    Shard *shard;
    bool usable;
    int usable_count;
    bool answered;
    PgAnswer answer;
    bool never;
} test;

static void on_usable(void *context, Shard *shard)
{
    (void)context;
    assert_true(shard_is_usable(shard));
    test.usable = true;
    test.usable_count++;
}

static int setup(void **state)
{
    (void)state;
    memset(&test, 0, sizeof test);
    fake_start();
    test.loop = loop_new();
    test.server = fake_server("a");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    shard_free(test.shard);
    loop_free(test.loop);
    fake_stop();
    return 0;
}

static void run_for(uint64_t ms)
{
    loop_run_until(test.loop, &test.never, ms);
}

static void await_usable(void)
{
    assert_true(loop_run_until(test.loop, &test.usable, 3000));
    test.usable = false;
}

static void start(void)
{
    test.shard = shard_new(test.loop, &options);
    shard_on_usable(test.shard, on_usable, NULL);
    assert_false(shard_is_usable(test.shard));
    await_usable();
    assert_string_equal(shard_trouble(test.shard), "");
}

static void on_granted(ShardWaiter *waiter, Session *session)
{
    Wanter *wanter = (Wanter *)waiter;
    wanter->told = true;
    wanter->session = session;
    wanter->answers++;
    if (wanter->again != NULL)
        shard_acquire(wanter->again, waiter, SESSION_TRAFFIC, 1000);
}

static void want(Wanter *wanter, SessionPurpose purpose, uint64_t deadline_ms)
{
    wanter->waiter.granted = on_granted;
    wanter->told = false;
    shard_acquire(test.shard, &wanter->waiter, purpose, deadline_ms);
    assert_false(wanter->told);
}

static Session *get(Wanter *wanter, SessionPurpose purpose)
{
    want(wanter, purpose, 1000);
    assert_true(loop_run_until(test.loop, &wanter->told, 2000));
    return wanter->session;
}

static void on_answer(void *context, const PgAnswer *answers, size_t count,
                      PgTransaction transaction)
{
    (void)context;
    (void)count;
    (void)transaction;
    test.answered = true;
    test.answer = answers[0];
}

static void send_begin(Session *session)
{
    session_begin(session);
    session_add(session, STATEMENT_BEGIN, NULL);
    test.answered = false;
    session_send(session, 20, on_answer, NULL);
    assert_true(loop_run_until(test.loop, &test.answered, 1000));
}

/* ---- granting -------------------------------------------------------------------------------- */

static void connects_by_itself_and_becomes_usable(void **state)
{
    (void)state;
    start();
    assert_int_equal(test.usable_count, 1);
    assert_int_equal(shard_counts(test.shard).sessions_open, 1);
    assert_string_equal(shard_name(test.shard), "shard-1");
    assert_int_equal(shard_ordinal(test.shard), 1);
}

static void opens_sessions_on_demand_up_to_its_cap(void **state)
{
    (void)state;
    Wanter wanters[3] = {0};
    start();
    for (size_t i = 0; i < 3; i++)
        want(&wanters[i], SESSION_TRAFFIC, 1000);
    run_for(30);
    assert_non_null(wanters[0].session);
    assert_non_null(wanters[1].session);
    assert_false(wanters[2].told);
    ShardCounts counts = shard_counts(test.shard);
    assert_int_equal(counts.sessions_open, 3);
    assert_int_equal(counts.sessions_busy, 2);
    assert_int_equal(counts.waiting, 1);
    session_release(wanters[0].session);
    assert_true(loop_run_until(test.loop, &wanters[2].told, 1000));
    assert_ptr_equal(wanters[2].session, wanters[0].session);
    session_release(wanters[1].session);
    session_release(wanters[2].session);
    assert_int_equal(fake_connects_seen(test.server), 3);
}

static void keeps_a_place_for_settling(void **state)
{
    (void)state;
    Wanter traffic[2] = {0};
    Wanter settler = {0};
    start();
    get(&traffic[0], SESSION_TRAFFIC);
    get(&traffic[1], SESSION_TRAFFIC);
    assert_non_null(get(&settler, SESSION_SETTLE));
    session_release(traffic[0].session);
    session_release(traffic[1].session);
    session_release(settler.session);
}

static void settling_may_use_idle_sessions_of_traffic(void **state)
{
    (void)state;
    Wanter first = {0};
    Wanter second = {0};
    start();
    get(&first, SESSION_SETTLE);
    assert_non_null(get(&second, SESSION_SETTLE));
    session_release(first.session);
    session_release(second.session);
}

static void tells_a_waiter_when_its_deadline_passes(void **state)
{
    (void)state;
    Wanter wanters[3] = {0};
    start();
    get(&wanters[0], SESSION_TRAFFIC);
    get(&wanters[1], SESSION_TRAFFIC);
    want(&wanters[2], SESSION_TRAFFIC, 20);
    assert_true(loop_run_until(test.loop, &wanters[2].told, 1000));
    assert_null(wanters[2].session);
    assert_int_equal(shard_counts(test.shard).waiting, 0);
    session_release(wanters[0].session);
    session_release(wanters[1].session);
}

static void forgets_a_waiter_that_gives_up(void **state)
{
    (void)state;
    Wanter wanter = {0};
    start();
    want(&wanter, SESSION_TRAFFIC, 1000);
    shard_give_up(test.shard, &wanter.waiter);
    shard_give_up(test.shard, &wanter.waiter);
    run_for(30);
    assert_false(wanter.told);
    assert_int_equal(shard_counts(test.shard).waiting, 0);
}

static void a_session_is_reused_only_after_its_transaction_is_rolled_back(void **state)
{
    (void)state;
    Wanter wanter = {0};
    start();
    Session *session = get(&wanter, SESSION_TRAFFIC);
    send_begin(session);
    session_release(session);
    assert_int_equal(shard_counts(test.shard).sessions_busy, 1);
    assert_ptr_equal(get(&wanter, SESSION_TRAFFIC), session);
    assert_string_equal(fake_sent(test.server, 1), "ROLLBACK");
    assert_int_equal(session_transaction(session), PG_TRANSACTION_IDLE);
    session_release(session);
}

/* ---- suspicion ------------------------------------------------------------------------------- */

static void tries_again_until_the_server_is_there(void **state)
{
    (void)state;
    fake_connects(test.server, FAKE_REFUSES);
    test.shard = shard_new(test.loop, &options);
    shard_on_usable(test.shard, on_usable, NULL);
    run_for(200);
    assert_false(test.usable);
    assert_string_equal(shard_trouble(test.shard), "connection refused");
    size_t tries = fake_connects_seen(test.server);
    assert_in_range(tries, 2, 5);
    fake_connects(test.server, FAKE_ACCEPTS);
    await_usable();
}

static void says_why_it_refuses_a_server(void **state)
{
    (void)state;
    fake_identity(test.server)->cluster = "other";
    test.shard = shard_new(test.loop, &options);
    run_for(30);
    assert_string_equal(shard_trouble(test.shard), "its cluster is other, not test");
}

static void answers_traffic_at_once_while_it_is_suspect(void **state)
{
    (void)state;
    Wanter traffic = {0};
    Wanter settler = {0};
    start();
    fake_connects(test.server, FAKE_REFUSES);
    want(&traffic, SESSION_TRAFFIC, 1000);
    shard_suspect(test.shard, "a stage was late");
    assert_false(shard_is_usable(test.shard));
    assert_string_equal(shard_trouble(test.shard), "a stage was late");
    assert_false(traffic.told);
    want(&settler, SESSION_SETTLE, 1000);
    assert_true(loop_run_until(test.loop, &traffic.told, 20));
    assert_null(traffic.session);
    assert_true(loop_run_until(test.loop, &settler.told, 20));
    assert_non_null(settler.session);
    fake_connects(test.server, FAKE_ACCEPTS);
    await_usable();
    session_release(settler.session);
    assert_int_equal(test.usable_count, 2);
}

static void a_refused_waiter_may_ask_again_without_spinning(void **state)
{
    (void)state;
    Wanter wanter = {0};
    fake_connects(test.server, FAKE_REFUSES);
    test.shard = shard_new(test.loop, &options);
    wanter.again = test.shard;
    want(&wanter, SESSION_TRAFFIC, 1000);
    run_for(1);
    assert_true(wanter.answers >= 1);
    shard_give_up(test.shard, &wanter.waiter);
}

static void a_missed_deadline_makes_it_suspect_before_the_holder_is_told(void **state)
{
    (void)state;
    Wanter wanter = {0};
    start();
    Session *session = get(&wanter, SESSION_TRAFFIC);
    fake_answer(test.server, "BEGIN*", fake_hang());
    send_begin(session);
    assert_int_equal(test.answer.kind, PG_LOST);
    assert_false(shard_is_usable(test.shard));
    session_release(session);
    await_usable();
    assert_int_equal(shard_counts(test.shard).sessions_busy, 0);
}

static void a_server_that_cannot_commit_stays_suspect(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 2; i++)
        fake_answer(test.server, statement_row(STATEMENT_PING)->sql, fake_hang());
    shard_suspect(test.shard, "a stage was late");
    await_usable();
    assert_int_equal(fake_unused(test.server), 0);
    const PgParams *ended = fake_params(test.server, statement_row(STATEMENT_END_SESSION)->sql);
    assert_int_equal(fake_param_int4(ended, 0), 1002);
}

static void notices_the_loss_of_all_idle_sessions(void **state)
{
    (void)state;
    start();
    fake_connects(test.server, FAKE_REFUSES);
    fake_crash(test.server);
    run_for(10);
    assert_false(shard_is_usable(test.shard));
    fake_connects(test.server, FAKE_ACCEPTS);
    await_usable();
}

static void drops_a_lost_session_when_it_is_released(void **state)
{
    (void)state;
    Wanter wanter = {0};
    start();
    Session *session = get(&wanter, SESSION_TRAFFIC);
    session_cut(session);
    session_release(session);
    assert_true(shard_is_usable(test.shard));
    assert_int_equal(shard_counts(test.shard).sessions_open, 1);
    assert_non_null(get(&wanter, SESSION_TRAFFIC));
    session_release(wanter.session);
}

static void goes_on_with_fewer_sessions_when_no_more_can_be_had(void **state)
{
    (void)state;
    Wanter first = {0};
    Wanter second = {0};
    start();
    get(&first, SESSION_TRAFFIC);
    fake_connects(test.server, FAKE_REFUSES);
    want(&second, SESSION_TRAFFIC, 1000);
    run_for(100);
    assert_true(shard_is_usable(test.shard));
    assert_false(second.told);
    session_release(first.session);
    assert_true(loop_run_until(test.loop, &second.told, 100));
    assert_ptr_equal(second.session, first.session);
    session_release(second.session);
}

/* ---- failover -------------------------------------------------------------------------------- */

static void follows_a_new_address(void **state)
{
    (void)state;
    Wanter wanter = {0};
    start();
    Session *old = get(&wanter, SESSION_TRAFFIC);
    shard_set_dsn(test.shard, "a");
    assert_true(shard_is_usable(test.shard));
    shard_set_dsn(test.shard, "b");
    assert_false(shard_is_usable(test.shard));
    await_usable();
    assert_int_equal(fake_connection_count(fake_server("b")), 1);
    assert_int_equal(fake_connection_count(test.server), 1);
    session_release(old);
    assert_int_equal(fake_connection_count(test.server), 0);
}

static void refuses_another_server_at_the_same_place(void **state)
{
    (void)state;
    start();
    fake_identity(test.server)->system_identifier = "7000000000000000002";
    shard_suspect(test.shard, "a stage was late");
    run_for(150);
    assert_false(shard_is_usable(test.shard));
    assert_non_null(strstr(shard_trouble(test.shard), "another server answers"));
}

static void lost_history_closes_all_sessions_and_is_no_secret(void **state)
{
    Wanter traffic = {0};
    Wanter settling = {0};
    (void)state;
    start();
    Session *held = get(&traffic, SESSION_TRAFFIC);
    fake_identity(test.server)->timeline = "00000002";
    shard_suspect(test.shard, "a stage was late");
    assert_string_equal(shard_excuse(test.shard), "does not answer");
    run_for(150);
    assert_false(shard_is_usable(test.shard));
    assert_memory_equal(shard_excuse(test.shard), "fenced: ", 8);
    assert_string_equal(shard_trouble(test.shard),
                        "fenced: its timeline is 00000002, not 00000001: "
                        "it was promoted, or restored");
    assert_int_equal(shard_counts(test.shard).sessions_open, 1);
    want(&settling, SESSION_SETTLE, 50);
    assert_true(loop_run_until(test.loop, &settling.told, 1000));
    assert_null(settling.session);
    session_release(held);
    assert_int_equal(shard_counts(test.shard).sessions_open, 0);
}

static void a_readmitted_shard_is_used_again(void **state)
{
    Incarnation readmitted = {"7000000000000000001", 2, "00000002"};
    Wanter wanter = {0};
    (void)state;
    start();
    fake_identity(test.server)->timeline = "00000002";
    fake_crash(test.server);
    run_for(150);
    assert_memory_equal(shard_excuse(test.shard), "fenced: ", 8);
    fake_identity(test.server)->epoch = 2;
    run_for(150);
    assert_false(shard_is_usable(test.shard));
    shard_expect(test.shard, &readmitted);
    await_usable();
    assert_memory_not_equal(shard_excuse(test.shard), "fenced: ", 8);
    session_release(get(&wanter, SESSION_TRAFFIC));
}

static void a_new_incarnation_ends_all_sessions_of_the_old_one(void **state)
{
    Incarnation same = options.incarnation;
    Incarnation other = {"7000000000000000001", 2, "00000002"};
    Wanter wanter = {0};
    (void)state;
    start();
    Session *held = get(&wanter, SESSION_TRAFFIC);
    shard_expect(test.shard, &same);
    assert_true(shard_is_usable(test.shard));
    shard_expect(test.shard, &other);
    assert_false(shard_is_usable(test.shard));
    assert_int_equal(shard_counts(test.shard).sessions_open, 1);
    session_release(held);
    assert_int_equal(shard_counts(test.shard).sessions_open, 0);
    run_for(150);
    assert_memory_equal(shard_excuse(test.shard), "fenced: ", 8); /* its epoch is older */
}

static void marks_of_a_session_count_only_for_its_incarnation(void **state)
{
    static const uint8_t mark[MARK_LENGTH] = {1};
    uint8_t marks[HISTORY_MARKS_MAX][MARK_LENGTH];
    Incarnation other = {"7000000000000000001", 2, "00000001"};
    Wanter wanter = {0};
    (void)state;
    start();
    Session *held = get(&wanter, SESSION_TRAFFIC);
    session_note_mark(held, mark);
    assert_int_equal(history_marks(shard_history(test.shard), marks), 1);
    shard_expect(test.shard, &other);
    assert_int_equal(history_marks(shard_history(test.shard), marks), 0);
    session_note_mark(held, mark);
    assert_int_equal(history_marks(shard_history(test.shard), marks), 0);
    session_release(held);
}

static void answer_with(Session *session, const char *sqlstate)
{
    fake_answer(test.server, "verdict", fake_error(sqlstate));
    session_begin(session);
    session_add(session, STATEMENT_VERDICT, NULL);
    test.answered = false;
    session_send(session, 20, on_answer, NULL);
    assert_true(loop_run_until(test.loop, &test.answered, 1000));
}

static void the_wall_of_another_coordinator_ends_all_sessions(void **state)
{
    Wanter first = {0};
    Wanter second = {0};
    (void)state;
    start();
    Session *one = get(&first, SESSION_TRAFFIC);
    Session *other = get(&second, SESSION_TRAFFIC);
    fake_identity(test.server)->fenced = "it is an older copy";
    answer_with(one, "GR004");
    assert_false(shard_is_usable(test.shard));
    assert_memory_equal(shard_excuse(test.shard), "fenced: ", 8);
    session_release(one);
    session_release(other);
    assert_int_equal(shard_counts(test.shard).sessions_open, 0);
    run_for(150);
    assert_string_equal(shard_trouble(test.shard), "fenced: it is an older copy");
}

static void a_demoted_server_is_left_until_it_takes_writes_again(void **state)
{
    Wanter wanter = {0};
    (void)state;
    start();
    Session *session = get(&wanter, SESSION_TRAFFIC);
    fake_identity(test.server)->read_only = true;
    answer_with(session, "25006");
    assert_string_equal(shard_trouble(test.shard), "the server has become read-only");
    session_release(session);
    assert_int_equal(shard_counts(test.shard).sessions_open, 0);
    run_for(150);
    assert_false(shard_is_usable(test.shard));
    assert_memory_not_equal(shard_excuse(test.shard), "fenced: ", 8);
    fake_identity(test.server)->read_only = false;
    await_usable();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(connects_by_itself_and_becomes_usable),
        TEST(opens_sessions_on_demand_up_to_its_cap),
        TEST(keeps_a_place_for_settling),
        TEST(settling_may_use_idle_sessions_of_traffic),
        TEST(tells_a_waiter_when_its_deadline_passes),
        TEST(forgets_a_waiter_that_gives_up),
        TEST(a_session_is_reused_only_after_its_transaction_is_rolled_back),
        TEST(tries_again_until_the_server_is_there),
        TEST(says_why_it_refuses_a_server),
        TEST(answers_traffic_at_once_while_it_is_suspect),
        TEST(a_refused_waiter_may_ask_again_without_spinning),
        TEST(a_missed_deadline_makes_it_suspect_before_the_holder_is_told),
        TEST(a_server_that_cannot_commit_stays_suspect),
        TEST(notices_the_loss_of_all_idle_sessions),
        TEST(drops_a_lost_session_when_it_is_released),
        TEST(goes_on_with_fewer_sessions_when_no_more_can_be_had),
        TEST(follows_a_new_address),
        TEST(refuses_another_server_at_the_same_place),
        TEST(lost_history_closes_all_sessions_and_is_no_secret),
        TEST(a_readmitted_shard_is_used_again),
        TEST(a_new_incarnation_ends_all_sessions_of_the_old_one),
        TEST(marks_of_a_session_count_only_for_its_incarnation),
        TEST(the_wall_of_another_coordinator_ends_all_sessions),
        TEST(a_demoted_server_is_left_until_it_takes_writes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
