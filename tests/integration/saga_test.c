/*
 * Sagas on real shards: the steps, the money in transit, giving up, and steps that fail.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    HOME = 1,
    REMOTE = 2,
    PAUSE_US = 50000,
};

static const char saga[] = "\"mode\":\"saga\"";

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 3}, &cluster, &client);
    return 0;
}

static void pay(const Payment *payment, const char *prefer, Response *ret_response)
{
    bank_pay_with(client, payment, prefer, ret_response);
}

static void look_up(const char *id, Response *ret_response)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/transfers/%s", id);
    client_call(client, &(Request){.path = path}, ret_response);
    response_expect(ret_response, 200, NULL);
}

/* Waits until the transfer is in this state; fails after a while. */
static void await_state(const char *id, const char *wanted, int seconds)
{
    for (int i = 0; i < seconds * 1000000 / PAUSE_US; i++)
    {
        Response response;
        look_up(id, &response);
        bool there = strcmp(response_string(&response, "state"), wanted) == 0;
        response_done(&response);
        if (there)
            return;
        usleep(PAUSE_US);
    }
    fail_msg("%s is not %s after %d s", id, wanted, seconds);
}

static int64_t in_transit(const char *account)
{
    char path[160];
    Response response;
    snprintf(path, sizeof path, "/v1/accounts/%s", account);
    client_call(client, &(Request){.path = path}, &response);
    int64_t amount = response_integer(&response, "in_transit");
    response_done(&response);
    return amount;
}

static void change_account(const char *account, const char *fields, int status)
{
    char path[160];
    char body[256];
    Response response;
    snprintf(path, sizeof path, "/v1/accounts/%s", account);
    snprintf(body, sizeof body, "{\"reason\":\"because of the test\",%s}", fields);
    client_call(client, &(Request){.method = "PATCH", .path = path, .body = body}, &response);
    response_expect(&response, status, NULL);
    response_done(&response);
}

/* ---- the way that most go -------------------------------------------------------------------- */

static void a_saga_posts_in_both_directions(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 100, b);
    pay(&(Payment){a, b, 30, bank_key(), saga}, NULL, &response);
    response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "mode"), "saga");
    assert_string_equal(response_string(&response, "state"), "posted");
    response_done(&response);
    bank_expect(client, &(Payment){b, a, 5, bank_key(), saga}, 201, NULL, NULL);
    assert_int_equal(bank_balance(client, a), 75);
    assert_int_equal(bank_balance(client, b), 125);
    assert_int_equal(in_transit(a), 0);
}

static void inside_a_shard_a_saga_is_a_local_transfer(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, HOME, 0, b);
    pay(&(Payment){a, b, 30, bank_key(), saga}, NULL, &response);
    response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "mode"), "local");
    response_done(&response);
}

static void a_key_stands_for_its_saga_whatever_the_mode_asked_for(void **state)
{
    AccountName a;
    AccountName b;
    char first[UUID_TEXT_MAX + 1];
    char again[UUID_TEXT_MAX + 1];
    const char *key = bank_key();
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    bank_expect(client, &(Payment){a, b, 30, key, saga}, 201, NULL, first);
    bank_expect(client, &(Payment){a, b, 30, key}, 200, NULL, again);
    assert_string_equal(first, again);
    bank_expect(client, &(Payment){a, b, 31, key, saga}, 422, "idempotency-key-reused", NULL);
    assert_int_equal(bank_balance(client, b), 30);
}

static void fifty_twins_make_one_saga(void **state)
{
    enum
    {
        TWINS = 50
    };
    AccountName a;
    AccountName b;
    Request requests[TWINS];
    Response responses[TWINS];
    const char *key = bank_key();
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    char *body = bank_body(&(Payment){a, b, 7, key, saga});
    for (int i = 0; i < TWINS; i++)
        requests[i] = (Request){.path = "/v1/transfers", .body = body, .key = key};
    client_call_all(client, requests, TWINS, responses);
    for (int i = 0; i < TWINS; i++)
    {
        check(responses[i].status >= 200 && responses[i].status < 203, "%d %s", responses[i].status,
              responses[i].body);
        assert_string_equal(response_string(&responses[i], "id"),
                            response_string(&responses[0], "id"));
    }
    responses_done(responses, TWINS);
    free(body);
    assert_int_equal(bank_balance(client, a), 93);
    assert_int_equal(bank_balance(client, b), 7);
}

/* ---- refused --------------------------------------------------------------------------------- */

