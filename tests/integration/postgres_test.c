/*
 * What a stock PostgreSQL may do to a coordinator: wait for a standby, forget such a wait, fail at
 * PREPARE, finish a PREPARE late, run under other defaults, lose a race for no reason of ours.
 *
 * A synchronous standby that has stalled is one that is not there: commits wait for "nobody" until
 * the setting is taken back, which confirms them all.
 */
#include "books.h"
#include "fixture.h"
#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    HOME = 1,
    REMOTE = 2,
    PAUSE_MS = 50,
    EVENT_MS = 60000, /* within which what must happen does happen, on any machine */
    TRIES_MAX = 3,    /* whole, whole again, alone */
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
    return 0;
}

/* Waits until the query answers at least one row, and returns its first value. */
static int64_t await_row(int shard, const char *query)
{
    for (int waited = 0;; waited += PAUSE_MS)
    {
        SqlRows *rows = sql_rows(cluster_dsn(cluster, shard), "%s", query);
        bool found = sql_row_count(rows) > 0;
        int64_t value = found ? sql_field_integer(rows, 0, 0) : 0;
        sql_rows_free(rows);
        if (found)
            return value;
        check(waited < EVENT_MS, "on shard %d nothing like this happens: %s", shard, query);
        processes_pause_ms(PAUSE_MS);
    }
}

static int64_t leg_count(void)
{
    return sql_integer(cluster_dsn(cluster, REMOTE),
                       "select count(*) from pg_prepared_xacts where gid like 'giro:%%'");
}

static int64_t entry_count(int shard, const char *account)
{
    return sql_integer(cluster_dsn(cluster, shard),
                       "select count(*) from giro.entries where account = '%s'", account);
}

/* ---- settings of a shard, taken back after each case ----------------------------------------- */

static void reload(int shard)
{
    sql_run(cluster_dsn(cluster, shard), "select pg_reload_conf()");
}

/* A commit that a client waits for in vain: only then has every process heard of the setting. */
static bool commits_wait(int shard)
{
    char command[200];
    snprintf(command, sizeof command,
             "timeout 2 psql -qX \"$GIRO_SHARD_%d_DSN\" -c "
             "\"select pg_logical_emit_message(true, 'test', '')\"",
             shard);
    return cluster_shell(cluster, command, NULL, 0) == 124;
}

static void stall_standby(int shard)
{
    sql_run(cluster_dsn(cluster, shard), "alter system set synchronous_standby_names = 'nobody'");
    reload(shard);
    for (int tries = 0; !commits_wait(shard); tries++)
        check(tries < 100, "shard %d does not wait for its standby", shard);
}

static void confirm_standby(int shard)
{
    sql_run(cluster_dsn(cluster, shard), "alter system reset synchronous_standby_names");
    reload(shard);
}

static void end_sessions(int shard)
{
    sql_run(cluster_dsn(cluster, shard), "select pg_terminate_backend(pid) from pg_stat_activity "
                                         "where usename = 'giro_coordinator'");
}

static int put_right(void **state)
{
    (void)state;
    for (int shard = HOME; shard <= REMOTE; shard++)
    {
        confirm_standby(shard);
        sql_run(cluster_dsn(cluster, shard), "drop trigger if exists meddler on giro.entries");
        sql_run(cluster_dsn(cluster, shard), "drop function if exists public.meddle");
        sql_run(cluster_dsn(cluster, shard), "alter role giro_coordinator reset all");
    }
    books_check(cluster);
    return 0;
}

/* A trigger for each entry of the account on the remote shard. */
static void meddle(const char *kind, const char *account, const char *body)
{
    sql_run(cluster_dsn(cluster, REMOTE),
            "create function public.meddle() returns trigger language plpgsql as "
            "$$ begin %s return new; end $$",
            body);
    sql_run(cluster_dsn(cluster, REMOTE),
            "create %s for each row when (new.account = '%s') execute function public.meddle()",
            kind, account);
}

