/*
 * Pausing intake: what is new is turned away at every coordinator, what is known is answered, what
 * was accepted goes on, and neither restarts nor a dead directory change that.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum
{
    COORDINATORS = 2,
    TRIES = 200,
    PAUSE_US = 50000,
};

static Cluster *cluster;
static Client *client;
static Client *other;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 3, .coordinators = COORDINATORS}, &cluster, &client);
    other = client_new(cluster_url(cluster, 2));
    return 0;
}

static int stop(void **state)
{
    client_free(other);
    return fixture_stop(state);
}

static void change(const char *action, const char *scope, Response *ret_response)
{
    char path[64];
    char body[256];
    snprintf(path, sizeof path, "/v1/intake/actions/%s", action);
    snprintf(body, sizeof body, "{\"reason\":\"a test of the intake\",\"scope\":\"%s\"}", scope);
    client_call(client, &(Request){.path = path, .body = body}, ret_response);
}

static void expect_change(const char *action, const char *scope, size_t paused)
{
    Response response;
    change(action, scope, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(json_array_length(response_value(&response, "paused")), paused);
    response_done(&response);
}

/* Waits until the coordinator knows of so many paused scopes that are no accounts. */
static void await_paused(Client *by, size_t count)
{
    size_t seen = SIZE_MAX;
    for (int i = 0; i < TRIES && seen != count; i++)
    {
        Response response;
        client_call(by, &(Request){.path = "/readyz?verbose"}, &response);
        response_expect(&response, 200, NULL);
        seen = json_array_length(response_value(&response, "intake.paused"));
        response_done(&response);
        if (seen != count)
            usleep(PAUSE_US);
    }
    check(seen == count, "%zu scopes are paused", seen);
}

typedef struct Trio
{
    AccountName a; /* on shard 1 */
    AccountName b; /* on shard 2 */
    AccountName c; /* on shard 3 */
} Trio;

static void open_trio(Trio *trio)
{
    bank_open(client, 1, 100, trio->a);
    bank_open(client, 2, 100, trio->b);
    bank_open(client, 3, 100, trio->c);
}

static void pay(Client *by, const char *debit, const char *credit, int status)
{
    bank_expect(by, &(Payment){debit, credit, 1, bank_key(), NULL}, status,
                status == 503 ? "draining" : NULL, NULL);
}

static void a_shard_takes_nothing_new_on_either_side(void **state)
{
    Trio trio;
    Response response;
    (void)state;
    open_trio(&trio);
    const char *known = bank_key();
    bank_expect(client, &(Payment){trio.a, trio.b, 1, known, NULL}, 201, NULL, NULL);
    expect_change("pause", "shard:shard-2", 1);
    pay(client, trio.a, trio.b, 503);
    pay(client, trio.b, trio.a, 503);
    pay(client, trio.a, trio.c, 201);
    bank_expect(client, &(Payment){trio.a, trio.b, 1, known, NULL}, 200, NULL, NULL);
    bank_expect(client, &(Payment){trio.a, trio.b, 2, known, NULL}, 422, "idempotency-key-reused",
                NULL);
    await_paused(other, 1);
    pay(other, trio.a, trio.b, 503);
    bank_expect(other, &(Payment){trio.a, trio.b, 1, known, NULL}, 200, NULL, NULL);

    const char *key = bank_key();
    bank_pay(client, &(Payment){trio.a, trio.b, 1, key, NULL}, &response);
    response_expect(&response, 503, "draining");
    assert_string_equal(response_string(&response, "effect"), "none");
    assert_non_null(strstr(response_string(&response, "detail"), "paused"));
    response_done(&response);
    expect_change("pause", "shard:shard-2", 1);
    expect_change("resume", "shard:shard-2", 0);
    expect_change("resume", "shard:shard-2", 0);
    bank_expect(client, &(Payment){trio.a, trio.b, 1, key, NULL}, 201, NULL, NULL);
    await_paused(other, 0);
}

static void an_account_takes_nothing_new(void **state)
{
    Trio trio;
    Response response;
    char scope[128];
    (void)state;
    open_trio(&trio);
    snprintf(scope, sizeof scope, "account:%s", trio.c);
    expect_change("pause", scope, 1);
    pay(client, trio.a, trio.c, 503);
    pay(client, trio.c, trio.b, 503);
    pay(client, trio.a, trio.b, 201);
    client_call(client, &(Request){.path = "/v1/directory"}, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "intake.paused.0.scope"), scope);
    assert_string_equal(response_string(&response, "intake.paused.0.reason"),
                        "a test of the intake");
    response_done(&response);
    expect_change("resume", scope, 0);
    pay(client, trio.a, trio.c, 201);
}

