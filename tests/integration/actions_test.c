/*
 * Cancelling sagas on real shards: what stands is answered, whatever was wished for.
 */
#include "books.h"
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum
{
    HOME = 1,
    REMOTE = 2,
    RACES = 200,
    CREDIT_MS = 40,
    CREDITS_MS = 100,
    RACE_PAUSE_MAX_US = 60000,
    TWINS = 20,
};

static const char saga[] = "\"mode\":\"saga\"";
static const char why[] = "{\"reason\":\"the customer asked for it\"}";

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2, .coordinators = 2, .proxied = true}, &cluster,
                  &client);
    return 0;
}

typedef char TransferId[UUID_TEXT_MAX + 1];

/* Pays by a saga and does not wait for its end. */
static void begin(const char *debit, const char *credit, int64_t amount, TransferId ret_id)
{
    Response response;
    bank_pay_with(client, &(Payment){debit, credit, amount, bank_key(), saga},
                  "Prefer: respond-async", &response);
    check(response.status == 202 || response.status == 201, "%d %s", response.status,
          response.body);
    snprintf(ret_id, sizeof(TransferId), "%s", response_string(&response, "id"));
    response_done(&response);
}

static void cancel_by(Client *by, const char *id, const char *prefer, Response *ret_response)
{
    const char *headers[] = {prefer, NULL};
    char path[128];
    snprintf(path, sizeof path, "/v1/transfers/%s/actions/cancel", id);
    client_call(by, &(Request){.path = path, .body = why, .headers = headers}, ret_response);
}

static void expect_cancel(const char *id, int status, const char *code, const char *wanted)
{
    Response response;
    cancel_by(client, id, NULL, &response);
    response_expect(&response, status, code);
    assert_string_equal(response_string(&response, "state"), wanted);
    response_done(&response);
}

static void hold_credits_back(int ms)
{
    proxy_set_rule(cluster_proxy(cluster, REMOTE),
                   &(ProxyRule){.action = PROXY_DELAY, .statement = "receive", .ms = ms});
}

static void let_credits_go(void)
{
    proxy_set_rule(cluster_proxy(cluster, REMOTE), NULL);
}

/* ---- what is answered ----------------------------------------------------------------------- */

/* The credit shard refuses connections: 202 while it is down, and the end after its return. */
static void a_cancel_waits_for_the_credit_shard_and_is_safe_to_repeat(void **state)
{
    AccountName a;
    AccountName b;
    TransferId id;
    Response response;
    char header[128];
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    begin(a, b, 30, id);
    cancel_by(client, id, "Prefer: wait=1", &response);
    response_expect(&response, 202, NULL);
    assert_true(response.seconds > 0.9 && response.seconds < 2.0);
    assert_true(response_header(&response, "Retry-After", header, sizeof header));
    assert_true(response_header(&response, "Location", header, sizeof header));
    assert_string_equal(response_string(&response, "state"), "pending");
    response_done(&response);
    cancel_by(client, id, "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    assert_true(response.seconds < 0.9);
    response_done(&response);

    cluster_start_postgres(cluster);
    cancel_by(client, id, "Prefer: wait=20", &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "state"), "reversed");
    assert_string_equal(response_string(&response, "refusal.code"), "cancelled");
    response_done(&response);
    expect_cancel(id, 200, NULL, "reversed");
    assert_int_equal(bank_balance(client, a), 100);
    assert_int_equal(bank_balance(client, b), 0);
}

static void a_credit_that_came_first_is_what_stands(void **state)
{
    AccountName a;
    AccountName b;
    TransferId id;
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    fixture_arm("saga.close.home.before", "pause", 700);
    begin(a, b, 30, id);
    bank_await_balance(client, b, 30);
    cancel_by(client, id, NULL, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "state"), "posted");
    response_done(&response);
    expect_cancel(id, 409, "state-conflict", "posted");
}

