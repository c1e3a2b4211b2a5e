/*
 * Transfers over HTTP: what is answered to what, to the letter.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#include <stdio.h>

#define KEY "Idempotency-Key: \"k1\"\r\n"
#define TRANSFER                                                                                   \
    "{\"debit_account\":\"alice\",\"credit_account\":\"bob\",\"amount\":250,"                      \
    "\"currency\":\"EUR\",\"reference\":\"order 17\"}"

static void post_transfer(World *world)
{
    call(world, "POST /v1/transfers", JSON_TYPE KEY, TRANSFER);
}

static void outcome_is_recorded(World *world, TransferState state, bool replayed)
{
    world->record = (TransferRecord){
        .state = state,
        .mode = MODE_2PC,
        .debit_account = "alice",
        .credit_account = "bob",
        .amount = 250,
        .currency = "EUR",
        .idempotency_key = "k1",
        .metadata = "{}",
        .debit_shard = "s1",
        .credit_shard = "s2",
        .created_at_us = 1769860800000000,
        .decided_at_us = 1769860800000001,
    };
    assert_true(uuid_parse(UUID, world->record.id));
    world->outcome = (TransferOutcome){
        .kind = OUTCOME_RECORDED, .replayed = replayed, .record = &world->record, .detail = ""};
    memcpy(world->outcome.id, world->record.id, 16);
}

static void a_posted_transfer_is_201_with_its_location(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    post_transfer(world);
    expect(world, 201);
    assert_true(has_header(world, "Location: /v1/transfers/" UUID "\r\n"));
    assert_false(has_header(world, "Idempotent-Replayed"));
    assert_string_equal(
        world->body,
        "{\"id\":\"" UUID "\",\"state\":\"posted\",\"final\":true,\"mode\":\"2pc\","
        "\"debit_account\":\"alice\",\"credit_account\":\"bob\",\"amount\":250,"
        "\"currency\":\"EUR\",\"reference\":null,\"metadata\":{},\"idempotency_key\":\"k1\","
        "\"debit_shard\":\"s1\",\"credit_shard\":\"s2\","
        "\"created_at\":\"2026-01-31T12:00:00.000000Z\","
        "\"decided_at\":\"2026-01-31T12:00:00.000001Z\",\"refusal\":null,"
        "\"needs_attention\":false,\"attention\":null,\"attempts\":0,\"next_attempt_at\":null,"
        "\"last_error\":null,\"waits_for\":null}");
}

static void what_is_asked_for_reaches_the_batcher(void **state)
{
    World *world = *state;
    const FakeSubmission *last = fake_batcher_last();
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    post_transfer(world);
    assert_string_equal(last->debit_account, "alice");
    assert_string_equal(last->credit_account, "bob");
    assert_string_equal(last->currency, "EUR");
    assert_string_equal(last->key, "k1");
    assert_string_equal(last->reference, "order 17");
    assert_string_equal(last->metadata, "");
    assert_int_equal(last->amount, 250);
    assert_int_equal(last->mode, MODE_AUTO);
    assert_int_equal(last->wait_ms, 5000);
    call(world, "POST /v1/transfers", JSON_TYPE KEY "Prefer: respond-async\r\nPrefer: wait=99\r\n",
         TRANSFER);
    assert_int_equal(last->wait_ms, 30000);
    assert_int_equal(last->count, 2);
}

static void a_replay_is_200_and_says_so(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, true);
    post_transfer(world);
    expect(world, 200);
    assert_true(has_header(world, "Idempotent-Replayed: true\r\n"));
}

static void a_pending_transfer_is_202(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_PENDING, false);
    world->record.decided_at_us = 0;
    post_transfer(world);
    expect(world, 202);
    assert_true(has_header(world, "Location: /v1/transfers/" UUID "\r\n"));
    assert_true(has_header(world, "Retry-After: "));
    assert_int_equal(json_kind(json_field(world->json, "decided_at")), JSON_KIND_NULL);
    assert_false(json_as_bool(json_field(world->json, "final")));
}

static void a_final_failure_is_422_and_names_the_transfer(void **state)
{
    World *world = *state;
    for (int replayed = 0; replayed <= 1; replayed++)
    {
        outcome_is_recorded(world, TRANSFER_REFUSED, replayed == 1);
        world->record.refusal = ERROR_CREDIT_ACCOUNT_NOT_FOUND;
        post_transfer(world);
        expect_problem(world, 422, "account-not-found");
        assert_string_equal(text_field(world, "transfer_id"), UUID);
        assert_string_equal(text_field(world, "state"), "refused");
        assert_int_equal(has_header(world, "Idempotent-Replayed: true\r\n"), replayed);
    }
}

static void a_reused_key_names_the_fields_that_differ(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, true);
    world->outcome.kind = OUTCOME_KEY_REUSED;
    world->outcome.differing = DIFFERS_AMOUNT | DIFFERS_REFERENCE;
    post_transfer(world);
    expect_problem(world, 422, "idempotency-key-reused");
    const Json *differing = json_field(world->json, "differing_fields");
    assert_int_equal(json_array_length(differing), 2);
    assert_string_equal(json_as_string(json_array_at(differing, 0)), "amount");
    assert_string_equal(json_as_string(json_array_at(differing, 1)), "reference");
    assert_null(json_field(world->json, "state"));
}

static void what_was_not_accepted_is_told_with_its_code(void **state)
{
    static const struct
    {
        ErrorCode code;
        int status;
    } cases[] = {
        {ERROR_DEBIT_ACCOUNT_NOT_FOUND, 404},
        {ERROR_ACCOUNT_BUSY, 429},
        {ERROR_OVERLOADED, 503},
        {ERROR_SHARD_UNAVAILABLE, 503},
        {ERROR_SHARD_ERROR, 503},
        {ERROR_PARTITION_MOVING, 503},
        {ERROR_DRAINING, 503},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        world->outcome = (TransferOutcome){
            .kind = OUTCOME_NOT_ACCEPTED, .code = cases[i].code, .detail = "shard s1"};
        post_transfer(world);
        expect_problem(world, cases[i].status, error_row(cases[i].code)->name);
        assert_string_equal(text_field(world, "detail"), "shard s1");
        assert_null(json_field(world->json, "transfer_id"));
    }
}

static void a_doubt_is_503_with_the_id(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    world->outcome.kind = OUTCOME_UNKNOWN;
    world->outcome.code = ERROR_OUTCOME_UNKNOWN;
    post_transfer(world);
    expect_problem(world, 503, "outcome-unknown");
    assert_string_equal(text_field(world, "transfer_id"), UUID);
}

static void a_wrong_request_consumes_no_key(void **state)
{
    static const struct
    {
        const char *headers;
        const char *body;
        int status;
        const char *code;
    } cases[] = {
        {JSON_TYPE, TRANSFER, 400, "idempotency-key-missing"},
        {JSON_TYPE "Idempotency-Key: \r\n", TRANSFER, 400, "idempotency-key-invalid"},
        {JSON_TYPE "Idempotency-Key: a b\r\n", TRANSFER, 400, "idempotency-key-invalid"},
        {JSON_TYPE KEY KEY, TRANSFER, 400, "header-invalid"},
        {JSON_TYPE KEY "Prefer: wait=x\r\n", TRANSFER, 400, "header-invalid"},
        {KEY, TRANSFER, 415, "media-type"},
        {"Content-Type: text/plain\r\n" KEY, TRANSFER, 415, "media-type"},
        {JSON_TYPE KEY, "", 400, "json-invalid"},
        {JSON_TYPE KEY, "{", 400, "json-invalid"},
        {JSON_TYPE KEY, TRANSFER "x", 400, "json-invalid"},
        {JSON_TYPE KEY, "[]", 400, "body-invalid"},
        {JSON_TYPE KEY, "{\"amount\":1}", 400, "body-invalid"},
        {JSON_TYPE KEY,
         "{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":1.0,\"currency\":\"EUR\"}",
         422, "amount-invalid"},
        {JSON_TYPE KEY,
         "{\"debit_account\":\"a/\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         422, "account-id-invalid"},
        {JSON_TYPE KEY,
         "{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"e\"}", 422,
         "currency-invalid"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        call(world, "POST /v1/transfers", cases[i].headers, cases[i].body);
        expect_problem(world, cases[i].status, cases[i].code);
    }
    call(world, "POST /v1/transfers?x=1", JSON_TYPE KEY, TRANSFER);
    expect_problem(world, 400, "parameter-invalid");
    assert_int_equal(fake_batcher_last()->count, 0);
}

static void a_fault_points_at_its_field(void **state)
{
    World *world = *state;
    call(world, "POST /v1/transfers", JSON_TYPE KEY, "{\"amount\":1,\"extra\":2}");
    expect_problem(world, 400, "body-invalid");
    const Json *errors = json_field(world->json, "errors");
    assert_int_equal(json_array_length(errors), 1);
    const Json *pointer = json_field(json_array_at(errors, 0), "pointer");
    assert_string_equal(json_as_string(pointer), "/extra");
}

static const PgRows *transfer_row(void)
{
    FakeRows *rows = fake_rows_new(19);
    fake_uuid_text(rows, UUID);
    fake_text(rows, "s1");
    fake_text(rows, "refused");
    fake_text(rows, "2pc");
    fake_text(rows, "alice");
    fake_text(rows, "bob");
    fake_int8(rows, 250);
    fake_text(rows, "EUR");
    fake_text(rows, "k1");
    fake_text(rows, "order 17");
    fake_text(rows, "{\"a\": \"b\"}");
    fake_text(rows, "insufficient-funds");
    fake_null(rows); /* attention */
    fake_int4(rows, 0);
    fake_null(rows); /* next_attempt_at */
    fake_null(rows); /* last_error */
    fake_timestamp_us(rows, NOON_US);
    fake_timestamp_us(rows, NOON_US);
    fake_null(rows); /* waits_for */
    return fake_lend(rows);
}

