/*
 * GET /v1/prepared on real shards: every class of prepared transactions, as it truly comes about,
 * and what is answered while a shard is away.
 */
#include "fixture.h"
#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>

enum
{
    HOME = 1,
    REMOTE = 2,
    LIMIT_MS = 30000, /* in which a class must show, or an end be reached */
    PAUSE_MS = 50,
    HOLD_MS = 6000, /* how long a failpoint keeps a leg prepared; recovery takes it after 10 s */
};

static Cluster *cluster;
static Client *client; /* of coordinator 1 */
static Client *other;  /* of coordinator 2 */

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 3, .coordinators = 2}, &cluster, &client);
    other = client_new(cluster_url(cluster, 2));
    return 0;
}

static int stop(void **state)
{
    client_free(other);
    return fixture_stop(state);
}

/* ---- what tests do --------------------------------------------------------------------------- */

/* Pays from a fresh account of the home to one of the remote shard, and does not wait for it. */
static const char *pay_at_once(AccountName debit, AccountName credit)
{
    Response response;
    bank_open(client, HOME, 10, debit);
    bank_open(client, REMOTE, 10, credit);
    Payment payment = {debit, credit, 3, bank_key(), "\"mode\":\"2pc\""};
    bank_pay_with(client, &payment, "Prefer: wait=0", &response);
    response_done(&response);
    return payment.key;
}

static void list(Client *who, const char *query, Response *ret_response)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/prepared%s", query);
    client_call(who, &(Request){.path = path}, ret_response);
}

static size_t item_count(const Response *response)
{
    const Json *items = response_value(response, "items");
    return items != NULL ? json_array_length(items) : 0;
}

/* Waits until one transaction is listed, and has this class. */
static void await_class(Client *who, const char *query, const char *class_name,
                        Response *ret_response)
{
    for (int waited = 0;; waited += PAUSE_MS)
    {
        list(who, query, ret_response);
        if (item_count(ret_response) == 1 &&
            strcmp(response_string(ret_response, "items.0.class"), class_name) == 0)
            return;
        check(waited < LIMIT_MS, "none becomes %s: %s", class_name, ret_response->body);
        response_done(ret_response);
        processes_pause_ms(PAUSE_MS);
    }
}

static void await_none(Client *who)
{
    for (int waited = 0;; waited += PAUSE_MS)
    {
        Response response;
        list(who, "", &response);
        bool none = response.status == 200 && item_count(&response) == 0;
        check(none || waited < LIMIT_MS, "something stays: %s", response.body);
        response_done(&response);
        if (none)
            return;
        processes_pause_ms(PAUSE_MS);
    }
}

static void check_verdict(const Response *response, const char *wanted)
{
    const Json *verdict = response_value(response, "items.0.verdict");
    assert_non_null(verdict);
    if (wanted == NULL)
        assert_int_equal(json_kind(verdict), JSON_KIND_NULL);
    else
        assert_string_equal(response_string(response, "items.0.verdict"), wanted);
}

/* What every leg of these tests says. */
static void check_leg(const Response *response, bool is_present)
{
    char batch[64];
    const char *gid = response_string(response, "items.0.gid");
    assert_string_equal(response_string(response, "items.0.shard"), "shard-2");
    assert_string_equal(response_string(response, "items.0.home"), "shard-1");
    assert_string_equal(response_string(response, "items.0.remote"), "shard-2");
    snprintf(batch, sizeof batch, ":%s:shard-1:shard-2",
             response_string(response, "items.0.batch_id"));
    assert_non_null(strstr(gid, batch));
    assert_non_null(strstr(gid, response_string(response, "items.0.coordinator")));
    const Json *present = response_value(response, "items.0.coordinator_is_present");
    assert_non_null(present);
    assert_int_equal(json_as_bool(present), is_present);
    int64_t age_ms = response_integer(response, "items.0.age_ms");
    assert_true(age_ms >= 0 && age_ms < LIMIT_MS);
    assert_true(sql_is(cluster_dsn(cluster, REMOTE), "t",
                       "select count(*) = 1 and min(owner::text) = '%s' and "
                       "min(database::text) = '%s' from pg_prepared_xacts where gid = '%s'",
                       response_string(response, "items.0.owner"),
                       response_string(response, "items.0.database"), gid));
}

static void check_paid(const char *debit, const char *credit, const char *key)
{
    bank_pay_finally(client, &(Payment){debit, credit, 3, key, "\"mode\":\"2pc\""});
    assert_int_equal(bank_balance(client, debit), 7);
    bank_await_balance(client, credit, 13);
}

/* ---- the classes ----------------------------------------------------------------------------- */

static void nothing_is_listed_at_rest(void **state)
{
    Response response;
    (void)state;
    list(client, "", &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response.body, "{\"items\":[],\"next_cursor\":null,\"truncated\":false}");
    response_done(&response);
}

