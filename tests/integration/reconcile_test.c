/*
 * Reconciliation: what somebody did to the books behind the coordinators' backs is named, exactly;
 * what is in flight is explained by name; and a load with a shard killed in the middle leads to no
 * finding. By `girod reconcile` as a process of its own, and by the API; a schedule runs besides.
 */
#include "fixture.h"
#include "processes.h"
#include "sql.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    SHARDS = 3,
    PER_SHARD = 6,
    START = 100000,
    OUTPUT_SIZE = 1024 * 1024,
    EXIT_INCOMPLETE = 8,
    EXIT_BROKEN = 9,
    WAIT_MS = 30000,
    STEP_MS = 50,
};

static Cluster *cluster;
static Client *client;
static AccountName accounts[SHARDS][PER_SHARD];

/* What a run of the command said. */
typedef struct Said
{
    int status;
    Json *report;
} Said;

static Said reconcile(const char *flags)
{
    char command[256];
    char *output = base_malloc(OUTPUT_SIZE);
    Error error;
    snprintf(command, sizeof command,
             "\"$GIRO_BIN\" reconcile --config \"$GIRO_CONFIG\" --json %s 2>/dev/null", flags);
    Said said = {.status = cluster_shell(cluster, command, output, OUTPUT_SIZE)};
    said.report = json_parse(output, strlen(output), &error);
    check(said.report != NULL, "status %d: %s", said.status, output);
    free(output);
    return said;
}

static Said before_all; /* with no account anywhere */

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS,
                                    .girod_flags = "--enable-failpoints --reconcile-every 1"},
                  &cluster, &client);
    before_all = reconcile("");
    for (int shard = 0; shard < SHARDS; shard++)
        bank_open_many(client, shard + 1, START, accounts[shard], PER_SHARD);
    return 0;
}

static const char *text(const Json *object, const char *name)
{
    const Json *value = json_field(object, name);
    return value != NULL && json_kind(value) == JSON_KIND_STRING ? json_as_string(value) : "";
}

static int64_t number(const Json *object, const char *name)
{
    const Json *value = json_field(object, name);
    return value != NULL && json_kind(value) == JSON_KIND_INTEGER ? json_as_integer(value)
                                                                  : INT64_MIN;
}

static const Json *findings_of(const Said *said)
{
    return json_field(said->report, "findings");
}

typedef struct Wanted
{
    const char *kind;
    const char *shard;
    const char *account; /* "" none */
    const char *transfer;
    int64_t amount; /* INT64_MIN: any */
} Wanted;

static bool fits(const Json *item, const Wanted *wanted)
{
    return strcmp(text(item, "kind"), wanted->kind) == 0 &&
           strcmp(text(item, "shard"), wanted->shard) == 0 &&
           (wanted->account == NULL || strcmp(text(item, "account"), wanted->account) == 0) &&
           (wanted->transfer == NULL || strcmp(text(item, "transfer_id"), wanted->transfer) == 0) &&
           (wanted->amount == INT64_MIN || number(item, "amount") == wanted->amount);
}

static const Json *find(const Said *said, const Wanted *wanted)
{
    const Json *items = findings_of(said);
    for (size_t i = 0; i < json_array_length(items); i++)
    {
        if (fits(json_array_at(items, i), wanted))
            return json_array_at(items, i);
    }
    return NULL;
}

static void print_items(const Said *said)
{
    const Json *items = findings_of(said);
    for (size_t i = 0; i < json_array_length(items); i++)
    {
        char *line = json_dump(json_array_at(items, i));
        print_error("%s\n", line);
        free(line);
    }
}

static void expect(const Said *said, int status, const char *verdict)
{
    if (said->status != status || strcmp(text(said->report, "verdict"), verdict) != 0)
        print_items(said);
    assert_string_equal(text(said->report, "verdict"), verdict);
    assert_int_equal(said->status, status);
}

