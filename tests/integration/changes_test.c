/*
 * Changes of accounts over the API, on real shards: freezing, closing, floors, and the reasons for
 * them.
 */
#include "fixture.h"
#include "processes.h"
#include "sql.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){0}, &cluster, &client);
    return 0;
}

static void expect_create(const char *body, int status, const char *code)
{
    Response response;
    client_call(client, &(Request){.path = "/v1/accounts", .body = body}, &response);
    check(response.status == status, "%s: %d %s", body, response.status, response.body);
    response_expect(&response, status, code);
    response_done(&response);
}

/* `segment` is put into the path as it is. */
static void get(const char *segment, Response *ret_response)
{
    char path[512];
    snprintf(path, sizeof path, "/v1/accounts/%s", segment);
    client_call(client, &(Request){.path = path}, ret_response);
}

static void expect_get(const char *segment, int status, const char *code)
{
    Response response;
    get(segment, &response);
    check(response.status == status, "%s: %d %s", segment, response.status, response.body);
    response_expect(&response, status, code);
    response_done(&response);
}

static bool is_null(const Response *response, const char *path)
{
    const Json *value = response_value(response, path);
    return value != NULL && json_kind(value) == JSON_KIND_NULL;
}

static void patch(const char *account, const char *body, Response *ret_response)
{
    char path[160];
    snprintf(path, sizeof path, "/v1/accounts/%s", account);
    client_call(client, &(Request){.method = "PATCH", .path = path, .body = body}, ret_response);
}

static void expect_patch(const char *account, const char *body, int status, const char *code)
{
    Response response;
    patch(account, body, &response);
    check(response.status == status, "%s: %d %s", body, response.status, response.body);
    response_expect(&response, status, code);
    response_done(&response);
}

/* With a reason that will do. */
static void expect_change(const char *account, const char *fields, int status, const char *code)
{
    char body[256];
    snprintf(body, sizeof body, "{\"reason\":\"because of the test\",%s}", fields);
    expect_patch(account, body, status, code);
}

/* ---- patch ---------------------------------------------------------------------------------- */

static void a_frozen_account_takes_and_does_not_pay(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 100, b);
    patch(a, "{\"reason\":\"asked by the police\",\"status\":\"frozen\"}", &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "status"), "frozen");
    assert_int_equal(response_integer(&response, "balance"), 100);
    assert_int_equal(response_integer(&response, "version"), 1);
    response_done(&response);
    bank_expect(client, &(Payment){a, b, 1, bank_key()}, 422, "account-frozen", NULL);
    bank_expect(client, &(Payment){b, a, 1, bank_key()}, 201, NULL, NULL);
    expect_change(a, "\"status\":\"frozen\"", 200, NULL);
    expect_change(a, "\"status\":\"open\"", 200, NULL);
    bank_expect(client, &(Payment){a, b, 101, bank_key()}, 201, NULL, NULL);
    assert_int_equal(bank_balance(client, a), 0);
}

static void only_an_empty_account_is_closed_and_that_is_final(void **state)
{
    AccountName a;
    AccountName b;
    (void)state;
    bank_open(client, 1, 5, a);
    bank_open(client, 2, 100, b);
    expect_change(a, "\"status\":\"closed\"", 409, "state-conflict");
    expect_get(a, 200, NULL);
    bank_expect(client, &(Payment){a, b, 5, bank_key()}, 201, NULL, NULL);
    expect_change(a, "\"status\":\"closed\"", 200, NULL);
    bank_expect(client, &(Payment){a, b, 1, bank_key()}, 422, "account-closed", NULL);
    bank_expect(client, &(Payment){b, a, 1, bank_key()}, 422, "account-closed", NULL);
    expect_change(a, "\"status\":\"closed\"", 200, NULL);
    expect_change(a, "\"status\":\"open\"", 409, "state-conflict");
    expect_change(a, "\"status\":\"frozen\"", 409, "state-conflict");
    expect_change(a, "\"floor\":-5", 409, "state-conflict");
    assert_int_equal(bank_balance(client, b), 105);
}

static void an_overdrawn_account_is_not_closed(void **state)
{
    AccountName sink;
    (void)state;
    bank_open(client, 1, 0, sink);
    expect_create("{\"id\":\"in-debt\",\"currency\":\"EUR\",\"floor\":-10}", 201, NULL);
    bank_expect(client, &(Payment){"in-debt", sink, 10, bank_key()}, 201, NULL, NULL);
    expect_change("in-debt", "\"status\":\"closed\"", 409, "state-conflict");
    expect_change("in-debt", "\"floor\":0,\"status\":\"closed\"", 409, "state-conflict");
}

