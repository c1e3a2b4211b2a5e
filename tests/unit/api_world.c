/* See api_world.h. */
#include "api_world.h"

#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int set_up_with(void **state, uint64_t sample_period_ms)
{
    World *world = calloc(1, sizeof *world);
    Error error;
    world->loop = loop_new();
    world->metrics = metrics_new();
    world->calls = fake_calls_start(world->loop);
    fake_batcher_reset(world->loop, &world->outcome);
    ApiOptions options = {
        .loop = world->loop,
        .metrics = world->metrics,
        .address = {"127.0.0.1", 0},
        .connections_max = 100,
        .arrive_timeout_ms = 2000,
        .call_deadline_ms = 1000,
        .sample_period_ms = sample_period_ms,
    };
    world->api = api_new(&options, &error);
    assert_non_null(world->api);
    *state = world;
    return 0;
}

int set_up(void **state)
{
    return set_up_with(state, 0);
}

int tear_down(void **state)
{
    World *world = *state;
    json_free(world->json);
    api_free(world->api);
    fake_batcher_done();
    fake_calls_stop();
    fake_values_stop();
    metrics_free(world->metrics);
    loop_free(world->loop);
    free(world);
    return 0;
}

/* ---- a client ------------------------------------------------------------------------------- */

void call(World *world, const char *start, const char *headers, const char *body)
{
    char *request;
    Error error;
    Received received = {world->answer, sizeof world->answer, NULL, 0};
    int fd = client_open(api_port(world->api));
    int length = asprintf(&request,
                          "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Request-Id: r-1\r\n"
                          "%sContent-Length: %zu\r\n\r\n%s",
                          start, headers, strlen(body), body);
    assert_true(length > 0);
    client_send(fd, request);
    free(request);
    client_receive(world->loop, fd, &received);
    close(fd);
    if (sscanf(world->answer, "HTTP/1.1 %d ", &world->status) != 1)
        fail_msg("%s: no answer: %s", start, world->answer);
    world->body = strstr(world->answer, "\r\n\r\n") + 4;
    assert_non_null(strstr(world->answer, "X-Request-Id: r-1\r\n"));
    json_free(world->json);
    world->json = NULL;
    if (world->body[0] == '\0' || has_header(world, "Content-Type: text/plain"))
        return;
    world->json = json_parse(world->body, strlen(world->body), &error);
    if (world->json == NULL)
        fail_msg("%s: %s", error.text, world->body);
}

void get(World *world, const char *target)
{
    char start[512];
    snprintf(start, sizeof start, "GET %s", target);
    call(world, start, "", "");
}

const char *text_field(const World *world, const char *name)
{
    const Json *value = json_field(world->json, name);
    if (value == NULL || json_kind(value) != JSON_KIND_STRING)
        fail_msg("no text %s in %s", name, world->body);
    return json_as_string(value);
}

bool has_header(const World *world, const char *line)
{
    return strstr(world->answer, line) != NULL && strstr(world->answer, line) < world->body;
}

void expect(World *world, int status)
{
    if (world->status != status)
        fail_msg("%d, not %d: %s", world->status, status, world->answer);
}

void expect_problem(World *world, int status, const char *code)
{
    char type[64];
    expect(world, status);
    if (strcmp(text_field(world, "code"), code) != 0)
        fail_msg("not %s: %s", code, world->body);
    assert_true(has_header(world, "Content-Type: application/problem+json\r\n"));
    snprintf(type, sizeof type, "/problems/%s", code);
    assert_string_equal(text_field(world, "type"), type);
    assert_int_equal(json_as_integer(json_field(world->json, "status")), status);
    assert_string_equal(text_field(world, "request_id"), "r-1");
    assert_true(strlen(text_field(world, "title")) > 0 && strlen(text_field(world, "detail")) > 0);
    bool retryable = json_as_bool(json_field(world->json, "retryable"));
    assert_int_equal(retryable, status == 429 || status == 503);
    assert_int_equal(has_header(world, "Retry-After: "), retryable);
    bool unknown = strcmp(code, "outcome-unknown") == 0;
    assert_string_equal(text_field(world, "effect"), unknown ? "unknown" : "none");
}
