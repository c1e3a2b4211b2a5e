/*
 * A real server on a loopback port, spoken to through raw sockets. Client and server share one
 * thread: whenever the client waits, the loop runs.
 *
 * Fakes: tests/unit/http_client.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "http/http.h"
#include "http_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    BODY_MAX = 2000,
    ARRIVE_MS = 600,
    PATIENCE_MS = 5000,
    ANSWER_MAX = 64 * 1024,
    PENDING_MAX = 64,
};

typedef struct World
{
    Loop *loop;
    HttpServer *server;
    HttpRequest *pending[PENDING_MAX];
    size_t pending_count;
    size_t handled;
    bool drained;
    char answer[ANSWER_MAX];
} World;

/* ---- the server's side ---------------------------------------------------------------------- */

static void reply_text(HttpRequest *request, int status, const char *text)
{
    HttpReply reply = {
        .status = status,
        .content_type = "text/plain",
        .body = text,
        .body_length = strlen(text),
    };
    http_reply(request, &reply);
}

/* Says what arrived: method, segments, parameters, body. */
static void reply_echo(HttpRequest *request)
{
    char text[BODY_MAX + 512];
    size_t length;
    const Uri *uri = http_uri(request);
    int used = snprintf(text, sizeof text, "%s", http_method(request));
    for (size_t i = 0; i < uri->segment_count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " [%s]", uri->segments[i]);
    for (size_t i = 0; i < uri->parameter_count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s=%s", uri->parameters[i].name,
                         uri->parameters[i].value);
    snprintf(text + used, sizeof text - (size_t)used, " <%s>", http_body(request, &length));
    reply_text(request, 200, text);
}

static void handle(void *context, HttpRequest *request)
{
    World *world = context;
    world->handled++;
    if (strcmp(http_uri(request)->segments[0], "later") != 0)
        reply_echo(request);
    else
    {
        assert_true(world->pending_count < PENDING_MAX);
        world->pending[world->pending_count++] = request;
    }
}

static void reject(void *context, HttpRequest *request, const Error *error)
{
    (void)context;
    reply_text(request, error_row(error->code)->status, error->text);
}

static size_t body_max(void *context, const HttpRequest *request)
{
    (void)context;
    (void)request;
    return BODY_MAX;
}

static void on_drained(void *context)
{
    ((World *)context)->drained = true;
}

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    Error error;
    HttpOptions options = {
        .address = {"127.0.0.1", 0},
        .connections_max = 1000,
        .bodies_max = 1024 * 1024,
        .body_max = body_max,
        .arrive_timeout_ms = ARRIVE_MS,
        .handle = handle,
        .reject = reject,
        .context = world,
    };
    world->loop = loop_new();
    world->server = http_server_new(world->loop, &options, &error);
    assert_non_null(world->server);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    http_server_free(world->server);
    loop_free(world->loop);
    free(world);
    return 0;
}

/* ---- the client's side ---------------------------------------------------------------------- */

/* Reads into world->answer, see client_receive. */
static bool receive(World *world, int fd, const char *marker, int count)
{
    Received received = {world->answer, sizeof world->answer, marker, count};
    return client_receive(world->loop, fd, &received);
}

static void expect_status(World *world, int fd, int status)
{
    char start[32];
    receive(world, fd, "HTTP/1.1 ", 1);
    snprintf(start, sizeof start, "HTTP/1.1 %d ", status);
    if (strncmp(world->answer, start, strlen(start)) != 0)
        fail_msg("expected %d, got: %s", status, world->answer);
}

static void expect_closed(World *world, int fd)
{
    char rest[1024];
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5)
    {
        ssize_t got = recv(fd, rest, sizeof rest, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return;
        client_pump(world->loop, 5);
    }
    fail_msg("the connection is still open");
}

static void expect_body(const World *world, const char *body)
{
    const char *end = strstr(world->answer, "\r\n\r\n");
    assert_non_null(end);
    assert_string_equal(end + 4, body);
}

