/*
 * GET /metrics: the text, what is counted of requests, and what is sampled of the shards.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum
{
    PERIOD_MS = 50,
};

#define BATCH "00000000-0000-0000-0000-000000000001"

static int set_up_sampled(void **state)
{
    return set_up_with(state, PERIOD_MS);
}

#define SAMPLED_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_sampled, tear_down)

static void scrape(World *world)
{
    get(world, "/metrics");
    expect(world, 200);
    assert_true(has_header(world, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
}

/* The lines of one family, with its HELP and TYPE. */
static void expect_family(World *world, const char *name, const char *wanted)
{
    char have[4096] = "";
    size_t used = 0;
    size_t length = strlen(name);
    for (const char *line = world->body; *line != '\0'; line += strcspn(line, "\n") + 1)
    {
        const char *at = strncmp(line, "# ", 2) == 0 ? line + strlen("# HELP ") : line;
        if (strncmp(at, name, length) == 0 && (at[length] == ' ' || at[length] == '{'))
            used += (size_t)snprintf(have + used, sizeof have - used, "%.*s\n",
                                     (int)strcspn(line, "\n"), line);
    }
    assert_string_equal(have, wanted);
}

static bool has_line(const World *world, const char *line)
{
    char text[256];
    snprintf(text, sizeof text, "\n%s\n", line);
    return strstr(world->body, text) != NULL;
}

static void expect_line(const World *world, const char *line)
{
    if (!has_line(world, line))
        fail_msg("no %s in\n%s", line, world->body);
}

/* ---- the text -------------------------------------------------------------------------------- */

static void gauges_say_how_things_are_now(void **state)
{
    World *world = *state;
    world->calls->shards[1]->usable = false;
    world->calls->shards[1]->fenced = true;
    scrape(world);
    expect_family(world, "giro_build_info",
                  "# HELP giro_build_info 1, for the version.\n"
                  "# TYPE giro_build_info gauge\n"
                  "giro_build_info{version=\"" GIRO_VERSION "\"} 1\n");
    expect_family(world, "giro_shard_usable",
                  "# HELP giro_shard_usable 1 if the shard can be used, 0 if not.\n"
                  "# TYPE giro_shard_usable gauge\n"
                  "giro_shard_usable{shard=\"s1\"} 1\n"
                  "giro_shard_usable{shard=\"s2\"} 0\n"
                  "giro_shard_usable{shard=\"s3\"} 1\n");
    expect_line(world, "giro_shard_fenced{shard=\"s1\"} 0");
    expect_line(world, "giro_shard_fenced{shard=\"s2\"} 1");
    expect_line(world, "giro_batches_in_doubt 1");
    expect_line(world, "giro_transfers_in_flight 2");
    expect_line(world, "giro_transfers_queued 1");
    expect_line(world, "giro_batches_in_flight 1");
    expect_line(world, "giro_http_connections 1");
    expect_line(world, "giro_http_requests_in_progress 1");
    expect_line(world, "giro_sessions_open{shard=\"s1\"} 4");
    expect_line(world, "giro_sessions_busy{shard=\"s1\"} 1");
    expect_line(world, "giro_sessions_waited_for{shard=\"s1\"} 0");
    expect_line(world, "giro_directory_reachable 1");
    expect_line(world, "giro_recovery_actions_total{kind=\"leg_applied\",result=\"done\"} 3");
    expect_line(world, "giro_recovery_actions_total{kind=\"leg_applied\",result=\"failed\"} 0");
}

/* The value of a series without labels. */
static double value_of(const World *world, const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "\n%s ", name);
    const char *at = strstr(world->body, text);
    if (at == NULL)
        fail_msg("no %s", name);
    return strtod(at + strlen(text), NULL);
}

