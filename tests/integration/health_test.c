/*
 * What girod says of itself and of its shards, while they live and when they do not: probes, the
 * description, the problem codes, and what a 503 tells a client.
 */
#include "base/error.h"
#include "books.h"
#include "fixture.h"
#include "girod.h"
#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum
{
    SHARDS = 3,
    NOTICE_MS = 10000, /* in which a change of a server must be noticed */
    PAUSE_MS = 50,
    PREPARED_MAX = 256, /* max_prepared_transactions of docker/up.sh */
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    return 0;
}

/* Waits until /readyz, with or without more, has this status. */
static void await_ready(int status)
{
    for (int waited = 0;; waited += PAUSE_MS)
    {
        Response response;
        client_call(client, &(Request){.path = "/readyz"}, &response);
        int now = response.status;
        response_done(&response);
        if (now == status)
            return;
        check(waited < NOTICE_MS, "/readyz is %d, not %d", now, status);
        processes_pause_ms(PAUSE_MS);
    }
}

static bool shard_is_usable(int shard)
{
    char path[32];
    Response response;
    client_call(client, &(Request){.path = "/readyz?verbose"}, &response);
    snprintf(path, sizeof path, "shards.%d.usable", shard - 1);
    const Json *usable = response_value(&response, path);
    bool is_usable = usable != NULL && json_as_bool(usable);
    response_done(&response);
    return is_usable;
}

static void await_usable(int shard, bool usable)
{
    for (int waited = 0; shard_is_usable(shard) != usable; waited += PAUSE_MS)
    {
        check(waited < NOTICE_MS, "shard %d does not become %s", shard,
              usable ? "usable" : "unusable");
        processes_pause_ms(PAUSE_MS);
    }
}

/* Prepares nothing, under so many names, on shard 2; false takes them all back. */
static void hold_prepared_transactions(bool held)
{
    char sqlstate[6];
    char tag[40];
    SqlSession *session = sql_session_new(cluster_dsn(cluster, 2));
    assert_non_null(session);
    for (int i = 0; i < PREPARED_MAX; i++)
    {
        char text[128];
        snprintf(text, sizeof text,
                 held ? "begin; select from pg_class limit 1; prepare transaction 'held-%d'"
                      : "rollback prepared 'held-%d'",
                 i);
        sql_session_run(session, text, NULL, sqlstate, tag);
    }
    sql_session_free(session);
}

/* Puts right whatever a case has broken, also after a failure. */
static int end_case(void **state)
{
    (void)state;
    cluster_start_postgres(cluster);
    if (sql_integer(cluster_dsn(cluster, 2), "select count(*) from pg_prepared_xacts"
                                             " where gid like 'held-%%'") > 0)
        hold_prepared_transactions(false);
    for (int shard = 1; shard <= SHARDS; shard++)
        await_usable(shard, true);
    books_check(cluster);
    return 0;
}

/* ---- of itself ------------------------------------------------------------------------------ */

static void livez_and_version_need_nobody(void **state)
{
    Response response;
    (void)state;
    for (int database = 0; database <= SHARDS; database++)
        cluster_signal_postgres(cluster, database, SIGKILL);
    client_call(client, &(Request){.path = "/livez"}, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "status"), "alive");
    response_done(&response);
    client_call(client, &(Request){.path = "/version"}, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "name"), "girod");
    assert_string_equal(response_string(&response, "version"), GIRO_VERSION);
    response_done(&response);
    client_call(client, &(Request){.path = "/livez?x=1"}, &response);
    response_expect(&response, 400, "parameter-invalid");
    response_done(&response);
}

/* Calls an operation of the description with "x" for its parameters. */
static void expect_operation(const char *method, const char *path)
{
    char target[128];
    size_t used = 0;
    Response response;
    for (const char *at = path; *at != '\0'; at++)
    {
        bool is_parameter = *at == '{';
        target[used++] = is_parameter ? 'x' : *at;
        at = is_parameter ? strchr(at, '}') : at;
    }
    target[used] = '\0';
    client_call(client, &(Request){.method = method, .path = target, .body = "{}"}, &response);
    check(response.status != 405 && response.status != 0 && response.status != 500, "%s %s: %d %s",
          method, target, response.status, response.body);
    response_done(&response);
}