static void a_floor_goes_anywhere_but_above_the_balance(void **state)
{
    AccountName sink;
    Response response;
    (void)state;
    bank_open(client, 2, 0, sink);
    expect_create("{\"id\":\"stepped\",\"currency\":\"EUR\"}", 201, NULL);
    expect_change("stepped", "\"floor\":-10", 200, NULL);
    bank_expect(client, &(Payment){"stepped", sink, 8, bank_key()}, 201, NULL, NULL);
    expect_change("stepped", "\"floor\":-7", 409, "state-conflict");
    expect_change("stepped", "\"floor\":0,\"status\":\"frozen\"", 409, "state-conflict");
    get("stepped", &response);
    assert_int_equal(response_integer(&response, "floor"), -10);
    assert_string_equal(response_string(&response, "status"), "open");
    response_done(&response);
    expect_change("stepped", "\"floor\":-8", 200, NULL);
    bank_expect(client, &(Payment){"stepped", sink, 1, bank_key()}, 422, "insufficient-funds",
                NULL);
    patch("stepped", "{\"reason\":\"becomes a world account\",\"floor\":null}", &response);
    response_expect(&response, 200, NULL);
    assert_true(is_null(&response, "floor"));
    response_done(&response);
    bank_expect(client, &(Payment){"stepped", sink, 1000, bank_key()}, 201, NULL, NULL);
}

static void a_change_needs_a_reason_and_something_to_change(void **state)
{
    static const struct
    {
        const char *body;
        const char *code;
    } cases[] = {
        {"{\"status\":\"frozen\"}", "body-invalid"},
        {"{\"reason\":null,\"status\":\"frozen\"}", "body-invalid"},
        {"{\"reason\":\"123456789\",\"status\":\"frozen\"}", "body-invalid"},
        {"{\"reason\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\",\"status\":\"frozen\"}",
         "body-invalid"},
        {"{\"reason\":12345678901,\"status\":\"frozen\"}", "body-invalid"},
        {"{\"reason\":\"a good reason\"}", "body-invalid"},
        {"{\"reason\":\"a good reason\",\"status\":null}", "body-invalid"},
        {"{\"reason\":\"a good reason\",\"status\":\"Frozen\"}", "body-invalid"},
        {"{\"reason\":\"a good reason\",\"status\":\"\"}", "body-invalid"},
        {"{\"reason\":\"a good reason\",\"status\":1}", "body-invalid"},
        {"{\"reason\":\"a good reason\",\"floor\":1}", "body-invalid"},
        {"{\"reason\":\"a good reason\",\"floor\":\"0\"}", "body-invalid"},
        {"{\"reason\":\"a good reason\",\"status\":\"frozen\",\"currency\":\"USD\"}",
         "body-invalid"},
        {"{\"reason\":\"a good reason\",\"status\":\"frozen\",\"status\":\"open\"}",
         "json-invalid"},
    };
    AccountName a;
    Response response;
    (void)state;
    bank_open(client, 1, 0, a);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        expect_patch(a, cases[i].body, 400, cases[i].code);
    get(a, &response);
    assert_string_equal(response_string(&response, "status"), "open");
    response_done(&response);
    expect_patch(a, "{\"reason\":\"1234567890\",\"status\":\"frozen\"}", 200, NULL);
    expect_change("nobody-at-all", "\"status\":\"frozen\"", 404, "account-not-found");
    expect_change("a%2Fb", "\"status\":\"frozen\"", 422, "account-id-invalid");
}

/* Sends the change and returns without waiting for the answer. */
static int send_change(const char *account)
{
    static const char body[] = "{\"reason\":\"because of the test\",\"status\":\"frozen\"}";
    char text[512];
    int length = snprintf(text, sizeof text,
                          "PATCH /v1/accounts/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          account, strlen(body), body);
    int fd = client_connect(client);
    assert_true(client_send(fd, text, (size_t)length));
    return fd;
}

static void await_a_waiter_for_locks(int shard)
{
    for (int i = 0; i < 200; i++)
    {
        if (sql_integer(cluster_dsn(cluster, shard),
                        "select count(*) from pg_locks where not granted") > 0)
            return;
        processes_pause_ms(10);
    }
    fail_msg("nobody waits for a lock on shard %d", shard);
}

static void a_locked_account_is_waited_for_and_still_readable(void **state)
{
    AccountName a;
    char sql[256];
    char sqlstate[6];
    char tag[40];
    char answer[2048];
    Response response;
    (void)state;
    bank_open(client, 1, 7, a);
    SqlSession *session = sql_session_new(cluster_dsn(cluster, 1));
    snprintf(sql, sizeof sql, "begin; select from giro.accounts where id = '%s' for update", a);
    sql_session_run(session, sql, NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "");
    int fd = send_change(a);
    await_a_waiter_for_locks(1);
    get(a, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "status"), "open");
    response_done(&response);
    sql_session_free(session);
    client_receive(fd, answer, sizeof answer, 5000, NULL);
    close(fd);
    check(strncmp(answer, "HTTP/1.1 200 ", 13) == 0, "%s", answer);
    get(a, &response);
    assert_string_equal(response_string(&response, "status"), "frozen");
    response_done(&response);
}