static void a_leg_before_its_decision_is_in_flight(void **state)
{
    AccountName debit;
    AccountName credit;
    Response response;
    (void)state;
    fixture_arm("2pc.decide.home.before", "pause", HOLD_MS);
    const char *key = pay_at_once(debit, credit);
    await_class(other, "", "in-flight", &response);
    check_leg(&response, true);
    check_verdict(&response, NULL);
    response_done(&response);
    check_paid(debit, credit, key);
    await_none(other);
}

static void a_leg_after_its_decision_is_decided(void **state)
{
    AccountName debit;
    AccountName credit;
    Response response;
    (void)state;
    fixture_arm("2pc.apply.remote.before", "pause", HOLD_MS);
    const char *key = pay_at_once(debit, credit);
    await_class(other, "", "decided", &response);
    check_leg(&response, true);
    check_verdict(&response, "commit");
    response_done(&response);
    check_paid(debit, credit, key);
    await_none(other);
}

/* Looking decides nothing: it is recovery that ends the leg. */
static void a_leg_of_a_dead_coordinator_is_an_orphan(void **state)
{
    AccountName debit;
    AccountName credit;
    Response response;
    (void)state;
    fixture_arm_at(other, "2pc.ask.home.before", "pause", HOLD_MS);
    fixture_arm("2pc.decide.home.before", "crash", 0);
    const char *key = pay_at_once(debit, credit);
    assert_true(cluster_await_girod_end(cluster, 1, LIMIT_MS));
    await_class(other, "", "orphan", &response);
    check_leg(&response, false);
    check_verdict(&response, NULL);
    assert_true(sql_is(cluster_dsn(cluster, HOME), "0",
                       "select count(*) from giro.batches where batch = '%s'",
                       response_string(&response, "items.0.batch_id")));
    response_done(&response);
    await_none(other);
    cluster_up(cluster);
    check_paid(debit, credit, key);
}

/* Runs statements of one transaction of the owner, on the remote shard. */
static void run(SqlSession *session, const char *statement)
{
    char sqlstate[6];
    char tag[40];
    sql_session_run(session, statement, NULL, sqlstate, tag);
    check(sqlstate[0] == '\0', "%s: %s", statement, sqlstate);
}

static void what_others_have_prepared_is_foreign(void **state)
{
    static const char *const names[] = {
        "by hand", "giro:other:g:00000000-0000-0000-0000-000000000001:shard-1:shard-2",
        "giro:demo:g:00000000-0000-0000-0000-000000000002:shard-1:shard-2:",
        "giro:demo:g:00000000-0000-0000-0000-000000000003:shard-1:shard-2", /* the owner's */
    };
    char statement[160];
    Response response;
    (void)state;
    SqlSession *session = sql_session_new(cluster_dsn(cluster, REMOTE));
    assert_non_null(session);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
    {
        run(session, "begin");
        snprintf(statement, sizeof statement, "prepare transaction '%s'", names[i]);
        run(session, statement);
    }
    list(client, "", &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(item_count(&response), ARRAY_LENGTH(names));
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
    {
        const Json *item = json_array_at(response_value(&response, "items"), i);
        assert_string_equal(json_as_string(json_field(item, "gid")), names[i]);
        assert_string_equal(json_as_string(json_field(item, "class")), "foreign");
        assert_null(json_field(item, "verdict"));
    }
    response_done(&response);
    list(client, "?limit=3", &response);
    assert_int_equal(item_count(&response), 3);
    assert_true(json_as_bool(response_value(&response, "truncated")));
    response_done(&response);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
    {
        snprintf(statement, sizeof statement, "rollback prepared '%s'", names[i]);
        run(session, statement);
    }
    sql_session_free(session);
    await_none(client);
}

/* ---- a shard that is away -------------------------------------------------------------------- */

static void without_its_home_a_leg_is_in_doubt(void **state)
{
    AccountName debit;
    AccountName credit;
    Response response;
    (void)state;
    fixture_arm("2pc.decide.home.before", "pause", HOLD_MS);
    const char *key = pay_at_once(debit, credit);
    await_class(other, "", "in-flight", &response);
    response_done(&response);
    cluster_signal_postgres(cluster, HOME, SIGKILL);
    list(other, "", &response);
    response_expect(&response, 503, "shard-unavailable");
    response_done(&response);
    await_class(other, "?partial=true", "in-doubt", &response);
    check_leg(&response, true);
    check_verdict(&response, NULL);
    assert_true(json_as_bool(response_value(&response, "incomplete")));
    assert_string_equal(response_string(&response, "missing_shards.0"), "shard-1");
    assert_int_equal(json_array_length(response_value(&response, "missing_shards")), 1);
    response_done(&response);
    cluster_up(cluster);
    check_paid(debit, credit, key);
    await_none(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(nothing_is_listed_at_rest),
        with_books(a_leg_before_its_decision_is_in_flight),
        with_books(a_leg_after_its_decision_is_decided),
        with_books(a_leg_of_a_dead_coordinator_is_an_orphan),
        with_books(what_others_have_prepared_is_foreign),
        with_books(without_its_home_a_leg_is_in_doubt),
    };
    return cmocka_run_group_tests_name("prepared", tests, start, stop);
}
