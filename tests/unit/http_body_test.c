/*
 * Bodies: a limit for each request and one for all together, memory given back early, answers whose
 * body is handed over instead of copied.
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
    SMALL_MAX = 1000,
    LARGE_MAX = 50000,
    BODIES_MAX = 70000,
    ARRIVE_MS = 3000,
    ANSWER_MAX = 8 * 1024,
};

typedef struct World
{
    Loop *loop;
    HttpServer *server;
    size_t handled;
    HttpRequest *held;
    char answer[ANSWER_MAX];
} World;

/* ---- the server's side ---------------------------------------------------------------------- */

/* Answers with the length of the body; POST /keep waits with its body, POST /release without. */
static void handle(void *context, HttpRequest *request)
{
    World *world = context;
    size_t length;
    const char *word = http_uri(request)->segments[1];
    HttpReply reply = {.status = 200, .content_type = "text/plain"};
    (void)http_body(request, &length);
    world->handled++;
    if (strcmp(word, "release") == 0)
        http_body_release(request);
    if (strcmp(word, "answer") != 0)
    {
        world->held = request;
        return;
    }
    int printed = asprintf(&reply.given_body, "%zu bytes", length);
    assert_true(printed > 0);
    reply.body_length = (size_t)printed;
    http_reply(request, &reply);
}

static void reject(void *context, HttpRequest *request, const Error *error)
{
    HttpReply reply = {.status = error_row(error->code)->status, .content_type = "text/plain"};
    (void)context;
    reply.body = error->text;
    reply.body_length = strlen(error->text);
    if (reply.status == 503)
        http_reply_header(&reply, "Retry-After", "1");
    http_reply(request, &reply);
}

static size_t body_max(void *context, const HttpRequest *request)
{
    const Uri *uri = http_uri(request);
    bool large = uri->segment_count > 0 && strcmp(uri->segments[0], "large") == 0;
    (void)context;
    return large && strcmp(http_method(request), "POST") == 0 ? LARGE_MAX : SMALL_MAX;
}

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    Error error;
    HttpOptions options = {
        .address = {"127.0.0.1", 0},
        .connections_max = 100,
        .bodies_max = BODIES_MAX,
        .arrive_timeout_ms = ARRIVE_MS,
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

/* ---- the client's side ---------------------------------------------------------------------- */

static int send_body(const World *world, const char *start, size_t length)
{
    static char body[LARGE_MAX + 1];
    char head[128];
    int fd = client_open(http_server_port(world->server));
    memset(body, 'x', sizeof body);
    snprintf(head, sizeof head, "%s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", start,
             length);
    client_send(fd, head);
    client_send_bytes(fd, body, length);
    return fd;
}

static void expect_answer(World *world, int fd, const char *start, const char *body)
{
    Received received = {world->answer, sizeof world->answer, "\r\n\r\n", 1};
    client_receive(world->loop, fd, &received);
    if (strncmp(world->answer, start, strlen(start)) != 0 || strstr(world->answer, body) == NULL)
        fail_msg("not %s … %s: %s", start, body, world->answer);
    close(fd);
}

static void await_handled(World *world, size_t count)
{
    for (int i = 0; world->handled < count && i < 1000; i++)
        client_pump(world->loop, 2);
    assert_int_equal(world->handled, count);
}

static void answer_held(World *world, int fd)
{
    HttpReply reply = {
        .status = 200, .content_type = "text/plain", .body = "late", .body_length = 4};
    http_reply(world->held, &reply);
    expect_answer(world, fd, "HTTP/1.1 200", "late");
}

/* ---- what holds ----------------------------------------------------------------------------- */

static void the_limit_depends_on_the_head(void **state)
{
    static const struct
    {
        const char *start;
        size_t length;
        const char *answer;
        const char *body;
    } cases[] = {
        {"POST /small/answer", SMALL_MAX, "HTTP/1.1 200", "1000 bytes"},
        {"POST /small/answer", SMALL_MAX + 1, "HTTP/1.1 413", "the limit is 1000 bytes"},
        {"PUT /large/answer", SMALL_MAX + 1, "HTTP/1.1 413", "the limit is 1000 bytes"},
        {"POST /large/answer", LARGE_MAX, "HTTP/1.1 200", "50000 bytes"},
        {"POST /large/answer", LARGE_MAX + 1, "HTTP/1.1 413", "the limit is 50000 bytes"},
        {"POST /large/%zz", SMALL_MAX + 1, "HTTP/1.1 413", "the limit is 1000 bytes"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        expect_answer(world, send_body(world, cases[i].start, cases[i].length), cases[i].answer,
                      cases[i].body);
    assert_int_equal(world->handled, 2);
}

static void a_body_that_finds_no_room_among_the_others_is_503(void **state)
{
    World *world = *state;
    int fd = send_body(world, "POST /large/keep", LARGE_MAX);
    await_handled(world, 1);
    expect_answer(world, send_body(world, "POST /large/answer", LARGE_MAX), "HTTP/1.1 503",
                  "\r\nRetry-After: 1\r\n");
    answer_held(world, fd);
    expect_answer(world, send_body(world, "POST /large/answer", LARGE_MAX), "HTTP/1.1 200",
                  "50000 bytes");
}

static void a_body_given_back_makes_room_before_its_answer(void **state)
{
    World *world = *state;
    int fd = send_body(world, "POST /large/release", LARGE_MAX);
    await_handled(world, 1);
    expect_answer(world, send_body(world, "POST /large/answer", LARGE_MAX), "HTTP/1.1 200",
                  "50000 bytes");
    answer_held(world, fd);
}

static void a_client_that_leaves_gives_its_room_back(void **state)
{
    World *world = *state;
    for (int i = 0; i < 5; i++)
    {
        char head[128];
        static char part[LARGE_MAX / 2];
        int fd = client_open(http_server_port(world->server));
        snprintf(head, sizeof head,
                 "POST /large/answer HTTP/1.1\r\nHost: h\r\nContent-Length: %d"
                 "\r\n\r\n",
                 LARGE_MAX);
        client_send(fd, head);
        client_send_bytes(fd, part, sizeof part);
        client_pump(world->loop, 20);
        close(fd);
        client_pump(world->loop, 20);
    }
    expect_answer(world, send_body(world, "POST /large/answer", LARGE_MAX), "HTTP/1.1 200",
                  "50000 bytes");
}

#define HTTP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(the_limit_depends_on_the_head),
        HTTP_TEST(a_body_that_finds_no_room_among_the_others_is_503),
        HTTP_TEST(a_body_given_back_makes_room_before_its_answer),
        HTTP_TEST(a_client_that_leaves_gives_its_room_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
