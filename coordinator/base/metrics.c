/* See metrics.h. */
#include "base/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

typedef struct Series
{
    STAILQ_ENTRY(Series) link;
    char *values[METRIC_LABELS_MAX];
    union
    {
        Counter counter;
        Gauge gauge;
        Histogram histogram;
    };
} Series;

typedef struct Family
{
    STAILQ_ENTRY(Family) link;
    const MetricFamily *what;
    STAILQ_HEAD(, Series) series;
} Family;

struct Metrics
{
    STAILQ_HEAD(, Family) families;
};

/* ---- series ---------------------------------------------------------------------------------- */

Metrics *metrics_new(void)
{
    Metrics *metrics = base_malloc(sizeof *metrics);
    STAILQ_INIT(&metrics->families);
    return metrics;
}

static void family_free(Family *family)
{
    Series *series;
    while ((series = STAILQ_FIRST(&family->series)) != NULL)
    {
        STAILQ_REMOVE_HEAD(&family->series, link);
        for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
            free(series->values[i]);
        free(series);
    }
    free(family);
}

void metrics_free(Metrics *metrics)
{
    Family *family;
    if (metrics == NULL)
        return;
    while ((family = STAILQ_FIRST(&metrics->families)) != NULL)
    {
        STAILQ_REMOVE_HEAD(&metrics->families, link);
        family_free(family);
    }
    free(metrics);
}

static Family *family_of(Metrics *metrics, const MetricFamily *what)
{
    Family *family;
    STAILQ_FOREACH (family, &metrics->families, link)
    {
        if (family->what == what)
            return family;
    }
    STAILQ_FOREACH (family, &metrics->families, link)
        ASSERT(strcmp(family->what->name, what->name) != 0);
    family = base_malloc(sizeof *family);
    *family = (Family){.what = what};
    STAILQ_INIT(&family->series);
    STAILQ_INSERT_TAIL(&metrics->families, family, link);
    return family;
}

static bool has_values(const Series *series, const char *const values[METRIC_LABELS_MAX])
{
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
    {
        if (values[i] != NULL && strcmp(series->values[i], values[i]) != 0)
            return false;
    }
    return true;
}

static Series *series_of(Metrics *metrics, const MetricFamily *what,
                         const char *const values[METRIC_LABELS_MAX])
{
    Family *family = family_of(metrics, what);
    Series *series;
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        ASSERT((what->labels[i] == NULL) == (values[i] == NULL));
    STAILQ_FOREACH (series, &family->series, link)
    {
        if (has_values(series, values))
            return series;
    }
    series = base_calloc(1, sizeof *series);
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        series->values[i] = values[i] != NULL ? base_strdup(values[i]) : NULL;
    STAILQ_INSERT_TAIL(&family->series, series, link);
    return series;
}

Counter *metrics_counter(Metrics *metrics, const MetricFamily *family, const char *first,
                         const char *second)
{
    ASSERT(family->type == METRIC_COUNTER || family->type == METRIC_COUNTER_SECONDS);
    return &series_of(metrics, family, (const char *[]){first, second})->counter;
}

Gauge *metrics_gauge(Metrics *metrics, const MetricFamily *family, const char *first,
                     const char *second)
{
    ASSERT(family->type == METRIC_GAUGE);
    return &series_of(metrics, family, (const char *[]){first, second})->gauge;
}

Histogram *metrics_histogram(Metrics *metrics, const MetricFamily *family, const char *first,
                             const char *second)
{
    ASSERT(family->type == METRIC_HISTOGRAM || family->type == METRIC_HISTOGRAM_SECONDS);
    Series *series = series_of(metrics, family, (const char *[]){first, second});
    series->histogram.family = family;
    return &series->histogram;
}

void histogram_observe(Histogram *histogram, uint64_t value)
{
    const uint64_t *buckets = histogram->family->buckets;
    size_t i = 0;
    while (i < METRIC_BUCKETS_MAX && buckets[i] != 0 && value > buckets[i])
        i++;
    histogram->counts[i]++;
    histogram->sum += value;
}

