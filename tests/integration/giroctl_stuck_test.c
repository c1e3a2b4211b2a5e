/*
 * giroctl stuck, with a shard killed under load: it names every transfer that the shard keeps from
 * its end, with the shard that it waits for and its next try, and no other; after the shard's
 * return it empties by itself.
 */
#include "fixture.h"
#include "processes.h"
#include "tool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    HOME = 1,
    DEAD = 2,
    OTHER = 3,
    SAGAS = 12,
    LIMIT_MS = 120000,
    PAUSE_MS = 300,
    APPLY_PAUSE_MS = 3000, /* the shard is killed meanwhile */
};

static const char *url;
static Cluster *cluster;
static Client *client;

typedef char Id[UUID_TEXT_MAX + 1];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 3}, &cluster, &client);
    url = cluster_url(cluster, 1);
    return 0;
}

/* ---- load that the dead shard does not touch --------------------------------------------------
 */

typedef struct Load
{
    Client *client; /* of its own */
    AccountName debit;
    AccountName credit;
    atomic_bool ends;
    atomic_int posted;
    atomic_int failed;
    pthread_t thread;
} Load;

static void *pay_on(void *context)
{
    Load *load = context;
    for (int i = 0; !load->ends; i++)
    {
        static const char *const modes[] = {"\"mode\":\"2pc\"", "\"mode\":\"saga\""};
        char key[32];
        Response response;
        snprintf(key, sizeof key, "load-%d", i);
        bank_pay(load->client, &(Payment){load->debit, load->credit, 1, key, modes[i % 2]},
                 &response);
        if (response.status == 201)
            load->posted++;
        else
            load->failed++;
        response_done(&response);
    }
    return NULL;
}

static void load_start(Load *load)
{
    load->client = client_new(url);
    bank_open(client, HOME, -1, load->debit);
    bank_open(client, OTHER, 0, load->credit);
    assert_int_equal(pthread_create(&load->thread, NULL, pay_on, load), 0);
}

static void load_stop(Load *load)
{
    load->ends = true;
    assert_int_equal(pthread_join(load->thread, NULL), 0);
    client_free(load->client);
    check(load->posted > 0 && load->failed == 0, "%d posted, %d failed", load->posted,
          load->failed);
}

/* ---- what is stuck ----------------------------------------------------------------------------
 */

static void begin_saga(const char *debit, const char *credit, Id ret_id)
{
    Response response;
    bank_pay_with(client, &(Payment){debit, credit, 2, bank_key(), "\"mode\":\"saga\""},
                  "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(ret_id, sizeof(Id), "%s", response_string(&response, "id"));
    response_done(&response);
}

/* Only of this account: the load goes on. */
static void hold_apply_up(const char *debit)
{
    char body[256];
    Response response;
    snprintf(body, sizeof body, "{\"action\":\"pause\",\"ms\":%d,\"account\":\"%s\"}",
             APPLY_PAUSE_MS, debit);
    client_call(
        client,
        &(Request){.method = "PUT", .path = "/v1/failpoints/2pc.apply.remote.before", .body = body},
        &response);
    response_expect(&response, 200, NULL);
    response_done(&response);
}

/* It is decided, and its shard dies before it hears of it. */
static void decide_and_kill(const char *debit, const char *credit, Id ret_id)
{
    Response response;
    hold_apply_up(debit);
    bank_pay_with(client, &(Payment){debit, credit, 3, bank_key(), "\"mode\":\"2pc\""},
                  "Prefer: wait=2", &response);
    response_expect(&response, 201, NULL);
    cluster_signal_postgres(cluster, DEAD, SIGKILL);
    snprintf(ret_id, sizeof(Id), "%s", response_string(&response, "id"));
    response_done(&response);
}

/* The item with this id in a list; NULL if it is not there. */
static const Json *find(const Json *list, const char *id)
{
    const Json *items = json_field(list, "items");
    for (size_t i = 0; i < json_array_length(items); i++)
    {
        if (strcmp(tool_text(json_array_at(items, i), "id"), id) == 0)
            return json_array_at(items, i);
    }
    return NULL;
}

/* Everything that was begun shows once it is older than what `stuck` calls young. */
static Json *await_stuck(size_t count)
{
    for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += PAUSE_MS)
    {
        ToolEnd end;
        const char *words[] = {"stuck", "-o", "json", NULL};
        tool_run(&(ToolOptions){.server = url}, words, &end);
        check(end.code == 9, "%d %s%s", end.code, end.out, end.err);
        Json *list = tool_json(&end);
        tool_has(end.err, "shard-2 does not answer");
        tool_end_done(&end);
        if (json_array_length(json_field(list, "items")) >= count)
            return list;
        json_free(list);
        processes_pause_ms(PAUSE_MS);
    }
    fail_msg("what is stuck does not show");
    return NULL;
}