static void wait_for_pending(World *world, size_t count)
{
    for (int waited_ms = 0; world->pending_count < count && waited_ms < PATIENCE_MS; waited_ms += 5)
        client_pump(world->loop, 5);
    assert_int_equal(world->pending_count, count);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void answers_a_request_and_keeps_the_connection(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    for (int i = 0; i < 3; i++)
    {
        client_send(fd, "GET /a%2Fb/c?x=1+2&y=%26 HTTP/1.1\r\nHost: h\r\n\r\n");
        expect_status(world, fd, 200);
        expect_body(world, "GET [a/b] [c] x=1 2 y=& <>");
        assert_non_null(strstr(world->answer, "X-Request-Id: "));
    }
    close(fd);
}

static void takes_a_body_byte_by_byte(void **state)
{
    static const char request[] = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    for (size_t i = 0; request[i] != '\0'; i++)
    {
        client_send_bytes(fd, &request[i], 1);
        client_pump(world->loop, 1);
    }
    expect_status(world, fd, 200);
    expect_body(world, "POST [b] <hello>");
    close(fd);
}

static void takes_a_chunked_body(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    client_send(fd, "3\r\nabc\r\n");
    client_pump(world->loop, 10);
    client_send(fd, "2\r\nde\r\n0\r\n\r\n");
    expect_status(world, fd, 200);
    expect_body(world, "POST [b] <abcde>");
    close(fd);
}

static void interleaved_bodies_stay_apart(void **state)
{
    World *world = *state;
    int fds[50];
    char text[128];
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
    {
        fds[i] = client_open(http_server_port(world->server));
        client_send(fds[i], "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n");
    }
    for (size_t byte = 0; byte < 4; byte++)
    {
        for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
        {
            snprintf(text, sizeof text, "%04zu", i * 7);
            client_send_bytes(fds[i], text + byte, 1);
        }
        client_pump(world->loop, 2);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
    {
        expect_status(world, fds[i], 200);
        snprintf(text, sizeof text, "POST [b] <%04zu>", i * 7);
        expect_body(world, text);
        close(fds[i]);
    }
}

static void a_body_of_the_limit_passes_and_one_byte_more_is_413(void **state)
{
    World *world = *state;
    char body[BODY_MAX + 1];
    memset(body, 'x', sizeof body);
    for (size_t length = BODY_MAX; length <= BODY_MAX + 1; length++)
    {
        char head[128];
        int fd = client_open(http_server_port(world->server));
        snprintf(head, sizeof head, "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n",
                 length);
        client_send(fd, head);
        client_send_bytes(fd, body, length);
        expect_status(world, fd, length <= BODY_MAX ? 200 : 413);
        if (length > BODY_MAX)
            expect_closed(world, fd);
        close(fd);
    }
    assert_int_equal(world->handled, 1);
}

static void a_huge_announced_body_is_413_at_once(void **state)
{
    static const char *const lengths[] = {"10000000", "9223372036854775807"};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++)
    {
        char head[128];
        int fd = client_open(http_server_port(world->server));
        snprintf(head, sizeof head, "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: %s\r\n\r\n",
                 lengths[i]);
        client_send(fd, head);
        expect_status(world, fd, 413);
        expect_closed(world, fd);
        close(fd);
    }
    assert_int_equal(world->handled, 0);
}

static void an_endless_chunked_body_is_cut(void **state)
{
    World *world = *state;
    char chunk[4096 + 8];
    int fd = client_open(http_server_port(world->server));
    size_t sent = 0;
    memcpy(chunk, "1000\r\n", 6);
    memset(chunk + 6, 'x', 4096);
    memcpy(chunk + 4102, "\r\n", 2);
    client_send(fd, "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (sent < 64 * 1024 * 1024)
    {
        ssize_t count = send(fd, chunk, 4104, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno != EAGAIN)
            break;
        if (count > 0 && count < 4104)
            break; /* a torn chunk would be malformed; the cut is near anyway */
        sent += count > 0 ? (size_t)count : 0;
        client_pump(world->loop, 1);
    }
    expect_closed(world, fd);
    assert_true(sent < 8 * 1024 * 1024);
    assert_int_equal(world->handled, 0);
    close(fd);
}

static void doubtful_headers_are_400_and_end_the_connection(void **state)
{
    static const char *const headers[] = {
        "Host: h\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\n",
        "Host: h\r\nIdempotency-Key: a\r\nidempotency-key: b\r\n",
        "Host: h\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
        "Host: h\r\nHost: h\r\n",
        "Host: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n",
        "Host: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(headers); i++)
    {
        int fd = client_open(http_server_port(world->server));
        client_send(fd, "POST /b HTTP/1.1\r\n");
        client_send(fd, headers[i]);
        client_send(fd, "\r\n");
        expect_status(world, fd, 400);
        expect_closed(world, fd);
        close(fd);
    }
    assert_int_equal(world->handled, 0);
}

static void too_many_headers_are_400(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "GET /b HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 70; i++)
        client_send(fd, "X-Filler: 1\r\n");
    client_send(fd, "\r\n");
    expect_status(world, fd, 400);
    close(fd);
}

static void a_sane_request_id_is_echoed_and_another_is_replaced(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "GET /b HTTP/1.1\r\nHost: h\r\nX-Request-Id: Trace_1.2-3\r\n\r\n");
    expect_status(world, fd, 200);
    assert_non_null(strstr(world->answer, "X-Request-Id: Trace_1.2-3\r\n"));
    client_send(fd, "GET /b HTTP/1.1\r\nHost: h\r\nX-Request-Id: not sane\r\n\r\n");
    expect_status(world, fd, 200);
    assert_null(strstr(world->answer, "not sane"));
    close(fd);
}

static void a_malformed_escape_is_refused(void **state)
{
    static const char *const targets[] = {"/%", "/%4", "/%zz", "/a%00b", "/a?x=%f", "/a?x=1&x=1"};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(targets); i++)
    {
        char request[128];
        int fd = client_open(http_server_port(world->server));
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", targets[i]);
        client_send(fd, request);
        expect_status(world, fd, 400);
        close(fd);
    }
    assert_int_equal(world->handled, 0);
}

static void head_is_answered_without_a_body(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "HEAD /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_true(receive(world, fd, "never seen", 1));
    assert_int_equal(strncmp(world->answer, "HTTP/1.1 200 ", 13), 0);
    expect_body(world, "");
    close(fd);
}

static void expect_continue_is_honoured(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd,
                "POST /b HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    expect_status(world, fd, 100);
    client_send(fd, "ok");
    expect_status(world, fd, 200);
    expect_body(world, "POST [b] <ok>");
    close(fd);
}

static void an_answer_may_come_later(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
    wait_for_pending(world, 1);
    client_pump(world->loop, ARRIVE_MS + 500); /* we are late, not the client */
    assert_int_equal(http_server_counts(world->server).pending, 1);
    reply_echo(world->pending[0]);
    expect_status(world, fd, 200);
    expect_body(world, "POST [later] <hi>");
    client_pump(world->loop, 20);
    assert_int_equal(http_server_counts(world->server).pending, 0);
    close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n1"
                    "POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n2"
                    "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_pending(world, 1);
    assert_int_equal(world->handled, 1);
    reply_echo(world->pending[0]);
    wait_for_pending(world, 2);
    reply_echo(world->pending[1]);
    receive(world, fd, "[later] <>", 1);
    const char *first = strstr(world->answer, "POST [later] <1>");
    const char *second = strstr(world->answer, "POST [now] <2>");
    assert_true(first != NULL && second != NULL && first < second);
    close(fd);
}

static void a_client_that_leaves_while_pending_harms_nobody(void **state)
{
    World *world = *state;
    for (size_t i = 0; i < 20; i++)
    {
        int fd = client_open(http_server_port(world->server));
        client_send(fd, "POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
        wait_for_pending(world, i + 1);
        close(fd);
    }
    client_pump(world->loop, 50);
    for (size_t i = 0; i < 20; i++)
        reply_echo(world->pending[i]);
    client_pump(world->loop, 100);
    assert_int_equal(http_server_counts(world->server).pending, 0);
    assert_int_equal(http_server_counts(world->server).connections, 0);
}

static void half_open_connections_do_not_hinder_others_and_are_closed(void **state)
{
    World *world = *state;
    int idle[300];
    for (size_t i = 0; i < ARRAY_LENGTH(idle); i++)
    {
        idle[i] = client_open(http_server_port(world->server));
        assert_true(idle[i] >= 0);
        if (i % 3 > 0)
            client_send(idle[i], i % 3 == 1 ? "POST /b HT" : "POST /b HTTP/1.1\r\nHost: h\r\n");
        client_pump(world->loop, 0);
    }
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_status(world, fd, 200);
    close(fd);
    client_pump(world->loop, ARRIVE_MS + 700);
    assert_int_equal(http_server_counts(world->server).connections, 0);
    for (size_t i = 0; i < ARRAY_LENGTH(idle); i++)
        close(idle[i]);
}

static void a_head_that_dribbles_is_cut(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "GET /b HTTP/1.1\r\nX: ");
    for (int i = 0; i < 40 && send(fd, "x", 1, MSG_NOSIGNAL) == 1; i++)
        client_pump(world->loop, 50);
    assert_int_equal(http_server_counts(world->server).connections, 0);
    close(fd);
}

static void a_body_that_dribbles_is_408(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 10; i++)
    {
        client_send(fd, "x");
        client_pump(world->loop, 50);
    }
    expect_status(world, fd, 408);
    expect_closed(world, fd);
    close(fd);
    client_pump(world->loop, 50);
    assert_int_equal(world->handled, 0);
    assert_int_equal(http_server_counts(world->server).connections, 0);
}