/* A sequence that triggers may use: it counts over rollbacks. */
static void restart_strokes(void)
{
    sql_run(cluster_dsn(cluster, REMOTE), "drop sequence if exists public.strokes");
    sql_run(cluster_dsn(cluster, REMOTE), "create sequence public.strokes; "
                                          "grant all on public.strokes to public");
}

static const char in_prepare[] =
    "select pid from pg_stat_activity where query like 'PREPARE TRANSACTION%' "
    "and state = 'active' and usename = 'giro_coordinator'";
static const char at_once[] = "trigger meddler before insert on giro.entries";
static const char at_prepare[] = "constraint trigger meddler after insert on giro.entries "
                                 "deferrable initially deferred";

static void open_pair(AccountName a, AccountName b)
{
    bank_open(client, HOME, 10, a);
    bank_open(client, REMOTE, 0, b);
}

/* A second later nobody knows yet what has become of it. */
static void pay_in_doubt(const Payment *payment)
{
    Response response;
    bank_pay_with(client, payment, "Prefer: wait=1", &response);
    response_expect(&response, 503, "outcome-unknown");
    response_done(&response);
}

/* Nothing of it is visible on the remote shard, where its leg waits. */
static void check_in_doubt(const Payment *payment)
{
    assert_int_equal(leg_count(), 1);
    assert_int_equal(entry_count(REMOTE, payment->credit), 0);
}

static void check_moved(const Payment *payment)
{
    bank_await_balance(client, payment->credit, payment->amount);
    assert_int_equal(bank_balance(client, payment->debit), 10 - payment->amount);
    bank_expect(client, payment, 200, NULL, NULL);
}

/* ---- a synchronous standby that stalls --------------------------------------------------------
 */

static void a_decision_counts_only_when_the_standby_has_confirmed_it(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    open_pair(a, b);
    Payment payment = {a, b, 4, bank_key()};
    stall_standby(HOME);
    pay_in_doubt(&payment);
    await_row(HOME, "select pid from pg_stat_activity where wait_event = 'SyncRep' "
                    "and query = 'COMMIT' and usename = 'giro_coordinator'");
    check_in_doubt(&payment);
    await_row(HOME, "select pid from pg_stat_activity where wait_event_type = 'Lock' "
                    "and query like '%giro.verdict%'");
    check_in_doubt(&payment);
    confirm_standby(HOME);
    check_moved(&payment);
}

static void a_cancelled_wait_for_the_standby_is_unknown(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    open_pair(a, b);
    Payment payment = {a, b, 4, bank_key()};
    stall_standby(HOME);
    pay_in_doubt(&payment);
    await_row(HOME, "select pg_cancel_backend(pid) from pg_stat_activity where "
                    "wait_event = 'SyncRep' and query = 'COMMIT' "
                    "and usename = 'giro_coordinator'");
    /* The decision is visible now, and the verdict is "commit": an answer that waits in its turn.
     */
    await_row(HOME, "select pid from pg_stat_activity where wait_event = 'SyncRep' "
                    "and query like '%giro.%' and usename = 'giro_coordinator'");
    await_row(HOME, "select 1 from giro.batches where finished_at is null");
    check_in_doubt(&payment);
    confirm_standby(HOME);
    check_moved(&payment);
}

static void a_leg_counts_only_when_the_standby_has_confirmed_it(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    open_pair(a, b);
    Payment payment = {a, b, 4, bank_key()};
    stall_standby(REMOTE);
    bank_pay(client, &payment, &response);
    assert_int_equal(response.status, 503);
    response_done(&response);
    assert_int_equal(sql_integer(cluster_dsn(cluster, HOME),
                                 "select count(*) from giro.transfers where debit_account = '%s'",
                                 a),
                     0);
    assert_int_equal(entry_count(REMOTE, b), 0);
    confirm_standby(REMOTE);
    bank_pay_finally(client, &payment);
    check_moved(&payment);
}

