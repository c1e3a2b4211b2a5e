/*
 * Batches of transfers over HTTP: each item is answered as it would be alone, in order.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#include "api/fields.h"

#include <stdio.h>
#include <stdlib.h>

#define ITEM(key)                                                                                  \
    "{\"idempotency_key\":\"" key "\",\"debit_account\":\"alice\",\"credit_account\":\"bob\","     \
    "\"amount\":250,\"currency\":\"EUR\"}"
#define BATCH(items) "{\"transfers\":[" items "]}"

static void post(World *world, const char *body)
{
    call(world, "POST /v1/transfers/batch", JSON_TYPE, body);
}

static void outcome_is_recorded(World *world, TransferState state, bool replayed)
{
    world->record = (TransferRecord){
        .state = state,
        .mode = MODE_SAGA,
        .debit_account = "alice",
        .credit_account = "bob",
        .amount = 250,
        .currency = "EUR",
        .metadata = "{}",
        .debit_shard = "s1",
        .credit_shard = "s2",
        .created_at_us = NOON_US,
    };
    assert_true(uuid_parse(UUID, world->record.id));
    world->outcome = (TransferOutcome){
        .kind = OUTCOME_RECORDED, .replayed = replayed, .record = &world->record, .detail = ""};
    memcpy(world->outcome.id, world->record.id, 16);
}

/* Result number `index`, which must say so. */
static const Json *result(const World *world, size_t index, int status)
{
    const Json *one = json_array_at(json_field(world->json, "results"), index);
    if (json_as_integer(json_field(one, "status")) != status)
        fail_msg("result %zu is not %d: %s", index, status, world->body);
    assert_int_equal(json_as_integer(json_field(one, "index")), index);
    return one;
}

static const char *text_of(const Json *object, const char *name)
{
    return json_as_string(json_field(object, name));
}

/* A whole problem with this code. */
static const Json *problem(const World *world, size_t index, int status, const char *code)
{
    const Json *document = json_field(result(world, index, status), "problem");
    if (document == NULL || strcmp(text_of(document, "code"), code) != 0)
        fail_msg("result %zu is not %s: %s", index, code, world->body);
    assert_int_equal(json_as_integer(json_field(document, "status")), status);
    assert_string_equal(text_of(document, "request_id"), "r-1");
    assert_non_null(json_field(document, "retryable"));
    assert_non_null(json_field(document, "effect"));
    return document;
}

static void expect_results(World *world, size_t count)
{
    expect(world, 200);
    assert_true(has_header(world, "Content-Type: application/json\r\n"));
    assert_int_equal(json_field_count(world->json), 1);
    assert_int_equal(json_array_length(json_field(world->json, "results")), count);
}

static void results_stand_in_the_order_of_the_items(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    post(world, BATCH(ITEM("k0") "," ITEM("k1") "," ITEM("k2")));
    expect_results(world, 3);
    for (size_t i = 0; i < 3; i++)
    {
        char key[8];
        const Json *one = result(world, i, 201);
        snprintf(key, sizeof key, "k%zu", i);
        assert_int_equal(json_field_count(one), 4);
        assert_false(json_as_bool(json_field(one, "replayed")));
        assert_string_equal(text_of(json_field(one, "transfer"), "idempotency_key"), key);
        assert_string_equal(text_of(json_field(one, "transfer"), "id"), UUID);
    }
}

static void what_is_asked_for_reaches_the_batcher(void **state)
{
    World *world = *state;
    const FakeSubmission *last = fake_batcher_last();
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    post(world,
         BATCH("{\"idempotency_key\":\"\\\"k9\\\"\",\"debit_account\":\"a\",\"credit_account\":"
               "\"b\",\"amount\":7,\"currency\":\"USD\",\"mode\":\"saga\",\"reference\":\"r\","
               "\"metadata\":{\"x\":\"y\"},\"deadline_ms\":5}"));
    expect_results(world, 1);
    assert_string_equal(last->debit_account, "a");
    assert_string_equal(last->credit_account, "b");
    assert_string_equal(last->currency, "USD");
    assert_string_equal(last->key, "k9");
    assert_string_equal(last->reference, "r");
    assert_string_equal(last->metadata, "{\"x\":\"y\"}");
    assert_int_equal(last->amount, 7);
    assert_int_equal(last->mode, MODE_SAGA);
    assert_int_equal(last->wait_ms, 5000);
    assert_false(last->respond_async);
}

