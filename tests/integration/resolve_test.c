/*
 * Operators settle: retry, resolve and dry runs on real shards. Cancelling is in actions_test.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum
{
    HOME = 1,
    REMOTE = 2,
    COORDINATORS = 2,
};

typedef char TransferId[UUID_TEXT_MAX + 1];

static const char credit_fails[] = "/v1/failpoints/saga.credit.remote.before";
static const char reversed[] = "{\"reason\":\"the money must go back\",\"outcome\":\"reversed\"}";
static const char posted[] = "{\"reason\":\"the money must arrive\",\"outcome\":\"posted\"}";
static const char plain[] = "{\"reason\":\"somebody has to do it\"}";

static Cluster *cluster;
static Client *client;
static Client *clients[COORDINATORS];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2, .coordinators = COORDINATORS}, &cluster, &client);
    for (int i = 0; i < COORDINATORS; i++)
        clients[i] = client_new(cluster_url(cluster, i + 1));
    return 0;
}

static int stop(void **state)
{
    for (int i = 0; i < COORDINATORS; i++)
        client_free(clients[i]);
    return fixture_stop(state);
}

/* Credits of sagas fail at every coordinator until they are let go. */
static void set_credits(bool fail)
{
    for (int i = 0; i < COORDINATORS; i++)
    {
        Response response;
        Request request = {.method = fail ? "PUT" : "DELETE",
                           .path = credit_fails,
                           .body = fail ? "{\"action\":\"error\",\"count\":1000000}" : NULL};
        client_call(clients[i], &request, &response);
        response_expect(&response, fail ? 200 : 204, NULL);
        response_done(&response);
    }
}

static void act(const char *id, const char *action, const char *body, Response *ret_response)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/transfers/%s/actions/%s", id, action);
    client_call(client, &(Request){.path = path, .body = body}, ret_response);
}

static void expect_act(const char *id, const char *action, const char *body, int status,
                       const char *wanted)
{
    Response response;
    act(id, action, body, &response);
    response_expect(&response, status,
                    status == 409   ? "state-conflict"
                    : status == 503 ? "shard-unavailable"
                                    : NULL);
    assert_string_equal(response_string(&response, "state"), wanted);
    response_done(&response);
}

typedef struct Pair
{
    AccountName a;
    AccountName b;
} Pair;

static void open_pair(Pair *pair)
{
    bank_open(client, HOME, 100, pair->a);
    bank_open(client, REMOTE, 0, pair->b);
}

/* A saga that is pending; credits must fail. */
static void begin(Pair *pair, TransferId ret_id)
{
    Response response;
    open_pair(pair);
    bank_pay_with(client, &(Payment){pair->a, pair->b, 30, bank_key(), "\"mode\":\"saga\""},
                  "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(ret_id, sizeof(TransferId), "%s", response_string(&response, "id"));
    response_done(&response);
}

/* As if it had waited for longer than anybody's patience. */
static void make_old(const char *id)
{
    sql_run(cluster_dsn(cluster, HOME),
            "update giro.transfers set created_at = created_at - interval '2 min' where id = '%s'",
            id);
}

static bool is_given_up(const char *id)
{
    return sql_integer(cluster_dsn(cluster, HOME),
                       "select count(*) from giro.transfers where id = '%s'"
                       " and (giving_up is not null or state = 'reversed')",
                       id) > 0;
}

/* ---- dry runs ------------------------------------------------------------------------------- */

static void a_dry_run_shows_plan_and_evidence_and_changes_nothing(void **state)
{
    Pair pair;
    TransferId id;
    Response response;
    (void)state;
    set_credits(true);
    begin(&pair, id);
    act(id, "cancel?dry_run=true", plain, &response);
    response_expect(&response, 200, NULL);
    assert_true(json_as_bool(response_value(&response, "possible")));
    assert_string_equal(response_string(&response, "effect"), "give-up");
    assert_int_equal(json_array_length(response_value(&response, "plan")), 3);
    assert_string_equal(response_string(&response, "transfer.id"), id);
    assert_string_equal(response_string(&response, "evidence.home.verdict"), "commit");
    assert_string_equal(response_string(&response, "evidence.credit.shard"), "shard-2");
    assert_true(json_as_bool(response_value(&response, "evidence.credit.answered")));
    assert_int_equal(json_kind(response_value(&response, "evidence.credit.receipt")),
                     JSON_KIND_NULL);
    response_done(&response);

    act(id, "resolve?dry_run=true", reversed, &response);
    response_expect(&response, 200, NULL);
    assert_false(json_as_bool(response_value(&response, "possible")));
    assert_string_equal(response_string(&response, "explanation"), "it needs nobody's attention");
    response_done(&response);

    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    act(id, "retry?dry_run", plain, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "effect"), "retry-now");
    assert_false(json_as_bool(response_value(&response, "evidence.credit.answered")));
    assert_non_null(strstr(response_string(&response, "evidence.credit.trouble"), "shard-2"));
    response_done(&response);
    act(id, "retry?dry_run=maybe", plain, &response);
    response_expect(&response, 400, "parameter-invalid");
    response_done(&response);
    assert_false(is_given_up(id));

    cluster_start_postgres(cluster);
    cluster_up(cluster);
    set_credits(false);
    bank_await_balance(client, pair.b, 30);
}

