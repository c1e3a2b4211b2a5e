/*
 * The answers of POST /v1/transfers that transfers_test.c does not look at: modes, what counts as
 * the same content, what leaves a key free, what a client is told that waits; over two
 * coordinators.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Cluster *cluster;
static Client *client;
static Client *other;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.coordinators = 2, .proxied = true}, &cluster, &client);
    other = client_new(cluster_url(cluster, 2));
    return 0;
}

static int stop(void **state)
{
    client_free(other);
    return fixture_stop(state);
}

/* A payment with more fields: `more` starts with a comma or is empty. */
static void pay_with(const Payment *payment, const char *more, const char *header,
                     Response *ret_response)
{
    const char *headers[] = {header, NULL};
    char *body = bank_body(payment);
    char *whole = NULL;
    assert_true(asprintf(&whole, "%.*s%s}", (int)strlen(body) - 1, body, more) > 0);
    Request request = {.path = "/v1/transfers",
                       .body = whole,
                       .key = payment->key,
                       .headers = header != NULL ? headers : NULL};
    client_call(client, &request, ret_response);
    free(whole);
    free(body);
}

static void expect_with(const Payment *payment, const char *more, int status, const char *code)
{
    Response response;
    pay_with(payment, more, NULL, &response);
    response_expect(&response, status, code);
    response_done(&response);
}

static void open_pair(AccountName ret_debit, AccountName ret_credit)
{
    bank_open(client, 1, 1000, ret_debit);
    bank_open(client, 2, 0, ret_credit);
}

/* ---- the document --------------------------------------------------------------------------- */

static void a_transfer_shows_these_fields(void **state)
{
    static const char *const fields[] = {"id",           "state",           "final",
                                         "mode",         "debit_account",   "credit_account",
                                         "amount",       "currency",        "reference",
                                         "metadata",     "idempotency_key", "debit_shard",
                                         "credit_shard", "created_at",      "decided_at",
                                         "refusal",      "needs_attention", "attention",
                                         "attempts",     "next_attempt_at", "last_error",
                                         "waits_for"};
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    open_pair(a, b);
    bank_pay(client, &(Payment){a, b, 10, bank_key()}, &response);
    response_expect(&response, 201, NULL);
    assert_int_equal(json_field_count(response.json), ARRAY_LENGTH(fields));
    assert_null(json_field_unknown(response.json, fields, ARRAY_LENGTH(fields)));
    assert_true(json_as_bool(response_value(&response, "final")));
    assert_false(json_as_bool(response_value(&response, "needs_attention")));
    assert_int_equal(json_kind(response_value(&response, "refusal")), JSON_KIND_NULL);
    const char *id = response_string(&response, "id");
    check(strlen(id) == 36 && id[14] == '8', "%s is no UUID of version 8", id);
    response_done(&response);
}

static void auto_and_2pc_are_2pc_between_shards_and_local_inside(void **state)
{
    static const char *const modes[] = {"", ",\"mode\":\"auto\"", ",\"mode\":\"2pc\""};
    AccountName a;
    AccountName b;
    AccountName near;
    (void)state;
    open_pair(a, b);
    bank_open(client, 1, 0, near);
    for (size_t i = 0; i < ARRAY_LENGTH(modes); i++)
    {
        Response response;
        pay_with(&(Payment){a, b, 1, bank_key()}, modes[i], NULL, &response);
        response_expect(&response, 201, NULL);
        assert_string_equal(response_string(&response, "mode"), "2pc");
        response_done(&response);
        pay_with(&(Payment){a, near, 1, bank_key()}, modes[i], NULL, &response);
        response_expect(&response, 201, NULL);
        assert_string_equal(response_string(&response, "mode"), "local");
        response_done(&response);
    }
}

static void a_reference_has_up_to_128_bytes_and_need_not_be_unique(void **state)
{
    AccountName a;
    AccountName b;
    char more[256];
    (void)state;
    open_pair(a, b);
    snprintf(more, sizeof more, ",\"reference\":\"%0128d\"", 7);
    expect_with(&(Payment){a, b, 1, bank_key()}, more, 201, NULL);
    expect_with(&(Payment){a, b, 1, bank_key()}, more, 201, NULL);
    snprintf(more, sizeof more, ",\"reference\":\"%0129d\"", 7);
    expect_with(&(Payment){a, b, 1, bank_key()}, more, 400, "body-invalid");
    assert_int_equal(bank_balance(client, b), 2);
}

/* ---- the same key --------------------------------------------------------------------------- */

static void a_repeated_refusal_says_that_it_is_one(void **state)
{
    AccountName a;
    AccountName b;
    char value[16];
    Response response;
    (void)state;
    open_pair(a, b);
    const char *key = bank_key();
    bank_pay(client, &(Payment){a, b, 1001, key}, &response);
    response_expect(&response, 422, "insufficient-funds");
    assert_false(response_header(&response, "Idempotent-Replayed", value, sizeof value));
    response_done(&response);
    bank_pay(other, &(Payment){a, b, 1001, key}, &response);
    response_expect(&response, 422, "insufficient-funds");
    assert_true(response_header(&response, "Idempotent-Replayed", value, sizeof value));
    assert_string_equal(value, "true");
    assert_string_equal(response_string(&response, "state"), "refused");
    response_done(&response);
}