/* Work on a locked account is not done, and that is said; nothing waits for ever. */
static void an_account_that_stays_locked_is_429_and_its_shard_stays_usable(void **state)
{
    AccountName a;
    char sql[256];
    char sqlstate[6];
    char tag[40];
    char value[16];
    Response response;
    (void)state;
    bank_open(client, 1, 7, a);
    SqlSession *session = sql_session_new(cluster_dsn(cluster, 1));
    snprintf(sql, sizeof sql, "begin; select from giro.accounts where id = '%s' for update", a);
    sql_session_run(session, sql, NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "");
    patch(a, "{\"reason\":\"because of the test\",\"status\":\"frozen\"}", &response);
    response_expect(&response, 429, "account-busy");
    assert_true(response_header(&response, "Retry-After", value, sizeof value));
    assert_string_equal(response_string(&response, "effect"), "none");
    check(response.seconds < 8, "answered after %.1f s", response.seconds);
    response_done(&response);
    assert_int_equal(cluster_shell(cluster, "grep -q 'cannot be used' \"$GIRO_LOG\"", NULL, 0), 1);
    get(a, &response); /* reading does not wait */
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "status"), "open");
    response_done(&response);
    sql_session_free(session);
    expect_change(a, "\"status\":\"frozen\"", 200, NULL);
}

static void expect_status(const char *account, const char *status)
{
    Response response;
    get(account, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "status"), status);
    response_done(&response);
}

/* Signals the coordinator's sessions on a shard, all that it has there now. */
static void signal_sessions(SqlRows *rows, int signal_number)
{
    for (size_t i = 0; i < sql_row_count(rows); i++)
        kill((pid_t)sql_field_integer(rows, i, 0), signal_number);
}

/* The statement waits in the socket of a backend that is stopped. The answer does not deny it, and
 * when the backend goes on it does not act. */
static void a_change_sent_to_a_stopped_session_is_unknown_and_never_acts_late(void **state)
{
    AccountName a;
    (void)state;
    bank_open(client, 2, 0, a);
    SqlRows *rows = sql_rows(cluster_dsn(cluster, 2),
                             "select pid from pg_stat_activity where application_name = 'girod' "
                             "and backend_type = 'client backend' and state = 'idle'");
    assert_true(sql_row_count(rows) > 0);
    signal_sessions(rows, SIGSTOP);
    expect_change(a, "\"status\":\"frozen\"", 503, "outcome-unknown");
    signal_sessions(rows, SIGCONT);
    expect_change(a, "\"floor\":-7", 200, NULL);
    processes_pause_ms(500);
    expect_status(a, "open");
    expect_change(a, "\"status\":\"frozen\"", 200, NULL);
    sql_rows_free(rows);
}

/* Until there is an audit, the log says who changed what and why; no reason can forge a line. */
static void a_change_is_logged_with_its_reason(void **state)
{
    AccountName a;
    char command[512];
    Response response;
    (void)state;
    bank_open(client, 1, 0, a);
    char path[160];
    snprintf(path, sizeof path, "/v1/accounts/%s", a);
    const char *headers[] = {"X-Request-Id: audit-me",
                             "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                             NULL};
    client_call(client,
                &(Request){.method = "PATCH",
                           .path = path,
                           .body = "{\"reason\":\"two\\nlines of it\",\"floor\":null}",
                           .headers = headers},
                &response);
    response_expect(&response, 200, NULL);
    response_done(&response);
    snprintf(command, sizeof command,
             "grep -F '\"account\":\"%s\"' \"$GIRO_LOG\" | grep -F '\"request_id\":\"audit-me\"' | "
             "grep -F '\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"' | "
             "grep -F '\"floor\":null' | grep -F '\"outcome\":\"changed\"' | "
             "grep -qF '\"reason\":\"two\\nlines of it\"'",
             a);
    assert_int_equal(cluster_shell(cluster, command, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_frozen_account_takes_and_does_not_pay),
        with_books(only_an_empty_account_is_closed_and_that_is_final),
        with_books(an_overdrawn_account_is_not_closed),
        with_books(a_floor_goes_anywhere_but_above_the_balance),
        with_books(a_change_needs_a_reason_and_something_to_change),
        with_books(a_locked_account_is_waited_for_and_still_readable),
        with_books(an_account_that_stays_locked_is_429_and_its_shard_stays_usable),
        with_books(a_change_sent_to_a_stopped_session_is_unknown_and_never_acts_late),
        with_books(a_change_is_logged_with_its_reason),
    };
    return cmocka_run_group_tests_name("changes", tests, start, fixture_stop);
}