static void a_transfer_is_found_on_any_shard(void **state)
{
    World *world = *state;
    for (size_t i = 0; i < FAKE_SHARDS; i++)
    {
        memset(world->calls->by_shard, 0, sizeof world->calls->by_shard);
        world->calls->by_shard[i].rows = transfer_row();
        world->calls->by_shard[(i + 1) % FAKE_SHARDS].code = ERROR_SHARD_UNAVAILABLE;
        get(world, "/v1/transfers/" UUID);
        expect(world, 200);
        assert_string_equal(text_field(world, "id"), UUID);
        const Json *refusal = json_field(world->json, "refusal");
        assert_string_equal(json_as_string(json_field(refusal, "code")), "insufficient-funds");
    }
    assert_int_equal(world->calls->last_statement, STATEMENT_TRANSFER_GET);
}

static void not_found_takes_an_answer_from_every_shard(void **state)
{
    World *world = *state;
    get(world, "/v1/transfers/" UUID);
    expect_problem(world, 404, "transfer-not-found");
    assert_int_equal(world->calls->count, FAKE_SHARDS);
    world->calls->by_shard[1].code = ERROR_SHARD_UNAVAILABLE;
    get(world, "/v1/transfers/" UUID);
    expect_problem(world, 503, "shard-unavailable");
    fake_unload_directory();
    get(world, "/v1/transfers/" UUID);
    expect_problem(world, 503, "directory-unavailable");
    get(world, "/v1/transfers/nonsense");
    expect_problem(world, 404, "transfer-not-found");
}