/* All of these, and no others. */
static void expect_items(const Said *said, const Wanted *wanted, size_t count)
{
    bool complete = json_array_length(findings_of(said)) == count;
    for (size_t i = 0; i < count; i++)
        complete = complete && find(said, &wanted[i]) != NULL;
    if (!complete)
        print_items(said);
    assert_true(complete);
}

static const char *dsn(int shard)
{
    return cluster_dsn(cluster, shard);
}

/* ---- traffic -------------------------------------------------------------------------------- */

static Payment mixture(size_t index)
{
    static const char *const modes[] = {"\"mode\":\"2pc\"", "\"mode\":\"saga\"", NULL};
    size_t from = index % SHARDS;
    size_t to = (from + index / SHARDS) % SHARDS;
    Payment payment = {.debit = accounts[from][index / 2 % PER_SHARD],
                       .credit = accounts[to][(index / 2 + 1) % PER_SHARD],
                       .amount = 1 + (int64_t)(index % 7),
                       .fields = modes[index / 9 % 3]};
    return payment;
}

static void send(const char *name, size_t total, void (*at)(size_t answered))
{
    Stream stream = {.name = name, .clients = 16, .total = total, .pick = mixture, .at = at};
    stream_run(client, &stream);
    assert_true(stream.posted > 0);
    if (at != NULL)
        stream_repeat(client, &stream);
    stream_done(&stream);
}

static void await_balanced(void)
{
    for (int waited = 0; waited <= WAIT_MS; waited += STEP_MS)
    {
        Said said = reconcile("");
        int status = said.status;
        bool balanced = strcmp(text(said.report, "verdict"), "balanced") == 0;
        json_free(said.report);
        assert_int_equal(status, 0);
        if (balanced)
            return;
        processes_pause_ms(STEP_MS);
    }
    fail_msg("what was in flight did not settle");
}

static void comparing_nothing_is_no_pass(void **state)
{
    (void)state;
    assert_int_equal(before_all.status, EXIT_INCOMPLETE);
    json_free(before_all.report);
}

static void untouched_books_are_balanced_and_an_increment_looks_at_what_is_new(void **state)
{
    (void)state;
    send("quiet", 300, NULL);
    await_balanced();
    Said full = reconcile("--full");
    expect(&full, 0, "balanced");
    const Json *counts = json_field(full.report, "compared");
    assert_true(number(counts, "accounts") >= SHARDS * PER_SHARD);
    assert_true(number(counts, "transfers") >= 300 && number(counts, "entries") >= 600);
    assert_true(number(counts, "credits") > 100 && number(counts, "batches") > 0);
    json_free(full.report);
    Said increment = reconcile("");
    expect(&increment, 0, "balanced");
    assert_int_equal(number(json_field(increment.report, "compared"), "entries"), 0);
    json_free(increment.report);
}

/* ---- behind our back ------------------------------------------------------------------------ */

/* Pays from another shard and waits until both legs show. */
static void pay_across(const char *debit, const char *credit, int64_t amount,
                       char ret_id[UUID_TEXT_MAX + 1])
{
    int64_t balance = bank_balance(client, credit);
    bank_expect(client, &(Payment){debit, credit, amount, bank_key(), "\"mode\":\"2pc\""}, 201,
                NULL, ret_id);
    bank_await_balance(client, credit, balance + amount);
}

