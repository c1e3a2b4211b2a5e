/*
 * /metrics of a real girod: zeros at the start, counters that move as traffic moves, and what shows
 * of shards: what is pending and prepared there, and that one is dead.
 */
#include "fixture.h"
#include "processes.h"
#include "sql.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    LIMIT_MS = 45000, /* in which a sample must show, or go */
    PAUSE_MS = 200,
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(
        &(ClusterOptions){.shards = 2, .girod_flags = "--enable-failpoints --reconcile-every 0"},
        &cluster, &client);
    return 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The value of a series; NAN if it is not shown. */
static double value_in(const char *text, const char *series)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\n%s ", series);
    const char *at = strstr(text, wanted);
    return at != NULL ? strtod(at + strlen(wanted), NULL) : NAN;
}

static double value_of(const char *series)
{
    Response response;
    client_call(client, &(Request){.path = "/metrics"}, &response);
    response_expect(&response, 200, NULL);
    double value = value_in(response.body, series);
    response_done(&response);
    return value;
}

static bool is_same(double value, double wanted)
{
    return isnan(wanted) ? isnan(value) : !isnan(value) && fabs(value - wanted) < 1e-9;
}

/* Waits until the series has this value; NAN: until it is gone. */
static void await_value(const char *series, double wanted)
{
    double value = value_of(series);
    for (int waited = 0; !is_same(value, wanted); waited += PAUSE_MS)
    {
        check(waited < LIMIT_MS, "%s is %g and not %g", series, value, wanted);
        processes_pause_ms(PAUSE_MS);
        value = value_of(series);
    }
}

/* How much each of some series grows while something happens. */
typedef struct Growth
{
    const char *series;
    double by;
    double before;
} Growth;

static void growth_start(Growth *growths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growths[i].before = value_of(growths[i].series);
}

