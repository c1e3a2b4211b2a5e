/*
 * giroctl, as an operator uses it: what is changed, and asked before; the books; what is prepared.
 */
#include "fixture.h"
#include "processes.h"
#include "sql.h"
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    HOME = 1,
    REMOTE = 2,
};

static const char reason[] = "the customer asked for it";
static const char nobody[] = "00000000-0000-8000-8000-000000000000";

static const char *url;
static Cluster *cluster;
static Client *client;

typedef char Id[UUID_TEXT_MAX + 1];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
    url = cluster_url(cluster, 1);
    return 0;
}

/* Pays by giroctl; the answer's id. */
static void pay(const char *debit, const char *credit, const char *mode, Id ret_id)
{
    ToolEnd end = tool_expect(url, 0, "transfer", "create", debit, credit, "5", "EUR", "--mode",
                              mode, "--wait", "1", "-o", "json", NULL);
    Json *transfer = tool_json(&end);
    snprintf(ret_id, sizeof(Id), "%s", tool_text(transfer, "id"));
    json_free(transfer);
    tool_end_done(&end);
}

static void pair(int64_t balance, AccountName ret_debit, AccountName ret_credit)
{
    bank_open(client, HOME, balance, ret_debit);
    bank_open(client, REMOTE, 0, ret_credit);
}

/* ---- what an operator changes ---------------------------------------------------------------- */

static void a_change_needs_a_reason_and_a_yes(void **state)
{
    AccountName a;
    (void)state;
    bank_open(client, HOME, 10, a);
    ToolEnd end = tool_expect(url, 2, "account", "freeze", a, "--yes", NULL);
    tool_has(end.err, "--reason is needed");
    tool_end_done(&end);
    end = tool_expect(url, 2, "account", "freeze", a, "--reason", reason, NULL);
    tool_has(end.err, "repeat it with --yes");
    tool_end_done(&end);
    end = tool_expect(url, 2, "account", "freeze", a, "--yes", "--reason", "short", NULL);
    tool_has(end.err, "body-invalid");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "freeze", a, "--dry-run", "--reason", reason, "-o", "json",
                      NULL);
    Json *plan = tool_json(&end);
    assert_true(json_as_bool(json_field(plan, "dry_run")));
    assert_string_equal(tool_text(json_field(plan, "now"), "status"), "open");
    json_free(plan);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "get", a, NULL);
    tool_has(end.out, "open");
    tool_end_done(&end);
    end = tool_expect(url, 3, "account", "freeze", "nobody-at-all", "--yes", "--reason", reason,
                      NULL);
    tool_end_done(&end);
}

static void accounts_are_frozen_unfrozen_given_floors_and_closed(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    bank_open(client, HOME, 10, a);
    bank_open(client, HOME, 0, b);
    ToolEnd end = tool_expect(url, 0, "account", "freeze", a, "--yes", "--reason", reason, NULL);
    tool_has(end.out, "frozen");
    tool_has(end.err, "freeze account ");
    tool_has(end.err, "effect: it pays nothing");
    tool_end_done(&end);
    end = tool_expect(url, 6, "transfer", "create", a, b, "5", "EUR", NULL);
    tool_has(end.err, "account-frozen");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "unfreeze", a, "--yes", "--reason", reason, NULL);
    tool_has(end.out, "open");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "floor", a, "-50", "--yes", "--reason", reason, NULL);
    tool_has(end.out, "-50");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "floor", a, "none", "--yes", "--reason", reason, "-o",
                      "json", NULL);
    Json *account = tool_json(&end);
    assert_int_equal(json_kind(json_field(account, "floor")), JSON_KIND_NULL);
    json_free(account);
    tool_end_done(&end);
    end = tool_expect(url, 2, "account", "floor", a, "low", "--yes", "--reason", reason, NULL);
    tool_end_done(&end);
    end = tool_expect(url, 5, "account", "close", a, "--yes", "--reason", reason, NULL);
    tool_has(end.err, "state-conflict");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "close", b, "--yes", "--reason", reason, NULL);
    tool_has(end.out, "closed");
    tool_end_done(&end);
}