static void a_credit_under_way_is_waited_for(void **state)
{
    AccountName a;
    AccountName b;
    TransferId id;
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    hold_credits_back(400);
    begin(a, b, 30, id);
    cancel_by(client, id, NULL, &response);
    response_expect(&response, 200, NULL);
    let_credits_go();
    bool posted = strcmp(response_string(&response, "state"), "posted") == 0;
    assert_int_equal(bank_balance(client, a), posted ? 70 : 100);
    assert_int_equal(bank_balance(client, b), posted ? 30 : 0);
    response_done(&response);
}

static void another_coordinator_may_cancel(void **state)
{
    AccountName a;
    AccountName b;
    TransferId id;
    Response response;
    Client *other = client_new(cluster_url(cluster, 2));
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    begin(a, b, 30, id);
    cancel_by(other, id, "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    response_done(&response);
    cluster_start_postgres(cluster);
    cancel_by(other, id, "Prefer: wait=30", &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "state"), "reversed");
    response_done(&response);
    client_free(other);
    assert_int_equal(bank_balance(client, a), 100);
}

static void fifty_cancels_reverse_once(void **state)
{
    enum
    {
        CANCELS = 50
    };
    AccountName a;
    AccountName b;
    TransferId id;
    char path[128];
    Request requests[CANCELS];
    Response responses[CANCELS];
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    begin(a, b, 30, id);
    cancel_by(client, id, "Prefer: respond-async", &responses[0]);
    response_expect(&responses[0], 202, NULL);
    response_done(&responses[0]);
    cluster_start_postgres(cluster);
    snprintf(path, sizeof path, "/v1/transfers/%s/actions/cancel", id);
    for (int i = 0; i < CANCELS; i++)
        requests[i] = (Request){.path = path, .body = why};
    client_call_all(client, requests, CANCELS, responses);
    for (int i = 0; i < CANCELS; i++)
    {
        response_expect(&responses[i], 200, NULL);
        assert_string_equal(response_string(&responses[i], "state"), "reversed");
    }
    responses_done(responses, CANCELS);
    assert_int_equal(bank_balance(client, a), 100);
    assert_int_equal(sql_integer(cluster_dsn(cluster, HOME),
                                 "select count(*) from giro.entries where transfer = '%s'", id),
                     2);
}

/* ---- where it makes no sense ---------------------------------------------------------------- */

static void what_is_no_saga_or_is_final_is_a_conflict(void **state)
{
    AccountName a;
    AccountName b;
    AccountName c;
    TransferId id;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    bank_open(client, HOME, 0, c);
    bank_expect(client, &(Payment){a, b, 1, bank_key(), NULL}, 201, NULL, id);
    expect_cancel(id, 409, "state-conflict", "posted");
    bank_expect(client, &(Payment){a, c, 1, bank_key(), NULL}, 201, NULL, id);
    expect_cancel(id, 409, "state-conflict", "posted");
    bank_expect(client, &(Payment){a, b, 1, bank_key(), saga}, 201, NULL, id);
    expect_cancel(id, 409, "state-conflict", "posted");
    bank_expect(client, &(Payment){a, b, 1000, bank_key(), saga}, 422, "insufficient-funds", id);
}

static void what_never_happened_is_not_found(void **state)
{
    (void)state;
    Response response;
    cancel_by(client, "00000000-0000-8000-8000-000000000000", NULL, &response);
    response_expect(&response, 404, "transfer-not-found");
    response_done(&response);
}