static void the_preferences_are_those_of_every_item(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_PENDING, false);
    call(world, "POST /v1/transfers/batch", JSON_TYPE "Prefer: respond-async, wait=7\r\n",
         BATCH(ITEM("k0") "," ITEM("k1")));
    expect_results(world, 2);
    result(world, 1, 202);
    assert_int_equal(fake_batcher_last()->wait_ms, 7000);
    assert_true(fake_batcher_last()->respond_async);
    call(world, "POST /v1/transfers/batch", JSON_TYPE "Prefer: wait=x\r\n", BATCH(ITEM("k0")));
    expect_problem(world, 400, "header-invalid");
}

static void a_replay_says_so(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, true);
    post(world, BATCH(ITEM("k0")));
    assert_true(json_as_bool(json_field(result(world, 0, 200), "replayed")));
    outcome_is_recorded(world, TRANSFER_REFUSED, true);
    world->record.refusal = ERROR_INSUFFICIENT_FUNDS;
    post(world, BATCH(ITEM("k0")));
    const Json *document = problem(world, 0, 422, "insufficient-funds");
    assert_true(json_as_bool(json_field(result(world, 0, 422), "replayed")));
    assert_string_equal(text_of(document, "transfer_id"), UUID);
    assert_string_equal(text_of(document, "state"), "refused");
}

static void what_has_no_record_is_a_problem_of_its_item(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    world->outcome.kind = OUTCOME_NOT_ACCEPTED;
    world->outcome.code = ERROR_OVERLOADED;
    post(world, BATCH(ITEM("k0")));
    const Json *document = problem(world, 0, 503, "overloaded");
    assert_true(json_as_bool(json_field(document, "retryable")));
    assert_int_equal(json_as_integer(json_field(document, "retry_after_ms")), 1000);
    assert_string_equal(text_of(document, "effect"), "none");
    world->outcome.kind = OUTCOME_UNKNOWN;
    world->outcome.code = ERROR_OUTCOME_UNKNOWN;
    post(world, BATCH(ITEM("k0")));
    document = problem(world, 0, 503, "outcome-unknown");
    assert_string_equal(text_of(document, "transfer_id"), UUID);
    assert_string_equal(text_of(document, "effect"), "unknown");
    world->outcome.kind = OUTCOME_KEY_REUSED;
    world->outcome.differing = DIFFERS_AMOUNT;
    post(world, BATCH(ITEM("k0")));
    document = problem(world, 0, 422, "idempotency-key-reused");
    assert_int_equal(json_array_length(json_field(document, "differing_fields")), 1);
}

static void a_bad_item_fails_alone_and_is_pointed_at(void **state)
{
    static const struct
    {
        int status;
        const char *code;
        const char *pointer;
    } wanted[] = {
        {400, "idempotency-key-missing", "/transfers/1/idempotency_key"},
        {422, "amount-invalid", "/transfers/2/amount"},
        {400, "body-invalid", "/transfers/3/a~1b"},
        {400, "body-invalid", "/transfers/4"},
        {422, "account-id-invalid", "/transfers/5/debit_account"},
    };
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    post(world,
         BATCH(
             ITEM("k0") ",{\"debit_account\":\"a\"}"
                        ",{\"idempotency_key\":\"k\",\"debit_account\":\"a\","
                        "\"credit_account\":\"b\",\"amount\":1.0,\"currency\":\"EUR\"}"
                        ",{\"a/b\":1}"
                        ",17"
                        ",{\"idempotency_key\":\"k\",\"debit_account\":\"/\","
                        "\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}," ITEM("k6")));
    expect_results(world, 7);
    result(world, 0, 201);
    result(world, 6, 201);
    assert_int_equal(fake_batcher_last()->count, 2);
    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
    {
        const Json *document = problem(world, i + 1, wanted[i].status, wanted[i].code);
        const Json *error = json_array_at(json_field(document, "errors"), 0);
        assert_string_equal(text_of(error, "pointer"), wanted[i].pointer);
        assert_string_equal(text_of(document, "effect"), "none");
    }
}