static void the_process_is_shown_under_the_usual_names(void **state)
{
    World *world = *state;
    scrape(world);
    double now = (double)base_wall_clock_us() / 1e6;
    double started = value_of(world, "process_start_time_seconds");
    double cpu = value_of(world, "process_cpu_seconds_total");
    assert_true(started > now - 3600 && started <= now);
    assert_true(value_of(world, "process_resident_memory_bytes") > 1e5);
    assert_true(value_of(world, "process_virtual_memory_bytes") >=
                value_of(world, "process_resident_memory_bytes"));
    double open = value_of(world, "process_open_fds");
    assert_true(open >= 4 && open <= value_of(world, "process_max_fds"));
    int one_more = dup(STDERR_FILENO);
    scrape(world);
    close(one_more);
    assert_true(value_of(world, "process_open_fds") == open + 1);
    assert_true(value_of(world, "process_start_time_seconds") == started);
    assert_true(cpu > 0 && value_of(world, "process_cpu_seconds_total") >= cpu);
}

static void partitions_are_apart(void **state)
{
    World *world = *state;
    scrape(world);
    assert_null(strstr(world->body, "giro_partition"));
    get(world, "/metrics/partitions");
    expect(world, 200);
    assert_true(has_header(world, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert_string_equal(world->body, "# HELP giro_partition_rows_total Rows.\n");
}

static void requests_are_counted_by_operation_and_class(void **state)
{
    World *world = *state;
    scrape(world);
    expect_line(world, "giro_http_requests_total{operation=\"live\",status=\"2xx\"} 0");
    get(world, "/livez");
    call(world, "HEAD /livez", "", "");
    get(world, "/livez?x=1");
    call(world, "POST /livez", "", "");
    get(world, "/nowhere");
    world->calls->by_shard[0].code = ERROR_SHARD_UNAVAILABLE;
    get(world, "/v1/accounts");
    scrape(world);
    expect_line(world, "giro_http_requests_total{operation=\"live\",status=\"2xx\"} 2");
    expect_line(world, "giro_http_requests_total{operation=\"live\",status=\"4xx\"} 1");
    expect_line(world, "giro_http_requests_total{operation=\"live\",status=\"5xx\"} 0");
    expect_line(world, "giro_http_requests_total{operation=\"none\",status=\"4xx\"} 2");
    expect_line(world, "giro_http_requests_total{operation=\"listAccounts\",status=\"5xx\"} 1");
    expect_line(world, "giro_http_requests_total{operation=\"metrics\",status=\"2xx\"} 1");
    expect_line(world, "giro_http_request_duration_seconds_count{operation=\"live\"} 3");
    expect_line(world,
                "giro_http_request_duration_seconds_bucket{operation=\"live\",le=\"+Inf\"} 3");
    expect_line(world, "giro_http_request_duration_seconds_bucket{operation=\"live\",le=\"30\"} 3");
}

/* Every operation of the description is counted under its name. */
static void operations_are_named_as_in_the_description(void **state)
{
    World *world = *state;
    size_t described = 0;
    size_t counted = 0;
    get(world, "/openapi.json");
    for (const char *at = world->body; (at = strstr(at, "\"operationId\"")) != NULL; at++)
        described++;
    scrape(world);
    for (const char *at = world->body; (at = strstr(at, "_seconds_count{operation=")) != NULL; at++)
        counted++;
    assert_int_equal(counted, described + 1);
    char *metrics = strdup(world->body);
    get(world, "/openapi.json");
    for (const char *at = world->body; (at = strstr(at, "\"operationId\": \"")) != NULL; at++)
    {
        char line[256];
        const char *name = at + strlen("\"operationId\": \"");
        snprintf(line, sizeof line, "_seconds_count{operation=\"%.*s\"}", (int)strcspn(name, "\""),
                 name);
        if (strstr(metrics, line) == NULL)
            fail_msg("%s", line);
    }
    free(metrics);
}

/* ---- samples --------------------------------------------------------------------------------- */

static const PgRows *a_state(void)
{
    FakeRows *rows = fake_rows_new(9);
    fake_timestamp_us(rows, NOON_US);
    fake_int8(rows, 7);
    fake_timestamp_us(rows, NOON_US - 2500000);
    fake_int8(rows, 0);
    fake_null(rows);
    fake_int8(rows, 1);
    fake_timestamp_us(rows, NOON_US + 1); /* the clock of who wrote it is ahead */
    fake_int8(rows, 3);
    fake_int4(rows, 64);
    return fake_lend(rows);
}

static const PgRows *a_replication(bool known)
{
    FakeRows *rows = fake_rows_new(3);
    fake_int4(rows, 2);
    if (known)
    {
        fake_int8(rows, 16777216);
        fake_int8(rows, 1500);
    }
    else
    {
        fake_null(rows);
        fake_null(rows);
    }
    return fake_lend(rows);
}

static const PgRows *a_list(void)
{
    static const struct
    {
        const char *gid;
        int64_t age_ms;
    } items[] = {{"by hand", 4000},
                 {"other", 9000},
                 {"giro:test:g1:" BATCH ":s1:s2", 20000},
                 {"giro:test:g1:" BATCH ":s9:s2", 30}};
    FakeRows *rows = fake_rows_new(8);
    for (size_t i = 0; i < ARRAY_LENGTH(items); i++)
    {
        fake_text(rows, items[i].gid);
        fake_timestamp_us(rows, NOON_US);
        fake_int8(rows, items[i].age_ms);
        fake_text(rows, "coord");
        fake_text(rows, "giro");
        fake_bool(rows, true);
        fake_bool(rows, true);
        fake_bool(rows, false);
    }
    return fake_lend(rows);
}

static bool answers = true;

/* Shard 2 has all that there is; shard 3 does not answer. */
static FakeReply reply(size_t place, Statement statement)
{
    if (place == 2 || !answers)
        return (FakeReply){ERROR_SHARD_UNAVAILABLE, NULL};
    if (statement == STATEMENT_SHARD_STATE)
        return (FakeReply){ERROR_NONE, a_state()};
    if (statement == STATEMENT_REPLICATION_STATE)
        return (FakeReply){ERROR_NONE, a_replication(place == 0)};
    return (FakeReply){ERROR_NONE, statement == STATEMENT_PREPARED_LIST && place == 1
                                       ? a_list()
                                       : fake_lend(fake_rows_new(8))};
}

static void run_for(World *world, uint64_t ms)
{
    bool never = false;
    (void)loop_run_until(world->loop, &never, ms);
}

/* Scrapes until a line shows, or, with `wanted` false, until it does not. */
static void await_line(World *world, const char *line, bool wanted)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += PERIOD_MS)
    {
        scrape(world);
        if (has_line(world, line) == wanted)
            return;
        run_for(world, PERIOD_MS);
    }
    fail_msg("%s: %s in\n%s", line, wanted ? "not" : "still", world->body);
}

