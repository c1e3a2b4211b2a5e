/*
 * giroctl, as whoever moves money uses it: the real binary against a real cluster. Every form of
 * output, the exit codes, transfers that happen once whatever happens to their sender, and help.
 */
#include "fixture.h"
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    HOME = 1,
    REMOTE = 2,
    MANY = 1205, /* more than one page of the API */
};

static const char nobody[] = "00000000-0000-8000-8000-000000000000";

static const char *url;
static Cluster *cluster;
static Client *client;

typedef char Id[UUID_TEXT_MAX + 1];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2, .proxied = true}, &cluster, &client);
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

/* ---- accounts, and forms of output ----------------------------------------------------------- */

static void an_account_is_created_shown_and_left_alone_when_it_is_there(void **state)
{
    (void)state;
    ToolEnd end = tool_expect(url, 0, "account", "create", "forms:1", "EUR", "--floor", "-70",
                              "--metadata", "note=a \"b\", c=d", "--metadata", "x y=ü", NULL);
    tool_has(end.out, "floor           -70\n");
    tool_has(end.out, "metadata.note   a \"b\", c=d\n");
    tool_has(end.out, "metadata.x y    ü\n");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "create", "forms:1", "EUR", NULL);
    tool_has(end.err, "there already");
    tool_end_done(&end);
    end = tool_expect(url, 5, "account", "create", "forms:1", "USD", NULL);
    tool_has(end.err, "account-exists");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "create", "forms:2", "EUR", "--floor", "none", "-o",
                      "json", NULL);
    Json *account = tool_json(&end);
    assert_int_equal(json_kind(json_field(account, "floor")), JSON_KIND_NULL);
    json_free(account);
    tool_end_done(&end);
}

static void a_record_is_the_same_in_every_form(void **state)
{
    AccountName a;
    (void)state;
    bank_open(client, HOME, 1234, a);
    ToolEnd end = tool_expect(url, 0, "account", "get", a, "-o", "csv", NULL);
    char *balance = tool_csv_value(end.out, 1, "balance");
    char *shard = tool_csv_value(end.out, 1, "route.shard");
    assert_string_equal(balance, "1234");
    assert_string_equal(shard, "shard-1");
    free(balance);
    free(shard);
    assert_int_equal(tool_line_count(end.out), 2);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "get", a, "-o", "jsonl", NULL);
    Json *account = tool_json(&end);
    assert_int_equal(json_as_integer(json_field(account, "balance")), 1234);
    assert_int_equal(tool_line_count(end.out), 1);
    json_free(account);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "get", a, "--output=json", NULL);
    account = tool_json(&end);
    assert_string_equal(tool_text(account, "id"), a);
    json_free(account);
    tool_end_done(&end);
}

static void a_statement_is_the_same_in_every_form(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    pair(100, a, b);
    ToolEnd end = tool_expect(url, 0, "transfer", "create", a, b, "5", "EUR", "--reference",
                              "one, \"two\"\nthree", NULL);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "entries", a, "-o", "csv", NULL);
    char *amount = tool_csv_value(end.out, 1, "amount");
    char *reference = tool_csv_value(end.out, 1, "reference");
    assert_string_equal(amount, "-5");
    assert_string_equal(reference, "one, \"two\"\nthree");
    free(amount);
    free(reference);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "entries", a, "-o", "json", NULL);
    Json *list = tool_json(&end);
    const Json *items = json_field(list, "items");
    assert_int_equal(json_array_length(items), 2);
    assert_string_equal(tool_text(json_array_at(items, 0), "reference"), "one, \"two\"\nthree");
    assert_int_equal(json_kind(json_field(list, "next_cursor")), JSON_KIND_NULL);
    json_free(list);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "entries", a, "-o", "jsonl", NULL);
    assert_int_equal(tool_line_count(end.out), 2);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "entries", a, NULL);
    tool_has(end.out, "SEQ ");
    tool_has(end.out, "COUNTERPARTY");
    tool_end_done(&end);
}

/* What a client stored must not act on an operator's terminal. */
static void control_characters_do_not_reach_a_terminal(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    pair(100, a, b);
    ToolEnd end = tool_expect(url, 0, "transfer", "create", a, b, "5", "EUR", "--reference",
                              "\x1b[31mred\xc2\x9b"
                              "1m",
                              NULL);
    tool_lacks(end.out, "\x1b[31mred");
    tool_lacks(end.out, "\xc2\x9b");
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "entries", a, NULL);
    tool_has(end.out, "red");
    tool_lacks(end.out, "\x1b[31mred");
    tool_lacks(end.out, "\xc2\x9b");
    tool_end_done(&end);
}

