/*
 * Things that die, leave or meddle while a coordinator lives: shards, sessions, the directory,
 * clients, a trigger, a DBA.
 */
#include "fixture.h"
#include "sql.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    SHARDS = 3,
    PER_SHARD = 6,
    STREAM_TOTAL = 1500,
    STREAM_CLIENTS = 32,
};

static Cluster *cluster;
static Client *client;
static AccountName accounts[SHARDS][PER_SHARD];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    for (int shard = 0; shard < SHARDS; shard++)
        bank_open_many(client, shard + 1, 100000, accounts[shard], PER_SHARD);
    return 0;
}

static Payment pick(size_t index)
{
    size_t from = index % SHARDS;
    size_t to = (from + 1 + index / 2 % 2) % SHARDS;
    return (Payment){.debit = accounts[from][(index / SHARDS) % PER_SHARD],
                     .credit = accounts[to][(index / 5) % PER_SHARD],
                     .amount = 1};
}

/* Sends a stream while `trouble` happens, then mends it (NULL: nothing to mend) and repeats
 * the stream: whatever was told stands. */
static void run_through(const char *name, void (*trouble)(size_t answered), void (*mend)(void))
{
    Stream stream = {.name = name,
                     .clients = STREAM_CLIENTS,
                     .total = STREAM_TOTAL,
                     .pick = pick,
                     .at = trouble};
    stream_run(client, &stream);
    assert_true(stream.posted > 0);
    assert_int_equal(stream.refused, 0);
    if (mend != NULL)
        mend();
    stream_repeat(client, &stream);
    stream_done(&stream);
}

/* ---- shards and sessions --------------------------------------------------------------------- */

static void kill_a_shard(size_t answered)
{
    if (answered == STREAM_TOTAL / 4)
        cluster_signal_postgres(cluster, 2, SIGKILL);
    if (answered == STREAM_TOTAL / 2)
        cluster_start_postgres(cluster);
}

static void a_shard_killed_under_load_loses_nothing(void **state)
{
    (void)state;
    run_through("killed", kill_a_shard, NULL);
}

static void stop_a_shard(size_t answered)
{
    if (answered == STREAM_TOTAL / 4)
        cluster_signal_postgres(cluster, 3, SIGSTOP);
    if (answered == STREAM_TOTAL / 2)
        cluster_signal_postgres(cluster, 3, SIGCONT);
}

static void a_shard_paused_under_load_loses_nothing(void **state)
{
    (void)state;
    run_through("paused", stop_a_shard, NULL);
}

static void end_all_sessions(size_t answered)
{
    if (answered % (STREAM_TOTAL / 10) != 0)
        return;
    for (int shard = 1; shard <= SHARDS; shard++)
        sql_run(cluster_dsn(cluster, shard),
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where usename = 'giro_coordinator'");
}

static void sessions_terminated_under_load_are_made_anew_with_all_their_settings(void **state)
{
    (void)state;
    run_through("terminated", end_all_sessions, NULL);
}

static void money_moves_while_the_directory_is_down(void **state)
{
    (void)state;
    cluster_signal_postgres(cluster, 0, SIGKILL);
    bank_expect(client, &(Payment){accounts[0][0], accounts[1][0], 1, bank_key()}, 201, NULL, NULL);
    cluster_start_postgres(cluster);
}

/* ---- clients and signals --------------------------------------------------------------------- */

static void clients_that_leave_early_harm_nobody(void **state)
{
    char pid[32];
    (void)state;
    snprintf(pid, sizeof pid, "%s", cluster_env(cluster, "GIRO_PID"));
    for (int i = 0; i < 300; i++)
    {
        char request[600];
        Payment payment = {accounts[i % SHARDS][0], accounts[(i + 1) % SHARDS][1], 1, bank_key()};
        char *body = bank_body(&payment);
        int length =
            snprintf(request, sizeof request,
                     "POST /v1/transfers HTTP/1.1\r\nHost: x\r\nIdempotency-Key: left-%d\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     i, strlen(body), body);
        int fd = client_connect(client);
        /* Every third one leaves in the middle of its request. */
        (void)client_send(fd, request, (size_t)(i % 3 == 0 ? length - 10 : length));
        close(fd);
        free(body);
    }
    bank_expect(client, &(Payment){accounts[0][0], accounts[1][0], 1, bank_key()}, 201, NULL, NULL);
    assert_false(cluster_await_girod_end(cluster, 1, 0));
    assert_string_equal(pid, cluster_env(cluster, "GIRO_PID"));
}

static void terminate_girod(size_t answered)
{
    if (answered == STREAM_TOTAL / 4)
        cluster_signal_girod(cluster, 1, SIGTERM);
}

static void await_a_clean_end(void)
{
    assert_true(cluster_await_girod_end(cluster, 1, 10000));
    for (int shard = 1; shard <= SHARDS; shard++)
        assert_int_equal(
            sql_integer(cluster_dsn(cluster, shard), "select count(*) from pg_prepared_xacts"), 0);
    cluster_up(cluster);
}

static void sigterm_answers_what_is_in_flight_and_leaves_nothing_behind(void **state)
{
    (void)state;
    run_through("drained", terminate_girod, await_a_clean_end);
}

/* ---- meddling -------------------------------------------------------------------------------- */

static void a_poison_transfer_sinks_only_itself(void **state)
{
    enum
    {
        COMPANIONS = 40
    };
    AccountName poison;
    Request requests[COMPANIONS + 1];
    Response responses[COMPANIONS + 1];
    char *bodies[COMPANIONS + 1];
    (void)state;
    bank_open(client, 2, 0, poison);
    sql_run(cluster_dsn(cluster, 2),
            "create function public.poison() returns trigger language plpgsql as "
            "$$ begin raise exception 'poison'; end $$; "
            "create trigger poison before insert on giro.entries for each row "
            "when (new.account = '%s') execute function public.poison()",
            poison);
    for (int i = 0; i <= COMPANIONS; i++)
    {
        Payment payment = {accounts[0][i % PER_SHARD], accounts[1][i % PER_SHARD], 1, bank_key()};
        if (i == COMPANIONS / 2)
            payment.credit = poison;
        bodies[i] = bank_body(&payment);
        requests[i] = (Request){.path = "/v1/transfers", .body = bodies[i], .key = payment.key};
    }
    client_call_all(client, requests, COMPANIONS + 1, responses);
    for (int i = 0; i <= COMPANIONS; i++)
    {
        if (i == COMPANIONS / 2)
            response_expect(&responses[i], 503, "shard-error");
        else
            response_expect(&responses[i], 201, NULL);
        free(bodies[i]);
    }
    responses_done(responses, COMPANIONS + 1);
    sql_run(cluster_dsn(cluster, 2), "drop trigger poison on giro.entries");
    assert_int_equal(bank_balance(client, poison), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_shard_killed_under_load_loses_nothing),
        with_books(a_shard_paused_under_load_loses_nothing),
        with_books(sessions_terminated_under_load_are_made_anew_with_all_their_settings),
        with_books(money_moves_while_the_directory_is_down),
        with_books(clients_that_leave_early_harm_nobody),
        with_books(sigterm_answers_what_is_in_flight_and_leaves_nothing_behind),
        with_books(a_poison_transfer_sinks_only_itself),
    };
    return cmocka_run_group_tests_name("outage", tests, start, fixture_stop);
}
