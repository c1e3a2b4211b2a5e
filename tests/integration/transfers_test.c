/*
 * The transfer contract of the API, on real shards: what is answered, what is stored, what moves.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){0}, &cluster, &client);
    return 0;
}

static void post_transfer(const char *body, const char *key, Response *ret_response)
{
    Request request = {.path = "/v1/transfers", .body = body, .key = key};
    client_call(client, &request, ret_response);
}

static void post_expect(const char *body, const char *key, int status, const char *code)
{
    Response response;
    post_transfer(body, key, &response);
    response_expect(&response, status, code);
    response_done(&response);
}

/* Gets what must be there. */
static void get(const char *path, Response *ret_response)
{
    client_call(client, &(Request){.path = path}, ret_response);
    response_expect(ret_response, 200, NULL);
}

/* ---- posted ---------------------------------------------------------------------------------- */

static void posts_inside_a_shard_as_local(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 1, 0, b);
    bank_pay(client, &(Payment){a, b, 30, bank_key()}, &response);
    response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "state"), "posted");
    assert_string_equal(response_string(&response, "mode"), "local");
    assert_string_equal(response_string(&response, "debit_shard"), "shard-1");
    assert_string_equal(response_string(&response, "credit_shard"), "shard-1");
    response_done(&response);
    assert_int_equal(bank_balance(client, a), 70);
    assert_int_equal(bank_balance(client, b), 30);
}

static void posts_between_shards_by_two_phases_in_both_directions(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    char location[128];
    char wanted[128];
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 100, b);
    bank_pay(client, &(Payment){a, b, 30, bank_key()}, &response);
    response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "mode"), "2pc");
    assert_true(response_header(&response, "Location", location, sizeof location));
    snprintf(wanted, sizeof wanted, "/v1/transfers/%s", response_string(&response, "id"));
    assert_string_equal(location, wanted);
    response_done(&response);
    bank_expect(client, &(Payment){b, a, 100, bank_key()}, 201, NULL, NULL);
    assert_int_equal(bank_balance(client, a), 170);
    assert_int_equal(bank_balance(client, b), 30);
}

static void shows_a_transfer_by_id_and_by_key(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    char path[400];
    Response response;
    (void)state;
    bank_open(client, 2, 100, a);
    bank_open(client, 3, 0, b);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 30, key}, 201, NULL, id);
    snprintf(path, sizeof path, "/v1/transfers/%s", id);
    get(path, &response);
    assert_string_equal(response_string(&response, "idempotency_key"), key);
    assert_string_equal(response_string(&response, "credit_account"), b);
    assert_int_equal(response_integer(&response, "amount"), 30);
    response_done(&response);
    snprintf(path, sizeof path, "/v1/transfers?debit_account=%s&idempotency_key=%s", a, key);
    get(path, &response);
    assert_string_equal(response_string(&response, "items.0.id"), id);
    response_done(&response);
    snprintf(path, sizeof path, "/v1/transfers?debit_account=%s&idempotency_key=never", a);
    get(path, &response);
    assert_null(response_value(&response, "items.0"));
    response_done(&response);
    client_call(client, &(Request){.path = "/v1/transfers/00000000-0000-8000-8000-000000000000"},
                &response);
    response_expect(&response, 404, "transfer-not-found");
    response_done(&response);
}

static void keeps_reference_and_metadata(void **state)
{
    AccountName a;
    AccountName b;
    char body[512];
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    snprintf(
        body, sizeof body,
        "{\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"amount\":1,\"currency\":\"EUR\","
        "\"reference\":\"order 17\",\"metadata\":{\"note\":\"\\u00e9\\\"\"}}",
        a, b);
    post_transfer(body, bank_key(), &response);
    response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "reference"), "order 17");
    assert_string_equal(response_string(&response, "metadata.note"), "\xc3\xa9\"");
    response_done(&response);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void replays_the_stored_answer_for_a_known_key(void **state)
{
    AccountName a;
    AccountName b;
    char first[UUID_TEXT_MAX + 1];
    char body[400];
    char value[16];
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 3, 0, b);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 30, key}, 201, NULL, first);
    /* other order, other blanks, other case of nothing that counts */
    snprintf(body, sizeof body,
             "{ \"currency\" : \"EUR\", \"amount\" : 30,\n \"credit_account\":\"%s\", "
             "\"debit_account\":\"%s\" }",
             b, a);
    post_transfer(body, key, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "id"), first);
    assert_true(response_header(&response, "Idempotent-Replayed", value, sizeof value));
    assert_string_equal(value, "true");
    response_done(&response);
    assert_int_equal(bank_balance(client, b), 30);
}