static void a_terminal_is_asked(void **state)
{
    AccountName a;
    (void)state;
    bank_open(client, HOME, 10, a);
    Tool *tool = tool_at_terminal(url, "account", "freeze", a, "--reason", reason, NULL);
    tool_await(tool, "freeze account ");
    tool_await(tool, "effect: ");
    tool_await(tool, "[y/N]");
    tool_type(tool, "n\n");
    tool_finish(tool, 1, "nothing was sent");
    tool = tool_at_terminal(url, "account", "freeze", a, "--reason", reason, NULL);
    tool_await(tool, "[y/N]");
    tool_type(tool, "\x03");
    tool_finish(tool, 130, "nothing was sent");
    ToolEnd end = tool_expect(url, 0, "account", "get", a, NULL);
    tool_has(end.out, "open");
    tool_end_done(&end);
    tool = tool_at_terminal(url, "account", "freeze", a, "--reason", reason, NULL);
    tool_await(tool, "[y/N]");
    tool_type(tool, "y\n");
    tool_finish(tool, 0, "frozen");
}

static void a_saga_is_cancelled(void **state)
{
    AccountName a;
    AccountName b;
    Id id;
    (void)state;
    pair(100, a, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    pay(a, b, "saga", id);
    ToolEnd end = tool_expect(url, 0, "transfer", "cancel", id, "--wait", "0", "--yes", "--reason",
                              reason, NULL);
    tool_has(end.err, "cancel transfer ");
    tool_has(end.err, "evidence.credit.shard ");
    tool_has(end.err, "  1. home, shard-1: ");
    tool_has(end.err, "once shard-2 answers");
    tool_has(end.out, "pending");
    tool_end_done(&end);
    cluster_start_postgres(cluster);
    end = tool_expect(url, 6, "transfer", "watch", id, NULL);
    tool_has(end.out, "reversed cancelled");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "cancel", id, "--yes", "--reason", reason, NULL);
    tool_has(end.out, "reversed");
    tool_end_done(&end);
    pay(a, b, "2pc", id);
    end = tool_expect(url, 5, "transfer", "cancel", id, "--yes", "--reason", reason, NULL);
    tool_end_done(&end);
}

static void a_cancel_that_came_too_late_is_a_conflict(void **state)
{
    AccountName a;
    AccountName b;
    Id id;
    Response response;
    (void)state;
    pair(100, a, b);
    fixture_arm("saga.close.home.before", "pause", 1500);
    bank_pay_with(client, &(Payment){a, b, 5, bank_key(), "\"mode\":\"saga\""},
                  "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    bank_await_balance(client, b, 5);
    ToolEnd end = tool_expect(url, 5, "transfer", "cancel", id, "--yes", "--reason", reason, NULL);
    tool_has(end.err, "the credit had come first");
    tool_end_done(&end);
}

/* Credits of sagas fail until they are let go. */
static void set_credits(bool fail)
{
    Response response;
    Request request = {.method = fail ? "PUT" : "DELETE",
                       .path = "/v1/failpoints/saga.credit.remote.before",
                       .body = fail ? "{\"action\":\"error\",\"count\":1000000}" : NULL};
    client_call(client, &request, &response);
    response_expect(&response, fail ? 200 : 204, NULL);
    response_done(&response);
}

static void begin(Id ret_id)
{
    AccountName a;
    AccountName b;
    Response response;
    pair(100, a, b);
    bank_pay_with(client, &(Payment){a, b, 5, bank_key(), "\"mode\":\"saga\""},
                  "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(ret_id, sizeof(Id), "%s", response_string(&response, "id"));
    response_done(&response);
}

static void a_dry_run_shows_the_plan_of_the_server_and_changes_nothing(void **state)
{
    Id id;
    (void)state;
    set_credits(true);
    begin(id);
    ToolEnd end = tool_expect(url, 0, "transfer", "cancel", id, "--dry-run", "--reason", reason,
                              "-o", "json", NULL);
    Json *plan = tool_json(&end);
    assert_true(json_as_bool(json_field(plan, "possible")));
    assert_true(json_array_length(json_field(plan, "plan")) > 0);
    json_free(plan);
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "retry", id, "--dry-run", "--reason", reason, NULL);
    tool_has(end.out, "evidence.home.shard ");
    tool_end_done(&end);
    end = tool_expect(url, 5, "transfer", "resolve", id, "--outcome", "posted", "--dry-run",
                      "--reason", reason, NULL);
    tool_has(end.err, "this cannot be done: ");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "get", id, NULL);
    tool_has(end.out, "pending");
    tool_end_done(&end);
    set_credits(false);
}