static void every_operation_of_the_description_is_answered(void **state)
{
    static const char *const methods[][2] = {
        {"get", "GET"}, {"post", "POST"}, {"put", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"}};
    void *position = NULL;
    const char *path;
    const Json *item;
    size_t operations = 0;
    Response response;
    (void)state;
    client_call(client, &(Request){.path = "/openapi.json"}, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "openapi"), "3.1.0");
    while (json_field_next(response_value(&response, "paths"), &position, &path, &item))
    {
        for (size_t i = 0; i < ARRAY_LENGTH(methods); i++)
        {
            if (json_field(item, methods[i][0]) == NULL)
                continue;
            expect_operation(methods[i][1], path);
            operations++;
        }
    }
    response_done(&response);
    check(operations >= 15, "only %zu operations", operations);
}

static bool is_for_clients(int code)
{
    return code != ERROR_NONE && code != ERROR_CONFIG && code != ERROR_SETUP;
}

static void every_problem_code_explains_itself(void **state)
{
    Response response;
    (void)state;
    for (int code = 0; code < ERROR_COUNT; code++)
    {
        const ErrorRow *row = error_row((ErrorCode)code);
        char path[96];
        bool found = false;
        snprintf(path, sizeof path, "/problems/%s", row->name);
        client_call(client, &(Request){.path = path}, &response);
        if (!is_for_clients(code))
        {
            response_expect(&response, 404, "route-not-found");
            response_done(&response);
            continue;
        }
        response_expect(&response, 200, NULL);
        assert_string_equal(response_string(&response, "code"), row->name);
        for (int i = 0; i < 2; i++)
        {
            snprintf(path, sizeof path, "meanings.%d.status", i);
            bool same = response_integer(&response, path) == row->status;
            snprintf(path, sizeof path, "meanings.%d.title", i);
            found = found || (same && strcmp(response_string(&response, path), row->title) == 0);
        }
        check(found, "%s: %s", row->name, response.body);
        response_done(&response);
    }
    client_call(client, &(Request){.path = "/problems/no-such-code"}, &response);
    response_expect(&response, 404, "route-not-found");
    response_done(&response);
}

/* ---- of its shards -------------------------------------------------------------------------- */

static void readyz_shows_its_parts(void **state)
{
    static const char *const fields[] = {"name",          "ordinal",       "usable", "trouble",
                                         "sessions_open", "sessions_busy", "waiting"};
    Response response;
    (void)state;
    client_call(client, &(Request){.path = "/readyz?verbose"}, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "status"), "ready");
    assert_string_equal(response_string(&response, "directory.cluster"), "demo");
    assert_int_equal(json_array_length(response_value(&response, "shards")), SHARDS);
    assert_null(
        json_field_unknown(response_value(&response, "shards.0"), fields, ARRAY_LENGTH(fields)));
    assert_string_equal(response_string(&response, "shards.2.name"), "shard-3");
    response_done(&response);
    client_call(client, &(Request){.path = "/readyz"}, &response);
    response_expect(&response, 200, NULL);
    assert_null(response_value(&response, "shards"));
    response_done(&response);
    client_call(client, &(Request){.path = "/readyz?verbose=maybe"}, &response);
    response_expect(&response, 400, "parameter-invalid");
    response_done(&response);
}

static void one_dead_shard_does_not_unready_all_of_them_do(void **state)
{
    Response response;
    (void)state;
    cluster_signal_postgres(cluster, 2, SIGKILL);
    await_usable(2, false);
    client_call(client, &(Request){.path = "/readyz?verbose"}, &response);
    response_expect(&response, 200, NULL);
    assert_true(json_as_bool(response_value(&response, "shards.0.usable")));
    assert_string_not_equal(response_string(&response, "shards.1.trouble"), "");
    response_done(&response);
    cluster_signal_postgres(cluster, 1, SIGKILL);
    cluster_signal_postgres(cluster, 3, SIGKILL);
    await_ready(503);
    client_call(client, &(Request){.path = "/readyz"}, &response);
    response_expect(&response, 503, "shard-unavailable");
    response_done(&response);
    cluster_start_postgres(cluster);
    await_ready(200);
}