static void a_key_with_other_content_is_reused(void **state)
{
    AccountName a;
    AccountName b;
    AccountName c;
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    bank_open(client, 3, 0, c);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 30, key}, 201, NULL, NULL);
    bank_pay(client, &(Payment){a, b, 31, key}, &response);
    response_expect(&response, 422, "idempotency-key-reused");
    assert_string_equal(response_string(&response, "differing_fields.0"), "amount");
    assert_null(response_value(&response, "differing_fields.1"));
    response_done(&response);
    bank_expect(client, &(Payment){a, c, 30, key}, 422, "idempotency-key-reused", NULL);
    assert_int_equal(bank_balance(client, a), 70);
    assert_int_equal(bank_balance(client, b), 30);
    assert_int_equal(bank_balance(client, c), 0);
}

static void a_key_belongs_to_its_debit_account(void **state)
{
    AccountName a;
    AccountName b;
    char first[UUID_TEXT_MAX + 1];
    char second[UUID_TEXT_MAX + 1];
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 100, b);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 5, key}, 201, NULL, first);
    bank_expect(client, &(Payment){b, a, 5, key}, 201, NULL, second);
    assert_string_not_equal(first, second);
}

static void a_quoted_key_is_the_same_key(void **state)
{
    AccountName a;
    AccountName b;
    char quoted[64];
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 1, 0, b);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 5, key}, 201, NULL, NULL);
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    bank_expect(client, &(Payment){a, b, 5, quoted}, 200, NULL, NULL);
}

static void a_refusal_sticks_after_funding_and_a_new_key_works(void **state)
{
    AccountName a;
    AccountName b;
    AccountName world;
    char first[UUID_TEXT_MAX + 1];
    char again[UUID_TEXT_MAX + 1];
    (void)state;
    bank_open(client, 2, 10, a);
    bank_open(client, 1, 0, b);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 11, key}, 422, "insufficient-funds", first);
    bank_world(client, 2, world);
    bank_expect(client, &(Payment){world, a, 100, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, b, 11, key}, 422, "insufficient-funds", again);
    assert_string_equal(first, again);
    bank_expect(client, &(Payment){a, b, 11, bank_key()}, 201, NULL, NULL);
}

static void fifty_twins_make_one_transfer(void **state)
{
    enum
    {
        TWINS = 50
    };
    AccountName a;
    AccountName b;
    Request requests[TWINS];
    Response responses[TWINS];
    (void)state;
    bank_open(client, 1, 1000, a);
    bank_open(client, 2, 0, b);
    const char *key = bank_key();
    char *body = bank_body(&(Payment){a, b, 7, key});
    for (int i = 0; i < TWINS; i++)
        requests[i] = (Request){.path = "/v1/transfers", .body = body, .key = key};
    client_call_all(client, requests, TWINS, responses);
    for (int i = 0; i < TWINS; i++)
    {
        check(responses[i].status == 201 || responses[i].status == 200, "twin %d: %d %s", i,
              responses[i].status, responses[i].body);
        assert_string_equal(response_string(&responses[i], "id"),
                            response_string(&responses[0], "id"));
    }
    responses_done(responses, TWINS);
    free(body);
    assert_int_equal(bank_balance(client, a), 993);
    assert_int_equal(bank_balance(client, b), 7);
}

static void rivals_of_a_key_make_one_transfer(void **state)
{
    enum
    {
        RIVALS = 20
    };
    AccountName a;
    AccountName b;
    Request requests[RIVALS];
    Response responses[RIVALS];
    char *bodies[RIVALS];
    int posted = 0;
    (void)state;
    bank_open(client, 1, 1000, a);
    bank_open(client, 2, 0, b);
    const char *key = bank_key();
    for (int i = 0; i < RIVALS; i++)
    {
        bodies[i] = bank_body(&(Payment){a, b, i + 1, key});
        requests[i] = (Request){.path = "/v1/transfers", .body = bodies[i], .key = key};
    }
    client_call_all(client, requests, RIVALS, responses);
    for (int i = 0; i < RIVALS; i++)
    {
        posted += responses[i].status == 201;
        if (responses[i].status != 201)
            response_expect(&responses[i], 422, "idempotency-key-reused");
        free(bodies[i]);
    }
    responses_done(responses, RIVALS);
    assert_int_equal(posted, 1);
}