static void a_saga_that_waits_is_tried_at_once(void **state)
{
    Id id;
    (void)state;
    set_credits(true);
    begin(id);
    ToolEnd end = tool_expect(url, 0, "transfer", "retry", id, "--wait", "0", "--yes", "--reason",
                              reason, NULL);
    tool_has(end.out, "pending");
    tool_end_done(&end);
    set_credits(false);
    end = tool_expect(url, 0, "transfer", "watch", id, NULL);
    tool_has(end.out, "posted");
    tool_end_done(&end);
    end = tool_expect(url, 5, "transfer", "retry", id, "--yes", "--reason", reason, NULL);
    tool_end_done(&end);
}

/* As if it had waited for longer than anybody's patience. */
static void what_needs_a_person_is_resolved(void **state)
{
    Id id;
    char sql[256];
    (void)state;
    set_credits(true);
    begin(id);
    snprintf(sql, sizeof sql,
             "update giro.transfers set created_at = created_at - interval '2 min' where id = '%s'",
             id);
    sql_run(cluster_dsn(cluster, HOME), sql);
    ToolEnd end = tool_expect(url, 0, "transfer", "list", "--needs-attention", "-o", "csv", NULL);
    tool_has(end.out, id);
    tool_end_done(&end);
    end = tool_expect(url, 2, "transfer", "resolve", id, "--yes", "--reason", reason, NULL);
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "resolve", id, "--outcome", "reversed", "--wait", "20",
                      "--yes", "--reason", reason, NULL);
    tool_has(end.out, "reversed");
    tool_end_done(&end);
    set_credits(false);
}

/* ---- lists of transfers ---------------------------------------------------------------------- */

static void transfers_are_chosen_by_what_is_asked_for(void **state)
{
    AccountName a;
    AccountName b;
    Id ids[3];
    (void)state;
    pair(100, a, b);
    for (size_t i = 0; i < 3; i++)
        pay(a, b, i == 0 ? "saga" : "2pc", ids[i]);
    ToolEnd end = tool_expect(url, 0, "transfer", "list", "--account", a, "-o", "csv", NULL);
    assert_int_equal(tool_line_count(end.out), 1 + 3 + 1); /* the first one gave it its money */
    char *first = tool_csv_value(end.out, 1, "id");
    assert_string_equal(first, ids[2]);
    free(first);
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "list", "--account", a, "--mode", "saga", "--state",
                      "posted", "--shard", "shard-2", "-o", "jsonl", NULL);
    assert_int_equal(tool_line_count(end.out), 1);
    tool_has(end.out, ids[0]);
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "list", "--account", a, "--older-than", "1h", NULL);
    assert_string_equal(end.out, "");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "list", "--account", a, "--limit", "2", NULL);
    assert_int_equal(tool_line_count(end.out), 3);
    tool_has(end.err, "there are more");
    tool_end_done(&end);
    end = tool_expect(url, 2, "transfer", "list", "--shard", "shard-77", NULL);
    tool_end_done(&end);
}

/* ---- the books ------------------------------------------------------------------------------- */

static void the_books_are_proved_and_shown(void **state)
{
    (void)state;
    ToolEnd end = tool_expect(url, 0, "reconcile", "run", "--full", "-o", "json", NULL);
    Json *report = tool_json(&end);
    Id id;
    assert_string_equal(tool_text(report, "state"), "finished");
    snprintf(id, sizeof id, "%s", tool_text(report, "id"));
    json_free(report);
    tool_lacks(end.err, "\r");
    tool_end_done(&end);
    end = tool_expect(url, 0, "reconcile", "show", id, NULL);
    tool_has(end.out, "verdict ");
    tool_end_done(&end);
    end = tool_expect(url, 0, "reconcile", "list", "-o", "csv", NULL);
    tool_has(end.out, id);
    tool_end_done(&end);
    end = tool_expect(url, 3, "reconcile", "show", nobody, NULL);
    tool_end_done(&end);
}

/* Somebody alters a balance behind Giro's back, and puts it right again. */
static void broken_books_are_found_and_named(void **state)
{
    AccountName a;
    char sql[256];
    (void)state;
    bank_open(client, HOME, 100, a);
    snprintf(sql, sizeof sql, "update giro.accounts set balance = balance + 7 where id = '%s'", a);
    sql_run(cluster_dsn(cluster, HOME), sql);
    ToolEnd end = tool_expect(url, 9, "reconcile", "run", NULL);
    snprintf(sql, sizeof sql, "update giro.accounts set balance = balance - 7 where id = '%s'", a);
    sql_run(cluster_dsn(cluster, HOME), sql);
    tool_has(end.out, "broken");
    tool_has(end.out, a);
    tool_end_done(&end);
}

