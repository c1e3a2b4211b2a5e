/*
 * What is left behind comes to its end: by coordinators that are killed, stopped or started anew,
 * and by people who meddle with what they have prepared. Two coordinators on the same shards.
 */
#include "books.h"
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    AMOUNT = 4,
    PATIENCE_SECONDS = 10, /* how long the work of a living coordinator is left to it */
    TAKEN_SECONDS = 8,     /* less than that: it was taken at once, also on a slow machine */
    LONG_SECONDS = 60,
    PAUSE_US = 20000,
};

static const char saga[] = "\"mode\":\"saga\"";

static Cluster *cluster;
static Client *first;
static Client *second;

static int start(void **state)
{
    (void)state;
    cluster = cluster_new(&(ClusterOptions){.coordinators = 2, .proxied = true});
    first = client_new(cluster_url(cluster, 1));
    second = client_new(cluster_url(cluster, 2));
    return 0;
}

static int stop(void **state)
{
    (void)state;
    client_free(first);
    client_free(second);
    cluster_free(cluster);
    return 0;
}

/* Puts right whatever a case has broken, also after a failure. */
static int end_case(void **state)
{
    (void)state;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        proxy_set_rule(cluster_proxy(cluster, shard), NULL);
        proxy_set_black_hole(cluster_proxy(cluster, shard), false);
    }
    for (int coordinator = 1; coordinator <= 2; coordinator++)
        cluster_signal_girod(cluster, coordinator, SIGCONT);
    cluster_up(cluster);
    books_check(cluster);
    return 0;
}

static double now_seconds(void)
{
    return (double)base_now_us() / 1e6;
}

/* Over all shards. */
static int64_t count(const char *what)
{
    int64_t sum = 0;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
        sum += sql_integer(cluster_dsn(cluster, shard), "select count(*) from %s", what);
    return sum;
}

static const char legs[] = "pg_prepared_xacts where gid like 'giro:%%'";
static const char unfinished[] = "giro.batches where finished_at is null";
static const char pending[] = "giro.transfers where next_attempt_at is not null";

static bool is_settled(void)
{
    return count(legs) + count(unfinished) + count(pending) == 0;
}

/* Waits until nothing is left to do; returns after how many seconds. */
static double await_settled(void)
{
    double began = now_seconds();
    while (!is_settled())
    {
        check(now_seconds() - began < LONG_SECONDS, "legs %lld, batches %lld, transfers %lld",
              (long long)count(legs), (long long)count(unfinished), (long long)count(pending));
        usleep(PAUSE_US);
    }
    return now_seconds() - began;
}

/* A query of one boolean on a shard comes to be true. */
static void await_true(int shard, const char *query)
{
    double began = now_seconds();
    while (sql_integer(cluster_dsn(cluster, shard), "select (%s)::int", query) != 1)
    {
        check(now_seconds() - began < LONG_SECONDS, "not within %d s: %s", LONG_SECONDS, query);
        usleep(PAUSE_US);
    }
}

/* Accounts on shards 1 and 2, and a payment between them. */
typedef struct Scene
{
    AccountName a;
    AccountName b;
    Payment payment;
} Scene;

static void set(Scene *scene, const char *fields)
{
    bank_open(second, 1, 10, scene->a);
    bank_open(second, 2, 0, scene->b);
    scene->payment = (Payment){scene->a, scene->b, AMOUNT, bank_key(), fields};
}

/* Coordinator 1 dies at this point of the payment. */
static void die_at(const char *failpoint, const Scene *scene)
{
    Response response;
    fixture_arm_at(first, failpoint, "crash", 0);
    bank_pay(first, &scene->payment, &response);
    check(response.status == 0, "%s: answered %d", failpoint, response.status);
    response_done(&response);
    assert_true(cluster_await_girod_end(cluster, 1, 5000));
}