/* ---- refused --------------------------------------------------------------------------------- */

static void change_account(const char *account, const char *fields)
{
    char path[160];
    char body[256];
    Response response;
    snprintf(path, sizeof path, "/v1/accounts/%s", account);
    snprintf(body, sizeof body, "{\"reason\":\"because of the test\",%s}", fields);
    client_call(client, &(Request){.method = "PATCH", .path = path, .body = body}, &response);
    response_expect(&response, 200, NULL);
    response_done(&response);
}

static void refuses_frozen_and_closed_accounts(void **state)
{
    AccountName a;
    AccountName b;
    AccountName closed;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 100, b);
    bank_open(client, 2, 0, closed);
    change_account(b, "\"status\":\"frozen\"");
    change_account(closed, "\"status\":\"closed\"");
    bank_expect(client, &(Payment){b, a, 1, bank_key()}, 422, "account-frozen", NULL);
    bank_expect(client, &(Payment){a, b, 1, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, closed, 1, bank_key()}, 422, "account-closed", NULL);
    bank_expect(client, &(Payment){closed, a, 1, bank_key()}, 422, "account-closed", NULL);
}

static void refuses_missing_accounts_and_oneself(void **state)
{
    AccountName a;
    const char *key = bank_key();
    (void)state;
    bank_open(client, 1, 100, a);
    bank_expect(client, &(Payment){a, "nobody-at-all", 1, bank_key()}, 422, "account-not-found",
                NULL);
    bank_expect(client, &(Payment){a, a, 1, bank_key()}, 422, "same-account", NULL);
    bank_expect(client, &(Payment){"nobody-at-all", a, 1, key}, 404, "debit-account-not-found",
                NULL);
    bank_expect(client, &(Payment){"nobody-at-all", a, 1, key}, 404, "debit-account-not-found",
                NULL);
    assert_int_equal(bank_balance(client, a), 100);
}

static void refuses_other_currencies(void **state)
{
    AccountName a;
    AccountName b;
    char body[300];
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    snprintf(
        body, sizeof body,
        "{\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"amount\":1,\"currency\":\"USD\"}", a,
        b);
    post_expect(body, bank_key(), 422, "currency-mismatch");
}

static void refuses_to_leave_the_range_of_balances(void **state)
{
    AccountName rich;
    AccountName poor;
    AccountName source;
    (void)state;
    bank_open(client, 1, -1, rich); /* no floor */
    bank_open(client, 1, -1, source);
    bank_open(client, 2, 100, poor);
    bank_expect(client, &(Payment){source, rich, INT64_C(9007199254740991) - 10, bank_key()}, 201,
                NULL, NULL);
    bank_expect(client, &(Payment){poor, rich, 11, bank_key()}, 422, "balance-limit", NULL);
    bank_expect(client, &(Payment){source, poor, 11, bank_key()}, 422, "balance-limit", NULL);
    bank_expect(client, &(Payment){poor, rich, 10, bank_key()}, 201, NULL, NULL);
}

static void says_what_is_in_a_refusal(void **state)
{
    AccountName a;
    AccountName b;
    char path[128];
    Response response;
    (void)state;
    bank_open(client, 1, 5, a);
    bank_open(client, 2, 0, b);
    bank_pay(client, &(Payment){a, b, 6, bank_key()}, &response);
    response_expect(&response, 422, "insufficient-funds");
    assert_string_equal(response_string(&response, "state"), "refused");
    assert_string_equal(response_string(&response, "type"), "/problems/insufficient-funds");
    assert_false(json_as_bool(response_value(&response, "retryable")));
    snprintf(path, sizeof path, "/v1/transfers/%s", response_string(&response, "transfer_id"));
    response_done(&response);
    get(path, &response);
    assert_string_equal(response_string(&response, "refusal.code"), "insufficient-funds");
    response_done(&response);
}

/* ---- wrong requests -------------------------------------------------------------------------- */

typedef struct WrongCase
{
    const char *fields;
    int status;
    const char *code;
} WrongCase;