static void long_work_has_a_bar_on_a_terminal(void **state)
{
    (void)state;
    Tool *tool = tool_at_terminal(url, "reconcile", "run", "--full", NULL);
    tool_finish(tool, 0, "\r[#..");
}

/* ---- prepared transactions ------------------------------------------------------------------- */

static void prepared_transactions_are_listed_with_their_classes(void **state)
{
    (void)state;
    sql_run(cluster_dsn(cluster, HOME),
            "begin; create table public.somebody_elses(); prepare transaction 'by hand'");
    ToolEnd end = tool_expect(url, 0, "prepared", "list", "-o", "csv", NULL);
    sql_run(cluster_dsn(cluster, HOME), "rollback prepared 'by hand'");
    char *class = tool_csv_value(end.out, 1, "class");
    char *gid = tool_csv_value(end.out, 1, "gid");
    assert_string_equal(class, "foreign");
    assert_string_equal(gid, "by hand");
    free(class);
    free(gid);
    tool_end_done(&end);
}

/* ---- the whole service ----------------------------------------------------------------------- */

/* The line of a list of findings that is about this part and this check; 0 if there is none. */
static int line_of(const char *csv, const char *part, const char *check_name)
{
    for (int line = 1; line < (int)tool_line_count(csv); line++)
    {
        char *left = tool_csv_value(csv, line, "part");
        char *right = tool_csv_value(csv, line, "check");
        bool found = strcmp(left, part) == 0 && strcmp(right, check_name) == 0;
        free(left);
        free(right);
        if (found)
            return line;
    }
    return 0;
}

static void finds(const ToolEnd *end, const char *part, const char *what, const char *result)
{
    int line = line_of(end->out, part, what);
    check(line > 0, "nothing of %s, %s: %s", part, what, end->out);
    char *found = tool_csv_value(end->out, line, "result");
    check(strcmp(found, result) == 0, "%s, %s is %s and not %s", part, what, found, result);
    free(found);
}

static void a_healthy_cluster_is_ok_in_every_check(void **state)
{
    (void)state;
    ToolEnd end = tool_expect(url, 0, "doctor", "-o", "csv", NULL);
    static const char *const checks[] = {"usable",   "version",     "role",  "prepared slots",
                                         "sessions", "replication", "clock", "prepared"};
    for (size_t i = 0; i < ARRAY_LENGTH(checks); i++)
    {
        finds(&end, "shard-1", checks[i], "ok");
        finds(&end, "shard-2", checks[i], "ok");
    }
    finds(&end, "girod", "ready", "ok");
    finds(&end, "girod", "version", "ok");
    finds(&end, "directory", "reachable", "ok");
    tool_lacks(end.out, ",fail,");
    tool_end_done(&end);
    end = tool_expect(url, 0, "doctor", NULL);
    tool_has(end.out, "PART ");
    tool_end_done(&end);
}

static void foreign_prepared_transactions_are_a_warning(void **state)
{
    (void)state;
    sql_run(cluster_dsn(cluster, HOME),
            "begin; create table public.somebody_elses(); prepare transaction 'by hand'");
    ToolEnd end = tool_expect(url, 0, "doctor", "-o", "csv", NULL);
    sql_run(cluster_dsn(cluster, HOME), "rollback prepared 'by hand'");
    finds(&end, "shard-1", "prepared", "warn");
    finds(&end, "shard-2", "prepared", "ok");
    tool_end_done(&end);
}

/* A transfer shows in the status when it is a second old. */
static void await_waiting(const char *shard)
{
    for (int i = 0; i < 100; i++)
    {
        ToolEnd end = tool_expect(url, 0, "status", "-o", "csv", NULL);
        int line = line_of(end.out, shard, "transfers");
        tool_end_done(&end);
        if (line > 0)
            return;
        processes_pause_ms(100);
    }
    fail_msg("nothing waits for %s", shard);
}