/* A saga of coordinator 1 whose credit it does not begin. */
static void hold_only(const Scene *scene)
{
    Response response;
    fixture_arm_at(first, "saga.lock.remote.before", "pause", LONG_SECONDS * 1000);
    bank_pay_with(first, &scene->payment, "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    response_done(&response);
}

/* The payment has moved its money, or does so now, and once. */
static void check_paid(const Scene *scene)
{
    bank_pay_finally(second, &scene->payment);
    bank_await_balance(second, scene->b, AMOUNT);
    assert_int_equal(bank_balance(second, scene->a), 10 - AMOUNT);
    await_settled();
}

static void rollback_prepared_by_hand(void)
{
    SqlRows *rows = sql_rows(cluster_dsn(cluster, 2), "select gid from pg_prepared_xacts");
    assert_int_equal(sql_row_count(rows), 1);
    sql_run(cluster_dsn(cluster, 2), "rollback prepared '%s'", sql_field(rows, 0, 0));
    sql_rows_free(rows);
}

/* Decided, and its leg taken away, while no coordinator looks. */
static void lose_leg(const Scene *scene)
{
    cluster_signal_girod(cluster, 2, SIGSTOP);
    die_at("2pc.decide.home.after", scene);
    rollback_prepared_by_hand();
}

static void look_up(const Scene *scene, Response *ret_response)
{
    char path[300];
    snprintf(path, sizeof path, "/v1/transfers?debit_account=%s&idempotency_key=%s", scene->a,
             scene->payment.key);
    client_call(second, &(Request){.path = path}, ret_response);
    response_expect(ret_response, 200, NULL);
}

/* ---- the dead and the living ----------------------------------------------------------------- */

static void the_work_of_the_dead_is_taken_at_once(void **state)
{
    static const struct
    {
        const char *point;
        const char *fields;
    } points[] = {
        {"2pc.prepare.remote.sent", NULL},  {"2pc.prepare.remote.after", NULL},
        {"2pc.decide.home.sent", NULL},     {"2pc.decide.home.after", NULL},
        {"2pc.apply.remote.sent", NULL},    {"2pc.apply.remote.after", NULL},
        {"saga.hold.home.after", saga},     {"saga.credit.remote.sent", saga},
        {"saga.credit.remote.after", saga}, {"saga.close.home.before", saga},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(points); i++)
    {
        Scene scene;
        set(&scene, points[i].fields);
        die_at(points[i].point, &scene);
        double seconds = await_settled();
        print_message("%s: settled after %.1f s\n", points[i].point, seconds);
        check(seconds < TAKEN_SECONDS, "%s: %.1f s", points[i].point, seconds);
        cluster_up(cluster);
        check_paid(&scene);
    }
}

static void the_work_of_the_living_is_left_to_it_for_ten_seconds(void **state)
{
    Scene two_phase;
    Scene in_steps;
    (void)state;
    set(&two_phase, NULL);
    set(&in_steps, saga);
    fixture_arm_at(first, "2pc.apply.remote.before", "pause", LONG_SECONDS * 1000);
    double began = now_seconds();
    bank_expect(first, &two_phase.payment, 201, NULL, NULL);
    hold_only(&in_steps);
    cluster_signal_girod(cluster, 1, SIGSTOP);
    while (count(legs) > 0 && count(pending) > 0)
        usleep(PAUSE_US);
    check(now_seconds() - began > PATIENCE_SECONDS - 1, "taken after %.1f s",
          now_seconds() - began);
    await_settled();
    check(now_seconds() - began < PATIENCE_SECONDS + TAKEN_SECONDS, "taken after %.1f s",
          now_seconds() - began);
    cluster_signal_girod(cluster, 1, SIGCONT);
    check_paid(&two_phase);
    check_paid(&in_steps);
}

static void who_starts_anew_takes_up_what_it_left(void **state)
{
    Scene decided;
    Scene in_steps;
    (void)state;
    set(&decided, NULL);
    set(&in_steps, saga);
    cluster_signal_girod(cluster, 2, SIGSTOP);
    hold_only(&in_steps);
    die_at("2pc.decide.home.after", &decided);
    cluster_signal_girod(cluster, 2, SIGKILL);
    cluster_up(cluster);
    double seconds = await_settled();
    check(seconds < TAKEN_SECONDS, "%.1f s", seconds);
    check_paid(&decided);
    check_paid(&in_steps);
}

static void coordinators_that_are_gone_are_forgotten(void **state)
{
    (void)state;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
        await_true(shard, "select array_agg(hashtext(instance) order by hashtext(instance)) = "
                          "array(select unnest(giro.coordinators_present()) order by 1) "
                          "and count(*) = 2 from giro.coordinators");
}

/* ---- behind our back ------------------------------------------------------------------------- */

static void a_leg_that_was_rolled_back_is_done_again_once(void **state)
{
    Scene scene;
    Response response;
    (void)state;
    set(&scene, NULL);
    fixture_arm_at(first, "2pc.apply.remote.before", "pause", 1000);
    bank_expect(first, &scene.payment, 201, NULL, NULL);
    rollback_prepared_by_hand();
    check_paid(&scene);
    look_up(&scene, &response);
    assert_string_equal(response_string(&response, "items.0.state"), "posted");
    assert_string_equal(response_string(&response, "items.0.mode"), "2pc");
    assert_false(json_as_bool(response_value(&response, "items.0.needs_attention")));
    response_done(&response);
    assert_int_equal(count("giro.receipts where outcome = 'applied'") > 0, 1);
    assert_int_equal(
        cluster_shell(cluster, "grep -q 'error.*credits are missing' \"$GIRO_LOG\"", NULL, 0), 0);
}

static void check_credited_once(const Scene *scene)
{
    check_paid(scene);
    assert_int_equal(sql_integer(cluster_dsn(cluster, 2),
                                 "select count(*) from giro.entries where account = '%s'",
                                 scene->b),
                     1);
}

static void two_that_find_a_lost_leg_at_once_do_it_again_once(void **state)
{
    Scene scene;
    (void)state;
    set(&scene, NULL);
    lose_leg(&scene);
    cluster_signal_girod(cluster, 2, SIGKILL);
    cluster_up(cluster);
    await_settled();
    check_credited_once(&scene);
}

static void a_crash_while_a_lost_leg_is_done_again_is_harmless(void **state)
{
    static const char *const points[] = {"2pc.missing.home.sent", "saga.credit.remote.sent",
                                         "saga.close.home.sent"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(points); i++)
    {
        Scene scene;
        set(&scene, NULL);
        fixture_arm_at(second, points[i], "crash", 0);
        lose_leg(&scene);
        cluster_signal_girod(cluster, 2, SIGCONT);
        assert_true(cluster_await_girod_end(cluster, 2, LONG_SECONDS * 1000));
        cluster_up(cluster);
        await_settled();
        check_credited_once(&scene);
    }
}

static void a_leg_that_was_committed_by_hand_is_finished(void **state)
{
    Scene scene;
    (void)state;
    set(&scene, NULL);
    cluster_signal_girod(cluster, 2, SIGSTOP);
    die_at("2pc.decide.home.after", &scene);
    SqlRows *rows = sql_rows(cluster_dsn(cluster, 2), "select gid from pg_prepared_xacts");
    assert_int_equal(sql_row_count(rows), 1);
    sql_run(cluster_dsn(cluster, 2), "commit prepared '%s'", sql_field(rows, 0, 0));
    sql_rows_free(rows);
    cluster_signal_girod(cluster, 2, SIGCONT);
    await_settled();
    assert_int_equal(count("giro.transfers where attention is not null"), 0);
    check_paid(&scene);
}

/* ---- a leg that cannot be finished ----------------------------------------------------------- */

/* The coordinators' role becomes another one of the same name, which may not finish what the old
 * one has prepared. */
static void replace_role(int shard)
{
    const char *dsn = cluster_dsn(cluster, shard);
    sql_run(dsn, "alter role giro_coordinator rename to giro_coordinator_old; "
                 "create role giro_coordinator login; "
                 "update pg_authid n set rolpassword = o.rolpassword from pg_authid o "
                 "where n.rolname = 'giro_coordinator' and o.rolname = 'giro_coordinator_old'; "
                 "select giro.grant_coordinator('giro_coordinator'); "
                 "select pg_terminate_backend(pid) from pg_stat_activity "
                 "where usename = 'giro_coordinator_old'");
}

static void a_leg_of_another_role_needs_a_person_and_holds_nobody_up(void **state)
{
    Scene stuck;
    Scene other;
    Response response;
    (void)state;
    set(&stuck, NULL);
    set(&other, NULL);
    cluster_signal_girod(cluster, 2, SIGSTOP);
    die_at("2pc.decide.home.after", &stuck);
    replace_role(2);
    cluster_signal_girod(cluster, 2, SIGCONT);
    await_true(1, "exists (select from giro.transfers where attention like 'leg-stuck:%42501%')");
    bank_pay_finally(second, &other.payment);
    bank_await_balance(second, other.b, AMOUNT);
    look_up(&stuck, &response);
    assert_string_equal(response_string(&response, "items.0.state"), "posted");
    assert_non_null(strstr(response_string(&response, "items.0.attention.reason"), "42501"));
    assert_true(strlen(response_string(&response, "items.0.attention.advice")) > 0);
    response_done(&response);

    sql_run(cluster_dsn(cluster, 2), "alter role giro_coordinator superuser");
    await_settled();
    await_true(1, "not exists (select from giro.transfers where attention is not null)");
    sql_run(cluster_dsn(cluster, 2), "alter role giro_coordinator nosuperuser");
    check_paid(&stuck);
}

/* ---- stopped coordinators, dead shards ------------------------------------------------------- */

/* The lock is taken, the rest of the group is still on its way: no timer of Postgres runs. */
static void a_coordinator_stopped_in_the_middle_of_a_group_does_not_hold_its_locks_for_long(
    void **state)
{
    enum
    {
        SESSION_SECONDS = 30, /* idle_in_transaction_session_timeout */
    };
    Scene scene;
    Response response;
    (void)state;
    set(&scene, NULL);
    proxy_set_rule(cluster_proxy(cluster, 1), &(ProxyRule){.action = PROXY_DELAY,
                                                           .statement = "transfers_by_id",
                                                           .count = 1,
                                                           .ms = 2 * LONG_SECONDS * 1000});
    char *body = bank_body(&scene.payment);
    client_call(
        first,
        &(Request){.path = "/v1/transfers", .body = body, .key = "stopped", .timeout_ms = 500},
        &response);
    free(body);
    check(response.status == 0, "answered %d", response.status);
    response_done(&response);
    assert_true(proxy_await_hits(cluster_proxy(cluster, 1), 1, 5000));
    cluster_signal_girod(cluster, 1, SIGSTOP);
    double began = now_seconds();
    int status;
    do
    {
        bank_pay(second, &scene.payment, &response);
        status = response.status;
        check(status == 201 || status == 200 || status == 429 || status == 503, "%d %s", status,
              response.body);
        response_done(&response);
    } while (status != 201 && status != 200 && now_seconds() - began < 2 * LONG_SECONDS);
    double seconds = now_seconds() - began;
    print_message("the account was free after %.1f s\n", seconds);
    check(seconds < SESSION_SECONDS + TAKEN_SECONDS, "%.1f s", seconds);
    cluster_signal_girod(cluster, 1, SIGKILL);
    await_settled();
    assert_int_equal(
        cluster_shell(cluster,
                      "grep -q 'for a stopped client were ended' \"$GIRO_DIR/girod-2.log\"", NULL,
                      0),
        0);
}

static void a_shard_that_is_dead_at_the_start_keeps_nothing_waiting(void **state)
{
    Scene decided;
    Scene in_steps;
    (void)state;
    set(&decided, NULL);
    set(&in_steps, saga);
    cluster_signal_girod(cluster, 2, SIGSTOP);
    hold_only(&in_steps);
    die_at("2pc.decide.home.after", &decided);
    cluster_signal_girod(cluster, 2, SIGKILL);
    proxy_set_black_hole(cluster_proxy(cluster, 3), true);
    assert_int_equal(
        cluster_shell(cluster,
                      "cd \"$GIRO_DIR\"; "
                      "\"$GIRO_BIN\" serve --config cluster.json "
                      "--listen 127.0.0.1:$((GIRO_PORT + 2)) >>girod-3.log 2>&1 </dev/null & "
                      "echo $! >\"$GIRO_DIR/girod-3.pid\"",
                      NULL, 0),
        0);
    double seconds = await_settled();
    print_message("settled %.1f s after the start\n", seconds);
    check(seconds < TAKEN_SECONDS, "%.1f s", seconds);
    proxy_set_black_hole(cluster_proxy(cluster, 3), false);
    assert_int_equal(cluster_shell(cluster, "kill -KILL $(cat \"$GIRO_DIR/girod-3.pid\")", NULL, 0),
                     0);
    cluster_up(cluster);
    check_paid(&decided);
    check_paid(&in_steps);
}

/* ---- the last one: the books do not balance any more ------------------------------------------
 */

static void a_lost_credit_that_can_no_longer_apply_needs_a_person(void **state)
{
    Scene scene;
    Response response;
    (void)state;
    set(&scene, NULL);
    lose_leg(&scene);
    sql_run(cluster_dsn(cluster, 2), "update giro.accounts set status = 'closed' where id = '%s'",
            scene.b);
    cluster_signal_girod(cluster, 2, SIGCONT);
    await_settled();
    look_up(&scene, &response);
    assert_string_equal(response_string(&response, "items.0.state"), "posted");
    assert_true(json_as_bool(response_value(&response, "items.0.needs_attention")));
    assert_string_equal(response_string(&response, "items.0.attention.reason"),
                        "credit-refused: account-closed");
    response_done(&response);
    bank_expect(second, &scene.payment, 200, NULL, NULL);
    assert_int_equal(bank_balance(second, scene.a), 10 - AMOUNT);
}

#define ending_well(test) cmocka_unit_test_teardown(test, end_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ending_well(the_work_of_the_dead_is_taken_at_once),
        ending_well(the_work_of_the_living_is_left_to_it_for_ten_seconds),
        ending_well(who_starts_anew_takes_up_what_it_left),
        ending_well(coordinators_that_are_gone_are_forgotten),
        ending_well(a_leg_that_was_rolled_back_is_done_again_once),
        ending_well(two_that_find_a_lost_leg_at_once_do_it_again_once),
        ending_well(a_crash_while_a_lost_leg_is_done_again_is_harmless),
        ending_well(a_leg_that_was_committed_by_hand_is_finished),
        ending_well(a_leg_of_another_role_needs_a_person_and_holds_nobody_up),
        ending_well(
            a_coordinator_stopped_in_the_middle_of_a_group_does_not_hold_its_locks_for_long),
        ending_well(a_shard_that_is_dead_at_the_start_keeps_nothing_waiting),
        cmocka_unit_test(a_lost_credit_that_can_no_longer_apply_needs_a_person),
    };
    return cmocka_run_group_tests_name("recovery", tests, start, stop);
}
