/*
 * GET /v1/prepared over HTTP: what shards answer, and the class of each.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#include <stdio.h>

#define BATCH(n)             "00000000-0000-0000-0000-00000000000" #n
#define GID(n, home, remote) "giro:test:g1:" BATCH(n) ":" home ":" remote

enum
{
    OLD_MS = 20000,
    YOUNG_MS = 5,
};

/* What is odd about a row, as bits. */
enum
{
    ELSEWHERE = 1, /* it belongs to another database */
    OTHERS = 2,    /* to another role */
    ABSENT = 4,    /* its coordinator is */
};

typedef struct Row
{
    const char *gid;
    int64_t age_ms;
    unsigned odd;
} Row;

/* Rows up to one without a GID. */
static const PgRows *list_of(const Row *row)
{
    FakeRows *rows = fake_rows_new(8);
    for (; row->gid != NULL; row++)
    {
        fake_text(rows, row->gid);
        fake_timestamp_us(rows, NOON_US - row->age_ms * 1000);
        fake_int8(rows, row->age_ms);
        fake_text(rows, row->odd & OTHERS ? "dba" : "coord");
        fake_text(rows, row->odd & ELSEWHERE ? "elsewhere" : "giro");
        fake_bool(rows, !(row->odd & ELSEWHERE));
        fake_bool(rows, !(row->odd & OTHERS));
        fake_bool(rows, !(row->odd & ABSENT));
    }
    return fake_lend(rows);
}

/* What every home answers: batches 1 and 2 are committed, 3 is aborted. */
static const PgRows *verdicts(void)
{
    FakeRows *rows = fake_rows_new(2);
    fake_uuid_text(rows, BATCH(1));
    fake_text(rows, "commit");
    fake_uuid_text(rows, BATCH(2));
    fake_text(rows, "commit");
    fake_uuid_text(rows, BATCH(3));
    fake_text(rows, "abort");
    return fake_lend(rows);
}

static void homes_answer(FakeCalls *calls, Statement statement)
{
    if (statement != STATEMENT_VERDICTS_BY_ID)
        return;
    for (size_t i = 0; i < FAKE_SHARDS; i++)
        calls->by_shard[i] = (FakeReply){ERROR_NONE, verdicts()};
}

static void first_home_is_away(FakeCalls *calls, Statement statement)
{
    homes_answer(calls, statement);
    if (statement == STATEMENT_VERDICTS_BY_ID)
        calls->by_shard[0] = (FakeReply){ERROR_SHARD_UNAVAILABLE, NULL};
}

static void nothing_is_prepared(World *world)
{
    for (size_t i = 0; i < FAKE_SHARDS; i++)
        world->calls->by_shard[i] = (FakeReply){ERROR_NONE, list_of((const Row[]){{0}})};
}

/* The classes, each with the last digit of its batch, or "-", in the order of the list. */
static void expect_classes(World *world, const char *wanted)
{
    char have[512] = "";
    const Json *items = json_field(world->json, "items");
    expect(world, 200);
    for (size_t i = 0; i < json_array_length(items); i++)
    {
        const Json *item = json_array_at(items, i);
        const Json *batch = json_field(item, "batch_id");
        size_t used = strlen(have);
        snprintf(have + used, sizeof have - used, "%s%s:%s", i > 0 ? " " : "",
                 batch != NULL ? json_as_string(batch) + UUID_TEXT_MAX - 1 : "-",
                 json_as_string(json_field(item, "class")));
    }
    assert_string_equal(have, wanted);
}

static void verdict_presence_and_age_make_the_class(void **state)
{
    World *world = *state;
    nothing_is_prepared(world);
    world->calls->asked = homes_answer;
    world->calls->by_shard[1].rows =
        list_of((const Row[]){{GID(1, "s1", "s2"), OLD_MS, ABSENT},
                              {GID(2, "s3", "s2"), YOUNG_MS, 0},
                              {GID(3, "s1", "s2"), YOUNG_MS + 1, 0},
                              {GID(4, "s1", "s2"), YOUNG_MS + 2, 0},
                              {GID(5, "s3", "s2"), OLD_MS + 1, 0},
                              {GID(6, "s1", "s2"), YOUNG_MS + 3, ABSENT},
                              {0}});
    get(world, "/v1/prepared");
    expect_classes(world, "5:orphan 1:decided 6:orphan 4:in-flight 3:in-flight 2:decided");
    /* Three lists, and each home once. */
    assert_int_equal(world->calls->count, FAKE_SHARDS + 2);
    assert_null(json_field(world->json, "incomplete"));
    assert_false(json_as_bool(json_field(world->json, "truncated")));
    const Json *item = json_array_at(json_field(world->json, "items"), 1);
    char text[1024];
    snprintf(text, sizeof text,
             "{\"shard\":\"s2\",\"gid\":\"%s\",\"class\":\"decided\","
             "\"prepared_at\":\"2026-01-31T11:59:40.000000Z\",\"age_ms\":20000,"
             "\"owner\":\"coord\",\"database\":\"giro\",\"verdict\":\"commit\","
             "\"coordinator\":\"g1\",\"coordinator_is_present\":false,\"batch_id\":\"%s\","
             "\"home\":\"s1\",\"remote\":\"s2\"}",
             GID(1, "s1", "s2"), BATCH(1));
    if (item == NULL || strstr(world->body, text) == NULL)
        fail_msg("%s", world->body);
}