static void a_debit_that_is_refused_never_leaves(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, HOME, 10, a);
    bank_open(client, REMOTE, 0, b);
    pay(&(Payment){a, b, 11, bank_key(), saga}, NULL, &response);
    response_expect(&response, 422, "insufficient-funds");
    assert_string_equal(response_string(&response, "state"), "refused");
    response_done(&response);
    bank_expect(client, &(Payment){"nobody-here", b, 11, bank_key(), saga}, 404,
                "debit-account-not-found", NULL);
}

static void a_credit_that_is_refused_comes_back_by_a_new_entry(void **state)
{
    AccountName a;
    AccountName closed;
    char id[UUID_TEXT_MAX + 1];
    char path[160];
    const char *key = bank_key();
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, closed);
    change_account(closed, "\"status\":\"closed\"", 200);
    pay(&(Payment){a, closed, 30, key, saga}, NULL, &response);
    response_expect(&response, 422, "account-closed");
    assert_string_equal(response_string(&response, "state"), "reversed");
    snprintf(id, sizeof id, "%s", response_string(&response, "transfer_id"));
    response_done(&response);
    assert_int_equal(bank_balance(client, a), 100);
    snprintf(path, sizeof path, "/v1/accounts/%s/entries", a);
    client_call(client, &(Request){.path = path}, &response);
    assert_int_equal(response_integer(&response, "items.0.amount"), 30);
    assert_int_equal(response_integer(&response, "items.1.amount"), -30);
    assert_string_equal(response_string(&response, "items.0.transfer_id"), id);
    response_done(&response);
    /* It sticks. */
    bank_expect(client, &(Payment){a, closed, 30, key, saga}, 422, "account-closed", NULL);
    bank_expect(client, &(Payment){a, "nobody-there", 30, bank_key(), saga}, 422,
                "account-not-found", NULL);
    assert_int_equal(bank_balance(client, a), 100);
}

static void a_refund_is_paid_into_a_frozen_account(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    pay(&(Payment){a, b, 30, bank_key(), "\"mode\":\"saga\",\"deadline_ms\":300"},
        "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    change_account(a, "\"status\":\"frozen\"", 200);
    change_account(a, "\"status\":\"closed\"", 409);
    usleep(500000);
    cluster_start_postgres(cluster);
    await_state(id, "reversed", 15);
    look_up(id, &response);
    assert_string_equal(response_string(&response, "refusal.code"), "deadline-passed");
    response_done(&response);
    assert_int_equal(bank_balance(client, a), 100);
    assert_int_equal(bank_balance(client, b), 0);
}

/* ---- in transit ------------------------------------------------------------------------------ */

static void a_stopped_credit_shard_leaves_the_money_visibly_in_transit(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    char retry[16];
    const char *key = bank_key();
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    pay(&(Payment){a, b, 30, key, saga}, "Prefer: wait=2", &response);
    response_expect(&response, 202, NULL);
    assert_true(response.seconds < 2.5);
    assert_true(response_header(&response, "Retry-After", retry, sizeof retry));
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    assert_int_equal(bank_balance(client, a), 70);
    assert_int_equal(in_transit(a), 30);
    pay(&(Payment){a, b, 30, key, saga}, "Prefer: wait=1", &response);
    assert_int_equal(response.status, 202);
    response_done(&response);
    usleep(500000);
    look_up(id, &response);
    assert_string_equal(response_string(&response, "state"), "pending");
    assert_string_equal(response_string(&response, "credit_shard"), "shard-2");
    assert_non_null(strstr(response_string(&response, "last_error"), "shard-2"));
    response_done(&response);
    assert_int_equal(sql_integer(cluster_dsn(cluster, HOME),
                                 "select count(*) from giro.books() where difference <> 0"),
                     0);
    cluster_start_postgres(cluster);
    await_state(id, "posted", 4);
    assert_int_equal(in_transit(a), 0);
    assert_int_equal(bank_balance(client, b), 30);
    bank_expect(client, &(Payment){a, b, 30, key, saga}, 200, NULL, NULL);
}