static void account_amount_currency_and_reference_are_the_content(void **state)
{
    static const char *const differing[] = {"credit_account", "amount", "currency", "reference"};
    AccountName a;
    AccountName b;
    AccountName c;
    char body[400];
    Response response;
    (void)state;
    open_pair(a, b);
    bank_open(client, 3, 0, c);
    const char *key = bank_key();
    expect_with(&(Payment){a, b, 5, key}, ",\"reference\":\"r\"", 201, NULL);
    snprintf(body, sizeof body,
             "{\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"amount\":6,"
             "\"currency\":\"USD\",\"reference\":\"s\"}",
             a, c);
    client_call(client, &(Request){.path = "/v1/transfers", .body = body, .key = key}, &response);
    response_expect(&response, 422, "idempotency-key-reused");
    for (size_t i = 0; i < ARRAY_LENGTH(differing); i++)
    {
        char path[32];
        snprintf(path, sizeof path, "differing_fields.%zu", i);
        assert_string_equal(response_string(&response, path), differing[i]);
    }
    response_done(&response);
    expect_with(&(Payment){a, b, 5, key}, "", 422, "idempotency-key-reused");
    /* Neither metadata nor mode nor headers are content. */
    pay_with(&(Payment){a, b, 5, key},
             ",\"reference\":\"r\",\"mode\":\"2pc\",\"metadata\":{\"try\":\"2\"}",
             "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(json_field_count(response_value(&response, "metadata")), 0);
    response_done(&response);
    assert_int_equal(bank_balance(client, b), 5);
    assert_int_equal(bank_balance(client, c), 0);
}

static void twins_over_two_coordinators_make_one_transfer(void **state)
{
    enum
    {
        TWINS = 25
    };
    AccountName a;
    AccountName b;
    int fds[2 * TWINS];
    char text[1024];
    int posted = 0;
    (void)state;
    open_pair(a, b);
    char *body = bank_body(&(Payment){a, b, 7, NULL});
    snprintf(text, sizeof text,
             "POST /v1/transfers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nIdempotency-Key: twins\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
        fds[i] = client_connect(i % 2 == 0 ? client : other);
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
        assert_true(client_send(fds[i], text, strlen(text)));
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
    {
        char answer[4096];
        client_receive(fds[i], answer, sizeof answer, 10000, NULL);
        close(fds[i]);
        bool is_new = strncmp(answer, "HTTP/1.1 201 ", 13) == 0;
        posted += is_new;
        check(is_new || strncmp(answer, "HTTP/1.1 200 ", 13) == 0, "%s", answer);
    }
    free(body);
    check(posted >= 1, "none of the twins is the first");
    assert_int_equal(bank_balance(client, b), 7);
    assert_int_equal(bank_balance(other, a), 993);
}

static void every_coordinator_knows_what_another_one_has_posted(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    char again[UUID_TEXT_MAX + 1];
    (void)state;
    open_pair(a, b);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 5, key}, 201, NULL, id);
    bank_expect(other, &(Payment){a, b, 5, key}, 200, NULL, again);
    assert_string_equal(id, again);
}

/* ---- what leaves the key free --------------------------------------------------------------- */

static void a_missing_debit_account_leaves_the_key_free(void **state)
{
    AccountName b;
    const char *key = bank_key();
    Response response;
    (void)state;
    bank_open(client, 2, 0, b);
    bank_expect(client, &(Payment){"late-comer", b, 5, key}, 404, "debit-account-not-found", NULL);
    client_call(client,
                &(Request){.path = "/v1/accounts",
                           .body = "{\"id\":\"late-comer\",\"currency\":\"EUR\",\"floor\":-5}"},
                &response);
    response_expect(&response, 201, NULL);
    response_done(&response);
    bank_expect(client, &(Payment){"late-comer", b, 5, key}, 201, NULL, NULL);
}

static void an_account_that_stays_locked_is_429_and_leaves_the_key_free(void **state)
{
    AccountName a;
    AccountName b;
    AccountName c;
    char sql[256];
    char sqlstate[6];
    char tag[40];
    char value[16];
    Response response;
    const char *key = bank_key();
    (void)state;
    open_pair(a, b);
    bank_open(client, 2, 0, c);
    SqlSession *session = sql_session_new(cluster_dsn(cluster, 2));
    snprintf(sql, sizeof sql, "begin; select from giro.accounts where id = '%s' for update", b);
    sql_session_run(session, sql, NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "");
    bank_pay(client, &(Payment){a, b, 5, key}, &response);
    response_expect(&response, 429, "account-busy");
    assert_string_equal(response_string(&response, "effect"), "none");
    assert_true(response_header(&response, "Retry-After", value, sizeof value));
    assert_string_equal(value, "1");
    response_done(&response);
    bank_expect(client, &(Payment){a, c, 5, bank_key()}, 201, NULL, NULL);
    sql_session_free(session);
    bank_expect(client, &(Payment){a, b, 6, key}, 201, NULL, NULL);
}