static void a_reason_is_needed(void **state)
{
    static const char *const bodies[] = {"{}", "{\"reason\":\"too short\"}",
                                         "{\"reason\":\"long enough, but\",\"force\":true}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++)
    {
        Response response;
        client_call(
            client,
            &(Request){.path = "/v1/transfers/00000000-0000-8000-8000-000000000000/actions/cancel",
                       .body = bodies[i]},
            &response);
        response_expect(&response, 400, "body-invalid");
        response_done(&response);
    }
}

/* ---- races ---------------------------------------------------------------------------------- */

/* One coordinator credits, the other one gives up, at about the same time. Exactly one outcome of
 * each, and the same one whoever asks: the answer to the cancel, to the next one, and the money. */
static void a_cancel_racing_the_credit_has_one_outcome(void **state)
{
    AccountName a;
    AccountName b;
    int posted = 0;
    unsigned seed = (unsigned)time(NULL);
    Client *other = client_new(cluster_url(cluster, 2));
    (void)state;
    print_message("seed %u\n", seed);
    bank_open(client, HOME, RACES, a);
    bank_open(client, REMOTE, 0, b);
    hold_credits_back(CREDIT_MS);
    for (int i = 0; i < RACES; i++)
    {
        TransferId id;
        Response response;
        begin(a, b, 1, id);
        seed = seed * 1103515245 + 12345;
        usleep((seed >> 8) % RACE_PAUSE_MAX_US);
        cancel_by(other, id, NULL, &response);
        bool is_posted = strcmp(response_string(&response, "state"), "posted") == 0;
        check(response.status == 200 || (response.status == 409 && is_posted), "%d %s",
              response.status, response.body);
        response_done(&response);
        expect_cancel(id, is_posted ? 409 : 200, is_posted ? "state-conflict" : NULL,
                      is_posted ? "posted" : "reversed");
        posted += is_posted;
        assert_int_equal(bank_balance(client, a), RACES - posted);
        assert_int_equal(bank_balance(client, b), posted);
    }
    let_credits_go();
    client_free(other);
    print_message("%d posted, %d reversed\n", posted, RACES - posted);
    assert_in_range(posted, 1, RACES - 1);
}

static void many_cancels_racing_many_credits_lose_no_money(void **state)
{
    AccountName a;
    AccountName b;
    Client *other = client_new(cluster_url(cluster, 2));
    Request requests[RACES];
    Response responses[RACES];
    TransferId ids[RACES];
    char paths[RACES][128];
    int64_t posted = 0;
    (void)state;
    bank_open(client, HOME, RACES, a);
    bank_open(client, REMOTE, 0, b);
    hold_credits_back(CREDITS_MS);
    for (int i = 0; i < RACES; i++)
    {
        begin(a, b, 1, ids[i]);
        snprintf(paths[i], sizeof paths[i], "/v1/transfers/%.36s/actions/cancel", ids[i]);
        requests[i] = (Request){.path = paths[i], .body = why};
        if ((i + 1) % TWINS == 0)
            client_call_all(other, &requests[i + 1 - TWINS], TWINS, &responses[i + 1 - TWINS]);
    }
    let_credits_go();
    client_free(other);
    for (int i = 0; i < RACES; i++)
    {
        bool is_posted = strcmp(response_string(&responses[i], "state"), "posted") == 0;
        check(responses[i].status == 200 || (responses[i].status == 409 && is_posted), "%d %s",
              responses[i].status, responses[i].body);
        posted += is_posted;
    }
    responses_done(responses, RACES);
    print_message("%d posted, %d reversed\n", (int)posted, (int)(RACES - posted));
    assert_int_equal(bank_balance(client, a), RACES - posted);
    assert_int_equal(bank_balance(client, b), posted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_cancel_waits_for_the_credit_shard_and_is_safe_to_repeat),
        with_books(a_credit_that_came_first_is_what_stands),
        with_books(a_credit_under_way_is_waited_for),
        with_books(another_coordinator_may_cancel),
        with_books(fifty_cancels_reverse_once),
        with_books(what_is_no_saga_or_is_final_is_a_conflict),
        with_books(what_never_happened_is_not_found),
        with_books(a_reason_is_needed),
        with_books(a_cancel_racing_the_credit_has_one_outcome),
        with_books(many_cancels_racing_many_credits_lose_no_money),
    };
    return cmocka_run_group_tests_name("actions", tests, start, fixture_stop);
}
