/*
 * The list of accounts over HTTP: what shards answer, merged.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#include <stdio.h>

/* A shard's rows: one account for each letter. */
static const PgRows *accounts(const char *letters)
{
    FakeRows *rows = fake_rows_new(12);
    for (; *letters != '\0'; letters++)
    {
        char id[] = {*letters, '\0'};
        fake_text(rows, "found");
        fake_text(rows, id);
        fake_text(rows, "EUR");
        fake_int8(rows, 1);
        fake_int8(rows, 0);
        fake_text(rows, "open");
        fake_int8(rows, 1);
        fake_int8(rows, 0);
        fake_text(rows, "{}");
        fake_timestamp_us(rows, NOON_US);
        fake_text(rows, "");
        fake_int4(rows, 4);
    }
    return fake_lend(rows);
}

/* The ids that were answered, one letter each. */
static void expect_ids(World *world, const char *wanted)
{
    char have[64] = "";
    const Json *items = json_field(world->json, "items");
    expect(world, 200);
    for (size_t i = 0; i < json_array_length(items); i++)
        snprintf(have + i, sizeof have - i, "%s",
                 json_as_string(json_field(json_array_at(items, i), "id")));
    assert_string_equal(have, wanted);
}

static bool is_last_page(const World *world)
{
    return json_kind(json_field(world->json, "next_cursor")) == JSON_KIND_NULL;
}

static void shards_are_merged_by_id(void **state)
{
    World *world = *state;
    get(world, "/v1/accounts");
    expect_ids(world, "");
    assert_true(is_last_page(world));
    world->calls->by_shard[0].rows = accounts("BEa");
    world->calls->by_shard[1].rows = accounts("ACz");
    world->calls->by_shard[2].rows = accounts("D");
    get(world, "/v1/accounts?prefix=");
    expect_ids(world, "ABCDEaz");
    assert_true(is_last_page(world));
    assert_int_equal(world->calls->last_statement, STATEMENT_ACCOUNT_LIST);
    assert_int_equal(world->calls->count, 2 * FAKE_SHARDS);
    assert_non_null(strstr(
        world->body, "{\"items\":[{\"id\":\"A\",\"currency\":\"EUR\",\"balance\":1,\"floor\":0,"
                     "\"status\":\"open\",\"version\":1,\"in_transit\":0,"
                     "\"route\":{\"keyspace\":\"\",\"partition\":4,\"shard\":\"s2\"},"
                     "\"metadata\":{},\"created_at\":\"2026-01-31T12:00:00.000000Z\"},"));
}

static void a_page_ends_at_its_limit_with_a_cursor(void **state)
{
    World *world = *state;
    char target[256];
    world->calls->by_shard[0].rows = accounts("BEF");
    world->calls->by_shard[1].rows = accounts("ACG");
    world->calls->by_shard[2].rows = accounts("D");
    get(world, "/v1/accounts?limit=2");
    expect_ids(world, "AB");
    assert_string_equal(text_field(world, "next_cursor"), "a42");
    snprintf(target, sizeof target, "/v1/accounts?limit=7&cursor=%s",
             text_field(world, "next_cursor"));
    get(world, target);
    expect_ids(world, "ABCDEFG"); /* the shards would begin behind it */
    assert_true(is_last_page(world));
    get(world, "/v1/accounts?limit=6");
    expect_ids(world, "ABCDEF");
    assert_false(is_last_page(world));
}

static void an_account_that_moves_meanwhile_is_shown_once(void **state)
{
    World *world = *state;
    world->calls->by_shard[0].rows = accounts("ABC");
    world->calls->by_shard[1].rows = accounts("BD");
    get(world, "/v1/accounts");
    expect_ids(world, "ABCD");
}

static void a_shard_without_an_answer_leaves_no_list(void **state)
{
    World *world = *state;
    world->calls->by_shard[0].rows = accounts("A");
    for (size_t i = 0; i < FAKE_SHARDS; i++)
    {
        world->calls->by_shard[i].code = ERROR_SHARD_UNAVAILABLE;
        get(world, "/v1/accounts");
        expect_problem(world, 503, "shard-unavailable");
    }
    fake_unload_directory();
    get(world, "/v1/accounts");
    expect_problem(world, 503, "directory-unavailable");
}

static void parameters_are_checked_first(void **state)
{
    static const struct
    {
        const char *query;
        const char *code; /* NULL: fine */
    } cases[] = {
        {"prefix=.", NULL},
        {"prefix=..", NULL},
        {"prefix=t:&cursor=a743a61", NULL},
        {"prefix=%2F", "parameter-invalid"},
        {"limit=0", "parameter-invalid"},
        {"limit=1001", "parameter-invalid"},
        {"floor=0", "parameter-invalid"},
        {"cursor=e1", "cursor-invalid"},
        {"prefix=u&cursor=a743a61", "cursor-invalid"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char target[128];
        snprintf(target, sizeof target, "/v1/accounts?%s", cases[i].query);
        get(world, target);
        if (cases[i].code != NULL)
            expect_problem(world, 400, cases[i].code);
        else
            expect(world, 200);
    }
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(shards_are_merged_by_id),
        API_TEST(a_page_ends_at_its_limit_with_a_cursor),
        API_TEST(an_account_that_moves_meanwhile_is_shown_once),
        API_TEST(a_shard_without_an_answer_leaves_no_list),
        API_TEST(parameters_are_checked_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
