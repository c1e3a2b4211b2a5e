/*
 * Accounts over HTTP: what is answered to what, to the letter.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#include <stdio.h>

static const PgRows *account_row(const char *outcome)
{
    FakeRows *rows = fake_rows_new(10);
    fake_text(rows, outcome);
    fake_text(rows, "alice");
    fake_text(rows, "EUR");
    fake_int8(rows, -5);
    fake_null(rows); /* floor */
    fake_text(rows, "open");
    fake_int8(rows, 7);
    fake_int8(rows, 0);
    fake_text(rows, "{\"a\": \"b\"}");
    fake_timestamp_us(rows, NOON_US);
    return fake_lend(rows);
}

static void accounts_answer_by_the_outcome(void **state)
{
    static const struct
    {
        const char *outcome;
        int status;
        const char *code;
    } cases[] = {
        {"created", 201, NULL},
        {"exists", 200, NULL},
        {"found", 200, NULL},
        {"changed", 200, NULL},
        {"conflict", 409, "account-exists"},
        {"missing", 404, "account-not-found"},
        {"not_empty", 409, "state-conflict"},
        {"in_transit", 409, "state-conflict"},
        {"below_floor", 409, "state-conflict"},
        {"closed", 409, "state-conflict"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        world->calls->by_account.rows = account_row(cases[i].outcome);
        call(world, "POST /v1/accounts", JSON_TYPE, "{\"id\":\"alice\",\"currency\":\"EUR\"}");
        if (cases[i].code != NULL)
            expect_problem(world, cases[i].status, cases[i].code);
        else
            expect(world, cases[i].status);
        assert_int_equal(has_header(world, "Location: /v1/accounts/alice\r\n"),
                         cases[i].status == 201);
    }
}

static void an_account_is_shown_whole(void **state)
{
    World *world = *state;
    world->calls->by_account.rows = account_row("found");
    get(world, "/v1/accounts/tenant:alice%40x");
    expect(world, 200);
    assert_string_equal(world->calls->last_account, "tenant:alice@x");
    assert_int_equal(world->calls->last_statement, STATEMENT_ACCOUNT_GET);
    assert_string_equal(
        world->body,
        "{\"id\":\"alice\",\"currency\":\"EUR\",\"balance\":-5,\"floor\":null,\"status\":\"open\","
        "\"version\":7,\"in_transit\":0,"
        "\"route\":{\"keyspace\":\"\",\"partition\":1,\"shard\":\"s1\"},"
        "\"metadata\":{\"a\": \"b\"},\"created_at\":\"2026-01-31T12:00:00.000000Z\"}");
}

static void accounts_can_be_changed_with_a_reason(void **state)
{
    World *world = *state;
    world->calls->by_account.rows = account_row("changed");
    call(world, "PATCH /v1/accounts/alice", JSON_TYPE,
         "{\"reason\":\"asked\\nby the owner\",\"status\":\"frozen\",\"floor\":-3}");
    expect(world, 200);
    assert_int_equal(world->calls->last_statement, STATEMENT_ACCOUNT_PATCH);
    call(world, "PATCH /v1/accounts/alice", JSON_TYPE, "{\"reason\":\"why\",\"floor\":-3}");
    expect_problem(world, 400, "body-invalid");
    call(world, "PATCH /v1/accounts/alice", "", "{\"reason\":\"a good reason\",\"floor\":-3}");
    expect_problem(world, 415, "media-type");
    assert_int_equal(world->calls->count, 1);
}

static void ids_that_are_none_are_422(void **state)
{
    static const char *const ids[] = {"a%2Fb", ".", "..", "a%20b", "%C3%A9", "a+b"};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
    {
        char target[128];
        snprintf(target, sizeof target, "/v1/accounts/%s", ids[i]);
        get(world, target);
        expect_problem(world, 422, "account-id-invalid");
        snprintf(target, sizeof target, "/v1/accounts/%s/entries", ids[i]);
        get(world, target);
        expect_problem(world, 422, "account-id-invalid");
    }
    assert_int_equal(world->calls->count, 0);
}

static void a_shard_in_trouble_is_told(void **state)
{
    static const ErrorCode codes[] = {ERROR_SHARD_UNAVAILABLE, ERROR_PARTITION_MOVING,
                                      ERROR_SHARD_ERROR, ERROR_DIRECTORY_UNAVAILABLE,
                                      ERROR_OVERLOADED};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
    {
        world->calls->by_account.code = codes[i];
        get(world, "/v1/accounts/alice");
        expect_problem(world, 503, error_row(codes[i])->name);
        assert_string_equal(text_field(world, "detail"), "a reason");
    }
}

static void a_change_in_doubt_is_told_as_unknown(void **state)
{
    World *world = *state;
    world->calls->by_account.code = ERROR_OUTCOME_UNKNOWN;
    call(world, "PATCH /v1/accounts/alice", JSON_TYPE,
         "{\"reason\":\"asked by the owner\",\"status\":\"frozen\"}");
    expect_problem(world, 503, "outcome-unknown");
    call(world, "POST /v1/accounts", JSON_TYPE, "{\"id\":\"alice\",\"currency\":\"EUR\"}");
    expect_problem(world, 503, "outcome-unknown");
}

static void add_entry(FakeRows *rows, int64_t seq)
{
    fake_text(rows, "entry");
    fake_int8(rows, seq);
    fake_uuid_text(rows, UUID);
    fake_int8(rows, -250);
    fake_int8(rows, 1000);
    fake_text(rows, "bob");
    fake_null(rows); /* reference */
    fake_timestamp_us(rows, NOON_US);
}

/* What a list without entries answers. */
static const PgRows *no_entry(const char *outcome)
{
    FakeRows *rows = fake_rows_new(8);
    fake_text(rows, outcome);
    for (int i = 1; i < 8; i++)
        fake_null(rows);
    return fake_lend(rows);
}

static void entries_come_in_pages(void **state)
{
    World *world = *state;
    FakeRows *first = fake_rows_new(8);
    FakeRows *last = fake_rows_new(8);
    add_entry(first, 3);
    add_entry(first, 2);
    add_entry(last, 1);
    world->calls->by_account.rows = fake_lend(first);
    get(world, "/v1/accounts/alice/entries?limit=2");
    expect(world, 200);
    const Json *items = json_field(world->json, "items");
    assert_int_equal(json_array_length(items), 2);
    assert_int_equal(json_as_integer(json_field(json_array_at(items, 1), "seq")), 2);
    assert_non_null(strstr(world->body, "{\"seq\":3,\"transfer_id\":\"" UUID "\",\"amount\":-250,"
                                        "\"balance\":1000,\"counterparty\":\"bob\","
                                        "\"reference\":null,"
                                        "\"at\":\"2026-01-31T12:00:00.000000Z\"}"));
    char target[128];
    snprintf(target, sizeof target, "/v1/accounts/alice/entries?cursor=%s",
             text_field(world, "next_cursor"));
    char others[128];
    snprintf(others, sizeof others, "/v1/accounts/bob/entries?cursor=%s", strchr(target, '=') + 1);
    get(world, others);
    expect_problem(world, 400, "cursor-invalid");
    world->calls->by_account.rows = fake_lend(last);
    get(world, target);
    expect(world, 200);
    assert_int_equal(json_kind(json_field(world->json, "next_cursor")), JSON_KIND_NULL);
}

static void lists_of_entries_may_be_empty_or_of_no_account(void **state)
{
    World *world = *state;
    world->calls->by_account.rows = no_entry("none");
    get(world, "/v1/accounts/alice/entries");
    assert_string_equal(world->body, "{\"items\":[],\"next_cursor\":null}");
    world->calls->by_account.rows = no_entry("missing");
    get(world, "/v1/accounts/alice/entries");
    expect_problem(world, 404, "account-not-found");
    get(world, "/v1/accounts/alice/entries?limit=0");
    expect_problem(world, 400, "parameter-invalid");
    get(world, "/v1/accounts/alice/entries?cursor=x");
    expect_problem(world, 400, "cursor-invalid");
    get(world, "/v1/accounts/alice/entries?offset=1");
    expect_problem(world, 400, "parameter-invalid");
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(accounts_answer_by_the_outcome),
        API_TEST(an_account_is_shown_whole),
        API_TEST(accounts_can_be_changed_with_a_reason),
        API_TEST(ids_that_are_none_are_422),
        API_TEST(a_shard_in_trouble_is_told),
        API_TEST(a_change_in_doubt_is_told_as_unknown),
        API_TEST(entries_come_in_pages),
        API_TEST(lists_of_entries_may_be_empty_or_of_no_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
