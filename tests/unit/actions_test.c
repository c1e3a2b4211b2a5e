/*
 * Actions on transfers over HTTP: what is asked of the shards, and what is answered to what.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#define CANCEL "POST /v1/transfers/" UUID "/actions/cancel"
#define REASON "{\"reason\":\"because I say so\"}"

/* The home is the second shard. */
enum
{
    HOME = 1,
};

static const PgRows *row(const char *mode, const char *state, const char *refusal)
{
    bool pending = strcmp(state, "pending") == 0;
    FakeRows *rows = fake_rows_new(19);
    fake_uuid_text(rows, UUID);
    fake_text(rows, "s2");
    fake_text(rows, state);
    fake_text(rows, mode);
    fake_text(rows, "bob");
    fake_text(rows, "carol");
    fake_int8(rows, 250);
    fake_text(rows, "EUR");
    fake_text(rows, "k1");
    fake_null(rows); /* reference */
    fake_text(rows, "{}");
    fake_text(rows, refusal);
    fake_null(rows); /* attention */
    fake_int4(rows, 0);
    fake_null(rows); /* next_attempt_at */
    fake_null(rows); /* last_error */
    fake_timestamp_us(rows, NOON_US);
    if (pending)
        fake_null(rows);
    else
        fake_timestamp_us(rows, NOON_US);
    fake_text(rows, pending ? "s3" : NULL); /* waits_for */
    return fake_lend(rows);
}

static void home_has(World *world, const char *mode, const char *state, const char *refusal)
{
    world->calls->by_shard[HOME].rows = row(mode, state, refusal);
}

static const PgRows *gave_up(const char *outcome, const char *state)
{
    FakeRows *rows = fake_rows_new(2);
    fake_text(rows, outcome);
    fake_text(rows, state);
    return fake_lend(rows);
}

static void reversed_once_noted(FakeCalls *calls, Statement statement)
{
    if (statement == STATEMENT_GIVE_UP)
        calls->by_shard[HOME].rows = row("saga", "reversed", "cancelled");
}

static void posted_once_noted(FakeCalls *calls, Statement statement)
{
    if (statement == STATEMENT_GIVE_UP)
        calls->by_shard[HOME].rows = row("saga", "posted", NULL);
}

static void down_once_noted(FakeCalls *calls, Statement statement)
{
    if (statement == STATEMENT_GIVE_UP)
        calls->by_shard[HOME].code = ERROR_SHARD_UNAVAILABLE;
}

static void a_pending_saga_is_given_up_and_its_end_awaited(void **state)
{
    World *world = *state;
    home_has(world, "saga", "pending", NULL);
    world->calls->by_account.rows = gave_up("noted", "pending");
    world->calls->asked = reversed_once_noted;
    call(world, CANCEL, JSON_TYPE, REASON);
    expect(world, 200);
    assert_string_equal(text_field(world, "id"), UUID);
    assert_string_equal(text_field(world, "state"), "reversed");
    assert_string_equal(world->calls->last_account, "bob");
    assert_int_equal(world->calls->last_statement, STATEMENT_TRANSFER_GET);
    assert_int_equal(fake_batcher_given_up(), 1);
}

static void a_credit_that_came_first_is_answered(void **state)
{
    World *world = *state;
    static const char *const outcomes[] = {"noted", "final"};
    for (size_t i = 0; i < ARRAY_LENGTH(outcomes); i++)
    {
        home_has(world, "saga", "pending", NULL);
        world->calls->by_account.rows = gave_up(outcomes[i], "posted");
        world->calls->asked = posted_once_noted;
        call(world, CANCEL, JSON_TYPE, REASON);
        expect(world, 200);
        assert_string_equal(text_field(world, "state"), "posted");
        assert_int_equal(fake_batcher_given_up(), 1);
    }
}

static void what_is_pending_after_the_wait_is_202(void **state)
{
    World *world = *state;
    home_has(world, "saga", "pending", NULL);
    world->calls->by_account.rows = gave_up("noted", "pending");
    call(world, CANCEL, JSON_TYPE "Prefer: wait=1\r\n", REASON);
    expect(world, 202);
    assert_true(has_header(world, "Retry-After: 1\r\n"));
    assert_true(has_header(world, "Location: /v1/transfers/" UUID "\r\n"));
    assert_string_equal(text_field(world, "state"), "pending");
    /* 3 to look up, 1 to note, then 20, 40, 80, 160, 200, … ms apart. */
    assert_in_range(world->calls->count, 9, 13);
}