/* Some is counted after its client was told. */
static void growth_check(const Growth *growths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        await_value(growths[i].series, growths[i].before + growths[i].by);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void all_is_there_with_zeros_at_the_start(void **state)
{
    static const char *const zeros[] = {
        "giro_transfers_total{mode=\"2pc\",outcome=\"posted\"}",
        "giro_transfers_not_accepted_total{code=\"overloaded\"}",
        "giro_outcomes_unknown_total",
        "giro_batches_total{kind=\"two-phase\",result=\"failed\"}",
        "giro_batch_transfers_count{kind=\"hold\"}",
        "giro_stage_duration_seconds_count{stage=\"prepare\",shard=\"shard-2\"}",
        "giro_http_requests_total{operation=\"createTransfer\",status=\"5xx\"}",
        "giro_http_request_duration_seconds_count{operation=\"createTransfer\"}",
        "giro_recovery_actions_total{kind=\"leg_applied\",result=\"done\"}",
        "giro_reconciliations_total{result=\"broken\"}",
        "giro_transfer_duration_seconds_count{mode=\"saga\"}",
        "giro_shard_fenced{shard=\"shard-1\"}",
        "giro_batches_in_doubt",
        "giro_transfers_in_flight",
        "giro_transfers_queued",
        "giro_batches_in_flight",
    };
    static const char *const sampled[] = {
        "giro_pending_sagas{shard=\"shard-1\"}",
        "giro_pending_sagas_oldest_seconds{shard=\"shard-1\"}",
        "giro_needs_attention{shard=\"shard-2\"}",
        "giro_unfinished_batches{shard=\"shard-2\"}",
        "giro_prepared_transactions{shard=\"shard-1\",class=\"orphan\"}",
        "giro_prepared_transactions_oldest_seconds{shard=\"shard-1\",class=\"foreign\"}",
        "giro_prepared_slots_used{shard=\"shard-1\"}",
        "giro_replication_standbys{shard=\"shard-1\"}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(zeros); i++)
        check(is_same(value_of(zeros[i]), 0), "%s is %g", zeros[i], value_of(zeros[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(sampled); i++)
        await_value(sampled[i], 0);
    assert_true(value_of("giro_shard_usable{shard=\"shard-1\"}") == 1);
    assert_true(value_of("giro_sessions_open{shard=\"shard-2\"}") >= 1);
    assert_true(value_of("giro_directory_version") >= 1);
    await_value("giro_prepared_slots{shard=\"shard-1\"}",
                (double)sql_integer(cluster_dsn(cluster, 1),
                                    "select current_setting('max_prepared_transactions')::int"));
}

static void counters_move_as_traffic_moves(void **state)
{
    Growth growths[] = {
        {"giro_transfers_total{mode=\"local\",outcome=\"posted\"}", 1, 0},
        {"giro_transfers_total{mode=\"2pc\",outcome=\"posted\"}", 2, 0},
        {"giro_transfers_total{mode=\"2pc\",outcome=\"refused\"}", 1, 0},
        {"giro_transfers_total{mode=\"2pc\",outcome=\"replayed\"}", 1, 0},
        {"giro_transfers_total{mode=\"saga\",outcome=\"posted\"}", 1, 0},
        {"giro_sagas_accepted_total", 1, 0},
        {"giro_transfers_not_accepted_total{code=\"debit-account-not-found\"}", 1, 0},
        {"giro_batches_total{kind=\"credit\",result=\"committed\"}", 1, 0},
        {"giro_batches_total{kind=\"close\",result=\"committed\"}", 1, 0},
        {"giro_batch_transfers_sum{kind=\"two-phase\"}", 5, 0},
        {"giro_stage_duration_seconds_count{stage=\"prepare\",shard=\"shard-2\"}", 1, 0},
        {"giro_stage_duration_seconds_count{stage=\"prepare\",shard=\"shard-1\"}", 1, 0},
        {"giro_stage_duration_seconds_count{stage=\"apply\",shard=\"shard-2\"}", 1, 0},
        {"giro_stage_duration_seconds_count{stage=\"hold\",shard=\"shard-1\"}", 1, 0},
        {"giro_stage_duration_seconds_count{stage=\"credit\",shard=\"shard-2\"}", 1, 0},
        {"giro_http_requests_total{operation=\"createTransfer\",status=\"2xx\"}", 5, 0},
        {"giro_http_requests_total{operation=\"createTransfer\",status=\"4xx\"}", 2, 0},
        {"giro_http_request_duration_seconds_count{operation=\"createTransfer\"}", 7, 0},
        {"giro_transfer_duration_seconds_count{mode=\"2pc\"}", 3, 0},
        {"giro_transfer_duration_seconds_count{mode=\"saga\"}", 1, 0},
    };
    AccountName a;
    AccountName b;
    AccountName c;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 100, b);
    bank_open(client, 1, 0, c);
    growth_start(growths, ARRAY_LENGTH(growths));
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 1, key, "\"mode\":\"2pc\""}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, b, 1, key, "\"mode\":\"2pc\""}, 200, NULL, NULL);
    bank_expect(client, &(Payment){b, a, 1, bank_key(), "\"mode\":\"2pc\""}, 201, NULL, NULL);
    bank_expect(client, &(Payment){b, a, 1000, bank_key(), "\"mode\":\"2pc\""}, 422,
                "insufficient-funds", NULL);
    bank_expect(client, &(Payment){a, c, 1, bank_key(), NULL}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, b, 1, bank_key(), "\"mode\":\"saga\""}, 201, NULL, NULL);
    bank_expect(client, &(Payment){"nobody", b, 1, bank_key(), "\"mode\":\"2pc\""}, 404,
                "debit-account-not-found", NULL);
    growth_check(growths, ARRAY_LENGTH(growths));
}

/* A prepared transaction by hand stays for as long as it is looked for. */
static void what_is_prepared_shows_with_its_age(void **state)
{
    char sqlstate[6];
    char tag[40];
    (void)state;
    SqlSession *session = sql_session_new(cluster_dsn(cluster, 2));
    assert_non_null(session);
    sql_session_run(session, "begin", NULL, sqlstate, tag);
    sql_session_run(session, "prepare transaction 'by hand'", NULL, sqlstate, tag);
    assert_string_equal(tag, "PREPARE TRANSACTION");
    await_value("giro_prepared_transactions{shard=\"shard-2\",class=\"foreign\"}", 1);
    await_value("giro_prepared_slots_used{shard=\"shard-2\"}", 1);
    assert_true(value_of("giro_prepared_transactions_oldest_seconds{shard=\"shard-2\","
                         "class=\"foreign\"}") >= 0);
    assert_true(value_of("giro_prepared_transactions{shard=\"shard-1\",class=\"foreign\"}") == 0);
    sql_session_run(session, "rollback prepared 'by hand'", NULL, sqlstate, tag);
    assert_string_equal(tag, "ROLLBACK PREPARED");
    sql_session_free(session);
    await_value("giro_prepared_transactions{shard=\"shard-2\",class=\"foreign\"}", 0);
    await_value("giro_prepared_slots_used{shard=\"shard-2\"}", 0);
}