static void tampering_names_exactly_these_accounts_and_shards(void **state)
{
    const char *payer = accounts[0][0];
    const char *raised = accounts[0][1];
    const char *gapped = accounts[1][1];
    const char *robbed = accounts[2][1];
    char gap_id[UUID_TEXT_MAX + 1];
    char robbed_id[UUID_TEXT_MAX + 1];
    char later_id[UUID_TEXT_MAX + 1];
    (void)state;
    pay_across(payer, gapped, 11, gap_id);
    pay_across(payer, gapped, 3, later_id);
    pay_across(payer, robbed, 13, robbed_id);
    sql_run(dsn(1), "update giro.accounts set balance = balance + 1 where id = '%s'", raised);
    sql_run(dsn(2),
            "create table public.kept as select * from giro.entries where transfer = '%s';"
            "delete from giro.entries where transfer = '%s'",
            gap_id, gap_id);
    sql_run(dsn(3),
            "create table public.kept as select * from giro.entries where transfer = '%s';"
            "delete from giro.entries where transfer = '%s';"
            "update giro.accounts set balance = balance - 13 where id = '%s'",
            robbed_id, robbed_id, robbed);

    Said said = reconcile("--full");

    sql_run(dsn(1), "update giro.accounts set balance = balance - 1 where id = '%s'", raised);
    for (int shard = 2; shard <= 3; shard++)
        sql_run(dsn(shard),
                "insert into giro.entries select * from public.kept; drop table public.kept");
    sql_run(dsn(3), "update giro.accounts set balance = balance + 13 where id = '%s'", robbed);
    expect(&said, EXIT_BROKEN, "broken");
    const Wanted wanted[] = {
        {"zero-sum", "shard-1", "", "", 1},
        {"balance", "shard-1", raised, "", 1},
        {"sequence-gap", "shard-2", gapped, "", 11},
        {"credit-missing", "shard-2", gapped, gap_id, 11},
        {"zero-sum", "shard-3", "", "", -13},
        {"entry-missing", "shard-3", robbed, "", 0},
        {"credit-missing", "shard-3", robbed, robbed_id, 13},
    };
    expect_items(&said, wanted, ARRAY_LENGTH(wanted));
    Said again = reconcile("--full");
    expect(&again, 0, "balanced");
    json_free(said.report);
    json_free(again.report);
}

/*
 * As an older copy of the shard would be: the leg is gone and the rest adds up. The rows of batches
 * stay: sessions look for them and would have nothing to do with the shard.
 */
static void a_leg_that_was_forgotten_whole_is_named_by_transfer_shard_and_amount(void **state)
{
    const char *payee = accounts[1][2];
    char id[UUID_TEXT_MAX + 1];
    (void)state;
    pay_across(accounts[0][0], payee, 17, id);
    sql_run(dsn(2),
            "begin;"
            "create table public.kept as select * from giro.entries where transfer = '%s';"
            "delete from giro.entries where transfer = '%s';"
            "update giro.accounts set balance = balance - 17, version = version - 1"
            " where id = '%s';"
            "insert into giro.clearing values (gen_random_uuid(), 'credit', 'EUR', 17, 'shard-1');"
            "commit",
            id, id, payee);

    Said said = reconcile("--full");

    sql_run(dsn(2),
            "begin;"
            "insert into giro.entries select * from public.kept; drop table public.kept;"
            "update giro.accounts set balance = balance + 17, version = version + 1"
            " where id = '%s';"
            "insert into giro.clearing values (gen_random_uuid(), 'credit', 'EUR', -17, 'shard-1');"
            "commit",
            payee);
    expect(&said, EXIT_BROKEN, "broken");
    const Wanted wanted[] = {{"credit-missing", "shard-2", payee, id, 17}};
    expect_items(&said, wanted, ARRAY_LENGTH(wanted));
    json_free(said.report);
}

