/*
 * The API as clients see it: a real server on a loopback port with fakes below, one request at a
 * time, and the answer taken apart.
 */
#ifndef GIRO_API_WORLD_H
#define GIRO_API_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "api/api.h"
#include "fake_batcher.h"
#include "fake_calls.h"
#include "fake_values.h"
#include "json/json.h"

#include <string.h>

enum
{
    ANSWER_MAX = 4 * 1024 * 1024,
    PATIENCE_MS = 3000,
};

#define UUID      "aabbccdd-0011-8233-8455-66778899aabb"
#define NOON_US   INT64_C(1769860800000000) /* 2026-01-31T12:00:00Z */
#define JSON_TYPE "Content-Type: application/json\r\n"

typedef struct World
{
    Loop *loop;
    Metrics *metrics;
    Api *api;
    FakeCalls *calls;
    TransferOutcome outcome;
    TransferRecord record;
    char answer[ANSWER_MAX];
    int status;
    const char *body;
    Json *json; /* NULL if the body is empty or plain text */
} World;

int set_up(void **state);
/* The shards are sampled for metrics. */
int set_up_with(void **state, uint64_t sample_period_ms);
int tear_down(void **state);

/* Sends one request and takes the answer apart. `headers` are whole lines. */
void call(World *world, const char *start, const char *headers, const char *body);
void get(World *world, const char *target);

const char *text_field(const World *world, const char *name);
bool has_header(const World *world, const char *line);
void expect(World *world, int status);
/* A complete problem document with this code. */
void expect_problem(World *world, int status, const char *code);

#define API_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
