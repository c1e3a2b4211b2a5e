/*
 * Examining transfers: whom is asked, in which order, and what must stand how often to be a
 * finding.
 *
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 */
#include "reconcile/exam.h"

#include "fake_calls.h"
#include "fake_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum
{
    LIMIT_MS = 20000,
};

static const uint8_t id[16] = {7};
static const uint8_t batch[16] = {9};

static struct
{
    Loop *loop;
    FakeCalls *calls;
    Asker *asker;
    Report *report;
    Exam *exam;
    bool done;
    int credit_looks; /* so far */
    int visible_at;   /* the look at which the credit shows; 0 = never */
    bool prepared;    /* until then its leg is */
    bool home_forgot;
    const char *state;
} world;

static const PgRows *home_row(void)
{
    FakeRows *rows = fake_rows_new(16);
    if (world.home_forgot)
        return fake_lend(rows);
    fake_uuid(rows, id);
    fake_text(rows, world.state);
    fake_text(rows, "2pc");
    fake_int8(rows, 5);
    fake_text(rows, "EUR");
    fake_uuid(rows, batch);
    fake_text(rows, "alice");
    fake_text(rows, "bob");
    fake_bool(rows, true);
    fake_bool(rows, true);
    fake_null(rows);
    fake_null(rows);
    fake_null(rows);
    fake_bool(rows, true);
    fake_bool(rows, false);
    fake_bool(rows, false);
    return fake_lend(rows);
}

static const PgRows *credit_row(void)
{
    bool visible = world.visible_at > 0 && ++world.credit_looks >= world.visible_at;
    FakeRows *rows = fake_rows_new(7);
    fake_uuid(rows, id);
    fake_bool(rows, world.prepared && !visible);
    fake_bool(rows, visible);
    fake_null(rows);
    if (visible)
    {
        fake_text(rows, "bob");
        fake_int8(rows, 5);
    }
    else
    {
        fake_null(rows);
        fake_null(rows);
    }
    fake_bool(rows, visible);
    return fake_lend(rows);
}

/* s1 is alice's, s2 is bob's. */
static FakeReply reply(size_t place, Statement statement)
{
    if (statement == STATEMENT_RECONCILE_TRANSFERS)
    {
        assert_int_equal(place, 0);
        return (FakeReply){ERROR_NONE, home_row()};
    }
    assert_int_equal(statement, STATEMENT_RECONCILE_CREDITS);
    assert_int_equal(place, 1);
    return (FakeReply){ERROR_NONE, credit_row()};
}

static void examine_at(int shard)
{
    world.exam = exam_new(&(ExamOptions){.loop = world.loop,
                                         .asker = world.asker,
                                         .report = world.report,
                                         .here = world.calls->shards[shard]});
}

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.loop = loop_new();
    world.calls = fake_calls_start(world.loop);
    world.calls->reply = reply;
    world.state = "posted";
    world.asker = asker_new(&(AskerOptions){.loop = world.loop, .patience_ms = 100});
    world.report = report_new(true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    exam_free(world.exam);
    report_free(world.report);
    asker_free(world.asker);
    fake_calls_stop();
    loop_free(world.loop);
    fake_values_stop();
    return 0;
}

static void on_done(void *context)
{
    (void)context;
    world.done = true;
}

static void run(void)
{
    world.done = false;
    exam_run(world.exam, false, on_done, NULL);
    assert_false(world.done);
    assert_true(loop_run_until(world.loop, &world.done, LIMIT_MS));
}

static void expect(ExamStanding standing, int64_t findings, int64_t in_flight)
{
    assert_int_equal(exam_count(world.exam), 1);
    assert_int_equal(exam_result(world.exam, 0).standing, standing);
    assert_int_equal(report_finding_count(world.report), findings);
    assert_int_equal(report_in_flight_count(world.report), in_flight);
}

static void a_whole_transfer_is_settled_at_the_first_look(void **state)
{
    (void)state;
    world.visible_at = 1;
    examine_at(0);
    exam_add(world.exam, id);
    exam_add(world.exam, id);
    run();
    expect(EXAM_SETTLED, 0, 0);
    assert_int_equal(world.calls->count, 2);
}

static void a_difference_that_goes_away_is_no_finding(void **state)
{
    (void)state;
    world.visible_at = EXAM_ROUNDS;
    examine_at(0);
    exam_add(world.exam, id);
    run();
    expect(EXAM_SETTLED, 0, 0);
    assert_int_equal(world.calls->count, 2 * EXAM_ROUNDS);
}

static void a_difference_that_stands_is_one(void **state)
{
    (void)state;
    examine_at(0);
    exam_add(world.exam, id);
    run();
    expect(EXAM_OPEN, 1, 0);
    assert_int_equal(world.calls->count, 2 * EXAM_ROUNDS);
}

static void a_prepared_leg_is_in_flight_at_once(void **state)
{
    (void)state;
    world.prepared = true;
    examine_at(0);
    exam_add(world.exam, id);
    run();
    expect(EXAM_OPEN, 0, 1);
    assert_int_equal(world.calls->count, 2);
}

static void a_credit_asks_the_home_of_its_payer(void **state)
{
    (void)state;
    examine_at(1);
    exam_add_credit(world.exam, &(ExamEntry){id, "bob", 5, "alice"});
    run();
    expect(EXAM_SETTLED, 0, 0);
    assert_string_equal(exam_result(world.exam, 0).entry_account, "bob");
    assert_int_equal(world.calls->count, 1);
}

static void a_credit_of_another_amount_is_wrong(void **state)
{
    (void)state;
    examine_at(1);
    exam_add_credit(world.exam, &(ExamEntry){id, "bob", 6, "alice"});
    run();
    expect(EXAM_OPEN, 1, 0);
}

static void a_credit_whose_home_forgot_it_is_a_finding(void **state)
{
    (void)state;
    world.home_forgot = true;
    examine_at(1);
    exam_add_credit(world.exam, &(ExamEntry){id, "bob", 5, "alice"});
    run();
    expect(EXAM_OPEN, 1, 0);
    assert_int_equal(world.calls->count, EXAM_ROUNDS);
}

static FakeReply credit_shard_is_away(size_t place, Statement statement)
{
    return place == 1 ? (FakeReply){ERROR_SHARD_UNAVAILABLE, NULL} : reply(place, statement);
}

static void a_shard_that_does_not_answer_leaves_the_transfer_open_without_a_finding(void **state)
{
    (void)state;
    world.calls->reply = credit_shard_is_away;
    examine_at(0);
    exam_add(world.exam, id);
    run();
    expect(EXAM_OPEN, 0, 0);
    report_count(world.report, &(ReportCounts){.accounts = 1});
    report_end(world.report);
    assert_false(report_is_complete(world.report));
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(a_whole_transfer_is_settled_at_the_first_look),
        in_world(a_difference_that_goes_away_is_no_finding),
        in_world(a_difference_that_stands_is_one),
        in_world(a_prepared_leg_is_in_flight_at_once),
        in_world(a_credit_asks_the_home_of_its_payer),
        in_world(a_credit_of_another_amount_is_wrong),
        in_world(a_credit_whose_home_forgot_it_is_a_finding),
        in_world(a_shard_that_does_not_answer_leaves_the_transfer_open_without_a_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
