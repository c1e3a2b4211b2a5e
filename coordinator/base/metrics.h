/*
 * Counters, gauges and histograms, and their text for Prometheus.
 *
 * Modules make their series when they start, one for each combination of label values that can
 * occur, and keep the pointers: so every series is there with its zero from the beginning, and
 * counting is an addition to a number that is at hand. Series of a shard are made when the shard
 * is first seen. Labels are closed sets (modes, kinds, shards); never ids or texts of clients.
 *
 * One thread, so no locks. Counting never allocates. Whole numbers count, microseconds are shown
 * as seconds.
 */
#ifndef GIRO_METRICS_H
#define GIRO_METRICS_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum
{
    METRIC_LABELS_MAX = 2,
    METRIC_BUCKETS_MAX = 15,
};

typedef enum MetricType
{
    METRIC_COUNTER,
    METRIC_COUNTER_SECONDS, /* of microseconds, shown as seconds */
    METRIC_GAUGE,
    METRIC_HISTOGRAM,         /* of whole numbers */
    METRIC_HISTOGRAM_SECONDS, /* of microseconds, shown as seconds */
} MetricType;

/* A family of series: static, and lent for as long as the metrics live. */
typedef struct MetricFamily
{
    const char *name;
    const char *help;
    MetricType type;
    const char *labels[METRIC_LABELS_MAX]; /* NULL: no more */
    /* Upper bounds of a histogram's buckets, ascending and inclusive; 0: no more. */
    uint64_t buckets[METRIC_BUCKETS_MAX];
} MetricFamily;

typedef struct Metrics Metrics;

typedef struct Counter
{
    uint64_t value;
} Counter;

typedef struct Gauge
{
    double value;
    bool is_set;
} Gauge;

typedef struct Histogram
{
    const MetricFamily *family;
    uint64_t counts[METRIC_BUCKETS_MAX + 1]; /* of each bucket alone; the last one has no bound */
    uint64_t sum;
} Histogram;

Metrics *metrics_new(void);
void metrics_free(Metrics *metrics); /* accepts NULL */

/* The series of a family with these label values, made if it is new; lives as long as the metrics.
 * Values are copied, and must be NULL where the family has no label. */
Counter *metrics_counter(Metrics *metrics, const MetricFamily *family, const char *first,
                         const char *second);
Gauge *metrics_gauge(Metrics *metrics, const MetricFamily *family, const char *first,
                     const char *second);
Histogram *metrics_histogram(Metrics *metrics, const MetricFamily *family, const char *first,
                             const char *second);

static inline void counter_add(Counter *counter, uint64_t count)
{
    counter->value += count;
}

static inline void gauge_set(Gauge *gauge, double value)
{
    *gauge = (Gauge){value, true};
}

void histogram_observe(Histogram *histogram, uint64_t value);

/* A gauge that is not set again is not shown any more. */
void metrics_unset_gauges(Metrics *metrics);

/* The text format 0.0.4: families in the order in which they were made, series as well. */
void metrics_write(const Metrics *metrics, FILE *out);

#endif