static void lists_follow_cursors_as_far_as_they_are_asked(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++)
    {
        char body[96];
        Response response;
        snprintf(body, sizeof body, "{\"id\":\"many:%05d\",\"currency\":\"EUR\"}", i);
        client_call(client, &(Request){.path = "/v1/accounts", .body = body}, &response);
        response_expect(&response, 201, NULL);
        response_done(&response);
    }
    ToolEnd end =
        tool_expect(url, 0, "account", "list", "--prefix", "many:", "--all", "-o", "csv", NULL);
    assert_int_equal(tool_line_count(end.out), MANY + 1);
    char *last = tool_csv_value(end.out, MANY, "id");
    assert_string_equal(last, "many:01204");
    free(last);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "list", "--prefix=many:", "--limit", "1100", "-o", "json",
                      NULL);
    Json *list = tool_json(&end);
    assert_int_equal(json_array_length(json_field(list, "items")), 1100);
    assert_true(strlen(tool_text(list, "next_cursor")) > 0);
    json_free(list);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "list", "--prefix=many:", NULL);
    assert_int_equal(tool_line_count(end.out), 101);
    tool_has(end.err, "there are more");
    tool_end_done(&end);
    end = tool_expect(url, 2, "account", "list", "--all", "--limit", "5", NULL);
    tool_end_done(&end);
    end = tool_expect(url, 2, "account", "list", "--limit", "0", NULL);
    tool_end_done(&end);
}

static void a_reader_that_goes_away_is_no_error(void **state)
{
    char output[512];
    (void)state;
    int code = cluster_shell(cluster,
                             "set -o pipefail; \"${GIRO_BIN%/*}/giroctl\" account list --all "
                             "--server $GIRO_URL -o jsonl | head -n 1",
                             output, sizeof output);
    check(code == 0 && tool_line_count(output) == 1, "%d: %s", code, output);
    code = cluster_shell(cluster,
                         "\"${GIRO_BIN%/*}/giroctl\" account list --server $GIRO_URL > /dev/full",
                         output, sizeof output);
    check(code == 1 && strstr(output, "cannot write the output") != NULL, "%d: %s", code, output);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void a_transfer_is_created_found_and_replayed(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    pair(100, a, b);
    const char *key = bank_key();
    ToolEnd end =
        tool_expect(url, 0, "transfer", "create", a, b, "5", "EUR", "--key", key, "--reference",
                    "order 17", "--metadata", "shop=north", "-o", "json", NULL);
    tool_has(end.err, key);
    Json *transfer = tool_json(&end);
    assert_string_equal(tool_text(transfer, "state"), "posted");
    assert_string_equal(tool_text(json_field(transfer, "metadata"), "shop"), "north");
    Id id;
    snprintf(id, sizeof id, "%s", tool_text(transfer, "id"));
    json_free(transfer);
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "create", a, b, "5", "EUR", "--key", key, "--reference",
                      "order 17", NULL);
    tool_has(end.err, "there was a transfer under this key");
    tool_has(end.out, id);
    tool_end_done(&end);
    end = tool_expect(url, 5, "transfer", "create", a, b, "6", "EUR", "--key", key, NULL);
    tool_has(end.err, "idempotency-key-reused, request ");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "get", id, NULL);
    tool_has(end.out, "reference       order 17\n");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "get", "--debit-account", a, "--key", key, NULL);
    tool_has(end.out, id);
    tool_end_done(&end);
    end =
        tool_expect(url, 3, "transfer", "get", "--debit-account", a, "--key", "no-such-key", NULL);
    tool_end_done(&end);
    bank_await_balance(client, b, 5);
}

static void each_way_to_be_wrong_has_its_exit_code(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    pair(100, a, b);
    ToolEnd end = tool_expect(url, 6, "transfer", "create", a, b, "101", "EUR", NULL);
    tool_has(end.err, "insufficient-funds");
    tool_has(end.err, "idempotency key: giroctl-");
    assert_string_equal(end.out, "");
    tool_end_done(&end);
    end = tool_expect(url, 2, "transfer", "create", a, b, "0", "EUR", NULL);
    tool_has(end.err, "/amount: ");
    tool_end_done(&end);
    static const char *const amounts[] = {"1.5", "1e3", "ten", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LENGTH(amounts); i++)
    {
        end = tool_expect(url, 2, "transfer", "create", a, b, amounts[i], "EUR", NULL);
        tool_end_done(&end);
    }
    end = tool_expect(url, 3, "transfer", "create", "nobody-at-all", b, "1", "EUR", NULL);
    tool_has(end.err, "debit-account-not-found");
    tool_end_done(&end);
    end = tool_expect(url, 3, "transfer", "get", nobody, NULL);
    tool_end_done(&end);
    end = tool_expect(url, 2, "transfer", "get", "summary", NULL);
    tool_end_done(&end);
    end = tool_expect(url, 3, "account", "get", "nobody-at-all", NULL);
    tool_end_done(&end);
    end = tool_expect(url, 7, "account", "get", a, "--server", "http://127.0.0.1:1", NULL);
    tool_has(end.err, "does not answer");
    tool_end_done(&end);
    bank_expect(client, &(Payment){a, b, 100, bank_key(), NULL}, 201, NULL, NULL);
}