static void draining_waits_for_answers_and_stops_listening(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_pending(world, 1);
    http_server_drain(world->server, on_drained, world);
    client_pump(world->loop, 50);
    assert_false(world->drained);
    assert_int_equal(client_open(http_server_port(world->server)), -1);
    reply_echo(world->pending[0]);
    expect_status(world, fd, 200);
    assert_non_null(strstr(world->answer, "Connection: close"));
    client_pump(world->loop, 50);
    assert_true(world->drained);
    close(fd);
}

static void can_be_freed_while_clients_wait(void **state)
{
    World *world = *state;
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_pending(world, 1);
    http_server_free(world->server);
    world->server = NULL;
    assert_true(receive(world, fd, "never seen", 1));
    assert_string_equal(world->answer, "");
    close(fd);
}

static void says_why_it_cannot_listen(void **state)
{
    World *world = *state;
    Error error;
    HttpOptions options = {.address = {"127.0.0.1", http_server_port(world->server)}};
    assert_null(http_server_new(world->loop, &options, &error));
    assert_int_equal(error.code, ERROR_CONFIG);
    options.address = (ListenAddress){"localhost", 0};
    assert_null(http_server_new(world->loop, &options, &error));
    assert_true(listen_is_loopback("127.9.9.9") && listen_is_loopback("::1"));
    assert_false(listen_is_loopback("0.0.0.0") || listen_is_loopback("::"));
    assert_false(listen_is_loopback("128.0.0.1") || listen_is_loopback("x"));
}