static void a_bad_envelope_fails_all(void **state)
{
    static const struct
    {
        const char *body;
        const char *code;
    } cases[] = {
        {"", "json-invalid"},
        {BATCH(ITEM("k0") ","), "json-invalid"},
        {BATCH(ITEM("k0") ",{\"amount\":1,\"amount\":1}"), "json-invalid"},
        {"{\"transfers\":[" ITEM("k0") "],\"transfers\":[" ITEM("k0") "]}", "json-invalid"},
        {"[" ITEM("k0") "]", "body-invalid"},
        {"{\"transfers\":[" ITEM("k0") "],\"wait\":5}", "body-invalid"},
        {"{}", "body-invalid"},
        {BATCH(""), "body-invalid"},
        {"{\"transfers\":" ITEM("k0") "}", "body-invalid"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        post(world, cases[i].body);
        expect_problem(world, 400, cases[i].code);
    }
    call(world, "POST /v1/transfers/batch", "", BATCH(ITEM("k0")));
    expect_problem(world, 415, "media-type");
    call(world, "POST /v1/transfers/batch?x=1", JSON_TYPE, BATCH(ITEM("k0")));
    expect_problem(world, 400, "parameter-invalid");
    assert_int_equal(fake_batcher_last()->count, 0);
}

/* `count` times the same item. */
static char *batch_of(const char *item, size_t count)
{
    size_t length = strlen(item) + 1;
    char *body = malloc(count * length + 64);
    char *at = stpcpy(body, "{\"transfers\":[");
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, "%s%s", i > 0 ? "," : "", item);
    stpcpy(at, "]}");
    return body;
}

static void five_thousand_items_are_taken_and_one_more_is_not(void **state)
{
    World *world = *state;
    char *body = batch_of("1", BATCH_ITEMS_MAX);
    post(world, body);
    expect_results(world, BATCH_ITEMS_MAX);
    problem(world, BATCH_ITEMS_MAX - 1, 400, "body-invalid");
    free(body);
    body = batch_of("1", BATCH_ITEMS_MAX + 1);
    post(world, body);
    expect_problem(world, 400, "body-invalid");
    free(body);
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    body = batch_of(ITEM("k"), BATCH_ITEMS_MAX / 5);
    post(world, body);
    expect_results(world, BATCH_ITEMS_MAX / 5);
    result(world, BATCH_ITEMS_MAX / 5 - 1, 201);
    free(body);
}

static void only_a_batch_may_be_large(void **state)
{
    World *world = *state;
    size_t length = 70 * 1024;
    char *body = malloc(length + 1);
    memset(body, ' ', length);
    body[length] = '\0';
    post(world, body);
    expect_problem(world, 400, "json-invalid");
    call(world, "POST /v1/transfers", JSON_TYPE "Idempotency-Key: k\r\n", body);
    expect_problem(world, 413, "body-too-large");
    call(world, "PUT /v1/transfers/batch", JSON_TYPE, body);
    expect_problem(world, 413, "body-too-large");
    free(body);
}

static void the_path_has_no_other_method(void **state)
{
    World *world = *state;
    get(world, "/v1/transfers/batch");
    expect_problem(world, 405, "method-not-allowed");
    assert_true(has_header(world, "Allow: POST\r\n"));
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(results_stand_in_the_order_of_the_items),
        API_TEST(what_is_asked_for_reaches_the_batcher),
        API_TEST(the_preferences_are_those_of_every_item),
        API_TEST(a_replay_says_so),
        API_TEST(what_has_no_record_is_a_problem_of_its_item),
        API_TEST(a_bad_item_fails_alone_and_is_pointed_at),
        API_TEST(a_bad_envelope_fails_all),
        API_TEST(five_thousand_items_are_taken_and_one_more_is_not),
        API_TEST(only_a_batch_may_be_large),
        API_TEST(the_path_has_no_other_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