static void ids_are_encoded_and_never_become_paths(void **state)
{
    (void)state;
    ToolEnd end = tool_expect(url, 0, "account", "create", "a:b@c.d_e-f", "EUR", NULL);
    tool_end_done(&end);
    end = tool_expect(url, 0, "account", "get", "a:b@c.d_e-f", NULL);
    tool_has(end.out, "a:b@c.d_e-f");
    tool_end_done(&end);
    static const char *const ids[] = {"a/b",   "..", "../transfers", "a?limit=1", "a#b",
                                      "a%2Fb", "ü"};
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
    {
        end = tool_expect(url, 2, "account", "get", ids[i], NULL);
        tool_has(end.err, "account-id-invalid");
        tool_end_done(&end);
    }
    end = tool_expect(url, 2, "account", "get", "", NULL);
    tool_end_done(&end);
}

/* The home's answer to the decision is held back: whoever asks is left in doubt. */
static void an_unknown_outcome_is_asked_for_again_under_the_same_key(void **state)
{
    AccountName a;
    AccountName b;
    Proxy *proxy = cluster_proxy(cluster, HOME);
    (void)state;
    pair(100, a, b);
    proxy_set_rule(
        proxy,
        &(ProxyRule){.action = PROXY_DELAY_REPLY, .statement = "record", .count = 1, .ms = 20000});
    Tool *tool = tool_at_terminal(url, "transfer", "create", a, b, "5", "EUR", "--wait", "2", NULL);
    tool_await(tool, "trying again");
    proxy_set_rule(proxy, NULL);
    tool_finish(tool, 0, "posted");
    bank_await_balance(client, b, 5);
    assert_int_equal(bank_balance(client, a), 95);
}

static void a_deadline_ends_in_doubt_and_says_how_to_go_on(void **state)
{
    AccountName a;
    AccountName b;
    char command[64];
    (void)state;
    pair(100, a, b);
    cluster_signal_girod(cluster, 1, SIGSTOP);
    const char *key = bank_key();
    ToolEnd end = tool_expect(url, 7, "transfer", "create", a, b, "5", "EUR", "--key", key,
                              "--timeout", "1s", NULL);
    cluster_signal_girod(cluster, 1, SIGCONT);
    tool_has(end.err, "not known");
    snprintf(command, sizeof command, "repeat it with --key %s", key);
    tool_has(end.err, command);
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "create", a, b, "5", "EUR", "--key", key, NULL);
    tool_end_done(&end);
    bank_await_balance(client, b, 5);
}

static void an_interruption_names_the_key(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    pair(100, a, b);
    const char *key = bank_key();
    const char *words[] = {"transfer", "create", a, b, "5", "EUR", "--key", key, NULL};
    cluster_signal_girod(cluster, 1, SIGSTOP);
    Tool *tool = tool_start(&(ToolOptions){.server = url}, words);
    tool_await(tool, key);
    tool_signal(tool, SIGINT);
    ToolEnd end;
    tool_end(tool, &end);
    cluster_signal_girod(cluster, 1, SIGCONT);
    assert_int_equal(end.code, 130);
    tool_has(end.err, "repeat it with --key ");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "create", a, b, "5", "EUR", "--key", key, NULL);
    tool_end_done(&end);
    bank_await_balance(client, b, 5);
    assert_int_equal(bank_balance(client, a), 95);
}

static void steps_and_the_end_of_a_saga_are_shown(void **state)
{
    AccountName a;
    AccountName b;
    Id id;
    (void)state;
    pair(100, a, b);
    pay(a, b, "saga", id);
    ToolEnd end = tool_expect(url, 0, "transfer", "watch", id, NULL);
    tool_has(end.out, "posted");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "steps", id, "-o", "csv", NULL);
    static const char *const stages[] = {"hold", "credit", "close"};
    for (int i = 0; i < 3; i++)
    {
        char *stage = tool_csv_value(end.out, i + 1, "stage");
        assert_string_equal(stage, stages[i]);
        free(stage);
    }
    tool_end_done(&end);
    end = tool_expect(url, 3, "transfer", "steps", nobody, NULL);
    tool_end_done(&end);
    end = tool_expect(url, 3, "transfer", "watch", nobody, NULL);
    tool_end_done(&end);
}