static void respond_async_answers_once_the_debit_is_durable(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    pay(&(Payment){a, b, 1, bank_key(), saga}, "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    await_state(id, "posted", 5);
}

static void a_late_credit_meets_the_tombstone(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    char sqlstate[6];
    char late[400];
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    pay(&(Payment){a, b, 30, bank_key(), "\"mode\":\"saga\",\"deadline_ms\":100"}, "Prefer: wait=1",
        &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    cluster_start_postgres(cluster);
    await_state(id, "reversed", 10);
    assert_true(sql_is(cluster_dsn(cluster, REMOTE), "cancelled",
                       "select outcome from giro.receipts where transfer = '%s'", id));
    snprintf(late, sizeof late,
             "select giro.receive(gen_random_uuid(), array['%s'::uuid], array['%s'], "
             "array['\\x00'::bytea], array[null::text])",
             id, b);
    sql_state(cluster_dsn(cluster, REMOTE), late, sqlstate);
    assert_string_equal(sqlstate, "23505");
    assert_int_equal(bank_balance(client, a), 100);
}

static void deadlines_race_with_credits_and_exactly_one_wins(void **state)
{
    enum
    {
        ROUNDS = 60
    };
    AccountName a;
    AccountName b;
    Request requests[ROUNDS];
    Response responses[ROUNDS];
    char *bodies[ROUNDS];
    char fields[ROUNDS][64];
    int64_t posted = 0;
    (void)state;
    bank_open(client, HOME, 1000, a);
    bank_open(client, REMOTE, 0, b);
    for (int i = 0; i < ROUNDS; i++)
    {
        const char *key = bank_key();
        snprintf(fields[i], sizeof fields[i], "\"mode\":\"saga\",\"deadline_ms\":%d", 1 + i);
        bodies[i] = bank_body(&(Payment){a, b, 1, key, fields[i]});
        requests[i] = (Request){.path = "/v1/transfers", .body = bodies[i], .key = key};
    }
    client_call_all(client, requests, ROUNDS, responses);
    for (int i = 0; i < ROUNDS; i++)
    {
        if (responses[i].status == 201)
            posted++;
        else
            response_expect(&responses[i], 422, "deadline-passed");
        free(bodies[i]);
    }
    responses_done(responses, ROUNDS);
    print_message("%d of %d were in time\n", (int)posted, ROUNDS);
    assert_int_equal(bank_balance(client, a), 1000 - posted);
    assert_int_equal(bank_balance(client, b), posted);
}

/* Runs the statement in 50 sessions, ten at a time, and counts how many answered this word. */
static int count_of_fifty(int shard, const char *statement, const char *word)
{
    char command[1600];
    char output[64];
    snprintf(command, sizeof command,
             "seq 50 | xargs -P 10 -I{} psql -XAt \"%s\" -c \"%s\" 2>&1 | grep -c '%s'",
             cluster_dsn(cluster, shard), statement, word);
    cluster_shell(cluster, command, output, sizeof output);
    return atoi(output);
}

static void fifty_duplicates_of_every_step_change_nothing(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    char statement[800];
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    bank_expect(client, &(Payment){a, b, 30, bank_key(), saga}, 201, NULL, id);
    snprintf(statement, sizeof statement,
             "select giro.receive(gen_random_uuid(), array['%s'::uuid], array['%s'], "
             "array[''::bytea], array[null::text])",
             id, b);
    assert_int_equal(count_of_fifty(REMOTE, statement, "receipts_key"), 50);
    snprintf(statement, sizeof statement,
             "select t.outcome from giro.receipts r join giro.partitions p on p.keyspace = '' and "
             "r.credit_route >= p.lo and (p.hi is null or r.credit_route < p.hi), "
             "lateral giro.tombstone(array[p.partition], array[p.epoch], gen_random_uuid(), "
             "array[r.transfer], array[r.credit_account], array[r.credit_route], "
             "array[p.partition]) t where r.transfer = '%s'",
             id);
    assert_int_equal(count_of_fifty(REMOTE, statement, "applied"), 50);
    snprintf(statement, sizeof statement,
             "select t.state from giro.transfers x join giro.partitions p on p.keyspace = '' and "
             "x.debit_route >= p.lo and (p.hi is null or x.debit_route < p.hi), "
             "lateral giro.settle(array[p.partition], array[p.epoch], array[x.id], "
             "array[x.debit_route], array[p.partition], array['cancelled']) t where x.id = '%s'",
             id);
    assert_int_equal(count_of_fifty(HOME, statement, "posted"), 50);
    assert_int_equal(bank_balance(client, a), 70);
    assert_int_equal(bank_balance(client, b), 30);
}

/* ---- steps that fail ------------------------------------------------------------------------- */

static void a_poison_credit_waits_visibly_and_holds_nobody_up(void **state)
{
    AccountName a;
    AccountName b;
    AccountName poison;
    char id[UUID_TEXT_MAX + 1];
    Response response;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    bank_open(client, REMOTE, 0, poison);
    sql_run(cluster_dsn(cluster, REMOTE),
            "create function public.poison() returns trigger language plpgsql as "
            "$$ begin raise exception 'poison'; end $$; "
            "create trigger poison before insert on giro.entries for each row "
            "when (new.account = '%s') execute function public.poison()",
            poison);
    pay(&(Payment){a, poison, 1, bank_key(), saga}, "Prefer: wait=1", &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    for (int i = 0; i < 20; i++)
        bank_expect(client, &(Payment){a, b, 1, bank_key(), saga}, 201, NULL, NULL);
    usleep(300000);
    look_up(id, &response);
    assert_string_equal(response_string(&response, "state"), "pending");
    assert_non_null(strstr(response_string(&response, "last_error"), "poison"));
    response_done(&response);
    sql_run(cluster_dsn(cluster, REMOTE), "drop trigger poison on giro.entries");
    await_state(id, "posted", 10);
}

static void a_refund_that_cannot_be_paid_keeps_the_money_in_transit(void **state)
{
    AccountName rich;
    AccountName source;
    AccountName other;
    AccountName far;
    char id[UUID_TEXT_MAX + 1];
    Response response;
    (void)state;
    bank_open(client, HOME, -1, rich);
    bank_open(client, HOME, -1, source);
    bank_open(client, HOME, -1, other);
    bank_open(client, REMOTE, 0, far);
    bank_expect(client, &(Payment){source, rich, INT64_C(9007199254740000), bank_key()}, 201, NULL,
                NULL);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    pay(&(Payment){rich, far, 991, bank_key(), "\"mode\":\"saga\",\"deadline_ms\":1"},
        "Prefer: wait=1", &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    bank_expect(client, &(Payment){other, rich, 991 + 991, bank_key()}, 201, NULL, NULL);
    cluster_start_postgres(cluster);
    bool told = false;
    for (int i = 0; i < 200 && !told; i++)
    {
        usleep(PAUSE_US);
        look_up(id, &response);
        told = json_as_bool(response_value(&response, "needs_attention"));
        response_done(&response);
    }
    assert_true(told);
    assert_int_equal(in_transit(rich), 991);
    bank_expect(client, &(Payment){rich, other, 991, bank_key()}, 201, NULL, NULL);
    await_state(id, "reversed", 20);
}

static void a_crash_between_steps_is_gone_on_with_when_it_is_due(void **state)
{
    static const char *const points[] = {"saga.hold.home.after", "saga.credit.remote.sent",
                                         "saga.close.home.before"};
    AccountName a;
    AccountName b;
    const char *keys[ARRAY_LENGTH(points)];
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    for (size_t i = 0; i < ARRAY_LENGTH(points); i++)
    {
        Response response;
        keys[i] = bank_key();
        fixture_arm(points[i], "crash", 0);
        pay(&(Payment){a, b, 1, keys[i], saga}, NULL, &response);
        assert_int_equal(response.status, 0);
        response_done(&response);
        assert_true(cluster_await_girod_end(cluster, 1, 5000));
        cluster_up(cluster);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(points); i++)
    {
        Response response;
        pay(&(Payment){a, b, 1, keys[i], saga}, "Prefer: wait=20", &response);
        check(response.status >= 200 && response.status < 203, "%d %s", response.status,
              response.body);
        char id[UUID_TEXT_MAX + 1];
        snprintf(id, sizeof id, "%s", response_string(&response, "id"));
        response_done(&response);
        await_state(id, "posted", 20);
    }
    assert_int_equal(bank_balance(client, b), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_saga_posts_in_both_directions),
        with_books(inside_a_shard_a_saga_is_a_local_transfer),
        with_books(a_key_stands_for_its_saga_whatever_the_mode_asked_for),
        with_books(fifty_twins_make_one_saga),
        with_books(a_debit_that_is_refused_never_leaves),
        with_books(a_credit_that_is_refused_comes_back_by_a_new_entry),
        with_books(a_refund_is_paid_into_a_frozen_account),
        with_books(a_stopped_credit_shard_leaves_the_money_visibly_in_transit),
        with_books(respond_async_answers_once_the_debit_is_durable),
        with_books(a_late_credit_meets_the_tombstone),
        with_books(deadlines_race_with_credits_and_exactly_one_wins),
        with_books(fifty_duplicates_of_every_step_change_nothing),
        with_books(a_poison_credit_waits_visibly_and_holds_nobody_up),
        with_books(a_refund_that_cannot_be_paid_keeps_the_money_in_transit),
        with_books(a_crash_between_steps_is_gone_on_with_when_it_is_due),
    };
    return cmocka_run_group_tests_name("saga", tests, start, fixture_stop);
}