void metrics_unset_gauges(Metrics *metrics)
{
    const Family *family;
    Series *series;
    STAILQ_FOREACH (family, &metrics->families, link)
    {
        if (family->what->type != METRIC_GAUGE)
            continue;
        STAILQ_FOREACH (series, &family->series, link)
            series->gauge.is_set = false;
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

static void write_value(FILE *out, const char *value)
{
    for (; *value != '\0'; value++)
    {
        if (*value == '\n')
            fputs("\\n", out);
        else if (*value == '"' || *value == '\\')
            fprintf(out, "\\%c", *value);
        else
            fputc(*value, out);
    }
}

/* The name, with its suffix, and the labels; le is one more of them, unless it is NULL. */
static void write_name(FILE *out, const MetricFamily *family, const char *suffix,
                       const Series *series, const char *le)
{
    const char *separator = "{";
    fprintf(out, "%s%s", family->name, suffix);
    for (size_t i = 0; i < METRIC_LABELS_MAX && family->labels[i] != NULL; i++)
    {
        fprintf(out, "%s%s=\"", separator, family->labels[i]);
        write_value(out, series->values[i]);
        fputc('"', out);
        separator = ",";
    }
    if (le != NULL)
    {
        fprintf(out, "%sle=\"%s\"", separator, le);
        separator = ",";
    }
    fputs(*separator == ',' ? "} " : " ", out);
}

static void format_number(const MetricFamily *family, uint64_t value, char ret_text[32])
{
    if (family->type == METRIC_HISTOGRAM_SECONDS || family->type == METRIC_COUNTER_SECONDS)
        snprintf(ret_text, 32, "%.15g", (double)value / 1e6);
    else
        snprintf(ret_text, 32, "%" PRIu64, value);
}

static void write_histogram(FILE *out, const MetricFamily *family, const Series *series)
{
    const Histogram *histogram = &series->histogram;
    char number[32];
    uint64_t count = 0;
    for (size_t i = 0; i < METRIC_BUCKETS_MAX && family->buckets[i] != 0; i++)
    {
        count += histogram->counts[i];
        format_number(family, family->buckets[i], number);
        write_name(out, family, "_bucket", series, number);
        fprintf(out, "%" PRIu64 "\n", count);
    }
    for (size_t i = 0; i <= METRIC_BUCKETS_MAX; i++)
        count += i == METRIC_BUCKETS_MAX || family->buckets[i] == 0 ? histogram->counts[i] : 0;
    write_name(out, family, "_bucket", series, "+Inf");
    fprintf(out, "%" PRIu64 "\n", count);
    format_number(family, histogram->sum, number);
    write_name(out, family, "_sum", series, NULL);
    fprintf(out, "%s\n", number);
    write_name(out, family, "_count", series, NULL);
    fprintf(out, "%" PRIu64 "\n", count);
}

static void write_series(FILE *out, const MetricFamily *family, const Series *series)
{
    char number[32];
    switch (family->type)
    {
    case METRIC_COUNTER:
    case METRIC_COUNTER_SECONDS:
        format_number(family, series->counter.value, number);
        write_name(out, family, "", series, NULL);
        fprintf(out, "%s\n", number);
        break;
    case METRIC_GAUGE:
        if (!series->gauge.is_set)
            break;
        write_name(out, family, "", series, NULL);
        fprintf(out, "%.15g\n", series->gauge.value);
        break;
    case METRIC_HISTOGRAM:
    case METRIC_HISTOGRAM_SECONDS:
        write_histogram(out, family, series);
        break;
    }
}

void metrics_write(const Metrics *metrics, FILE *out)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_COUNTER_SECONDS] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
        [METRIC_HISTOGRAM_SECONDS] = "histogram",
    };
    const Family *family;
    const Series *series;
    STAILQ_FOREACH (family, &metrics->families, link)
    {
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", family->what->name, family->what->help,
                family->what->name, types[family->what->type]);
        STAILQ_FOREACH (series, &family->series, link)
            write_series(out, family->what, series);
    }
}