static void a_saga_is_followed_over_an_outage(void **state)
{
    AccountName a;
    AccountName b;
    Id id;
    ToolEnd end;
    (void)state;
    pair(100, a, b);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    pay(a, b, "saga", id);
    const char *words[] = {"transfer", "watch", id, "-o", "jsonl", NULL};
    Tool *tool = tool_start(&(ToolOptions){.server = url}, words);
    tool_await(tool, "\"state\":\"pending\"");
    end = tool_expect(url, 7, "transfer", "watch", id, "--timeout", "300ms", NULL);
    tool_has(end.out, "pending");
    tool_has(end.err, "goes on by itself");
    tool_end_done(&end);
    cluster_start_postgres(cluster);
    tool_await(tool, "\"state\":\"posted\"");
    tool_end(tool, &end);
    assert_int_equal(end.code, 0);
    tool_end_done(&end);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void a_wrong_command_line_is_told_and_sends_nothing(void **state)
{
    static const char *const wrong[][8] = {
        {NULL},
        {"transfers"},
        {"transfer"},
        {"transfer", "destroy"},
        {"transfer", "get", nobody, nobody},
        {"account", "create", "only-an-id"},
        {"account", "list", "--frozen"},
        {"account", "list", "--lim", "5"},
        {"account", "list", "--limit"},
        {"account", "list", "--limit", "5", "--limit", "6"},
        {"account", "list", "--all=yes"},
        {"account", "list", "--state", "posted"},
        {"account", "list", "-o", "xml"},
        {"account", "list", "-x"},
        {"account", "list", "--timeout", "soon"},
        {"account", "list", "--server", "localhost:8080"},
        {"account", "list", "--token-file", "/no/such/file"},
        {"account", "get", "\xff"},
        {"account", "create", "a", "EUR", "--metadata", "no equals sign"},
        {"transfer", "create", "a", "b", "5", "EUR", "--wait", "31"},
        {"transfer", "list", "--older-than", "yesterday"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
    {
        ToolEnd end;
        /* Nobody listens there: a request would end with 7. */
        tool_run(&(ToolOptions){.server = "http://127.0.0.1:1"}, wrong[i], &end);
        check(end.code == 2 && strlen(end.err) > 0 && strlen(end.out) == 0, "%zu: %d %s%s", i,
              end.code, end.out, end.err);
        tool_end_done(&end);
    }
}

static void a_token_is_sent_only_if_it_can_be_one(void **state)
{
    static const char *const broken[] = {"GIRO_TOKEN=two words", NULL};
    static const char *const words[] = {"account", "list", NULL};
    ToolEnd end;
    (void)state;
    tool_run(&(ToolOptions){.server = url, .environment = broken}, words, &end);
    assert_int_equal(end.code, 2);
    tool_lacks(end.err, "two words");
    tool_end_done(&end);
}

static void colours_are_for_terminals_and_not_for_everybody(void **state)
{
    static const char *const none[] = {"NO_COLOR=1", NULL};
    AccountName a;
    AccountName b;
    Id id;
    ToolEnd end;
    (void)state;
    pair(100, a, b);
    pay(a, b, "2pc", id);
    const char *words[] = {"transfer", "steps", id, NULL};
    tool_run(&(ToolOptions){.server = url, .terminal = true}, words, &end);
    tool_has(end.out, "STAGE");
    tool_has(end.out, "\x1b[");
    tool_end_done(&end);
    tool_run(&(ToolOptions){.server = url, .terminal = true, .environment = none}, words, &end);
    tool_has(end.out, "STAGE");
    tool_lacks(end.out, "\x1b[");
    tool_end_done(&end);
    end = tool_expect(url, 0, "transfer", "steps", id, NULL);
    tool_lacks(end.out, "\x1b[");
    tool_end_done(&end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(an_account_is_created_shown_and_left_alone_when_it_is_there),
        with_books(a_record_is_the_same_in_every_form),
        with_books(a_statement_is_the_same_in_every_form),
        with_books(control_characters_do_not_reach_a_terminal),
        with_books(lists_follow_cursors_as_far_as_they_are_asked),
        with_books(a_reader_that_goes_away_is_no_error),
        with_books(a_transfer_is_created_found_and_replayed),
        with_books(each_way_to_be_wrong_has_its_exit_code),
        with_books(ids_are_encoded_and_never_become_paths),
        with_books(an_unknown_outcome_is_asked_for_again_under_the_same_key),
        with_books(a_deadline_ends_in_doubt_and_says_how_to_go_on),
        with_books(an_interruption_names_the_key),
        with_books(steps_and_the_end_of_a_saga_are_shown),
        with_books(a_saga_is_followed_over_an_outage),
        with_books(a_wrong_command_line_is_told_and_sends_nothing),
        with_books(a_token_is_sent_only_if_it_can_be_one),
        with_books(colours_are_for_terminals_and_not_for_everybody),
    };
    return cmocka_run_group_tests_name("giroctl", tests, start, fixture_stop);
}