static void nothing_is_shown_of_what_was_not_sampled(void **state)
{
    World *world = *state;
    scrape(world);
    assert_null(strstr(world->body, "giro_pending_sagas"));
    assert_null(strstr(world->body, "giro_prepared"));
    assert_null(strstr(world->body, "giro_shard_sample_age_seconds"));
    run_for(world, 2 * PERIOD_MS);
    assert_int_equal(world->calls->count, 0);
}

static void what_lives_on_the_shards_is_sampled(void **state)
{
    World *world = *state;
    answers = true;
    world->calls->reply = reply;
    await_line(world, "giro_prepared_transactions{shard=\"s2\",class=\"foreign\"} 2", true);
    expect_family(world, "giro_pending_sagas",
                  "# HELP giro_pending_sagas Sagas at home on the shard that are not final; 10000 "
                  "means that many or more.\n"
                  "# TYPE giro_pending_sagas gauge\n"
                  "giro_pending_sagas{shard=\"s1\"} 7\n"
                  "giro_pending_sagas{shard=\"s2\"} 7\n");
    expect_line(world, "giro_pending_sagas_oldest_seconds{shard=\"s2\"} 2.5");
    expect_line(world, "giro_needs_attention{shard=\"s2\"} 0");
    expect_line(world, "giro_needs_attention_oldest_seconds{shard=\"s2\"} 0");
    expect_line(world, "giro_unfinished_batches{shard=\"s2\"} 1");
    expect_line(world, "giro_unfinished_batches_oldest_seconds{shard=\"s2\"} 0");
    expect_line(world, "giro_prepared_slots_used{shard=\"s2\"} 3");
    expect_line(world, "giro_prepared_slots{shard=\"s2\"} 64");
    expect_line(world,
                "giro_prepared_transactions_oldest_seconds{shard=\"s2\",class=\"foreign\"} 9");
    expect_line(world, "giro_prepared_transactions{shard=\"s2\",class=\"orphan\"} 1");
    expect_line(world,
                "giro_prepared_transactions_oldest_seconds{shard=\"s2\",class=\"orphan\"} 20");
    expect_line(world, "giro_prepared_transactions{shard=\"s2\",class=\"in-doubt\"} 1");
    expect_line(world, "giro_prepared_transactions{shard=\"s2\",class=\"in-flight\"} 0");
    expect_line(world, "giro_prepared_transactions{shard=\"s1\",class=\"foreign\"} 0");
    await_line(world, "giro_replication_standbys{shard=\"s1\"} 2", true);
    expect_line(world, "giro_replication_lag_bytes{shard=\"s1\"} 16777216");
    expect_line(world, "giro_replication_lag_seconds{shard=\"s1\"} 1.5");
    await_line(world, "giro_replication_standbys{shard=\"s2\"} 2", true);
    assert_null(strstr(world->body, "giro_replication_lag_bytes{shard=\"s2\"}"));
    assert_null(strstr(world->body, "giro_replication_lag_seconds{shard=\"s2\"}"));
    assert_null(strstr(world->body, "giro_prepared_transactions{shard=\"s3\""));
    assert_null(strstr(world->body, "giro_shard_sample_age_seconds{shard=\"s3\"}"));
}

