/*
 * What is counted of partitions: who is counted where, and quantiles of durations.
 *
 * Fakes: tests/unit/fake_shards.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "batcher/partition_meters.h"
#include "fake_shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct World
{
    Loop *loop;
    Shard *shard;
    PartitionMeters *meters;
    char *text; /* as it was shown last */
    size_t length;
} World;

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    world->loop = loop_new();
    fake_shards_start(world->loop);
    world->shard = fake_shard("s1", 1, 'a');
    world->meters = partition_meters_new();
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    partition_meters_free(world->meters);
    fake_shards_stop();
    loop_free(world->loop);
    free(world->text);
    free(world);
    return 0;
}

#define with_world(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* The text; lent until the next one. */
static const char *text_of(World *world)
{
    free(world->text);
    FILE *out = open_memstream(&world->text, &world->length);
    partition_meters_write(world->meters, out);
    fclose(out);
    return world->text;
}

static void expect_series(World *world, const char *series, const char *wanted)
{
    char line[160];
    const char *text = text_of(world);
    snprintf(line, sizeof line, "\n%s %s\n", series, wanted);
    if (strstr(text, line) == NULL)
        fail_msg("no %s in\n%s", line + 1, text);
}

static Transfer transfer_between(const World *world, int32_t debit, int32_t credit)
{
    return (Transfer){
        .bytes = 100,
        .debit = {.shard = world->shard, .partition = debit, .keyspace = "t:"},
        .credit = {.shard = world->shard, .partition = credit, .keyspace = ""},
        .record = {.state = TRANSFER_POSTED, .mode = MODE_2PC},
    };
}

static void nothing_is_shown_of_what_was_not_touched(void **state)
{
    World *world = *state;
    const char *text = text_of(world);
    assert_non_null(strstr(text, "# TYPE giro_partition_requests_total counter\n"));
    assert_non_null(strstr(text, "# TYPE giro_partition_duration_seconds summary\n"));
    assert_null(strstr(text, "{"));
    partition_meters_free(NULL);
}

static void both_partitions_of_a_transfer_are_counted(void **state)
{
    World *world = *state;
    Transfer posted = transfer_between(world, 70, 3);
    partition_meters_record(world->meters, &posted, 1000000);
    const char *text = text_of(world);
    const char *third = strstr(text, "partition=\"3\"");
    const char *seventieth = strstr(text, "partition=\"70\"");
    assert_true(third != NULL && seventieth != NULL && third < seventieth);
    expect_series(world, "giro_partition_info{partition=\"70\",keyspace=\"t:\",shard=\"s1\"}", "1");
    expect_series(world, "giro_partition_info{partition=\"3\",keyspace=\"\",shard=\"s1\"}", "1");
    expect_series(world, "giro_partition_requests_total{partition=\"70\",side=\"debit\"}", "1");
    expect_series(world, "giro_partition_requests_total{partition=\"70\",side=\"credit\"}", "0");
    expect_series(world, "giro_partition_requests_total{partition=\"3\",side=\"credit\"}", "1");
    expect_series(world, "giro_partition_rows_total{partition=\"70\"}", "2");
    expect_series(world, "giro_partition_rows_total{partition=\"3\"}", "1");
    expect_series(world, "giro_partition_bytes_total{partition=\"3\"}", "100");
    expect_series(world, "giro_partition_duration_seconds_count{partition=\"3\"}", "1");
    expect_series(world, "giro_partition_duration_seconds_sum{partition=\"70\"}", "1");
}

static void inside_a_partition_a_transfer_takes_its_time_once(void **state)
{
    World *world = *state;
    Transfer posted = transfer_between(world, 3, 3);
    posted.record.mode = MODE_LOCAL;
    partition_meters_record(world->meters, &posted, 500);
    expect_series(world, "giro_partition_requests_total{partition=\"3\",side=\"debit\"}", "1");
    expect_series(world, "giro_partition_requests_total{partition=\"3\",side=\"credit\"}", "1");
    expect_series(world, "giro_partition_rows_total{partition=\"3\"}", "3");
    expect_series(world, "giro_partition_duration_seconds_count{partition=\"3\"}", "1");
}

static void a_replay_is_a_request_that_adds_no_rows(void **state)
{
    World *world = *state;
    Transfer replayed = transfer_between(world, 3, 4);
    replayed.replayed = true;
    partition_meters_record(world->meters, &replayed, 0);
    expect_series(world, "giro_partition_requests_total{partition=\"3\",side=\"debit\"}", "1");
    expect_series(world, "giro_partition_rows_total{partition=\"3\"}", "0");
    expect_series(world, "giro_partition_duration_seconds_count{partition=\"4\"}", "0");
    expect_series(world, "giro_partition_duration_seconds{partition=\"4\",quantile=\"0.95\"}",
                  "NaN");
}

