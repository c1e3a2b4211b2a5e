/*
 * A fault at every stage: every place where a failpoint can strike, generated from the stage
 * tables, times drop, error and pause. After each the key is repeated until it has a final answer,
 * and the money has moved exactly once.
 */
#include "fixture.h"
#include "protocol/stage.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum
{
    PLACES_MAX = 64,
    REPEATS_MAX = 150,
    REPEAT_PAUSE_US = 100000,
    PAUSE_MS = 300,
    AMOUNT = 3,
};

static const char *const points[] = {"before", "sent", "after"};

static Cluster *cluster;
static Client *client;

typedef struct Place
{
    char mode[8];
    char stage[16];
    char side[8];
} Place;

static Place places[PLACES_MAX];
static size_t place_count;
static size_t cells;

static void note_place(void *context, const char *mode, const char *stage, const char *side)
{
    (void)context;
    assert_true(place_count < PLACES_MAX);
    Place *place = &places[place_count++];
    snprintf(place->mode, sizeof place->mode, "%s", mode);
    snprintf(place->stage, sizeof place->stage, "%s", stage);
    snprintf(place->side, sizeof place->side, "%s", side);
}

typedef char PointName[64];

static void name_point(const Place *place, const char *point, PointName ret_name)
{
    snprintf(ret_name, sizeof(PointName), "%.7s.%.15s.%.7s.%.8s", place->mode, place->stage,
             place->side, point);
}

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
    stage_visit_places(note_place, NULL);
    return 0;
}

static int stop(void **state)
{
    print_message("%zu fault cells\n", cells);
    return fixture_stop(state);
}

/* How often it can still strike; 0 when it has been used up. */
static int64_t left(const char *name)
{
    char path[128];
    Response response;
    snprintf(path, sizeof path, "/v1/failpoints/%s", name);
    client_call(client, &(Request){.path = path}, &response);
    int64_t count = response.status == 200 ? response_integer(&response, "count") : 0;
    response_done(&response);
    return count;
}

/* Pays until it is posted, and once more. */
static void pay_finally(const Payment *payment)
{
    bank_pay_finally(client, payment);
    bank_expect(client, payment, 200, NULL, NULL);
}

static void check_moved_once(const Payment *payment, int64_t debit, int64_t credit)
{
    assert_int_equal(bank_balance(client, payment->debit), debit - payment->amount);
    bank_await_balance(client, payment->credit, credit + payment->amount);
}

/* The fault without which a stage is not reached; NULL if it always is. */
static const char *way_to(const Place *place, char name[64])
{
    static const struct
    {
        const char *mode;
        const char *stage;
        const char *cause;
    } ways[] = {
        {"local", "ask", "decide.home.after"},      {"2pc", "ask", "decide.home.after"},
        {"2pc", "cancel", "prepare.remote.after"},  {"2pc", "look", "apply.remote.after"},
        {"2pc", "finish", "apply.remote.after"},    {"saga", "ask", "hold.home.after"},
        {"saga", "cancel", "credit.remote.before"}, /* with a deadline: see fields_for */
    };
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++)
    {
        if (strcmp(place->stage, ways[i].stage) != 0 || strcmp(place->mode, ways[i].mode) != 0)
            continue;
        snprintf(name, 64, "%s.%s", place->mode, ways[i].cause);
        return name;
    }
    return NULL;
}

static bool is_saga(const Place *place, const char *stage)
{
    return strcmp(place->mode, "saga") == 0 && strcmp(place->stage, stage) == 0;
}

static const char *fields_for(const Place *place)
{
    if (is_saga(place, "cancel"))
        return "\"mode\":\"saga\",\"deadline_ms\":1";
    return strcmp(place->mode, "saga") == 0 ? "\"mode\":\"saga\"" : NULL;
}

/* Refunds and cancels lead back: the saga is reversed, finally, and no money has moved. */
static void reverse_finally(const Payment *payment)
{
    Response response;
    bank_pay(client, payment, &response);
    for (int i = 0; i < REPEATS_MAX && response.status != 422; i++)
    {
        check(response.status == 202 || response.status == 429 || response.status == 503, "%d %s",
              response.status, response.body);
        response_done(&response);
        usleep(REPEAT_PAUSE_US);
        bank_pay(client, payment, &response);
    }
    response_expect(&response, 422, NULL);
    assert_string_equal(response_string(&response, "state"), "reversed");
    response_done(&response);
    assert_int_equal(bank_balance(client, payment->debit), 10);
}

/* The accounts of a cell: home has the lower and, next, the higher ordinal. A refund's credit
 * account is missing. */
static Payment payment_for(const Place *place, AccountName a, AccountName b)
{
    bool local = strcmp(place->mode, "local") == 0;
    bool turned = !local && cells % 2 == 1;
    bank_open(client, turned ? 2 : 1, 10, a);
    bank_open(client, local || turned ? 1 : 2, 10, b);
    if (is_saga(place, "refund"))
        bank_close(client, b);
    return (Payment){a, b, AMOUNT, bank_key(), fields_for(place)};
}