static void a_key_finds_one_or_none(void **state)
{
    World *world = *state;
    for (size_t i = 0; i < FAKE_SHARDS; i++)
        world->calls->by_shard[i].rows = transfer_row();
    get(world, "/v1/transfers?debit_account=alice&idempotency_key=%22k1%22");
    expect(world, 200);
    assert_int_equal(json_array_length(json_field(world->json, "items")), 1);
    assert_int_equal(json_kind(json_field(world->json, "next_cursor")), JSON_KIND_NULL);
    assert_int_equal(world->calls->count, 1); /* the home only */
    get(world, "/v1/transfers?debit_account=alice&idempotency_key=k2");
    expect(world, 200);
    assert_string_equal(world->body, "{\"items\":[],\"next_cursor\":null}");
}

static void a_search_by_key_needs_both_parameters_alone(void **state)
{
    static const struct
    {
        const char *query;
        int status;
        const char *code;
    } cases[] = {
        {"?debit_account=alice", 400, "parameter-invalid"},
        {"?idempotency_key=k1", 400, "parameter-invalid"},
        {"?debit_account=alice&idempotency_key=k1&state=posted", 400, "parameter-invalid"},
        {"?debit_account=alice&debit_account=alice&idempotency_key=k1", 400, "parameter-invalid"},
        {"?debit_account=a%2Fb&idempotency_key=k1", 422, "account-id-invalid"},
        {"?debit_account=alice&idempotency_key=a+b", 400, "idempotency-key-invalid"},
        {"?debit_account=alice&idempotency_key=", 400, "idempotency-key-invalid"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char target[256];
        snprintf(target, sizeof target, "/v1/transfers%s", cases[i].query);
        get(world, target);
        expect_problem(world, cases[i].status, cases[i].code);
    }
    assert_int_equal(world->calls->count, 0);
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(a_posted_transfer_is_201_with_its_location),
        API_TEST(what_is_asked_for_reaches_the_batcher),
        API_TEST(a_replay_is_200_and_says_so),
        API_TEST(a_pending_transfer_is_202),
        API_TEST(a_final_failure_is_422_and_names_the_transfer),
        API_TEST(a_reused_key_names_the_fields_that_differ),
        API_TEST(what_was_not_accepted_is_told_with_its_code),
        API_TEST(a_doubt_is_503_with_the_id),
        API_TEST(a_wrong_request_consumes_no_key),
        API_TEST(a_fault_points_at_its_field),
        API_TEST(a_transfer_is_found_on_any_shard),
        API_TEST(not_found_takes_an_answer_from_every_shard),
        API_TEST(a_key_finds_one_or_none),
        API_TEST(a_search_by_key_needs_both_parameters_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