static void respond_async_does_not_wait(void **state)
{
    World *world = *state;
    home_has(world, "saga", "pending", NULL);
    world->calls->by_account.rows = gave_up("noted", "pending");
    call(world, CANCEL, JSON_TYPE "Prefer: respond-async\r\n", REASON);
    expect(world, 202);
    assert_int_equal(world->calls->count, FAKE_SHARDS + 1);
}

static void a_home_that_is_lost_while_waiting_leaves_it_pending(void **state)
{
    World *world = *state;
    home_has(world, "saga", "pending", NULL);
    world->calls->by_account.rows = gave_up("noted", "pending");
    world->calls->asked = down_once_noted;
    call(world, CANCEL, JSON_TYPE "Prefer: wait=1\r\n", REASON);
    expect(world, 202);
}

static void what_is_final_is_a_conflict_but_for_a_cancelled_saga(void **state)
{
    static const struct
    {
        const char *mode;
        const char *state;
        const char *refusal;
        bool cancelled;
    } cases[] = {
        {"saga", "reversed", "cancelled", true},
        {"saga", "reversed", "deadline-passed", false},
        {"saga", "reversed", "account-closed", false},
        {"saga", "refused", "insufficient-funds", false},
        {"saga", "posted", NULL, false},
        {"2pc", "posted", NULL, false},
        {"local", "refused", "insufficient-funds", false},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        home_has(world, cases[i].mode, cases[i].state, cases[i].refusal);
        call(world, CANCEL, JSON_TYPE, REASON);
        if (cases[i].cancelled)
            expect(world, 200);
        else
        {
            expect_problem(world, 409, "state-conflict");
            assert_string_equal(text_field(world, "transfer_id"), UUID);
        }
        assert_string_equal(text_field(world, "state"), cases[i].state);
    }
    assert_int_equal(fake_batcher_given_up(), 0);
}

static void not_found_and_not_known_are_told_apart(void **state)
{
    World *world = *state;
    call(world, CANCEL, JSON_TYPE, REASON);
    expect_problem(world, 404, "transfer-not-found");
    world->calls->by_shard[0].code = ERROR_SHARD_UNAVAILABLE;
    call(world, CANCEL, JSON_TYPE, REASON);
    expect_problem(world, 503, "shard-unavailable");
    call(world, "POST /v1/transfers/x/actions/cancel", JSON_TYPE, REASON);
    expect_problem(world, 404, "transfer-not-found");
    fake_unload_directory();
    call(world, CANCEL, JSON_TYPE, REASON);
    expect_problem(world, 503, "directory-unavailable");
}

static void a_wish_whose_answer_is_lost_is_unknown(void **state)
{
    World *world = *state;
    home_has(world, "saga", "pending", NULL);
    world->calls->by_account.code = ERROR_OUTCOME_UNKNOWN;
    call(world, CANCEL, JSON_TYPE, REASON);
    expect_problem(world, 503, "outcome-unknown");
    assert_string_equal(text_field(world, "transfer_id"), UUID);
    world->calls->by_account.code = ERROR_SHARD_UNAVAILABLE;
    call(world, CANCEL, JSON_TYPE, REASON);
    expect_problem(world, 503, "shard-unavailable");
    world->calls->by_account.code = ERROR_ACCOUNT_BUSY;
    call(world, CANCEL, JSON_TYPE, REASON);
    expect_problem(world, 429, "account-busy");
}

static void the_request_is_checked_first(void **state)
{
    World *world = *state;
    call(world, CANCEL, JSON_TYPE, "{\"reason\":\"short\"}");
    expect_problem(world, 400, "body-invalid");
    call(world, CANCEL, JSON_TYPE, "{");
    expect_problem(world, 400, "json-invalid");
    call(world, CANCEL, "", REASON);
    expect_problem(world, 415, "media-type");
    call(world, CANCEL, JSON_TYPE "Prefer: wait=x\r\n", REASON);
    expect_problem(world, 400, "header-invalid");
    call(world, CANCEL "?force=true", JSON_TYPE, REASON);
    expect_problem(world, 400, "parameter-invalid");
    call(world, "GET /v1/transfers/" UUID "/actions/cancel", "", "");
    expect_problem(world, 405, "method-not-allowed");
    assert_int_equal(world->calls->count, 0);
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(a_pending_saga_is_given_up_and_its_end_awaited),
        API_TEST(a_credit_that_came_first_is_answered),
        API_TEST(what_is_pending_after_the_wait_is_202),
        API_TEST(respond_async_does_not_wait),
        API_TEST(a_home_that_is_lost_while_waiting_leaves_it_pending),
        API_TEST(what_is_final_is_a_conflict_but_for_a_cancelled_saga),
        API_TEST(not_found_and_not_known_are_told_apart),
        API_TEST(a_wish_whose_answer_is_lost_is_unknown),
        API_TEST(the_request_is_checked_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