#define HTTP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(answers_a_request_and_keeps_the_connection),
        HTTP_TEST(takes_a_body_byte_by_byte),
        HTTP_TEST(takes_a_chunked_body),
        HTTP_TEST(interleaved_bodies_stay_apart),
        HTTP_TEST(a_body_of_the_limit_passes_and_one_byte_more_is_413),
        HTTP_TEST(a_huge_announced_body_is_413_at_once),
        HTTP_TEST(an_endless_chunked_body_is_cut),
        HTTP_TEST(doubtful_headers_are_400_and_end_the_connection),
        HTTP_TEST(too_many_headers_are_400),
        HTTP_TEST(a_sane_request_id_is_echoed_and_another_is_replaced),
        HTTP_TEST(a_malformed_escape_is_refused),
        HTTP_TEST(head_is_answered_without_a_body),
        HTTP_TEST(expect_continue_is_honoured),
        HTTP_TEST(an_answer_may_come_later),
        HTTP_TEST(pipelined_requests_are_answered_in_order),
        HTTP_TEST(a_client_that_leaves_while_pending_harms_nobody),
        HTTP_TEST(half_open_connections_do_not_hinder_others_and_are_closed),
        HTTP_TEST(a_head_that_dribbles_is_cut),
        HTTP_TEST(a_body_that_dribbles_is_408),
        HTTP_TEST(draining_waits_for_answers_and_stops_listening),
        HTTP_TEST(can_be_freed_while_clients_wait),
        HTTP_TEST(says_why_it_cannot_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