static void wrong_amounts_and_bodies_consume_no_key(void **state)
{
    static const WrongCase cases[] = {
        {"\"amount\":0", 422, "amount-invalid"},
        {"\"amount\":-1", 422, "amount-invalid"},
        {"\"amount\":1.0", 422, "amount-invalid"},
        {"\"amount\":1e3", 422, "amount-invalid"},
        {"\"amount\":\"1\"", 422, "amount-invalid"},
        {"\"amount\":null", 422, "amount-invalid"},
        {"\"amount\":true", 422, "amount-invalid"},
        {"\"amount\":9007199254740992", 422, "amount-invalid"},
        {"\"amount\":99999999999999999999999999", 422, "amount-invalid"},
        {"\"amount\":NaN", 400, "json-invalid"},
        {"\"amount\":1,\"amount\":1", 400, "json-invalid"},
        {"\"amount\":1,\"surprise\":1", 400, "body-invalid"},
        {"\"amount\":1,\"reference\":\"a\\u0000b\"", 400, "json-invalid"},
        {"\"amount\":1,\"reference\":\"\xff\"", 400, "json-invalid"},
        {"\"amount\":1,\"metadata\":{\"a\":1}", 400, "body-invalid"},
        {"\"amount\":1,\"mode\":\"magic\"", 400, "body-invalid"},
        {"\"amount\":1,\"reference\":[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", 400, "json-invalid"},
    };
    AccountName a;
    AccountName b;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    const char *key = bank_key();
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"currency\":\"EUR\",%s}", a,
                 b, cases[i].fields);
        post_expect(body, key, cases[i].status, cases[i].code);
    }
    bank_expect(client, &(Payment){a, b, 9, key}, 201, NULL, NULL);
    assert_int_equal(bank_balance(client, a), 91);
}

static void wrong_keys_move_nothing(void **state)
{
    static const char *const odd[] = {"Idempotency-Key: a b", "Idempotency-Key: \x01",
                                      "Idempotency-Key: caf\xc3\xa9"};
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    char *body = bank_body(&(Payment){a, b, 1, NULL});
    post_expect(body, NULL, 400, "idempotency-key-missing");
    for (size_t i = 0; i < ARRAY_LENGTH(odd); i++)
    {
        const char *headers[] = {odd[i], NULL};
        client_call(client, &(Request){.path = "/v1/transfers", .body = body, .headers = headers},
                    &response);
        response_expect(&response, 400, "idempotency-key-invalid");
        response_done(&response);
    }
    const char *twice[] = {"Idempotency-Key: one", "Idempotency-Key: two", NULL};
    client_call(client, &(Request){.path = "/v1/transfers", .body = body, .headers = twice},
                &response);
    response_expect(&response, 400, "header-invalid");
    response_done(&response);
    free(body);
    assert_int_equal(bank_balance(client, a), 100);
}

/* ---- what the coordinator may do ------------------------------------------------------------- */

static void the_coordinators_role_can_only_call_functions(void **state)
{
    char sqlstate[6];
    (void)state;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        sql_state(cluster_coord_dsn(cluster, shard), "select count(*) from giro.accounts",
                  sqlstate);
        assert_string_equal(sqlstate, "42501");
        sql_state(cluster_coord_dsn(cluster, shard), "update giro.accounts set balance = 1",
                  sqlstate);
        assert_string_equal(sqlstate, "42501");
        sql_state(cluster_coord_dsn(cluster, shard), "create table giro.mine (a int)", sqlstate);
        assert_string_equal(sqlstate, "42501");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(posts_inside_a_shard_as_local),
        with_books(posts_between_shards_by_two_phases_in_both_directions),
        with_books(shows_a_transfer_by_id_and_by_key),
        with_books(keeps_reference_and_metadata),
        with_books(replays_the_stored_answer_for_a_known_key),
        with_books(a_key_with_other_content_is_reused),
        with_books(a_key_belongs_to_its_debit_account),
        with_books(a_quoted_key_is_the_same_key),
        with_books(a_refusal_sticks_after_funding_and_a_new_key_works),
        with_books(fifty_twins_make_one_transfer),
        with_books(rivals_of_a_key_make_one_transfer),
        with_books(refuses_frozen_and_closed_accounts),
        with_books(refuses_missing_accounts_and_oneself),
        with_books(refuses_other_currencies),
        with_books(refuses_to_leave_the_range_of_balances),
        with_books(says_what_is_in_a_refusal),
        with_books(wrong_amounts_and_bodies_consume_no_key),
        with_books(wrong_keys_move_nothing),
        with_books(the_coordinators_role_can_only_call_functions),
    };
    return cmocka_run_group_tests_name("transfers", tests, start, fixture_stop);
}