static void expect_item(const Json *list, const char *id, const char *state, bool has_next_try)
{
    const Json *item = find(list, id);
    check(item != NULL, "%s is not listed", id);
    assert_string_equal(tool_text(item, "state"), state);
    assert_string_equal(tool_text(item, "waits_for"), "shard-2");
    if (has_next_try)
        check(strlen(tool_text(item, "next_attempt_at")) > 0, "%s has no next try", id);
}

static void await_nothing_stuck(void)
{
    const char *words[] = {"stuck", "--older-than", "1s", NULL};
    for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += PAUSE_MS)
    {
        ToolEnd end;
        tool_run(&(ToolOptions){.server = url}, words, &end);
        bool empty = end.code == 0 && strcmp(end.out, "nothing is stuck\n") == 0;
        check(empty || end.code == 9, "%d %s%s", end.code, end.out, end.err);
        tool_end_done(&end);
        if (empty)
            return;
        processes_pause_ms(PAUSE_MS);
    }
    fail_msg("something stays stuck");
}

static void nothing_is_stuck_while_all_is_well(void **state)
{
    AccountName a;
    AccountName b;
    Id id;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, OTHER, 0, b);
    begin_saga(a, b, id);
    await_nothing_stuck();
    ToolEnd end = tool_expect(url, 0, "stuck", "-o", "csv", NULL);
    assert_int_equal(tool_line_count(end.out), 1);
    tool_end_done(&end);
}

static void with_a_shard_killed_under_load_stuck_names_what_waits_for_it_and_nothing_else(
    void **state)
{
    AccountName a;
    AccountName locked;
    AccountName far;
    AccountName other;
    Id sagas[SAGAS];
    Id decided;
    Id done;
    Load load = {0};
    (void)state;
    bank_open(client, HOME, 1000, a);
    bank_open(client, DEAD, 0, far);
    bank_open(client, DEAD, 0, locked);
    bank_open(client, OTHER, 0, other);
    load_start(&load);
    decide_and_kill(a, locked, decided);
    for (size_t i = 0; i < SAGAS; i++)
        begin_saga(a, far, sagas[i]);
    begin_saga(a, other, done);

    Json *list = await_stuck(SAGAS + 1);
    assert_int_equal(json_array_length(json_field(list, "items")), SAGAS + 1);
    expect_item(list, decided, "posted", false);
    for (size_t i = 0; i < SAGAS; i++)
        expect_item(list, sagas[i], "pending", true);
    json_free(list);
    ToolEnd end = tool_expect(url, 9, "stuck", NULL);
    tool_has(end.out, "WAITS FOR");
    tool_has(end.out, decided);
    tool_lacks(end.out, done);
    tool_end_done(&end);

    cluster_start_postgres(cluster);
    await_nothing_stuck();
    load_stop(&load);
    bank_await_balance(client, far, 2 * SAGAS);
    bank_await_balance(client, locked, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(nothing_is_stuck_while_all_is_well),
        with_books(with_a_shard_killed_under_load_stuck_names_what_waits_for_it_and_nothing_else),
    };
    return cmocka_run_group_tests_name("giroctl stuck", tests, start, fixture_stop);
}