static void wrong_ids_and_currencies_consume_no_key(void **state)
{
    AccountName a;
    AccountName b;
    const char *key = bank_key();
    char body[300];
    Response response;
    (void)state;
    open_pair(a, b);
    bank_expect(client, &(Payment){"a b", b, 5, key}, 422, "account-id-invalid", NULL);
    bank_expect(client, &(Payment){a, "..", 5, key}, 422, "account-id-invalid", NULL);
    snprintf(
        body, sizeof body,
        "{\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"amount\":5,\"currency\":\"eur\"}", a,
        b);
    client_call(client, &(Request){.path = "/v1/transfers", .body = body, .key = key}, &response);
    response_expect(&response, 422, "currency-invalid");
    response_done(&response);
    bank_expect(client, &(Payment){a, b, 6, key}, 201, NULL, NULL);
}

static void keys_have_1_to_255_characters(void **state)
{
    AccountName a;
    AccountName b;
    char key[IDEMPOTENCY_KEY_MAX + 2];
    (void)state;
    open_pair(a, b);
    memset(key, '~', sizeof key);
    key[IDEMPOTENCY_KEY_MAX + 1] = '\0';
    bank_expect(client, &(Payment){a, b, 5, key}, 400, "idempotency-key-invalid", NULL);
    key[IDEMPOTENCY_KEY_MAX] = '\0';
    bank_expect(client, &(Payment){a, b, 5, key}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, b, 5, "!"}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, b, 5, "\"\""}, 400, "idempotency-key-invalid", NULL);
    assert_int_equal(bank_balance(client, b), 10);
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void a_slow_second_leg_is_not_waited_for(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    open_pair(a, b);
    Proxy *proxy = cluster_proxy(cluster, 2);
    proxy_set_rule(
        proxy, &(ProxyRule){
                   .action = PROXY_DELAY_REPLY, .tag = "COMMIT PREPARED", .count = 1, .ms = 3000});
    bank_pay(client, &(Payment){a, b, 10, bank_key()}, &response);
    int hits = proxy_hits(proxy);
    proxy_set_rule(proxy, NULL);
    response_expect(&response, 201, NULL);
    assert_int_equal(hits, 1);
    check(response.seconds >= 0.2 && response.seconds < 2.5, "%.3f s", response.seconds);
    response_done(&response);
}

static void a_client_waits_as_long_as_it_asks_to(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    const char *key = bank_key();
    (void)state;
    open_pair(a, b);
    fixture_arm("2pc.decide.home.before", "drop", 0);
    pay_with(&(Payment){a, b, 10, key}, "", "Prefer: wait=0", &response);
    /* 201 where the second attempt is quicker than the clients' waits are looked at. */
    check((response.status == 503 || response.status == 201) && response.seconds < 1, "%d %.3f s",
          response.status, response.seconds);
    response_done(&response);
    pay_with(&(Payment){a, b, 10, key}, "", "Prefer: respond-async, wait=20", &response);
    check(response.status == 201 || response.status == 200, "%d %s", response.status,
          response.body);
    response_done(&response);
    pay_with(&(Payment){a, b, 10, bank_key()}, "", "Prefer: wait=soon", &response);
    response_expect(&response, 400, "header-invalid");
    response_done(&response);
    pay_with(&(Payment){a, b, 10, bank_key()}, "", "Prefer: handling=strict; wait", &response);
    response_expect(&response, 201, NULL); /* what is not understood is ignored */
    response_done(&response);
    assert_int_equal(bank_balance(client, b), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_transfer_shows_these_fields),
        with_books(auto_and_2pc_are_2pc_between_shards_and_local_inside),
        with_books(a_reference_has_up_to_128_bytes_and_need_not_be_unique),
        with_books(a_repeated_refusal_says_that_it_is_one),
        with_books(account_amount_currency_and_reference_are_the_content),
        with_books(twins_over_two_coordinators_make_one_transfer),
        with_books(every_coordinator_knows_what_another_one_has_posted),
        with_books(a_missing_debit_account_leaves_the_key_free),
        with_books(an_account_that_stays_locked_is_429_and_leaves_the_key_free),
        with_books(wrong_ids_and_currencies_consume_no_key),
        with_books(keys_have_1_to_255_characters),
        with_books(a_slow_second_leg_is_not_waited_for),
        with_books(a_client_waits_as_long_as_it_asks_to),
    };
    return cmocka_run_group_tests_name("answers", tests, start, stop);
}
