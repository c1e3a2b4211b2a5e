/* Counters, gauges, histograms, and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/metrics.h"

#include <stdlib.h>
#include <string.h>

static const MetricFamily requests = {
    .name = "t_requests_total",
    .help = "Requests.",
    .type = METRIC_COUNTER,
    .labels = {"operation", "status"},
};
static const MetricFamily sessions = {
    .name = "t_sessions", .help = "Sessions.", .type = METRIC_GAUGE, .labels = {"shard"}};
static const MetricFamily sizes = {
    .name = "t_sizes", .help = "Sizes.", .type = METRIC_HISTOGRAM, .buckets = {1, 8, 64}};
static const MetricFamily durations = {
    .name = "t_duration_seconds",
    .help = "Durations.",
    .type = METRIC_HISTOGRAM_SECONDS,
    .labels = {"stage", "shard"},
    .buckets = {500, 1000, 2500000},
};

static void expect_text(const Metrics *metrics, const char *wanted)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    metrics_write(metrics, out);
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
}

static void microseconds_are_counted_and_shown_as_seconds(void **state)
{
    static const MetricFamily busy = {
        .name = "t_busy_seconds_total", .help = "Work.", .type = METRIC_COUNTER_SECONDS};
    (void)state;
    Metrics *metrics = metrics_new();
    counter_add(metrics_counter(metrics, &busy, NULL, NULL), 1250000);
    expect_text(metrics, "# HELP t_busy_seconds_total Work.\n"
                         "# TYPE t_busy_seconds_total counter\n"
                         "t_busy_seconds_total 1.25\n");
    metrics_free(metrics);
}

static void nothing_has_no_text(void **state)
{
    (void)state;
    Metrics *metrics = metrics_new();
    expect_text(metrics, "");
    metrics_free(metrics);
    metrics_free(NULL);
}

static void counters_begin_at_zero_and_keep_their_order(void **state)
{
    (void)state;
    Metrics *metrics = metrics_new();
    Counter *good = metrics_counter(metrics, &requests, "createTransfer", "2xx");
    Counter *bad = metrics_counter(metrics, &requests, "createTransfer", "5xx");
    assert_ptr_not_equal(good, bad);
    expect_text(metrics, "# HELP t_requests_total Requests.\n"
                         "# TYPE t_requests_total counter\n"
                         "t_requests_total{operation=\"createTransfer\",status=\"2xx\"} 0\n"
                         "t_requests_total{operation=\"createTransfer\",status=\"5xx\"} 0\n");
    counter_add(bad, UINT64_C(18446744073709551615));
    counter_add(good, 3);
    assert_ptr_equal(metrics_counter(metrics, &requests, "createTransfer", "2xx"), good);
    expect_text(metrics, "# HELP t_requests_total Requests.\n"
                         "# TYPE t_requests_total counter\n"
                         "t_requests_total{operation=\"createTransfer\",status=\"2xx\"} 3\n"
                         "t_requests_total{operation=\"createTransfer\",status=\"5xx\"} "
                         "18446744073709551615\n");
    metrics_free(metrics);
}

static void a_gauge_is_shown_while_it_is_set(void **state)
{
    (void)state;
    Metrics *metrics = metrics_new();
    Gauge *one = metrics_gauge(metrics, &sessions, "s\"1\\\n", NULL);
    Gauge *two = metrics_gauge(metrics, &sessions, "s2", NULL);
    static const char head[] = "# HELP t_sessions Sessions.\n# TYPE t_sessions gauge\n";
    char wanted[256];
    expect_text(metrics, head);
    gauge_set(one, 12.25);
    gauge_set(two, 123456789012.0);
    snprintf(wanted, sizeof wanted, "%s%s", head,
             "t_sessions{shard=\"s\\\"1\\\\\\n\"} 12.25\nt_sessions{shard=\"s2\"} 123456789012\n");
    expect_text(metrics, wanted);
    metrics_unset_gauges(metrics);
    gauge_set(two, -1);
    snprintf(wanted, sizeof wanted, "%s%s", head, "t_sessions{shard=\"s2\"} -1\n");
    expect_text(metrics, wanted);
    metrics_free(metrics);
}

static void bounds_are_inclusive_and_buckets_add_up(void **state)
{
    static const uint64_t values[] = {0, 1, 2, 8, 9, 64, 65, 1000};
    (void)state;
    Metrics *metrics = metrics_new();
    Histogram *histogram = metrics_histogram(metrics, &sizes, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(values); i++)
        histogram_observe(histogram, values[i]);
    expect_text(metrics, "# HELP t_sizes Sizes.\n"
                         "# TYPE t_sizes histogram\n"
                         "t_sizes_bucket{le=\"1\"} 2\n"
                         "t_sizes_bucket{le=\"8\"} 4\n"
                         "t_sizes_bucket{le=\"64\"} 6\n"
                         "t_sizes_bucket{le=\"+Inf\"} 8\n"
                         "t_sizes_sum 1149\n"
                         "t_sizes_count 8\n");
    metrics_free(metrics);
}

static void microseconds_are_shown_as_seconds(void **state)
{
    (void)state;
    Metrics *metrics = metrics_new();
    Histogram *histogram = metrics_histogram(metrics, &durations, "lock", "shard-1");
    histogram_observe(histogram, 700);
    histogram_observe(histogram, 3000001);
    expect_text(metrics,
                "# HELP t_duration_seconds Durations.\n"
                "# TYPE t_duration_seconds histogram\n"
                "t_duration_seconds_bucket{stage=\"lock\",shard=\"shard-1\",le=\"0.0005\"} 0\n"
                "t_duration_seconds_bucket{stage=\"lock\",shard=\"shard-1\",le=\"0.001\"} 1\n"
                "t_duration_seconds_bucket{stage=\"lock\",shard=\"shard-1\",le=\"2.5\"} 1\n"
                "t_duration_seconds_bucket{stage=\"lock\",shard=\"shard-1\",le=\"+Inf\"} 2\n"
                "t_duration_seconds_sum{stage=\"lock\",shard=\"shard-1\"} 3.000701\n"
                "t_duration_seconds_count{stage=\"lock\",shard=\"shard-1\"} 2\n");
    metrics_free(metrics);
}

static const MetricFamily full = {
    .name = "t_full",
    .help = "All buckets are used.",
    .type = METRIC_HISTOGRAM,
    .buckets = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
};

static void a_histogram_may_use_all_its_buckets(void **state)
{
    (void)state;
    Metrics *metrics = metrics_new();
    Histogram *histogram = metrics_histogram(metrics, &full, NULL, NULL);
    for (uint64_t i = 1; i <= METRIC_BUCKETS_MAX + 2; i++)
        histogram_observe(histogram, i);
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    metrics_write(metrics, out);
    fclose(out);
    assert_non_null(strstr(text, "t_full_bucket{le=\"15\"} 15\n"
                                 "t_full_bucket{le=\"+Inf\"} 17\n"
                                 "t_full_sum 153\n"
                                 "t_full_count 17\n"));
    free(text);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_no_text),
        cmocka_unit_test(microseconds_are_counted_and_shown_as_seconds),
        cmocka_unit_test(counters_begin_at_zero_and_keep_their_order),
        cmocka_unit_test(a_gauge_is_shown_while_it_is_set),
        cmocka_unit_test(bounds_are_inclusive_and_buckets_add_up),
        cmocka_unit_test(microseconds_are_shown_as_seconds),
        cmocka_unit_test(a_histogram_may_use_all_its_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