/* ---- retry ---------------------------------------------------------------------------------- */

static void a_retry_is_done_now(void **state)
{
    Pair pair;
    TransferId id;
    Response response;
    (void)state;
    set_credits(true);
    begin(&pair, id);
    /* Until it was let go of, its row is written by who works at it. */
    for (int i = 0; i < 300 && sql_integer(cluster_dsn(cluster, HOME),
                                           "select count(*) from giro.transfers where id = '%s'"
                                           " and coordinator is null",
                                           id) == 0;
         i++)
        usleep(50000);
    sql_run(cluster_dsn(cluster, HOME),
            "update giro.transfers set next_attempt_at = now() + interval '1 h' where id = '%s'",
            id);
    set_credits(false);
    act(id, "retry", plain, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "state"), "posted");
    response_done(&response);
    assert_int_equal(bank_balance(client, pair.b), 30);
    expect_act(id, "retry", plain, 409, "posted");
}

static void what_is_decided_by_two_phases_is_tried_by_itself(void **state)
{
    Pair pair;
    TransferId id;
    Response response;
    (void)state;
    open_pair(&pair);
    fixture_arm("2pc.apply.remote.before", "pause", 3000);
    bank_expect(client, &(Payment){pair.a, pair.b, 5, bank_key(), "\"mode\":\"2pc\""}, 201, NULL,
                id);
    act(id, "retry", plain, &response);
    response_expect(&response, 409, "state-conflict");
    assert_non_null(strstr(response_string(&response, "detail"), "shard-2"));
    response_done(&response);
    bank_await_balance(client, pair.b, 5);
    expect_act(id, "retry", plain, 409, "posted");
    expect_act(id, "resolve", reversed, 409, "posted");
    expect_act(id, "resolve", posted, 200, "posted");
}

/* ---- resolve -------------------------------------------------------------------------------- */

static void a_stuck_saga_is_reversed_once_its_credit_shard_has_answered(void **state)
{
    Pair pair;
    TransferId id;
    (void)state;
    set_credits(true);
    begin(&pair, id);
    expect_act(id, "resolve", reversed, 409, "pending");
    make_old(id);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    expect_act(id, "resolve", reversed, 503, "pending");
    assert_false(is_given_up(id));
    cluster_start_postgres(cluster);
    cluster_up(cluster);
    expect_act(id, "resolve", reversed, 200, "reversed");
    expect_act(id, "resolve", reversed, 200, "reversed");
    expect_act(id, "resolve", posted, 409, "reversed");
    expect_act(id, "retry", plain, 409, "reversed");
    set_credits(false);
    assert_int_equal(bank_balance(client, pair.a), 100);
    assert_int_equal(bank_balance(client, pair.b), 0);
    assert_int_equal(sql_integer(cluster_dsn(cluster, REMOTE),
                                 "select count(*) from giro.receipts where transfer = '%s'"
                                 " and outcome = 'cancelled'",
                                 id),
                     1);
}

