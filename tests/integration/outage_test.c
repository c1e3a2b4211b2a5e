/*
 * Things that die, leave or meddle while a coordinator lives: shards, sessions, the directory,
 * clients, a trigger, a DBA.
 */
#include "bank.h"
#include "books.h"
#include "check.h"
#include "sql.h"

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
    PAUSE_US = 100000,
};

static Cluster *cluster;
static Client *client;
static AccountName accounts[SHARDS][PER_SHARD];

static int start(void **state)
{
    (void)state;
    cluster = cluster_new(&(ClusterOptions){.shards = SHARDS});
    client = client_new(cluster_url(cluster, 1));
    for (int shard = 0; shard < SHARDS; shard++)
    {
        for (int i = 0; i < PER_SHARD; i++)
            bank_open(client, shard + 1, 100000, accounts[shard][i]);
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    client_free(client);
    cluster_free(cluster);
    return 0;
}

static int check_books(void **state)
{
    (void)state;
    books_check(cluster);
    return 0;
}

/* ---- a stream whose answers are remembered --------------------------------------------------- */

typedef struct Stream
{
    const char *name;
    char *bodies[STREAM_TOTAL];
    char keys[STREAM_TOTAL][32];
    char ids[STREAM_TOTAL][UUID_TEXT_MAX + 1]; /* of those answered 201 */
    int statuses[STREAM_TOTAL];
    size_t answered;
    void (*at)(size_t answered);
} Stream;

static Payment payment_of(const Stream *stream, size_t index)
{
    size_t from = index % SHARDS;
    return (Payment){accounts[from][(index / SHARDS) % PER_SHARD],
                     accounts[(from + 1 + index / 2 % 2) % SHARDS][(index / 5) % PER_SHARD], 1,
                     stream->keys[index]};
}

static void make(void *context, size_t index, Request *ret_request)
{
    Stream *stream = context;
    snprintf(stream->keys[index], sizeof stream->keys[index], "%s-%zu", stream->name, index);
    Payment payment = payment_of(stream, index);
    stream->bodies[index] = bank_body(&payment);
    *ret_request = (Request){
        .path = "/v1/transfers", .body = stream->bodies[index], .key = stream->keys[index]};
}

static void note(void *context, size_t index, const Response *response)
{
    Stream *stream = context;
    free(stream->bodies[index]);
    stream->statuses[index] = response->status;
    if (response->status == 201)
        snprintf(stream->ids[index], sizeof stream->ids[index], "%s",
                 response_string(response, "id"));
    else
        check(response->status == 0 || response->status == 429 || response->status == 503, "%d %s",
              response->status, response->body);
    stream->answered++;
    if (stream->at != NULL)
        stream->at(stream->answered);
}

static void run(Stream *stream, const char *name, void (*at)(size_t answered))
{
    memset(stream, 0, sizeof *stream);
    stream->name = name;
    stream->at = at;
    ClientLoop loop = {STREAM_CLIENTS, STREAM_TOTAL, make, note, stream};
    client_run_loop(client, &loop);
}

/* Repeats of a stream's requests, in rounds, until all have a final answer. */
typedef struct Repeats
{
    const Stream *stream;
    size_t wanting[STREAM_TOTAL];
    size_t count;
    char *bodies[STREAM_TOTAL];
    bool final[STREAM_TOTAL];
} Repeats;

static void make_repeat(void *context, size_t place, Request *ret_request)
{
    Repeats *repeats = context;
    size_t index = repeats->wanting[place];
    Payment payment = payment_of(repeats->stream, index);
    repeats->bodies[index] = bank_body(&payment);
    *ret_request =
        (Request){.path = "/v1/transfers", .body = repeats->bodies[index], .key = payment.key};
}

/* What was answered "posted" is the same transfer now. */
static void note_repeat(void *context, size_t place, const Response *response)
{
    Repeats *repeats = context;
    const Stream *stream = repeats->stream;
    size_t index = repeats->wanting[place];
    free(repeats->bodies[index]);
    repeats->final[index] = response->status == 200 || response->status == 201;
    if (!repeats->final[index])
        check(response->status == 429 || response->status == 503, "%s: %d %s", stream->keys[index],
              response->status, response->body);
    else if (stream->statuses[index] == 201)
    {
        assert_int_equal(response->status, 200);
        assert_string_equal(response_string(response, "id"), stream->ids[index]);
    }
}

static void repeat_all(const Stream *stream)
{
    static Repeats repeats;
    size_t posted = 0;
    memset(&repeats, 0, sizeof repeats);
    repeats.stream = stream;
    for (int round = 0; round < 100; round++)
    {
        repeats.count = 0;
        for (size_t i = 0; i < STREAM_TOTAL; i++)
        {
            if (!repeats.final[i])
                repeats.wanting[repeats.count++] = i;
        }
        if (repeats.count == 0)
            break;
        usleep(round == 0 ? 0 : PAUSE_US);
        ClientLoop loop = {STREAM_CLIENTS, repeats.count, make_repeat, note_repeat, &repeats};
        client_run_loop(client, &loop);
    }
    assert_int_equal(repeats.count, 0);
    for (size_t i = 0; i < STREAM_TOTAL; i++)
        posted += stream->statuses[i] == 201;
    print_message("%s: %zu of %d were posted at first\n", stream->name, posted, STREAM_TOTAL);
    assert_true(posted > 0);
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
    static Stream stream;
    (void)state;
    run(&stream, "killed", kill_a_shard);
    repeat_all(&stream);
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
    static Stream stream;
    (void)state;
    run(&stream, "paused", stop_a_shard);
    repeat_all(&stream);
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
    static Stream stream;
    (void)state;
    run(&stream, "terminated", end_all_sessions);
    repeat_all(&stream);
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

static void sigterm_answers_what_is_in_flight_and_leaves_nothing_behind(void **state)
{
    static Stream stream;
    (void)state;
    run(&stream, "drained", terminate_girod);
    assert_true(cluster_await_girod_end(cluster, 1, 10000));
    for (int shard = 1; shard <= SHARDS; shard++)
        assert_int_equal(
            sql_integer(cluster_dsn(cluster, shard), "select count(*) from pg_prepared_xacts"), 0);
    cluster_up(cluster);
    repeat_all(&stream);
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

/* The last test: the books do not balance any more. */
static void a_leg_rolled_back_by_hand_is_never_called_done(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    char path[128];
    Response response;
    (void)state;
    bank_open(client, 1, 10, a);
    bank_open(client, 2, 0, b);
    client_call(client,
                &(Request){.method = "PUT",
                           .path = "/v1/failpoints/2pc.apply.remote.before",
                           .body = "{\"action\":\"pause\",\"count\":1,\"ms\":1500}"},
                &response);
    response_done(&response);
    bank_expect(client, &(Payment){a, b, 4, bank_key()}, 201, NULL, id);
    SqlRows *rows = sql_rows(cluster_dsn(cluster, 2), "select gid from pg_prepared_xacts");
    assert_int_equal(sql_row_count(rows), 1);
    sql_run(cluster_dsn(cluster, 2), "rollback prepared '%s'", sql_field(rows, 0, 0));
    sql_rows_free(rows);
    snprintf(path, sizeof path, "/v1/transfers/%s", id);
    for (int i = 0; i < 50; i++)
    {
        client_call(client, &(Request){.path = path}, &response);
        response_expect(&response, 200, NULL);
        bool seen = json_as_bool(response_value(&response, "needs_attention"));
        if (seen)
            assert_true(strlen(response_string(&response, "attention.reason")) > 0);
        response_done(&response);
        if (seen)
            return;
        usleep(PAUSE_US);
    }
    fail_msg("nobody was told of the missing leg");
}

#define with_books(test) cmocka_unit_test_teardown(test, check_books)

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
        cmocka_unit_test(a_leg_rolled_back_by_hand_is_never_called_done),
    };
    return cmocka_run_group_tests_name("outage", tests, start, stop);
}