static void a_directory_that_is_down_does_not_unready(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    cluster_signal_postgres(cluster, 0, SIGKILL);
    await_ready(200);
    bank_open(client, 2, 0, b);
    bank_expect(client, &(Payment){a, b, 30, bank_key()}, 201, NULL, NULL);
    client_call(client, &(Request){.path = "/readyz?verbose"}, &response);
    response_expect(&response, 200, NULL);
    assert_true(json_as_bool(response_value(&response, "directory.loaded")));
    response_done(&response);
}

/* ---- what a 503 says ------------------------------------------------------------------------ */

/* Every field that a problem has, and nothing that does not belong in one. */
static void expect_unavailable(const Response *response)
{
    static const char *const fields[] = {"type",      "title",          "status",
                                         "detail",    "code",           "request_id",
                                         "retryable", "retry_after_ms", "effect"};
    char value[64];
    response_expect(response, 503, "shard-unavailable");
    assert_true(response_header(response, "Content-Type", value, sizeof value));
    assert_string_equal(value, "application/problem+json");
    assert_true(response_header(response, "Retry-After", value, sizeof value));
    assert_int_equal(strtol(value, NULL, 10),
                     (response_integer(response, "retry_after_ms") + 999) / 1000);
    assert_true(response_header(response, "X-Request-Id", value, sizeof value));
    assert_string_equal(response_string(response, "request_id"), value);
    assert_string_equal(response_string(response, "type"), "/problems/shard-unavailable");
    assert_int_equal(response_integer(response, "status"), 503);
    assert_true(json_as_bool(response_value(response, "retryable")));
    assert_string_equal(response_string(response, "effect"), "none");
    assert_null(json_field_unknown(response->json, fields, ARRAY_LENGTH(fields)));
    assert_int_equal(json_field_count(response->json), ARRAY_LENGTH(fields));
    /* Which shard, but not where it is. */
    check(strstr(response->body, "127.0.0.1") == NULL && strstr(response->body, "port") == NULL,
          "%s", response->body);
}

static void a_dead_shard_is_503_for_all_that_touches_it(void **state)
{
    AccountName here;
    AccountName there;
    AccountName other;
    char id[UUID_TEXT_MAX + 1];
    char paths[3][256];
    Response response;
    (void)state;
    bank_open(client, 1, 100, here);
    bank_open(client, 2, 100, there);
    bank_open(client, 3, 0, other);
    bank_expect(client, &(Payment){there, here, 5, "known"}, 201, NULL, id);
    cluster_signal_postgres(cluster, 2, SIGKILL);
    const char *key = bank_key();
    bank_pay(client, &(Payment){here, there, 7, key}, &response);
    expect_unavailable(&response);
    response_done(&response);
    bank_pay(client, &(Payment){there, here, 7, bank_key()}, &response);
    expect_unavailable(&response);
    response_done(&response);
    bank_pay(client, &(Payment){there, here, 5, "known"}, &response);
    expect_unavailable(&response);
    response_done(&response);
    snprintf(paths[0], sizeof paths[0], "/v1/accounts/%s", there);
    snprintf(paths[1], sizeof paths[1], "/v1/transfers/%s", id);
    snprintf(paths[2], sizeof paths[2], "/v1/transfers?debit_account=%s&idempotency_key=known",
             there);
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
    {
        client_call(client, &(Request){.path = paths[i]}, &response);
        expect_unavailable(&response);
        response_done(&response);
    }
    bank_expect(client, &(Payment){here, other, 1, bank_key()}, 201, NULL, NULL);
    cluster_start_postgres(cluster);
    await_usable(2, true);
    bank_expect(client, &(Payment){here, there, 8, key}, 201, NULL, NULL); /* the key was free */
    bank_expect(client, &(Payment){there, here, 5, "known"}, 200, NULL, NULL);
}

