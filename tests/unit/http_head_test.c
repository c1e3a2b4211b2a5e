/*
 * Heads that are not what libmicrohttpd makes of them: NUL bytes, control characters, folds; and
 * the spellings that are taken.
 *
 * Fakes: tests/unit/http_client.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "http/http.h"
#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    BODY_MAX = 1000,
    ANSWER_MAX = 8 * 1024,
};

typedef struct World
{
    Loop *loop;
    HttpServer *server;
    size_t handled;
    char answer[ANSWER_MAX];
} World;

static void handle(void *context, HttpRequest *request)
{
    World *world = context;
    HttpReply reply = {.status = 200, .content_type = "text/plain", .body = "ok", .body_length = 2};
    world->handled++;
    http_reply(request, &reply);
}

static void reject(void *context, HttpRequest *request, const Error *error)
{
    HttpReply reply = {.status = error_row(error->code)->status, .content_type = "text/plain"};
    (void)context;
    reply.body = error_row(error->code)->name;
    reply.body_length = strlen(reply.body);
    http_reply(request, &reply);
}

static size_t body_max(void *context, const HttpRequest *request)
{
    (void)context;
    (void)request;
    return BODY_MAX;
}

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    Error error;
    HttpOptions options = {
        .address = {"127.0.0.1", 0},
        .connections_max = 10,
        .bodies_max = 10 * BODY_MAX,
        .arrive_timeout_ms = 3000,
        .body_max = body_max,
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

/* One raw request, which may hold NUL bytes. */
typedef struct Raw
{
    const char *bytes;
    size_t length;
} Raw;

#define RAW(text)                                                                                  \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }

/* A refusal closes the connection. */
static void expect_raw(World *world, const Raw *raw, int status)
{
    char start[32];
    Received received = {world->answer, sizeof world->answer, "HTTP/1.", 1};
    if (status == 400)
        received.marker = NULL;
    int fd = client_open(http_server_port(world->server));
    client_send_bytes(fd, raw->bytes, raw->length);
    client_receive(world->loop, fd, &received);
    snprintf(start, sizeof start, "%d ", status);
    if (strncmp(world->answer + strlen("HTTP/1.1 "), start, strlen(start)) != 0)
        fail_msg("expected %d for %s, got: %s", status, raw->bytes, world->answer);
    close(fd);
}

/* libmicrohttpd hands out strings: what stands behind a NUL would be lost. */
static void nothing_of_a_head_is_lost_behind_a_nul(void **state)
{
    static const Raw raws[] = {
        RAW("GET /b\0x HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b?x=1\0x HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b\0 HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b\0HTTP/1.1 HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nIdempotency-Key: abc\0one\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nIdempotency-Key: abc\0one\r\nHost: h\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nIdempotency-Key: abc\0\r\nHost: h\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nIdempotency-Key: abc\0\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nIdempotency-Key: \0abc\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nIdempotency-Key:\0\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nIdempotency-Key: abc\0X: one\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nIdempotency-Key: abc\0\0X\0one\r\n\r\n"),
        RAW("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\0\r\n\r\nhi"),
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(raws); i++)
    {
        expect_raw(world, &raws[i], 400);
        bool is_key = strstr(world->answer, "idempotency-key-invalid") != NULL;
        assert_int_equal(is_key, i >= 4 && i <= 11);
    }
    assert_int_equal(world->handled, 0);
}

static void control_characters_and_folds_in_a_head_are_400(void **state)
{
    static const Raw raws[] = {
        RAW("GET /b\rc HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b\x01 HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b\tc HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b c HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nX: a\x7f\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\nY: c\r\n\r\n"),
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(raws); i++)
        expect_raw(world, &raws[i], 400);
    assert_int_equal(world->handled, 0);
}

static void other_spellings_of_a_head_are_taken(void **state)
{
    static const Raw raws[] = {
        RAW("GET /b HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b?x=%0A%01&y&z= HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b HTTP/1.1\nHost: h\nX: 1\n\n"),
        RAW("GET  /b HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost:h\r\nX:\r\nY: \t\r\nZ: a\tb  c \t\r\nEnd: \xc3\xa9\r\n\r\n"),
        RAW("GET /b HTTP/1.1\r\nHost: h\r\nCookie: a=b; c=\"d e\"; f\r\nX: y\r\n\r\n"),
        RAW("GET /b HTTP/1.0\r\n\r\n"),
        RAW("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na\0b"),
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(raws); i++)
        expect_raw(world, &raws[i], 200);
}

/* The buffer of the head grows while it arrives. */
static void a_long_head_in_pieces_is_taken(void **state)
{
    World *world = *state;
    char header[600];
    Received received = {world->answer, sizeof world->answer, "HTTP/1.", 1};
    int fd = client_open(http_server_port(world->server));
    client_send(fd, "GET /b HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 14; i++)
    {
        int length = snprintf(header, sizeof header, "X-%d: %0500d\r\n", i, i);
        client_send_bytes(fd, header, (size_t)length / 2);
        client_pump(world->loop, 2);
        client_send(fd, header + length / 2);
        client_pump(world->loop, 2);
    }
    client_send(fd, "\r\n");
    client_receive(world->loop, fd, &received);
    assert_int_equal(strncmp(world->answer, "HTTP/1.1 200 ", 13), 0);
    close(fd);
}

#define HEAD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEAD_TEST(nothing_of_a_head_is_lost_behind_a_nul),
        HEAD_TEST(control_characters_and_folds_in_a_head_are_400),
        HEAD_TEST(other_spellings_of_a_head_are_taken),
        HEAD_TEST(a_long_head_in_pieces_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