static void rows_are_those_of_the_end(void **state)
{
    World *world = *state;
    Transfer refused = transfer_between(world, 1, 2);
    Transfer reversed = transfer_between(world, 3, 4);
    Transfer saga = transfer_between(world, 5, 6);
    refused.record.state = TRANSFER_REFUSED;
    reversed.record.state = TRANSFER_REVERSED;
    reversed.record.mode = MODE_SAGA;
    saga.record.mode = MODE_SAGA;
    partition_meters_record(world->meters, &refused, 1);
    partition_meters_record(world->meters, &reversed, 1);
    partition_meters_record(world->meters, &saga, 1);
    expect_series(world, "giro_partition_rows_total{partition=\"1\"}", "1");
    expect_series(world, "giro_partition_rows_total{partition=\"2\"}", "0");
    expect_series(world, "giro_partition_rows_total{partition=\"3\"}", "3");
    expect_series(world, "giro_partition_rows_total{partition=\"4\"}", "1");
    expect_series(world, "giro_partition_rows_total{partition=\"5\"}", "2");
    expect_series(world, "giro_partition_rows_total{partition=\"6\"}", "2");
}

/* What is shown of one partition. */
static double quantile(World *world, const char *which)
{
    char series[128];
    const char *text = text_of(world);
    snprintf(series, sizeof series,
             "\ngiro_partition_duration_seconds{partition=\"1\",quantile=\"%s\"} ", which);
    const char *at = strstr(text, series);
    assert_non_null(at);
    double value = strtod(at + strlen(series), NULL);
    return value;
}

/* At most an eighth, or one unit of 64 us, too high, and never too low. */
static void check_quantile(World *world, const char *which, double wanted_us)
{
    double shown_us = quantile(world, which) * 1e6;
    if (shown_us < wanted_us || shown_us > wanted_us * 1.125 + 128)
        fail_msg("the quantile %s is %g and not %g", which, shown_us, wanted_us);
}

static void quantiles_are_an_eighth_too_high_at_most(void **state)
{
    static const uint64_t scales_us[] = {1, 37, 1000, 30000, 5000000};
    for (size_t i = 0; i < ARRAY_LENGTH(scales_us); i++)
    {
        World *world;
        set_up((void **)&world);
        Transfer transfer = transfer_between(world, 1, 2);
        for (uint64_t n = 1; n <= 1000; n++)
            partition_meters_record(world->meters, &transfer, n * scales_us[i]);
        check_quantile(world, "0.5", 500.0 * (double)scales_us[i]);
        check_quantile(world, "0.95", 950.0 * (double)scales_us[i]);
        check_quantile(world, "0.99", 990.0 * (double)scales_us[i]);
        tear_down((void **)&world);
    }
    (void)state;
}

static void what_takes_days_is_shown_as_hours(void **state)
{
    World *world = *state;
    Transfer transfer = transfer_between(world, 1, 2);
    partition_meters_record(world->meters, &transfer, UINT64_C(400000000000));
    assert_true(quantile(world, "0.99") > 7200);
    assert_true(quantile(world, "0.99") < 10000);
}

static void the_number_of_partitions_is_bounded(void **state)
{
    World *world = *state;
    for (int32_t i = 0; i < PARTITIONS_SHOWN_MAX; i += 2)
    {
        Transfer transfer = transfer_between(world, i, i + 1);
        partition_meters_record(world->meters, &transfer, 1);
    }
    Transfer late = transfer_between(world, PARTITIONS_SHOWN_MAX, 7);
    partition_meters_record(world->meters, &late, 1);
    expect_series(world, "giro_partition_requests_total{partition=\"7\",side=\"credit\"}", "2");
    const char *text = text_of(world);
    assert_null(strstr(text, "{partition=\"8192\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_world(nothing_is_shown_of_what_was_not_touched),
        with_world(both_partitions_of_a_transfer_are_counted),
        with_world(inside_a_partition_a_transfer_takes_its_time_once),
        with_world(a_replay_is_a_request_that_adds_no_rows),
        with_world(rows_are_those_of_the_end),
        cmocka_unit_test(quantiles_are_an_eighth_too_high_at_most),
        with_world(what_takes_days_is_shown_as_hours),
        with_world(the_number_of_partitions_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