static void a_paused_shard_delays_only_what_touches_it(void **state)
{
    AccountName a;
    AccountName b;
    AccountName c;
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    bank_open(client, 3, 0, c);
    cluster_signal_postgres(cluster, 2, SIGSTOP);
    const char *key = bank_key();
    bank_pay(client, &(Payment){a, b, 10, key}, &response);
    bool is_said = response.status == 503 &&
                   (strcmp(response_string(&response, "code"), "shard-unavailable") == 0 ||
                    strcmp(response_string(&response, "code"), "outcome-unknown") == 0);
    cluster_signal_postgres(cluster, 2, SIGCONT);
    check(is_said, "%d %s", response.status, response.body);
    check(response.seconds < 7, "%.1f s", response.seconds);
    response_done(&response);
    bank_expect(client, &(Payment){a, c, 1, bank_key()}, 201, NULL, NULL);
    await_usable(2, true);
    bank_pay(client, &(Payment){a, b, 10, key}, &response);
    check(response.status == 201 || response.status == 200, "%d %s", response.status,
          response.body);
    response_done(&response);
    assert_int_equal(bank_balance(client, a), 89);
}

/* Transfers queue for a while; what needs no prepared transaction goes on meanwhile. */
static void a_shard_whose_prepared_transactions_are_used_up_is_overloaded_and_logged(void **state)
{
    AccountName a;
    AccountName b;
    AccountName c;
    char command[256];
    char value[16];
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 50, b);
    bank_open(client, 2, 0, c);
    hold_prepared_transactions(true);
    const char *key = bank_key();
    bank_pay(client, &(Payment){a, b, 10, key}, &response);
    response_expect(&response, 503, "overloaded");
    assert_string_equal(response_string(&response, "effect"), "none");
    check(response.seconds > 2, "%.1f s", response.seconds);
    assert_true(response_header(&response, "Retry-After", value, sizeof value));
    snprintf(command, sizeof command, "grep -F '\"request_id\":\"%s\"' \"$GIRO_LOG\" | grep -qF %s",
             response_string(&response, "request_id"), "'maximum number of prepared'");
    response_done(&response);
    assert_int_equal(cluster_shell(cluster, command, NULL, 0), 0);
    bank_expect(client, &(Payment){b, c, 1, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, b, 2, bank_key(), "\"mode\":\"saga\""}, 201, NULL, NULL);
    hold_prepared_transactions(false);
    bank_expect(client, &(Payment){a, b, 10, key}, 201, NULL, NULL);
}

#define ending_well(test) cmocka_unit_test_teardown(test, end_case)

/* ---- the supervisor -------------------------------------------------------------------------- */

/* What systemd would listen to; girods that are started now find it in their environment. */
static int open_supervisor(void)
{
    char name[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(name, sizeof name, "@giro-health-%d", getpid());
    memcpy(address.sun_path + 1, name + 1, (size_t)length - 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = NOTICE_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "300000", 1);
    return fd;
}

static void hear(int fd, char ret_word[64])
{
    ssize_t length = recv(fd, ret_word, 63, 0);
    check(length > 0, "the supervisor hears nothing");
    ret_word[length] = '\0';
}

static void a_supervisor_hears_that_it_is_ready_alive_and_stopping(void **state)
{
    char word[64];
    (void)state;
    int fd = open_supervisor();
    Girod *girod = girod_new(cluster, "supervised");
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    hear(fd, word);
    assert_string_equal(word, "READY=1");
    for (int i = 0; i < 3; i++)
    {
        hear(fd, word);
        assert_string_equal(word, "WATCHDOG=1");
    }
    girod_signal(girod, SIGTERM);
    do
        hear(fd, word);
    while (strcmp(word, "WATCHDOG=1") == 0);
    assert_string_equal(word, "STOPPING=1");
    girod_free(girod);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ending_well(livez_and_version_need_nobody),
        ending_well(every_operation_of_the_description_is_answered),
        ending_well(every_problem_code_explains_itself),
        ending_well(readyz_shows_its_parts),
        ending_well(one_dead_shard_does_not_unready_all_of_them_do),
        ending_well(a_directory_that_is_down_does_not_unready),
        ending_well(a_dead_shard_is_503_for_all_that_touches_it),
        ending_well(a_paused_shard_delays_only_what_touches_it),
        ending_well(a_shard_whose_prepared_transactions_are_used_up_is_overloaded_and_logged),
        with_books(a_supervisor_hears_that_it_is_ready_alive_and_stopping),
    };
    return cmocka_run_group_tests_name("health", tests, start, fixture_stop);
}