static void a_sample_that_is_too_old_is_not_shown(void **state)
{
    World *world = *state;
    answers = true;
    world->calls->reply = reply;
    await_line(world, "giro_pending_sagas{shard=\"s1\"} 7", true);
    answers = false;
    await_line(world, "giro_pending_sagas{shard=\"s1\"} 7", false);
    assert_null(strstr(world->body, "giro_pending_sagas{shard=\"s2\"}"));
    assert_null(strstr(world->body, "giro_prepared_transactions{"));
    assert_non_null(strstr(world->body, "giro_shard_sample_age_seconds{shard=\"s1\"} 0."));
    answers = true;
    await_line(world, "giro_pending_sagas{shard=\"s1\"} 7", true);
}

static void a_shard_that_cannot_be_used_is_not_asked_for_its_state(void **state)
{
    World *world = *state;
    answers = true;
    world->calls->reply = reply;
    world->calls->shards[0]->usable = false;
    await_line(world, "giro_pending_sagas{shard=\"s2\"} 7", true);
    assert_null(strstr(world->body, "giro_pending_sagas{shard=\"s1\"}"));
    world->calls->shards[0]->usable = true;
    await_line(world, "giro_pending_sagas{shard=\"s1\"} 7", true);
}

static void set_true(void *context)
{
    *(bool *)context = true;
}

static void draining_ends_the_sampling(void **state)
{
    World *world = *state;
    bool drained = false;
    answers = true;
    world->calls->reply = reply;
    await_line(world, "giro_pending_sagas{shard=\"s1\"} 7", true);
    api_drain(world->api, set_true, &drained);
    assert_true(loop_run_until(world->loop, &drained, PATIENCE_MS));
    size_t count = world->calls->count;
    run_for(world, (uint64_t)3 * PERIOD_MS);
    assert_int_equal(world->calls->count, count);
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(gauges_say_how_things_are_now),
        API_TEST(the_process_is_shown_under_the_usual_names),
        API_TEST(partitions_are_apart),
        API_TEST(requests_are_counted_by_operation_and_class),
        API_TEST(operations_are_named_as_in_the_description),
        API_TEST(nothing_is_shown_of_what_was_not_sampled),
        SAMPLED_TEST(what_lives_on_the_shards_is_sampled),
        SAMPLED_TEST(a_sample_that_is_too_old_is_not_shown),
        SAMPLED_TEST(a_shard_that_cannot_be_used_is_not_asked_for_its_state),
        SAMPLED_TEST(draining_ends_the_sampling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