static void a_role_with_weak_defaults_commits_and_isolates_as_it_must(void **state)
{
    static const char *const defaults[] = {
        "synchronous_commit = off",
        "default_transaction_isolation = 'repeatable read'",
        "lock_timeout = 0",
        "statement_timeout = '1s'",
        "idle_in_transaction_session_timeout = 0",
        "search_path = pg_temp",
        "timezone = 'Asia/Kathmandu'",
    };
    AccountName a;
    AccountName b;
    (void)state;
    open_pair(a, b);
    Payment payment = {a, b, 4, bank_key()};
    for (int shard = HOME; shard <= REMOTE; shard++)
    {
        for (size_t i = 0; i < ARRAY_LENGTH(defaults); i++)
            sql_run(cluster_dsn(cluster, shard), "alter role giro_coordinator set %s", defaults[i]);
        end_sessions(shard);
    }
    bank_pay_finally(client, &(Payment){a, b, 1, bank_key()});
    stall_standby(HOME);
    pay_in_doubt(&payment);
    check(sql_integer(cluster_dsn(cluster, HOME),
                      "select count(*) from giro.entries where account = '%s'", a) == 2,
          "a commit did not wait");
    confirm_standby(HOME);
    bank_await_balance(client, b, 5);
}

/* ---- PREPARE that cannot be -------------------------------------------------------------------
 */

static int64_t times_logged(const char *words)
{
    char command[256];
    char output[32];
    snprintf(command, sizeof command, "grep -cF '%s' \"$GIRO_SHARD_%d_LOG\"", words, REMOTE);
    cluster_shell(cluster, command, output, sizeof output);
    return strtoll(output, NULL, 10);
}

/* The transfer to b fails cleanly, with its cause in the log and no loop; what is beside it goes
 * on; and when the cause has been taken away the same key works. */
static void check_shard_error(const char *kind, const char *body, const char *words)
{
    AccountName a;
    AccountName b;
    AccountName beside;
    Response response;
    open_pair(a, b);
    bank_open(client, REMOTE, 0, beside);
    Payment payment = {a, b, 4, bank_key()};
    meddle(kind, b, body);
    bank_pay(client, &payment, &response);
    response_expect(&response, 503, "shard-error");
    assert_string_equal(response_string(&response, "effect"), "none");
    response_done(&response);
    bank_expect(client, &(Payment){a, beside, 1, bank_key()}, 201, NULL, NULL);
    assert_int_equal(leg_count(), 0);
    assert_int_equal(entry_count(REMOTE, b), 0);
    assert_int_equal(sql_integer(cluster_dsn(cluster, HOME),
                                 "select count(*) from giro.transfers "
                                 "where debit_account = '%s' and attention is not null",
                                 a),
                     0);
    int64_t times = times_logged(words);
    check(times >= 1 && times <= TRIES_MAX, "'%s' is logged %lld times", words, (long long)times);
    sql_run(cluster_dsn(cluster, REMOTE), "drop trigger meddler on giro.entries");
    bank_expect(client, &payment, 201, NULL, NULL);
    assert_int_equal(times_logged(words), times);
    bank_await_balance(client, b, 4);
}

static void a_trigger_that_notifies_is_shard_error(void **state)
{
    (void)state;
    check_shard_error(at_once, "perform pg_notify('meddler', 'x');",
                      "cannot PREPARE a transaction that has executed LISTEN");
}

static void a_trigger_that_raises_is_shard_error(void **state)
{
    (void)state;
    check_shard_error(at_once, "raise exception 'meddled at once';", "ERROR:  meddled at once");
}

static void a_deferred_constraint_that_fails_at_prepare_is_shard_error(void **state)
{
    (void)state;
    check_shard_error(at_prepare, "raise exception 'meddled at prepare';",
                      "ERROR:  meddled at prepare");
}

/* ---- PREPARE that comes late ------------------------------------------------------------------
 */

/* Pays until a backend of the remote shard is in the middle of its PREPARE, which the meddler holds
 * up, and stops girod before its patience with that backend has ended. Returns the backend. */