/* The credit stands alone; and so does the leg of a batch that its home knows nothing of. */
static void a_transfer_that_was_forgotten_at_home_is_named_by_its_credit(void **state)
{
    const char *payer = accounts[0][3];
    const char *payee = accounts[1][3];
    char id[UUID_TEXT_MAX + 1];
    (void)state;
    pay_across(payer, payee, 19, id);
    sql_run(dsn(1),
            "begin;"
            "create table public.entry as select * from giro.entries where transfer = '%s';"
            "create table public.transfer as select * from giro.transfers where id = '%s';"
            "delete from giro.entries where transfer = '%s';"
            "delete from giro.transfers where id = '%s';"
            "update giro.accounts set balance = balance + 19, version = version - 1"
            " where id = '%s';"
            "insert into giro.clearing values (gen_random_uuid(), 'debit', 'EUR', -19, 'shard-2');"
            "commit",
            id, id, id, id, payer);
    sql_run(dsn(2), "insert into giro.batches select gen_random_uuid(), role, mode, verdict, home, "
                    "remote, 'stranger', transfer_count, created_at, finished_at "
                    "from giro.batches where role = 'remote' and mode = '2pc' limit 1");

    Said said = reconcile("--full");

    sql_run(dsn(2), "delete from giro.batches where coordinator = 'stranger'");
    sql_run(dsn(1),
            "begin;"
            "insert into giro.entries select * from public.entry;"
            "insert into giro.transfers select * from public.transfer;"
            "drop table public.entry, public.transfer;"
            "update giro.accounts set balance = balance - 19, version = version + 1"
            " where id = '%s';"
            "insert into giro.clearing values (gen_random_uuid(), 'debit', 'EUR', 19, 'shard-2');"
            "commit",
            payer);
    expect(&said, EXIT_BROKEN, "broken");
    const Wanted wanted[] = {
        {"transfer-missing", "shard-2", payee, id, 19},
        {"decision-missing", "shard-2", "", "", INT64_MIN},
    };
    expect_items(&said, wanted, ARRAY_LENGTH(wanted));
    json_free(said.report);
}

/* An increment sees what happened to an account that was proved, and goes on telling. */
static void an_increment_sees_a_changed_balance_until_it_is_put_right(void **state)
{
    const char *account = accounts[2][4];
    (void)state;
    Said said = reconcile("");
    json_free(said.report);
    sql_run(dsn(3), "update giro.accounts set balance = balance - 2 where id = '%s'", account);
    const Wanted wanted[] = {{"balance", "shard-3", account, "", -2},
                             {"zero-sum", "shard-3", "", "", -2}};
    Said first = reconcile("");
    Said second = reconcile("");
    sql_run(dsn(3), "update giro.accounts set balance = balance + 2 where id = '%s'", account);
    expect(&first, EXIT_BROKEN, "broken");
    expect_items(&first, wanted, ARRAY_LENGTH(wanted));
    expect_items(&second, wanted, ARRAY_LENGTH(wanted));
    Said third = reconcile("");
    expect(&third, 0, "balanced");
    json_free(first.report);
    json_free(second.report);
    json_free(third.report);
}

/* ---- in flight ------------------------------------------------------------------------------ */

/* Makes a stage fail until it is let go. */
static void hold_up(const char *failpoint, bool held)
{
    char path[128];
    Response response;
    snprintf(path, sizeof path, "/v1/failpoints/%s", failpoint);
    client_call(client,
                &(Request){.method = held ? "PUT" : "DELETE",
                           .path = path,
                           .body = held ? "{\"action\":\"error\",\"count\":100000}" : NULL},
                &response);
    response_expect(&response, held ? 200 : 204, NULL);
    response_done(&response);
}