static void a_dead_shard_shows_and_so_does_what_waits_for_it(void **state)
{
    static const char fields[] = "\"mode\":\"saga\"";
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 100, b);
    await_value("giro_pending_sagas{shard=\"shard-2\"}", 0);
    cluster_signal_postgres(cluster, 2, SIGKILL);
    await_value("giro_shard_usable{shard=\"shard-2\"}", 0);
    await_value("giro_sessions_open{shard=\"shard-2\"}", 0);
    assert_true(value_of("giro_shard_usable{shard=\"shard-1\"}") == 1);

    Payment payment = {a, b, 5, bank_key(), fields};
    bank_pay_with(client, &payment, "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    response_done(&response);
    double away = value_of("giro_transfers_not_accepted_total{code=\"shard-unavailable\"}");
    bank_expect(client, &(Payment){a, b, 5, bank_key(), "\"mode\":\"2pc\""}, 503,
                "shard-unavailable", NULL);
    assert_true(value_of("giro_transfers_not_accepted_total{code=\"shard-unavailable\"}") ==
                away + 1);

    await_value("giro_pending_sagas{shard=\"shard-1\"}", 1);
    assert_true(value_of("giro_pending_sagas_oldest_seconds{shard=\"shard-1\"}") > 0);
    /* What is not known any more is not shown; how long it has not been known is. */
    await_value("giro_pending_sagas{shard=\"shard-2\"}", NAN);
    await_value("giro_prepared_transactions{shard=\"shard-2\",class=\"foreign\"}", NAN);
    assert_true(value_of("giro_shard_sample_age_seconds{shard=\"shard-2\"}") > 10);
    assert_true(value_of("giro_shard_sample_age_seconds{shard=\"shard-1\"}") < 15);

    cluster_up(cluster);
    await_value("giro_shard_usable{shard=\"shard-2\"}", 1);
    await_value("giro_pending_sagas{shard=\"shard-1\"}", 0);
    await_value("giro_pending_sagas_oldest_seconds{shard=\"shard-1\"}", 0);
    await_value("giro_pending_sagas{shard=\"shard-2\"}", 0);
    bank_await_balance(client, b, 105);
}

static void reconciliations_are_counted(void **state)
{
    Growth growths[] = {
        {"giro_reconciliations_total{result=\"balanced\"}", 1, 0},
        {"giro_reconciliations_total{result=\"broken\"}", 0, 0},
        {"giro_reconciliation_findings_total", 0, 0},
    };
    Response response;
    (void)state;
    growth_start(growths, ARRAY_LENGTH(growths));
    client_call(client, &(Request){.path = "/v1/reconciliations", .body = "{\"full\":true}"},
                &response);
    response_expect(&response, 202, NULL);
    response_done(&response);
    growth_check(growths, ARRAY_LENGTH(growths));
}

/* A girod that was killed leaves work; the next one counts what it does about it. */
static void recovery_is_counted(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 1, 10, a);
    bank_open(client, 2, 10, b);
    Payment payment = {a, b, 3, bank_key(), "\"mode\":\"2pc\""};
    fixture_arm("2pc.apply.remote.before", "crash", 0);
    bank_pay(client, &payment, &response);
    assert_int_equal(response.status, 0);
    response_done(&response);
    assert_true(cluster_await_girod_end(cluster, 1, 10000));
    cluster_up(cluster);
    await_value("giro_recovery_actions_total{kind=\"leg_applied\",result=\"done\"}", 1);
    await_value("giro_unfinished_batches{shard=\"shard-1\"}", 0);
    bank_await_balance(client, b, 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(all_is_there_with_zeros_at_the_start),
        with_books(counters_move_as_traffic_moves),
        with_books(what_is_prepared_shows_with_its_age),
        with_books(a_dead_shard_shows_and_so_does_what_waits_for_it),
        with_books(reconciliations_are_counted),
        with_books(recovery_is_counted),
    };
    return cmocka_run_group_tests_name("metrics", tests, start, fixture_stop);
}