static pid_t stop_at_prepare(const Payment *payment)
{
    for (int tries = 0;; tries++)
    {
        pay_in_doubt(payment);
        cluster_signal_girod(cluster, 1, SIGSTOP);
        processes_pause_ms(4 * PAUSE_MS); /* what it has sent arrives */
        SqlRows *rows = sql_rows(cluster_dsn(cluster, REMOTE), "%s", in_prepare);
        pid_t backend = sql_row_count(rows) > 0 ? (pid_t)sql_field_integer(rows, 0, 0) : 0;
        sql_rows_free(rows);
        if (backend != 0)
            return backend;
        check(tries < 10, "no PREPARE is under way");
        cluster_signal_girod(cluster, 1, SIGCONT);
    }
}

static void a_prepare_that_ends_after_its_coordinator_is_rolled_back(void **state)
{
    static const char given_up[] = "select count(*) from giro.batches where verdict = 'abort'";
    AccountName a;
    AccountName b;
    (void)state;
    open_pair(a, b);
    Payment payment = {a, b, 4, bank_key()};
    restart_strokes();
    meddle(at_prepare, b,
           "while (select not is_called from public.strokes) loop perform pg_sleep(0.02); "
           "end loop;");
    pid_t backend = stop_at_prepare(&payment);
    assert_int_equal(kill(backend, SIGSTOP), 0);
    cluster_signal_girod(cluster, 1, SIGKILL);
    sql_run(cluster_dsn(cluster, REMOTE), "select nextval('public.strokes')");
    cluster_up(cluster);
    assert_int_equal(leg_count(), 0);
    int64_t before = sql_integer(cluster_dsn(cluster, HOME), "%s", given_up);
    assert_int_equal(kill(backend, SIGCONT), 0);
    /* Only a leg that has come to light makes anybody ask. */
    for (int waited = 0; sql_integer(cluster_dsn(cluster, HOME), "%s", given_up) == before;
         waited += PAUSE_MS)
    {
        check(waited < EVENT_MS, "nobody asks for the late leg");
        processes_pause_ms(PAUSE_MS);
    }
    await_row(REMOTE, "select 1 where not exists (select from pg_prepared_xacts)");
    assert_int_equal(entry_count(REMOTE, b), 0);
    bank_pay_finally(client, &payment);
    check_moved(&payment);
}

/* ---- errors that pass -------------------------------------------------------------------------
 */

static void an_error_that_passes_is_tried_again_whole(void **state)
{
    static const char *const passing[] = {"40001", "40P01", "55P03"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(passing); i++)
    {
        AccountName a;
        AccountName b;
        char body[128];
        open_pair(a, b);
        restart_strokes();
        snprintf(body, sizeof body,
                 "if nextval('public.strokes') = 1 then raise exception using errcode = '%s'; "
                 "end if;",
                 passing[i]);
        meddle(at_once, b, body);
        Payment payment = {a, b, 4, bank_key()};
        bank_expect(client, &payment, 201, NULL, NULL);
        check_moved(&payment);
        assert_int_equal(
            sql_integer(cluster_dsn(cluster, REMOTE), "select last_value from public.strokes"), 2);
        sql_run(cluster_dsn(cluster, REMOTE), "drop trigger meddler on giro.entries; "
                                              "drop function public.meddle");
    }
}

#define putting_right(test) cmocka_unit_test_teardown(test, put_right)

int main(void)
{
    const struct CMUnitTest tests[] = {
        putting_right(a_decision_counts_only_when_the_standby_has_confirmed_it),
        putting_right(a_cancelled_wait_for_the_standby_is_unknown),
        putting_right(a_leg_counts_only_when_the_standby_has_confirmed_it),
        putting_right(a_role_with_weak_defaults_commits_and_isolates_as_it_must),
        putting_right(a_trigger_that_notifies_is_shard_error),
        putting_right(a_trigger_that_raises_is_shard_error),
        putting_right(a_deferred_constraint_that_fails_at_prepare_is_shard_error),
        putting_right(a_prepare_that_ends_after_its_coordinator_is_rolled_back),
        putting_right(an_error_that_passes_is_tried_again_whole),
    };
    return cmocka_run_group_tests_name("postgres", tests, start, fixture_stop);
}