static void a_stuck_saga_is_posted(void **state)
{
    Pair pair;
    TransferId id;
    (void)state;
    set_credits(true);
    begin(&pair, id);
    make_old(id);
    set_credits(false);
    expect_act(id, "resolve", posted, 200, "posted");
    expect_act(id, "resolve", posted, 200, "posted");
    expect_act(id, "resolve", reversed, 409, "posted");
    assert_int_equal(bank_balance(client, pair.b), 30);
}

/* The rows of a lost credit whose account was closed meanwhile. */
static void a_credit_that_never_will_apply_is_acknowledged(void **state)
{
    Pair pair;
    TransferId id;
    Response response;
    (void)state;
    open_pair(&pair);
    bank_expect(client, &(Payment){pair.a, pair.b, 5, bank_key(), "\"mode\":\"2pc\""}, 201, NULL,
                id);
    bank_await_balance(client, pair.b, 5);
    sql_run(cluster_dsn(cluster, HOME),
            "update giro.transfers set attention = 'credit-refused: account-closed'"
            " where id = '%s'",
            id);
    expect_act(id, "resolve", posted, 409, "posted");
    sql_run(cluster_dsn(cluster, REMOTE),
            "insert into giro.receipts (transfer, credit_account, credit_route, outcome, refusal,"
            " batch, at) values ('%s', '%s', '\\x00', 'refused', 'account-closed',"
            " gen_random_uuid(), now())",
            id, pair.b);
    expect_act(id, "resolve", reversed, 409, "posted");
    act(id, "resolve?dry_run=true", posted, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "effect"), "acknowledge");
    assert_string_equal(response_string(&response, "evidence.credit.receipt"), "refused");
    response_done(&response);
    act(id, "resolve", posted, &response);
    response_expect(&response, 200, NULL);
    assert_false(json_as_bool(response_value(&response, "needs_attention")));
    response_done(&response);
    expect_act(id, "resolve", posted, 200, "posted");
    sql_run(cluster_dsn(cluster, REMOTE), "delete from giro.receipts where transfer = '%s'", id);
}

static void bodies_are_checked(void **state)
{
    static const struct
    {
        const char *action;
        const char *body;
    } cases[] = {
        {"resolve", plain},
        {"resolve", "{\"outcome\":\"posted\"}"},
        {"resolve", "{\"reason\":\"short\",\"outcome\":\"posted\"}"},
        {"resolve", "{\"reason\":\"a long reason\",\"outcome\":\"refused\"}"},
        {"resolve", "{\"reason\":\"a long reason\",\"outcome\":\"\"}"},
        {"retry", "{}"},
        {"retry", reversed},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Response response;
        act("00000000-0000-8000-8000-000000000000", cases[i].action, cases[i].body, &response);
        response_expect(&response, 400, "body-invalid");
        response_done(&response);
    }
}

static void what_never_happened_is_not_found(void **state)
{
    static const char *const actions[] = {"retry", "retry?dry_run", "cancel?dry_run"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(actions); i++)
    {
        Response response;
        act("00000000-0000-8000-8000-000000000000", actions[i], plain, &response);
        response_expect(&response, 404, "transfer-not-found");
        response_done(&response);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_dry_run_shows_plan_and_evidence_and_changes_nothing),
        with_books(a_retry_is_done_now),
        with_books(what_is_decided_by_two_phases_is_tried_by_itself),
        with_books(a_stuck_saga_is_reversed_once_its_credit_shard_has_answered),
        with_books(a_stuck_saga_is_posted),
        with_books(a_credit_that_never_will_apply_is_acknowledged),
        with_books(bodies_are_checked),
        with_books(what_never_happened_is_not_found),
    };
    return cmocka_run_group_tests_name("resolve", tests, start, stop);
}