/* Items of a batch are turned away one by one. */
static void a_batch_is_turned_away_item_by_item(void **state)
{
    Trio trio;
    Response response;
    char body[1024];
    (void)state;
    open_trio(&trio);
    expect_change("pause", "shard:shard-3", 1);
    snprintf(body, sizeof body,
             "{\"transfers\":[{\"idempotency_key\":\"%s\",\"debit_account\":\"%s\","
             "\"credit_account\":\"%s\",\"amount\":1,\"currency\":\"EUR\"},"
             "{\"idempotency_key\":\"%s\",\"debit_account\":\"%s\","
             "\"credit_account\":\"%s\",\"amount\":1,\"currency\":\"EUR\"}]}",
             bank_key(), trio.a, trio.c, bank_key(), trio.a, trio.b);
    client_call(client, &(Request){.path = "/v1/transfers/batch", .body = body}, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(response_integer(&response, "results.0.status"), 503);
    assert_string_equal(response_string(&response, "results.0.problem.code"), "draining");
    assert_int_equal(response_integer(&response, "results.1.status"), 201);
    response_done(&response);
    expect_change("resume", "shard:shard-3", 0);
}

static void what_was_accepted_goes_on(void **state)
{
    Trio trio;
    Response response;
    (void)state;
    open_trio(&trio);
    fixture_arm("saga.credit.remote.before", "pause", 1000);
    bank_pay_with(client, &(Payment){trio.a, trio.b, 5, bank_key(), "\"mode\":\"saga\""},
                  "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    response_done(&response);
    expect_change("pause", "all", 1);
    pay(client, trio.a, trio.c, 503);
    bank_await_balance(client, trio.b, 105);
    expect_change("resume", "all", 0);
}

static void a_pause_survives_restarts_and_a_dead_directory(void **state)
{
    Trio trio;
    Response response;
    (void)state;
    open_trio(&trio);
    expect_change("pause", "all", 1);
    await_paused(other, 1);
    cluster_signal_girod(cluster, 1, SIGKILL);
    cluster_up(cluster);
    pay(client, trio.a, trio.b, 503);
    cluster_signal_postgres(cluster, 0, SIGKILL);
    for (int i = 0; i < 20; i++)
    {
        pay(other, trio.a, trio.b, 503);
        usleep(PAUSE_US * 2);
    }
    change("resume", "all", &response);
    response_expect(&response, 503, "directory-unavailable");
    response_done(&response);
    cluster_start_postgres(cluster);
    for (int i = 0; i < TRIES; i++)
    {
        change("resume", "all", &response);
        bool done = response.status == 200;
        response_done(&response);
        if (done)
            break;
        usleep(PAUSE_US);
    }
    await_paused(client, 0);
    await_paused(other, 0);
    pay(client, trio.a, trio.b, 201);
    pay(other, trio.a, trio.b, 201);
}

static void scopes_are_checked_and_bounded(void **state)
{
    static const char *const bad[] = {
        "", "everything", "shard:", "shard:A", "account:", "account:a b"};
    Response response;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
    {
        change("pause", bad[i], &response);
        response_expect(&response, 400, "body-invalid");
        response_done(&response);
    }
    for (int i = 0; i < 64; i++)
    {
        char scope[32];
        snprintf(scope, sizeof scope, "account:nobody-%d", i);
        expect_change("pause", scope, (size_t)i + 1);
    }
    change("pause", "all", &response);
    response_expect(&response, 409, "state-conflict");
    response_done(&response);
    expect_change("pause", "account:nobody-7", 64);
    for (int i = 0; i < 64; i++)
    {
        char scope[32];
        snprintf(scope, sizeof scope, "account:nobody-%d", i);
        expect_change("resume", scope, 63 - (size_t)i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_shard_takes_nothing_new_on_either_side),
        with_books(an_account_takes_nothing_new),
        with_books(a_batch_is_turned_away_item_by_item),
        with_books(what_was_accepted_goes_on),
        with_books(a_pause_survives_restarts_and_a_dead_directory),
        with_books(scopes_are_checked_and_bounded),
    };
    return cmocka_run_group_tests_name("intake", tests, start, stop);
}
