/*
 * Lost answers: a proxy between the coordinator and the shards swallows the reply to exactly one
 * message, cuts before or after it, or delays it. Whatever happened on the server, the client's
 * repeats lead to one transfer.
 */
#include "fixture.h"

#include <string.h>
#include <unistd.h>

enum
{
    HOME = 1,
    REMOTE = 2,
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2, .proxied = true}, &cluster, &client);
    return 0;
}

static int mend_and_check_books(void **state)
{
    for (int shard = HOME; shard <= REMOTE; shard++)
    {
        proxy_set_rule(cluster_proxy(cluster, shard), NULL);
        proxy_set_black_hole(cluster_proxy(cluster, shard), false);
    }
    return fixture_check_books(state);
}

typedef struct Loss
{
    int shard;
    bool local;
    ProxyAction action;
    const char *statement; /* or */
    const char *tag;
} Loss;

static void pay_through(const Loss *loss)
{
    AccountName a;
    AccountName b;
    Proxy *proxy = cluster_proxy(cluster, loss->shard);
    bank_open(client, HOME, 10, a);
    bank_open(client, loss->local ? HOME : REMOTE, 0, b);
    ProxyRule rule = {.action = loss->action,
                      .statement = loss->statement,
                      .tag = loss->tag,
                      .count = 1,
                      .ms = 400};
    proxy_set_rule(proxy, &rule);
    Payment payment = {a, b, 4, bank_key()};
    bank_pay_finally(client, &payment);
    check(proxy_hits(proxy) == 1, "the rule for %s was applied %d times",
          loss->statement != NULL ? loss->statement : loss->tag, proxy_hits(proxy));
    proxy_set_rule(proxy, NULL);
    bank_expect(client, &payment, 200, NULL, NULL);
    bank_await_balance(client, a, 6);
    bank_await_balance(client, b, 4);
}

static void a_lost_reply_to_every_statement_moves_the_money_once(void **state)
{
    static const Loss losses[] = {
        {HOME, true, PROXY_SWALLOW, "lock", NULL},
        {HOME, true, PROXY_SWALLOW, "record", NULL},
        {HOME, true, PROXY_SWALLOW, NULL, "COMMIT"},
        {HOME, false, PROXY_SWALLOW, "lock", NULL},
        {REMOTE, false, PROXY_SWALLOW, "lock", NULL},
        {REMOTE, false, PROXY_SWALLOW, "apply", NULL},
        {REMOTE, false, PROXY_SWALLOW, "PREPARE TRANSACTION", NULL},
        {HOME, false, PROXY_SWALLOW, "apply", NULL},
        {HOME, false, PROXY_SWALLOW, NULL, "COMMIT"},
        {REMOTE, false, PROXY_SWALLOW, NULL, "COMMIT PREPARED"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(losses); i++)
        pay_through(&losses[i]);
}

static void a_cut_before_or_after_every_statement_moves_the_money_once(void **state)
{
    static const char *const home[] = {"lock", "transfers_by_id", "apply", "record", "COMMIT"};
    static const char *const remote[] = {"lock", "apply", "PREPARE TRANSACTION", "COMMIT PREPARED"};
    static const ProxyAction actions[] = {PROXY_CUT_BEFORE, PROXY_CUT_AFTER, PROXY_DELAY,
                                          PROXY_DELAY_REPLY};
    (void)state;
    for (size_t action = 0; action < ARRAY_LENGTH(actions); action++)
    {
        for (size_t i = 0; i < ARRAY_LENGTH(home); i++)
        {
            pay_through(&(Loss){HOME, true, actions[action], home[i], NULL});
            pay_through(&(Loss){HOME, false, actions[action], home[i], NULL});
        }
        for (size_t i = 0; i < ARRAY_LENGTH(remote); i++)
            pay_through(&(Loss){REMOTE, false, actions[action], remote[i], NULL});
    }
}

/* The answer to the decision is lost and the home is gone: nobody can know. Then it comes back. */
static void a_home_lost_at_the_decision_leaves_the_outcome_unknown_until_it_is_back(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    Proxy *proxy = cluster_proxy(cluster, HOME);
    (void)state;
    bank_open(client, HOME, 10, a);
    bank_open(client, REMOTE, 0, b);
    Payment payment = {a, b, 4, bank_key()};
    proxy_set_rule(
        proxy,
        &(ProxyRule){.action = PROXY_DELAY_REPLY, .statement = "record", .count = 1, .ms = 20000});
    bank_pay_with(client, &payment, "Prefer: wait=2", &response);
    response_expect(&response, 503, "outcome-unknown");
    assert_string_equal(response_string(&response, "effect"), "unknown");
    assert_true(strlen(response_string(&response, "transfer_id")) == UUID_TEXT_MAX);
    response_done(&response);
    proxy_set_rule(proxy, NULL);
    bank_pay_finally(client, &payment);
    bank_await_balance(client, a, 6);
    bank_await_balance(client, b, 4);
}

/* A shard that swallows everything is suspect after one deadline; the others go on. */
static void a_black_hole_delays_only_its_own_transfers(void **state)
{
    AccountName a;
    AccountName near;
    AccountName far;
    Response response;
    Proxy *proxy = cluster_proxy(cluster, REMOTE);
    (void)state;
    bank_open(client, HOME, 10, a);
    bank_open(client, HOME, 0, near);
    bank_open(client, REMOTE, 0, far);
    proxy_set_black_hole(proxy, true);
    const char *key = bank_key();
    bank_pay(client, &(Payment){a, far, 1, key}, &response);
    assert_int_equal(response.status, 503);
    response_done(&response);
    for (int i = 0; i < 20; i++)
    {
        bank_pay(client, &(Payment){near, a, 0 + 1, bank_key()}, &response);
        response_expect(&response, 422, "insufficient-funds");
        response_done(&response);
        usleep(50000);
    }
    bank_expect(client, &(Payment){a, near, 1, bank_key()}, 201, NULL, NULL);
    proxy_set_black_hole(proxy, false);
    bank_pay_finally(client, &(Payment){a, far, 1, key});
    bank_await_balance(client, a, 8);
    bank_await_balance(client, far, 1);
}

#define mended(test) cmocka_unit_test_teardown(test, mend_and_check_books)

int main(void)
{
    const struct CMUnitTest tests[] = {
        mended(a_lost_reply_to_every_statement_moves_the_money_once),
        mended(a_cut_before_or_after_every_statement_moves_the_money_once),
        mended(a_home_lost_at_the_decision_leaves_the_outcome_unknown_until_it_is_back),
        mended(a_black_hole_delays_only_its_own_transfers),
    };
    return cmocka_run_group_tests_name("lost", tests, start, fixture_stop);
}
