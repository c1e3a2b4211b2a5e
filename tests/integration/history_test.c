/*
 * Lost history: a shard that is restored from an older copy of its data directory, promoted, run as
 * a standby, made read-only, or replaced by its former self is not used, above all not asked for
 * verdicts, until it is right again or an operator readmits it. The other shard goes on.
 *
 * Where a case loses money for good, it loses only transfers inside the shard: the books of the
 * cluster hold without them.
 */
#include "fixture.h"
#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_MS = 50,
    NOTICE_MS = 30000,
    ASK_PAUSE_MS = 5000, /* for a kill between a lost answer and the question about it */
    OUTPUT_MAX = 8192,
    LOG_MAX = 1 << 22,
};

#define with_mended(test) cmocka_unit_test_teardown(test, mend_and_check_books)

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2,
                                    .proxied = true,
                                    .girod_flags = "--enable-failpoints --log-level debug"},
                  &cluster, &client);
    return 0;
}

/* ---- what is seen ---------------------------------------------------------------------------- */

/* Of the shard, in /readyz?verbose; "" while it is usable. */
static void read_trouble(int shard, char ret_text[256])
{
    char path[32];
    Response response;
    client_call(client, &(Request){.path = "/readyz?verbose"}, &response);
    snprintf(path, sizeof path, "shards.%d.trouble", shard - 1);
    snprintf(ret_text, 256, "%s", response_string(&response, path));
    response_done(&response);
}

/* Waits until its trouble contains this; "" waits until it is usable. */
static void await_trouble(int shard, const char *wanted)
{
    char trouble[256];
    for (int waited = 0;; waited += PAUSE_MS)
    {
        read_trouble(shard, trouble);
        if (wanted[0] == '\0' ? trouble[0] == '\0' : strstr(trouble, wanted) != NULL)
            return;
        check(waited < NOTICE_MS, "the trouble of shard %d is \"%s\", not \"%s\"", shard, trouble,
              wanted);
        processes_pause_ms(PAUSE_MS);
    }
}

static void expect_unavailable(const Payment *payment, const char *detail)
{
    Response response;
    bank_pay(client, payment, &response);
    response_expect(&response, 503, "shard-unavailable");
    assert_string_equal(response_string(&response, "effect"), "none");
    check(strstr(response_string(&response, "detail"), detail) != NULL, "the detail is \"%s\"",
          response_string(&response, "detail"));
    response_done(&response);
}

static int count_in_log(const char *words)
{
    char *text = base_calloc(1, LOG_MAX);
    int count = 0;
    FILE *file = fopen(cluster_girod_log(cluster, 1), "re");
    check(file != NULL, "girod has no log");
    size_t length = fread(text, 1, LOG_MAX - 1, file);
    fclose(file);
    check(length < LOG_MAX - 1, "girod's log is longer than expected");
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    free(text);
    return count;
}

static void await_log(const char *words, int count)
{
    for (int waited = 0; count_in_log(words) < count; waited += PAUSE_MS)
    {
        check(waited < NOTICE_MS, "\"%s\" is not %d times in the log", words, count);
        processes_pause_ms(PAUSE_MS);
    }
}

/* ---- what is done to a shard ----------------------------------------------------------------- */