static void run_cell(const Place *place, const char *point, const char *action)
{
    PointName name;
    char cause_name[64];
    AccountName a;
    AccountName b;
    name_point(place, point, name);
    Payment payment = payment_for(place, a, b);
    const char *cause = way_to(place, cause_name);
    if (cause != NULL)
        fixture_arm(cause, "error", 0);
    if (is_saga(place, "cancel"))
        fixture_arm("saga.lock.remote.before", "pause", 20); /* longer than the deadline */
    fixture_arm(name, action, PAUSE_MS);
    if (is_saga(place, "refund") || is_saga(place, "cancel"))
        reverse_finally(&payment);
    else
    {
        pay_finally(&payment);
        check_moved_once(&payment, 10, 10);
    }
    for (int i = 0; i < 50 && left(name) > 0; i++)
        usleep(REPEAT_PAUSE_US);
    check(left(name) == 0, "%s (%s) was not reached", name, action);
    cells++;
}

/* It takes somebody who meddles with a leg: recovery_test. */
static bool is_behind_our_back(const Place *place)
{
    return strcmp(place->stage, "missing") == 0 || strcmp(place->stage, "stuck") == 0;
}

static void run_cells(const char *action)
{
    for (size_t i = 0; i < place_count; i++)
    {
        if (is_behind_our_back(&places[i]))
            continue;
        for (size_t point = 0; point < ARRAY_LENGTH(points); point++)
            run_cell(&places[i], points[point], action);
    }
}

static void a_cut_connection_at_every_stage_moves_the_money_once(void **state)
{
    (void)state;
    run_cells("drop");
}

static void an_error_at_every_stage_moves_the_money_once(void **state)
{
    (void)state;
    run_cells("error");
}

static void a_pause_at_every_stage_moves_the_money_once(void **state)
{
    (void)state;
    run_cells("pause");
}

static bool leaves_no_leg(const Place *place, const char *point)
{
    if (strcmp(place->mode, "saga") == 0)
        return false; /* saga_test */
    if (strcmp(place->stage, "lock") == 0)
        return true;
    if (strcmp(place->mode, "local") == 0)
        return strcmp(place->stage, "decide") == 0;
    return strcmp(place->stage, "prepare") == 0 && strcmp(point, "before") == 0;
}

static void a_crash_that_leaves_no_leg_is_settled_by_repeating_the_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < place_count; i++)
    {
        for (size_t point = 0; point < ARRAY_LENGTH(points); point++)
        {
            PointName name;
            AccountName a;
            AccountName b;
            if (!leaves_no_leg(&places[i], points[point]))
                continue;
            name_point(&places[i], points[point], name);
            bank_open(client, 1, 10, a);
            bank_open(client, strcmp(places[i].mode, "local") == 0 ? 1 : 2, 10, b);
            Payment payment = {a, b, AMOUNT, bank_key()};
            fixture_arm(name, "crash", 0);
            Response response;
            bank_pay(client, &payment, &response);
            check(response.status == 0, "%s: answered %d", name, response.status);
            response_done(&response);
            assert_true(cluster_await_girod_end(cluster, 1, 5000));
            cluster_up(cluster);
            pay_finally(&payment);
            check_moved_once(&payment, 10, 10);
            cells++;
        }
    }
}

/* What a dead coordinator leaves prepared is settled by the next one, once it is old enough not to
 * be anybody's. */
static void a_crash_that_leaves_a_leg_is_settled_without_anybody_asking(void **state)
{
    static const char *const names[] = {
        "2pc.prepare.remote.sent", "2pc.prepare.remote.after", "2pc.decide.home.before",
        "2pc.decide.home.sent",    "2pc.decide.home.after",    "2pc.apply.remote.before",
    };
    AccountName accounts[ARRAY_LENGTH(names)][2];
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
    {
        Response response;
        bank_open(client, 1, 10, accounts[i][0]);
        bank_open(client, 2, 10, accounts[i][1]);
        fixture_arm(names[i], "crash", 0);
        bank_pay(client, &(Payment){accounts[i][0], accounts[i][1], AMOUNT, names[i]}, &response);
        check(response.status == 0, "%s: answered %d", names[i], response.status);
        response_done(&response);
        assert_true(cluster_await_girod_end(cluster, 1, 5000));
        cluster_up(cluster);
        cells++;
    }
    for (int shard = 1; shard <= 2; shard++)
    {
        for (int i = 0; i < 200 && sql_integer(cluster_dsn(cluster, shard),
                                               "select count(*) from pg_prepared_xacts") > 0;
             i++)
            usleep(REPEAT_PAUSE_US);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
    {
        Payment payment = {accounts[i][0], accounts[i][1], AMOUNT, names[i]};
        pay_finally(&payment);
        check_moved_once(&payment, 10, 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_cut_connection_at_every_stage_moves_the_money_once),
        with_books(an_error_at_every_stage_moves_the_money_once),
        with_books(a_pause_at_every_stage_moves_the_money_once),
        with_books(a_crash_that_leaves_no_leg_is_settled_by_repeating_the_request),
        with_books(a_crash_that_leaves_a_leg_is_settled_without_anybody_asking),
    };
    return cmocka_run_group_tests_name("faults", tests, start, stop);
}