static void what_is_none_of_ours_is_foreign(void **state)
{
    World *world = *state;
    nothing_is_prepared(world);
    world->calls->asked = homes_answer;
    world->calls->by_shard[1].rows =
        list_of((const Row[]){{"by hand", 9, 0},
                              {"giro:other:g1:" BATCH(1) ":s1:s2", 8, 0},
                              {GID(1, "s1", "s2"), 7, OTHERS},
                              {GID(2, "s1", "s3"), 6, 0},
                              {GID(3, "s1", "s2"), 5, ELSEWHERE},
                              {"", 4, ELSEWHERE},
                              {0}});
    get(world, "/v1/prepared");
    expect_classes(world, "-:foreign -:foreign -:foreign -:foreign -:foreign -:foreign");
    assert_int_equal(world->calls->count, FAKE_SHARDS); /* no home is asked about them */
    const Json *item = json_array_at(json_field(world->json, "items"), 2);
    assert_string_equal(json_as_string(json_field(item, "owner")), "dba");
    assert_null(json_field(item, "home"));
}

static void shards_on_one_server_do_not_list_each_others_legs(void **state)
{
    World *world = *state;
    nothing_is_prepared(world);
    world->calls->asked = homes_answer;
    world->calls->by_shard[0].rows = list_of((const Row[]){
        {GID(1, "s1", "s2"), YOUNG_MS, ELSEWHERE}, {GID(2, "s1", "s4"), OLD_MS, ELSEWHERE}, {0}});
    world->calls->by_shard[1].rows = list_of((const Row[]){{GID(1, "s1", "s2"), YOUNG_MS, 0}, {0}});
    get(world, "/v1/prepared");
    expect_classes(world, "-:foreign 1:decided");
}

static void a_home_that_nobody_knows_leaves_doubt(void **state)
{
    World *world = *state;
    nothing_is_prepared(world);
    world->calls->asked = homes_answer;
    world->calls->by_shard[1].rows = list_of((const Row[]){{GID(1, "s9", "s2"), YOUNG_MS, 0}, {0}});
    get(world, "/v1/prepared");
    expect_classes(world, "1:in-doubt");
    assert_int_equal(world->calls->count, FAKE_SHARDS);
}

static void a_home_that_is_away_leaves_no_list_or_doubt(void **state)
{
    World *world = *state;
    for (int partial = 0; partial < 2; partial++)
    {
        nothing_is_prepared(world);
        world->calls->asked = first_home_is_away;
        world->calls->by_shard[1].rows = list_of(
            (const Row[]){{GID(1, "s1", "s2"), OLD_MS, 0}, {GID(2, "s3", "s2"), YOUNG_MS, 0}, {0}});
        get(world, partial ? "/v1/prepared?partial" : "/v1/prepared?partial=false");
        if (!partial)
            expect_problem(world, 503, "shard-unavailable");
    }
    expect_classes(world, "1:in-doubt 2:decided");
    assert_non_null(strstr(world->body, "\"incomplete\":true,\"missing_shards\":[\"s1\"]}"));
}

static void a_shard_that_is_away_is_missing(void **state)
{
    World *world = *state;
    nothing_is_prepared(world);
    world->calls->asked = homes_answer;
    world->calls->by_shard[0].code = ERROR_SHARD_UNAVAILABLE;
    world->calls->by_shard[2].code = ERROR_SHARD_ERROR;
    world->calls->by_shard[1].rows = list_of((const Row[]){{"by hand", 1, 0}, {0}});
    get(world, "/v1/prepared");
    expect_problem(world, 503, "shard-unavailable");
    get(world, "/v1/prepared?partial=true");
    expect_classes(world, "-:foreign");
    assert_non_null(strstr(world->body, "\"missing_shards\":[\"s1\",\"s3\"]}"));
}

static void the_oldest_up_to_a_limit_are_listed(void **state)
{
    World *world = *state;
    nothing_is_prepared(world);
    world->calls->by_shard[0].rows = list_of((const Row[]){{"a", 9, 0}, {"b", 5, 0}, {0}});
    world->calls->by_shard[2].rows = list_of((const Row[]){{"c", 7, 0}, {0}});
    get(world, "/v1/prepared?limit=1");
    expect_classes(world, "-:foreign -:foreign");
    assert_true(json_as_bool(json_field(world->json, "truncated")));
    assert_null(strstr(world->body, "\"gid\":\"b\""));
    get(world, "/v1/prepared?limit=2");
    expect_classes(world, "-:foreign -:foreign -:foreign");
    assert_false(json_as_bool(json_field(world->json, "truncated")));
}

static void wrong_parameters_are_refused(void **state)
{
    static const char *const queries[] = {"limit=0", "limit=1001", "partial=yes", "cursor=x"};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(queries); i++)
    {
        char target[64];
        snprintf(target, sizeof target, "/v1/prepared?%s", queries[i]);
        get(world, target);
        expect_problem(world, 400, "parameter-invalid");
    }
    fake_unload_directory();
    get(world, "/v1/prepared");
    expect_problem(world, 503, "directory-unavailable");
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(verdict_presence_and_age_make_the_class),
        API_TEST(what_is_none_of_ours_is_foreign),
        API_TEST(shards_on_one_server_do_not_list_each_others_legs),
        API_TEST(a_home_that_nobody_knows_leaves_doubt),
        API_TEST(a_home_that_is_away_leaves_no_list_or_doubt),
        API_TEST(a_shard_that_is_away_is_missing),
        API_TEST(the_oldest_up_to_a_limit_are_listed),
        API_TEST(wrong_parameters_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