static void a_dead_shard_shows_and_fails_the_check(void **state)
{
    AccountName a;
    AccountName b;
    Id id;
    (void)state;
    pair(100, a, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    pay(a, b, "saga", id);
    ToolEnd end = tool_expect(url, 9, "doctor", "-o", "csv", NULL);
    finds(&end, "shard-2", "reachable", "fail");
    finds(&end, "shard-1", "usable", "ok");
    tool_end_done(&end);
    end = tool_expect(url, 0, "status", "-o", "csv", NULL);
    finds(&end, "shard-2", "database", "down");
    finds(&end, "shard-1", "database", "usable");
    tool_end_done(&end);
    await_waiting("shard-2");
    end = tool_expect(url, 0, "shard", "list", "-o", "csv", NULL);
    char *usable = tool_csv_value(end.out, 2, "usable");
    char *trouble = tool_csv_value(end.out, 2, "trouble");
    assert_string_equal(usable, "false");
    assert_true(strlen(trouble) > 0);
    free(usable);
    free(trouble);
    tool_end_done(&end);
    cluster_start_postgres(cluster);
    end = tool_expect(url, 0, "transfer", "watch", id, NULL);
    tool_end_done(&end);
}

static void shards_and_partitions_are_listed(void **state)
{
    (void)state;
    ToolEnd end = tool_expect(url, 0, "shard", "list", "-o", "json", NULL);
    Json *shards = tool_json(&end);
    assert_int_equal(json_array_length(json_field(shards, "items")), 2);
    json_free(shards);
    tool_end_done(&end);
    int64_t count =
        sql_integer(cluster_dsn(cluster, 0), "select count(*) from giro_directory.partitions");
    end = tool_expect(url, 0, "partition", "list", "--all", "-o", "csv", NULL);
    assert_int_equal(tool_line_count(end.out), count + 1);
    tool_end_done(&end);
    end = tool_expect(url, 0, "partition", "list", "--limit", "3", NULL);
    assert_int_equal(tool_line_count(end.out), 4);
    tool_end_done(&end);
}

/* ---- intake ---------------------------------------------------------------------------------- */

static void intake_is_paused_and_resumed(void **state)
{
    AccountName a;
    AccountName b;
    char scope[ACCOUNT_ID_MAX + 16];
    (void)state;
    pair(100, a, b);
    snprintf(scope, sizeof scope, "account:%s", a);
    ToolEnd end = tool_expect(url, 0, "intake", "pause", scope, "--yes", "--reason", reason, NULL);
    tool_has(end.err, "pause the intake of account:");
    tool_end_done(&end);
    end = tool_expect(url, 0, "status", "-o", "csv", NULL);
    finds(&end, "intake", scope, "paused");
    tool_end_done(&end);
    end = tool_expect(url, 0, "doctor", "-o", "csv", NULL);
    finds(&end, "girod", "intake", "warn");
    tool_end_done(&end);
    end = tool_expect(url, 7, "transfer", "create", a, b, "5", "EUR", "--timeout", "1s", NULL);
    tool_lacks(end.err, "not known");
    tool_end_done(&end);
    end = tool_expect(url, 0, "intake", "resume", scope, "--yes", "--reason", reason, NULL);
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "create", a, b, "5", "EUR", NULL);
    tool_end_done(&end);
    end = tool_expect(url, 2, "intake", "pause", "everything", "--yes", "--reason", reason, NULL);
    tool_end_done(&end);
    bank_await_balance(client, b, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_change_needs_a_reason_and_a_yes),
        with_books(accounts_are_frozen_unfrozen_given_floors_and_closed),
        with_books(a_terminal_is_asked),
        with_books(a_saga_is_cancelled),
        with_books(a_cancel_that_came_too_late_is_a_conflict),
        with_books(a_dry_run_shows_the_plan_of_the_server_and_changes_nothing),
        with_books(a_saga_that_waits_is_tried_at_once),
        with_books(what_needs_a_person_is_resolved),
        with_books(transfers_are_chosen_by_what_is_asked_for),
        with_books(the_books_are_proved_and_shown),
        with_books(broken_books_are_found_and_named),
        with_books(long_work_has_a_bar_on_a_terminal),
        with_books(prepared_transactions_are_listed_with_their_classes),
        with_books(a_healthy_cluster_is_ok_in_every_check),
        with_books(foreign_prepared_transactions_are_a_warning),
        with_books(a_dead_shard_shows_and_fails_the_check),
        with_books(shards_and_partitions_are_listed),
        with_books(intake_is_paused_and_resumed),
    };
    return cmocka_run_group_tests_name("giroctl_operator", tests, start, fixture_stop);
}