ATTR_PRINTF(1, 2)
static void shell(const char *format, ...)
{
    char command[1024];
    char output[OUTPUT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    check(cluster_shell(cluster, command, output, sizeof output) == 0, "%s: %s", command, output);
}

static void stop_shard(int shard)
{
    cluster_signal_postgres(cluster, shard, SIGKILL);
}

static void start_shard(void)
{
    cluster_start_postgres(cluster);
}

/* Keeps a cold copy of the shard as it is now. */
static void keep_copy(int shard)
{
    stop_shard(shard);
    shell("d=$GIRO_SHARD_%d_PGDATA; rm -rf \"$d.copy\" && cp -a \"$d\" \"$d.copy\"", shard);
    start_shard();
    await_trouble(shard, "");
}

/* Goes on with the copy, and keeps what there is. */
static void restore_copy(int shard)
{
    shell("d=$GIRO_SHARD_%d_PGDATA; mv \"$d\" \"$d.true\" && mv \"$d.copy\" \"$d\"", shard);
    start_shard();
}

/* Goes back to what restore_copy has kept. */
static void put_right(int shard)
{
    stop_shard(shard);
    shell("d=$GIRO_SHARD_%d_PGDATA; rm -rf \"$d\" && mv \"$d.true\" \"$d\"", shard);
    start_shard();
    await_trouble(shard, "");
}

/* Everything that a coordinator writes on a shard, in a number. */
static int64_t fingerprint(int shard)
{
    return sql_integer(cluster_dsn(cluster, shard),
                       "select hashtextextended(string_agg(x, ',' order by x), 0) from ("
                       " select b::text from giro.batches b union all"
                       " select t::text from giro.transfers t union all"
                       " select e::text from giro.entries e union all"
                       " select r::text from giro.receipts r union all"
                       " select a::text from giro.accounts a) y (x)");
}

/* Waits until the directory has a mark of the shard for the batch that recorded the last transfer.
 */
static void await_mark(int shard)
{
    SqlRows *rows = sql_rows(cluster_dsn(cluster, shard),
                             "select batch from giro.transfers order by created_at desc limit 1");
    char batch[64];
    snprintf(batch, sizeof batch, "%s", sql_field(rows, 0, 0));
    sql_rows_free(rows);
    for (int waited = 0; sql_integer(cluster_dsn(cluster, 0),
                                     "select count(*) from giro_directory.read_marks()"
                                     " where shard = 'shard-%d' and batch = '%s'",
                                     shard, batch) == 0;
         waited += PAUSE_MS)
    {
        check(waited < NOTICE_MS, "the directory does not know batch %s", batch);
        processes_pause_ms(PAUSE_MS);
    }
}

static int readmit(const char *shard, char ret_output[OUTPUT_MAX])
{
    char command[256];
    snprintf(command, sizeof command,
             "\"$GIRO_BIN\" readmit %s --config \"$GIRO_CONFIG\" --reason 'a test of it'", shard);
    return cluster_shell(cluster, command, ret_output, OUTPUT_MAX);
}

static void expect_readmitted(const char *shard, const char *words)
{
    char output[OUTPUT_MAX];
    check(readmit(shard, output) == 0, "readmit fails: %s", output);
    check(strstr(output, words) != NULL, "readmit does not say \"%s\": %s", words, output);
}

static int64_t epoch_of(int shard)
{
    return sql_integer(cluster_dsn(cluster, shard), "select epoch from giro.shard");
}

/* Whatever a case that failed has left behind. */
static int mend_and_check_books(void **state)
{
    for (int shard = 1; shard <= 2; shard++)
    {
        char output[OUTPUT_MAX];
        char command[128];
        char name[16];
        proxy_set_rule(cluster_proxy(cluster, shard), NULL);
        snprintf(command, sizeof command, "test -d \"$GIRO_SHARD_%d_PGDATA.true\"", shard);
        if (cluster_shell(cluster, command, NULL, 0) == 0)
        {
            cluster_signal_postgres(cluster, shard, SIGKILL);
            shell("d=$GIRO_SHARD_%d_PGDATA; rm -rf \"$d\" && mv \"$d.true\" \"$d\"", shard);
        }
        cluster_start_postgres(cluster);
        snprintf(name, sizeof name, "shard-%d", shard);
        check(readmit(name, output) == 0, "readmit fails: %s", output);
        await_trouble(shard, "");
    }
    return fixture_check_books(state);
}

/* ---- restored from an older copy ------------------------------------------------------------- */

typedef struct Accounts
{
    AccountName home; /* on shard 1 */
    AccountName home_too;
    AccountName remote; /* on shard 2 */
    AccountName remote_too;
} Accounts;

static void open_accounts(Accounts *ret_accounts)
{
    bank_open(client, 1, 100, ret_accounts->home);
    bank_open(client, 1, 100, ret_accounts->home_too);
    bank_open(client, 2, 100, ret_accounts->remote);
    bank_open(client, 2, 100, ret_accounts->remote_too);
}

/* A transfer whose decision is committed at home while its answer is lost: the coordinator is about
 * to ask for the verdict when this returns. */
static void pay_into_doubt(const Payment *payment)
{
    Response response;
    fixture_arm("2pc.ask.home.before", "pause", ASK_PAUSE_MS);
    proxy_set_rule(cluster_proxy(cluster, 1),
                   &(ProxyRule){.action = PROXY_SWALLOW, .tag = "COMMIT", .count = 1});
    bank_pay_with(client, payment, "Prefer: wait=1", &response);
    response_expect(&response, 503, "outcome-unknown");
    response_done(&response);
    check(proxy_hits(cluster_proxy(cluster, 1)) == 1, "the answer was not lost");
    proxy_set_rule(cluster_proxy(cluster, 1), NULL);
}

static void a_shard_restored_from_an_older_copy_is_fenced_before_any_verdict(void **state)
{
    Accounts it;
    AccountName spare;
    (void)state;
    open_accounts(&it);
    bank_open(client, 2, 0, spare);
    keep_copy(1);
    int64_t then = fingerprint(1);
    bank_expect(client, &(Payment){it.home, it.remote, 1, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){it.remote, it.home, 2, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){it.home, it.home_too, 3, bank_key()}, 201, NULL, NULL);
    Payment doubtful = {it.home, it.remote, 10, bank_key()};
    pay_into_doubt(&doubtful);
    stop_shard(1);
    int asked = count_in_log("ask -> ask");
    restore_copy(1);

    await_trouble(1, "fenced: ");
    await_trouble(1, "batches that it has acknowledged are missing");
    await_log("ask -> ask", asked + 2);
    check(fingerprint(1) == then, "something was written on the restored shard");
    assert_true(sql_is(cluster_dsn(cluster, 1), "t", "select fenced is not null from giro.shard"));
    expect_unavailable(&(Payment){it.home, it.home_too, 1, bank_key()}, "fenced: ");
    expect_unavailable(&(Payment){it.remote_too, it.home, 1, bank_key()}, "fenced: ");
    Response response;
    char path[128];
    snprintf(path, sizeof path, "/v1/accounts/%s", it.home);
    client_call(client, &(Request){.path = path}, &response);
    response_expect(&response, 503, "shard-unavailable");
    response_done(&response);
    bank_expect(client, &(Payment){it.remote_too, spare, 1, bank_key()}, 201, NULL, NULL);
    check(fingerprint(1) == then, "something was written on the restored shard");

    put_right(1);
    bank_pay_finally(client, &doubtful);
    bank_await_balance(client, it.home, 100 - 1 + 2 - 3 - 10);
    bank_await_balance(client, it.remote, 100 + 1 - 2 + 10);
}

static void a_fresh_coordinator_knows_the_marks_of_the_directory(void **state)
{
    Accounts it;
    (void)state;
    open_accounts(&it);
    keep_copy(1);
    int64_t then = fingerprint(1);
    bank_expect(client, &(Payment){it.home, it.home_too, 3, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){it.remote, it.home, 2, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){it.home, it.remote, 4, bank_key()}, 201, NULL, NULL);
    await_mark(1);
    cluster_signal_girod(cluster, 1, SIGKILL);
    stop_shard(1);
    restore_copy(1);
    cluster_up(cluster);

    await_trouble(1, "fenced: ");
    await_trouble(1, "batches that it has acknowledged are missing");
    expect_unavailable(&(Payment){it.home, it.home_too, 1, bank_key()}, "fenced: ");
    check(fingerprint(1) == then, "something was written on the restored shard");
    put_right(1);
    bank_await_balance(client, it.home, 100 - 3 + 2 - 4);
}

static void a_restored_shard_goes_on_once_it_is_readmitted(void **state)
{
    Accounts it;
    char output[OUTPUT_MAX];
    (void)state;
    open_accounts(&it);
    keep_copy(1);
    int64_t epoch = epoch_of(1);
    Payment lost = {it.home, it.home_too, 3, bank_key()};
    bank_expect(client, &lost, 201, NULL, NULL);
    await_mark(1);
    stop_shard(1);
    restore_copy(1);
    await_trouble(1, "fenced: ");
    shell("rm -rf \"$GIRO_SHARD_1_PGDATA.true\"");

    expect_readmitted("shard-1", "shard-1: fenced: ");
    await_trouble(1, "");
    assert_int_equal(epoch_of(1), epoch + 1);
    assert_true(sql_is(cluster_dsn(cluster, 0), "t",
                       "select epoch = %lld and cardinality(missing_marks) > 0 and"
                       " fenced is not null and reason = 'a test of it'"
                       " from giro_directory.readmissions where shard = 'shard-1'"
                       " order by epoch desc limit 1",
                       (long long)epoch + 1));
    bank_expect(client, &lost, 201, NULL, NULL); /* what is forgotten happens anew */
    bank_expect(client, &(Payment){it.home, it.remote, 4, bank_key()}, 201, NULL, NULL);
    bank_await_balance(client, it.home, 100 - 3 - 4);
    bank_await_balance(client, it.remote, 100 + 4);

    check(readmit("shard-1", output) == 0, "readmit fails: %s", output);
    check(strstr(output, "nothing to readmit") != NULL, "%s", output);
    assert_int_equal(epoch_of(1), epoch + 1);
    cluster_signal_girod(cluster, 1, SIGKILL);
    cluster_up(cluster);
    await_trouble(1, "");
    bank_expect(client, &(Payment){it.home, it.remote, 1, bank_key()}, 201, NULL, NULL);
}

/* What docs/operating.md tells an owner to do; again and again, but one credit comes of it. */
static void make_credit_due(const char *id)
{
    static const char unsettled[] = "select count(*) from giro.transfers where id = '%s'"
                                    " and (attention is not null or next_attempt_at is not null)";
    sql_run(cluster_dsn(cluster, 1),
            "update giro.transfers set next_attempt_at = clock_timestamp(), attention ="
            " 'leg-lost: forgotten by shard-2' where id = '%s' and mode = '2pc'"
            " and state = 'posted' and next_attempt_at is null",
            id);
    for (int waited = 0; sql_integer(cluster_dsn(cluster, 1), unsettled, id) != 0;
         waited += PAUSE_MS)
    {
        check(waited < NOTICE_MS, "the credit of %s is not done again", id);
        processes_pause_ms(PAUSE_MS);
    }
}

static void expect_reconciled(int wanted, const char *word)
{
    char output[OUTPUT_MAX];
    int status = cluster_shell(cluster, "\"$GIRO_BIN\" reconcile --full --config \"$GIRO_CONFIG\"",
                               output, sizeof output);
    check(status == wanted && strstr(output, word) != NULL, "reconcile ends with %d: %s", status,
          output);
}

/* The credits of both shards are lost on one of them, for good as far as it knows. */
static void after_readmission_reconciliation_names_the_missing_legs(void **state)
{
    Accounts it;
    char id[UUID_TEXT_MAX + 1];
    (void)state;
    open_accounts(&it);
    keep_copy(2);
    bank_expect(client, &(Payment){it.home, it.remote, 7, bank_key()}, 201, NULL, id);
    bank_await_balance(client, it.remote, 107);
    stop_shard(2);
    restore_copy(2);
    await_trouble(2, "fenced: ");
    expect_readmitted("shard-2", "shard-2: fenced: ");
    await_trouble(2, "");
    expect_reconciled(9, id);
    for (int i = 0; i < 3; i++)
        make_credit_due(id);
    bank_await_balance(client, it.remote, 107);
    expect_reconciled(0, "balanced");

    /* the true one is found again: its epoch is of the past */
    stop_shard(2);
    shell("d=$GIRO_SHARD_2_PGDATA; rm -rf \"$d\" && mv \"$d.true\" \"$d\"");
    start_shard();
    await_trouble(2, "another server has taken its place");
    expect_readmitted("shard-2", "shard-2: fenced: ");
    await_trouble(2, "");
    bank_await_balance(client, it.remote, 107);
    expect_reconciled(0, "");
}

/* A state file of a prepared transaction that cannot be read is skipped with a warning; so it is as
 * if it had never been prepared, after the decision. */
static void a_prepared_leg_that_postgres_loses_is_credited_all_the_same(void **state)
{
    Accounts it;
    (void)state;
    open_accounts(&it);
    fixture_arm("2pc.apply.remote.before", "pause", ASK_PAUSE_MS);
    bank_expect(client, &(Payment){it.home, it.remote, 9, bank_key()}, 201, NULL, NULL);
    sql_run(cluster_dsn(cluster, 2), "checkpoint");
    stop_shard(2);
    shell("cd \"$GIRO_SHARD_2_PGDATA/pg_twophase\" && [[ $(ls | wc -l) == 1 ]] && rm *");
    start_shard();
    await_trouble(2, "");
    bank_await_balance(client, it.remote, 109);
    bank_await_balance(client, it.home, 91);
}

/* ---- two servers that claim to be one shard -------------------------------------------------- */

/* Of shard 2: beside it, complete, and about to start as a standby. */
static void make_standby(void)
{
    shell("d=$GIRO_SHARD_2_PGDATA; rm -rf \"$d.copy\" &&"
          " /usr/lib/postgresql/15/bin/pg_basebackup -d \"$GIRO_SHARD_2_DSN\" -D \"$d.copy\""
          " -X stream -c fast && touch \"$d.copy/standby.signal\" &&"
          " chown -R --reference=\"$d\" \"$d.copy\"");
}

static void a_promoted_standby_waits_for_readmission_and_its_predecessor_is_out(void **state)
{
    Accounts it;
    char output[OUTPUT_MAX];
    (void)state;
    open_accounts(&it);
    int64_t epoch = epoch_of(2);
    make_standby();
    stop_shard(2);
    restore_copy(2);
    await_trouble(2, "session is read-only");
    expect_unavailable(&(Payment){it.home, it.remote, 1, bank_key()}, "shard-2");
    check(readmit("shard-2", output) == 1 && strstr(output, "read-only") != NULL, "%s", output);

    sql_run(cluster_dsn(cluster, 2), "select pg_promote()");
    await_trouble(2, "fenced: its timeline is 00000002, not 00000001");
    expect_unavailable(&(Payment){it.home, it.remote, 1, bank_key()}, "fenced: its timeline");
    check(cluster_shell(cluster, "\"$GIRO_BIN\" init --config \"$GIRO_CONFIG\"", output,
                        sizeof output) == 1 &&
              strstr(output, "girod readmit") != NULL,
          "init takes it: %s", output);
    expect_readmitted("shard-2", "timeline 00000002, in the directory 00000001");
    await_trouble(2, "");
    assert_int_equal(epoch_of(2), epoch + 1);
    bank_expect(client, &(Payment){it.home, it.remote, 1, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){it.remote, it.remote_too, 1, bank_key()}, 201, NULL, NULL);

    /* the old primary comes back at the old address */
    stop_shard(2);
    shell("d=$GIRO_SHARD_2_PGDATA; mv \"$d\" \"$d.new\" && mv \"$d.true\" \"$d\"");
    start_shard();
    int64_t then = fingerprint(2);
    await_trouble(2, "another server has taken its place");
    expect_unavailable(&(Payment){it.remote, it.remote_too, 1, bank_key()}, "fenced: its epoch");
    check(fingerprint(2) == then, "something was written on the old primary");
    stop_shard(2);
    shell("d=$GIRO_SHARD_2_PGDATA; rm -rf \"$d\" && mv \"$d.new\" \"$d\"");
    start_shard();
    await_trouble(2, "");
    bank_expect(client, &(Payment){it.remote, it.remote_too, 1, bank_key()}, 201, NULL, NULL);
}

/* ---- while sessions are open ----------------------------------------------------------------- */

static void sessions_that_are_open_meet_the_wall(void **state)
{
    Accounts it;
    (void)state;
    open_accounts(&it);
    bank_expect(client, &(Payment){it.home, it.home_too, 1, bank_key()}, 201, NULL, NULL);
    sql_run(cluster_coord_dsn(cluster, 1),
            "select giro.fence_off(%lld, 'found by another coordinator')", (long long)epoch_of(1));
    int64_t then = fingerprint(1);
    expect_unavailable(&(Payment){it.home, it.home_too, 1, bank_key()}, "fenced: ");
    await_trouble(1, "fenced: found by another coordinator");
    expect_unavailable(&(Payment){it.home, it.remote, 1, bank_key()},
                       "fenced: found by another coordinator");
    check(fingerprint(1) == then, "something was written on the fenced shard");
    expect_readmitted("shard-1", "shard-1: fenced: found by another coordinator");
    await_trouble(1, "");
    bank_expect(client, &(Payment){it.home, it.remote, 1, bank_key()}, 201, NULL, NULL);
}

static void a_server_that_becomes_read_only_is_left_until_it_takes_writes_again(void **state)
{
    Accounts it;
    (void)state;
    open_accounts(&it);
    bank_expect(client, &(Payment){it.home, it.home_too, 1, bank_key()}, 201, NULL, NULL);
    sql_run(cluster_dsn(cluster, 1), "alter system set default_transaction_read_only = on");
    sql_run(cluster_dsn(cluster, 1), "select pg_reload_conf()");
    Payment refused = {it.home, it.home_too, 5, bank_key()};
    for (int waited = 0;; waited += PAUSE_MS) /* every session reloads at its own pace */
    {
        Response response;
        bank_pay(client, &refused, &response);
        int status = response.status;
        if (status == 503)
            response_expect(&response, 503, "shard-unavailable");
        response_done(&response);
        if (status == 503)
            break;
        check(status == 201 && waited < NOTICE_MS, "the answer is %d", status);
        refused.key = bank_key();
        processes_pause_ms(PAUSE_MS);
    }
    await_trouble(1, "read-only");
    sql_run(cluster_dsn(cluster, 1), "set default_transaction_read_only = off");
    sql_run(cluster_dsn(cluster, 1), "alter system reset default_transaction_read_only");
    sql_run(cluster_dsn(cluster, 1), "select pg_reload_conf()");
    await_trouble(1, "");
    bank_expect(client, &refused, 201, NULL, NULL);
}

static void readmit_refuses_what_it_does_not_know(void **state)
{
    char output[OUTPUT_MAX];
    (void)state;
    check(readmit("shard-9", output) == 1 &&
              strstr(output, "the description has no shard shard-9") != NULL,
          "%s", output);
    check(readmit("shard-1", output) == 0 && strstr(output, "nothing to readmit") != NULL, "%s",
          output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_mended(a_shard_restored_from_an_older_copy_is_fenced_before_any_verdict),
        with_mended(a_fresh_coordinator_knows_the_marks_of_the_directory),
        with_mended(a_restored_shard_goes_on_once_it_is_readmitted),
        with_mended(after_readmission_reconciliation_names_the_missing_legs),
        with_mended(a_prepared_leg_that_postgres_loses_is_credited_all_the_same),
        with_mended(a_promoted_standby_waits_for_readmission_and_its_predecessor_is_out),
        with_mended(sessions_that_are_open_meet_the_wall),
        with_mended(a_server_that_becomes_read_only_is_left_until_it_takes_writes_again),
        with_mended(readmit_refuses_what_it_does_not_know),
    };
    return cmocka_run_group_tests_name("history", tests, start, fixture_stop);
}