static void a_prepared_leg_and_a_pending_saga_are_explained_by_name(void **state)
{
    const char *payer = accounts[0][5];
    const char *payee = accounts[1][5];
    char decided[UUID_TEXT_MAX + 1];
    char pending[UUID_TEXT_MAX + 1];
    const char *const both[] = {"", "--full"};
    Response response;
    (void)state;
    await_balanced();
    hold_up("2pc.apply.remote.before", true);
    bank_expect(client, &(Payment){payer, payee, 5, bank_key(), "\"mode\":\"2pc\""}, 201, NULL,
                decided);
    hold_up("saga.credit.remote.before", true);
    Payment saga = {payer, accounts[2][5], 7, bank_key(), "\"mode\":\"saga\""};
    bank_pay_with(client, &saga, "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(pending, sizeof pending, "%s", response_string(&response, "id"));
    response_done(&response);
    for (size_t i = 0; i < ARRAY_LENGTH(both); i++)
    {
        Said said = reconcile(both[i]);
        expect(&said, 0, "explained");
        const Json *leg = find(&said, &(Wanted){"not-visible-yet", "shard-2", payee, decided, 5});
        const Json *transit = find(&said, &(Wanted){"in-transit", "shard-1", payer, pending, 7});
        if (leg == NULL || transit == NULL)
            print_items(&said);
        assert_true(leg != NULL && strstr(text(leg, "explained_by"), "is prepared") != NULL);
        assert_true(transit != NULL && strstr(text(transit, "explained_by"), "pending") != NULL);
        json_free(said.report);
    }
    hold_up("2pc.apply.remote.before", false);
    hold_up("saga.credit.remote.before", false);
    await_balanced();
}

static void kill_a_shard(size_t answered)
{
    if (answered == 300)
        cluster_signal_postgres(cluster, 2, SIGKILL);
    if (answered == 600)
        cluster_start_postgres(cluster);
}

/* Passes of both kinds run one after another all the while. */
static void a_load_with_a_shard_killed_in_the_middle_leads_to_no_finding(void **state)
{
    char output[4096];
    (void)state;
    cluster_shell(
        cluster,
        "cd \"$(dirname \"$GIRO_CONFIG\")\"; rm -f stop; : > passes;"
        "(while [ ! -e stop ]; do for kind in '' --full; do"
        "   \"$GIRO_BIN\" reconcile --config \"$GIRO_CONFIG\" $kind >last 2>&1 </dev/null;"
        "   status=$?; echo \"$status\" >>passes; [ $status = 0 ] || cat last >>trouble;"
        " done; done; touch stopped) >/dev/null 2>&1 &",
        NULL, 0);
    send("killed", 2000, kill_a_shard);
    int status = cluster_shell(cluster,
                               "cd \"$(dirname \"$GIRO_CONFIG\")\"; touch stop;"
                               "for i in {1..1200}; do [ -e stopped ] && break; sleep 0.1; done;"
                               "[ -e stopped ] || exit 1; sort passes | uniq -c; cat trouble",
                               output, sizeof output);
    print_message("passes by exit code:\n%s", output);
    assert_int_not_equal(status, -1);
    char counts[32];
    cluster_shell(cluster,
                  "cd \"$(dirname \"$GIRO_CONFIG\")\"; grep -c '^0$' passes; "
                  "grep -cv '^[08]$' passes",
                  counts, sizeof counts);
    int good = 0, bad = 0;
    assert_int_equal(sscanf(counts, "%d %d", &good, &bad), 2);
    assert_true(good >= 2 && bad == 0);
    await_balanced();
}

static void a_shard_that_stays_away_makes_the_pass_incomplete_and_is_named(void **state)
{
    (void)state;
    cluster_signal_postgres(cluster, 3, SIGKILL);
    Said said = reconcile("--full --patience 1");
    cluster_start_postgres(cluster);
    assert_int_equal(said.status, EXIT_INCOMPLETE);
    assert_int_equal(json_array_length(findings_of(&said)), 0);
    assert_string_equal(text(said.report, "state"), "incomplete");
    const Json *missing = json_field(said.report, "not_compared");
    assert_int_equal(json_array_length(missing), 1);
    assert_string_equal(text(json_array_at(missing, 0), "shard"), "shard-3");
    json_free(said.report);
    await_balanced();
}

/* ---- inside girod --------------------------------------------------------------------------- */

static void await_finished(const char *id, Response *ret_response)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/reconciliations/%s", id);
    for (int waited = 0; waited <= WAIT_MS; waited += STEP_MS)
    {
        client_call(client, &(Request){.path = path}, ret_response);
        response_expect(ret_response, 200, NULL);
        const char *now = response_string(ret_response, "state");
        if (strcmp(now, "waiting") != 0 && strcmp(now, "running") != 0)
            return;
        response_done(ret_response);
        processes_pause_ms(STEP_MS);
    }
    fail_msg("the reconciliation does not end");
}

