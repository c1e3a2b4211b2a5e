/*
 * Asking shards gently.
 *
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 */
#include "reconcile/asker.h"

#include "fake_calls.h"
#include "fake_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum
{
    LIMIT_MS = 10000,
    PATIENCE_MS = 1200,
};

static struct
{
    Loop *loop;
    FakeCalls *calls;
    Asker *asker;
    size_t answers;
    size_t given_up;
    size_t wanted;
    bool all;
    size_t failures_left; /* of the first shard; then it answers */
    size_t under_way;
    size_t most_under_way;
    char why[160];
} world;

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.loop = loop_new();
    world.calls = fake_calls_start(world.loop);
    FakeRows *rows = fake_rows_new(1);
    fake_int4(rows, 1);
    for (int i = 0; i < FAKE_SHARDS; i++)
        world.calls->by_shard[i].rows = fake_lend(rows);
    AskerOptions options = {.loop = world.loop, .patience_ms = PATIENCE_MS};
    world.asker = asker_new(&options);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    asker_free(world.asker);
    fake_calls_stop();
    loop_free(world.loop);
    fake_values_stop();
    return 0;
}

static void done(void *context, const PgRows *rows, const char *why)
{
    (void)context;
    world.answers++;
    world.under_way = 0;
    world.given_up += rows == NULL ? 1 : 0;
    if (rows == NULL)
        snprintf(world.why, sizeof world.why, "%s", why);
    world.all = world.answers == world.wanted;
}

static void ask(int shard)
{
    world.wanted++;
    world.all = false;
    asker_ask(world.asker, world.calls->shards[shard], &(Ask){STATEMENT_BOOKS, NULL, done, NULL});
}

static void await(void)
{
    assert_true(loop_run_until(world.loop, &world.all, LIMIT_MS));
}

static void count_under_way(FakeCalls *calls, Statement statement)
{
    (void)calls;
    (void)statement;
    if (++world.under_way > world.most_under_way)
        world.most_under_way = world.under_way;
}

static void a_shard_is_asked_one_thing_at_a_time(void **state)
{
    (void)state;
    world.calls->asked = count_under_way;
    for (int i = 0; i < 5; i++)
        ask(0);
    assert_int_equal(world.answers, 0);
    await();
    assert_int_equal(world.most_under_way, 1);
    assert_int_equal(world.given_up, 0);
    assert_int_equal(world.calls->count, 5);
}

static void fail_some(FakeCalls *calls, Statement statement)
{
    (void)statement;
    if (world.failures_left > 0 && --world.failures_left == 0)
        calls->by_shard[0].code = ERROR_NONE;
}

static void a_shard_that_comes_back_in_time_is_not_given_up(void **state)
{
    (void)state;
    world.calls->by_shard[0].code = ERROR_SHARD_UNAVAILABLE;
    world.failures_left = 2;
    world.calls->asked = fail_some;
    ask(0);
    await();
    assert_int_equal(world.given_up, 0);
    assert_int_equal(world.calls->count, 2);
}

static void a_shard_that_stays_away_is_given_up_once_and_for_all(void **state)
{
    (void)state;
    world.calls->by_shard[0].code = ERROR_SHARD_UNAVAILABLE;
    ask(0);
    ask(1);
    await();
    assert_int_equal(world.given_up, 1);
    assert_string_equal(world.why, "a reason");
    size_t count = world.calls->count;
    assert_true(count >= 3);
    ask(0);
    ask(1);
    await();
    assert_int_equal(world.given_up, 2);
    assert_int_equal(world.calls->count, count + 1);
}

static void a_statement_that_fails_is_not_tried_for_long(void **state)
{
    (void)state;
    world.calls->by_shard[0].code = ERROR_SHARD_ERROR;
    ask(0);
    await();
    assert_int_equal(world.given_up, 1);
    assert_true(world.calls->count <= 3);
}

static void when_stopped_all_are_answered_soon(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        ask(0);
    ask(2);
    asker_stop(world.asker);
    await();
    assert_true(world.given_up >= 3);
    ask(1);
    await();
    assert_string_equal(world.why, "the pass was stopped");
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(a_shard_is_asked_one_thing_at_a_time),
        in_world(a_shard_that_comes_back_in_time_is_not_given_up),
        in_world(a_shard_that_stays_away_is_given_up_once_and_for_all),
        in_world(a_statement_that_fails_is_not_tried_for_long),
        in_world(when_stopped_all_are_answered_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