static void one_asks_for_a_pass_and_reads_its_report(void **state)
{
    char id[UUID_TEXT_MAX + 1];
    char location[128];
    char expected[128];
    Response response;
    (void)state;
    client_call(client, &(Request){.path = "/v1/reconciliations", .body = "{\"full\":true}"},
                &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    snprintf(expected, sizeof expected, "/v1/reconciliations/%s", id);
    assert_true(response_header(&response, "Location", location, sizeof location));
    assert_string_equal(location, expected);
    response_done(&response);
    await_finished(id, &response);
    assert_string_equal(response_string(&response, "state"), "finished");
    assert_string_equal(response_string(&response, "verdict"), "balanced");
    assert_true(json_as_bool(response_value(&response, "full")));
    assert_true(response_integer(&response, "compared.transfers") > 0);
    response_done(&response);
    client_call(client, &(Request){.path = "/v1/reconciliations/nothing"}, &response);
    response_expect(&response, 404, "route-not-found");
    response_done(&response);
    client_call(client, &(Request){.path = "/v1/reconciliations", .body = "{\"full\":1}"},
                &response);
    response_expect(&response, 400, "body-invalid");
    response_done(&response);
}

static void the_schedule_runs_by_itself(void **state)
{
    (void)state;
    for (int waited = 0; waited <= WAIT_MS; waited += STEP_MS)
    {
        Response response;
        client_call(client, &(Request){.path = "/v1/reconciliations"}, &response);
        response_expect(&response, 200, NULL);
        const Json *items = response_value(&response, "items");
        bool seen = false;
        for (size_t i = 0; i < json_array_length(items); i++)
        {
            const Json *run = json_array_at(items, i);
            seen = seen || (strcmp(text(run, "asked_by"), "schedule") == 0 &&
                            strcmp(text(run, "state"), "finished") == 0);
        }
        response_done(&response);
        if (seen)
            return;
        processes_pause_ms(STEP_MS);
    }
    fail_msg("no pass by schedule");
}

static void clearing_rows_are_folded(void **state)
{
    static const char sum[] = "select coalesce(sum(amount), 0)::bigint from giro.clearing";
    (void)state;
    int64_t before = sql_integer(dsn(1), sum);
    sql_run(dsn(1), "insert into giro.clearing "
                    "select gen_random_uuid(), 'debit', 'EUR', i, 'shard-2' "
                    "from generate_series(-1500, 1500) i where i <> 0");
    for (int waited = 0; sql_integer(dsn(1), "select count(*) from giro.clearing") >= 100;
         waited += STEP_MS)
    {
        check(waited < WAIT_MS, "clearing stays as long as it is");
        processes_pause_ms(STEP_MS);
    }
    assert_int_equal(sql_integer(dsn(1), sum), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(comparing_nothing_is_no_pass),
        with_books(untouched_books_are_balanced_and_an_increment_looks_at_what_is_new),
        with_books(tampering_names_exactly_these_accounts_and_shards),
        with_books(a_leg_that_was_forgotten_whole_is_named_by_transfer_shard_and_amount),
        with_books(a_transfer_that_was_forgotten_at_home_is_named_by_its_credit),
        with_books(an_increment_sees_a_changed_balance_until_it_is_put_right),
        with_books(a_prepared_leg_and_a_pending_saga_are_explained_by_name),
        with_books(a_load_with_a_shard_killed_in_the_middle_leads_to_no_finding),
        with_books(a_shard_that_stays_away_makes_the_pass_incomplete_and_is_named),
        with_books(one_asks_for_a_pass_and_reads_its_report),
        with_books(the_schedule_runs_by_itself),
        with_books(clearing_rows_are_folded),
    };
    return cmocka_run_group_tests_name("reconcile", tests, start, fixture_stop);
}
