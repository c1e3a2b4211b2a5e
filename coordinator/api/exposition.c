/*
 * GET /metrics, /metrics/partitions: what is counted, and how things stand now, as text for
 * Prometheus. See handler.h and base/metrics.h.
 *
 * Counters and histograms are kept by those who count. Gauges are set here, at the moment of the
 * scrape, from what this process knows: no shard is asked. What is on the shards comes from the
 * sampler; where it has nothing fresh, there is no gauge.
 */
#include "api/handler.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
static const MetricFamily requests_family = {"giro_http_requests_total",
    "HTTP requests that were answered, by operation (none: no such path or method, or refused "
    "before that was known) and class of status.", METRIC_COUNTER, {"operation", "status"}, {0}};
static const MetricFamily duration_family = {"giro_http_request_duration_seconds",
    "How long a request took, from its last byte to its answer.", METRIC_HISTOGRAM_SECONDS,
    {"operation"}, {500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000,
                    2500000, 5000000, 10000000, 30000000}};

static const MetricFamily recovery_family = {"giro_recovery_actions_total",
    "What was done about work that was left behind, by kind and result; what failed is tried "
    "again.", METRIC_COUNTER, {"kind", "result"}, {0}};

static const MetricFamily omitted_family = {"giro_log_lines_omitted_total",
    "Lines about requests that the log left out, since there were too many within a second.",
    METRIC_COUNTER, {0}, {0}};

typedef enum GaugeName
{
    GAUGE_BUILD_INFO,
    GAUGE_CONNECTIONS,
    GAUGE_IN_PROGRESS,
    GAUGE_IN_FLIGHT,
    GAUGE_QUEUED,
    GAUGE_BATCHES,
    GAUGE_IN_DOUBT,
    GAUGE_REACHABLE,
    GAUGE_VERSION,
    GAUGE_USABLE,
    GAUGE_FENCED,
    GAUGE_SESSIONS,
    GAUGE_BUSY,
    GAUGE_WAITING,
    GAUGE_SAMPLE_AGE,
    GAUGE_PENDING,
    GAUGE_PENDING_AGE,
    GAUGE_ATTENTION,
    GAUGE_ATTENTION_AGE,
    GAUGE_UNFINISHED,
    GAUGE_UNFINISHED_AGE,
    GAUGE_PREPARED,
    GAUGE_PREPARED_AGE,
    GAUGE_SLOTS_USED,
    GAUGE_SLOTS,
    GAUGE_STANDBYS,
    GAUGE_LAG,
    GAUGE_LAG_AGE,
    GAUGE_COUNT,
} GaugeName;

static const MetricFamily gauges[GAUGE_COUNT] = {
    [GAUGE_BUILD_INFO] = {"giro_build_info",
        "1, for the version.",
        METRIC_GAUGE, {"version"}, {0}},
    [GAUGE_CONNECTIONS] = {"giro_http_connections",
        "HTTP connections that are open.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_IN_PROGRESS] = {"giro_http_requests_in_progress",
        "HTTP requests without an answer yet.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_IN_FLIGHT] = {"giro_transfers_in_flight",
        "Transfers that this coordinator works on.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_QUEUED] = {"giro_transfers_queued",
        "Transfers in flight that are in no batch now.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_BATCHES] = {"giro_batches_in_flight",
        "Batches that have not ended.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_IN_DOUBT] = {"giro_batches_in_doubt",
        "Batches whose outcome is being asked for: an answer at the decision was lost.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_REACHABLE] = {"giro_directory_reachable",
        "1 if the directory answers, 0 if not.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_VERSION] = {"giro_directory_version",
        "Version of the routing in use; 0 without one.",
        METRIC_GAUGE, {0}, {0}},
    [GAUGE_USABLE] = {"giro_shard_usable",
        "1 if the shard can be used, 0 if not.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_FENCED] = {"giro_shard_fenced",
        "1 if the shard is fenced off because it has lost history, 0 if not.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_SESSIONS] = {"giro_sessions_open",
        "Sessions with the shard.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_BUSY] = {"giro_sessions_busy",
        "Sessions with the shard that are at work.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_WAITING] = {"giro_sessions_waited_for",
        "Works that wait for a session.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_SAMPLE_AGE] = {"giro_shard_sample_age_seconds",
        "How old the sample is that pending sagas, needs of attention and unfinished "
        "batches come from; they are dropped after 15 s.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_PENDING] = {"giro_pending_sagas",
        "Sagas at home on the shard that are not final; 10000 means that many or more.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_PENDING_AGE] = {"giro_pending_sagas_oldest_seconds",
        "Age of the oldest of them.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_ATTENTION] = {"giro_needs_attention",
        "Transfers at home on the shard that wait for a person; 10000 means that many or "
        "more.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_ATTENTION_AGE] = {"giro_needs_attention_oldest_seconds",
        "Age of the oldest of them.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_UNFINISHED] = {"giro_unfinished_batches",
        "Decided 2PC batches at home on the shard whose other leg nobody has seen yet; "
        "10000 means that many or more.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_UNFINISHED_AGE] = {"giro_unfinished_batches_oldest_seconds",
        "Age of the oldest of them.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_PREPARED] = {"giro_prepared_transactions",
        "Prepared transactions on the shard, by class.",
        METRIC_GAUGE, {"shard", "class"}, {0}},
    [GAUGE_PREPARED_AGE] = {"giro_prepared_transactions_oldest_seconds",
        "Age of the oldest of them.",
        METRIC_GAUGE, {"shard", "class"}, {0}},
    [GAUGE_SLOTS_USED] = {"giro_prepared_slots_used",
        "Prepared transactions on the server of the shard, whosever they are.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_SLOTS] = {"giro_prepared_slots",
        "max_prepared_transactions of the server of the shard.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_STANDBYS] = {"giro_replication_standbys",
        "Standbys that receive WAL from the server of the shard.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_LAG] = {"giro_replication_lag_bytes",
        "WAL that the standby furthest behind has yet to replay; shown where it is known.",
        METRIC_GAUGE, {"shard"}, {0}},
    [GAUGE_LAG_AGE] = {"giro_replication_lag_seconds",
        "How long that standby takes to replay a commit; shown where it is known.",
        METRIC_GAUGE, {"shard"}, {0}},
};
/* clang-format on */

/* ---- requests -------------------------------------------------------------------------------- */

static size_t answer_class(int status)
{
    return status < 400 ? 0 : status < 500 ? 1 : 2;
}

void answer_meters_make(AnswerMeters *ret_meters, Metrics *metrics, const char *operation)
{
    static const char *const names[ANSWER_CLASS_COUNT] = {"2xx", "4xx", "5xx"};
    for (size_t i = 0; i < ANSWER_CLASS_COUNT; i++)
        ret_meters->answers[i] = metrics_counter(metrics, &requests_family, operation, names[i]);
    ret_meters->duration = metrics_histogram(metrics, &duration_family, operation, NULL);
}

void answer_meters_count(AnswerMeters *meters, int status, uint64_t duration_us)
{
    counter_add(meters->answers[answer_class(status)], 1);
    histogram_observe(meters->duration, duration_us);
}

/* ---- gauges ---------------------------------------------------------------------------------- */

static double seconds(int64_t ms)
{
    return (double)ms / 1000.0;
}

static void set(const Api *api, GaugeName name, double value)
{
    gauge_set(metrics_gauge(api->options.metrics, &gauges[name], NULL, NULL), value);
}

static void set_of(const Api *api, GaugeName name, const Shard *shard, double value)
{
    gauge_set(metrics_gauge(api->options.metrics, &gauges[name], shard_name(shard), NULL), value);
}

static void set_process(const Api *api)
{
    HttpCounts http = http_server_counts(api->server);
    BatcherCounts batcher = batcher_counts(api->batcher);
    gauge_set(metrics_gauge(api->options.metrics, &gauges[GAUGE_BUILD_INFO], GIRO_VERSION, NULL),
              1);
    set(api, GAUGE_CONNECTIONS, (double)http.connections);
    set(api, GAUGE_IN_PROGRESS, (double)http.pending);
    set(api, GAUGE_IN_FLIGHT, (double)batcher.transfers);
    set(api, GAUGE_QUEUED, (double)batcher.queued);
    set(api, GAUGE_BATCHES, (double)batcher.batches);
    set(api, GAUGE_IN_DOUBT, (double)batcher.in_doubt);
    set(api, GAUGE_REACHABLE, directory_is_reachable(api->directory));
    set(api, GAUGE_VERSION, (double)directory_version(api->directory));
}

/* Counted by recovery itself. */
static void set_recovery(const Api *api)
{
    Metrics *metrics = api->options.metrics;
    const RecoveryCounts *counts = batcher_recovery_counts(api->batcher);
    for (int i = 0; i < RECOVERY_KIND_COUNT; i++)
    {
        const char *kind = recovery_kind_name((RecoveryKind)i);
        metrics_counter(metrics, &recovery_family, kind, "done")->value = counts->done[i];
        metrics_counter(metrics, &recovery_family, kind, "failed")->value = counts->failed[i];
    }
}

static void set_state(const Api *api, const Shard *shard, const ShardSample *sample)
{
    set_of(api, GAUGE_PENDING, shard, (double)sample->pending.count);
    set_of(api, GAUGE_PENDING_AGE, shard, seconds(sample->pending.oldest_ms));
    set_of(api, GAUGE_ATTENTION, shard, (double)sample->attention.count);
    set_of(api, GAUGE_ATTENTION_AGE, shard, seconds(sample->attention.oldest_ms));
    set_of(api, GAUGE_UNFINISHED, shard, (double)sample->unfinished.count);
    set_of(api, GAUGE_UNFINISHED_AGE, shard, seconds(sample->unfinished.oldest_ms));
    set_of(api, GAUGE_SLOTS_USED, shard, (double)sample->prepared);
    set_of(api, GAUGE_SLOTS, shard, (double)sample->prepared_max);
}

static void set_prepared(const Api *api, const Shard *shard, const PreparedSample *sample)
{
    Metrics *metrics = api->options.metrics;
    const char *name = shard_name(shard);
    for (int i = 0; i < PREPARED_CLASS_COUNT; i++)
    {
        const Backlog *backlog = &sample->by_class[i];
        const char *class_name = prepared_class_name((PreparedClass)i);
        gauge_set(metrics_gauge(metrics, &gauges[GAUGE_PREPARED], name, class_name),
                  (double)backlog->count);
        gauge_set(metrics_gauge(metrics, &gauges[GAUGE_PREPARED_AGE], name, class_name),
                  seconds(backlog->oldest_ms));
    }
}

/* The family is there in any case. */
static void set_if_known(const Api *api, GaugeName name, const Shard *shard, int64_t value)
{
    Gauge *gauge = metrics_gauge(api->options.metrics, &gauges[name], shard_name(shard), NULL);
    if (value >= 0)
        gauge_set(gauge, name == GAUGE_LAG_AGE ? seconds(value) : (double)value);
}

static void set_replication(const Api *api, const Shard *shard, const ReplicationSample *sample)
{
    set_of(api, GAUGE_STANDBYS, shard, sample->standbys);
    set_if_known(api, GAUGE_LAG, shard, sample->lag_bytes);
    set_if_known(api, GAUGE_LAG_AGE, shard, sample->lag_ms);
}

static void set_shard(const Api *api, const Shard *shard)
{
    ShardCounts counts = shard_counts(shard);
    Samples samples = sampler_samples(api->sampler, shard);
    batcher_show_shard(api->batcher, shard);
    set_of(api, GAUGE_USABLE, shard, shard_is_usable(shard));
    set_of(api, GAUGE_FENCED, shard, shard_is_fenced(shard));
    set_of(api, GAUGE_SESSIONS, shard, counts.sessions_open);
    set_of(api, GAUGE_BUSY, shard, counts.sessions_busy);
    set_of(api, GAUGE_WAITING, shard, counts.waiting);
    if (samples.is_known)
        set_of(api, GAUGE_SAMPLE_AGE, shard, seconds((int64_t)samples.age_ms));
    if (samples.state != NULL)
        set_state(api, shard, samples.state);
    if (samples.prepared != NULL)
        set_prepared(api, shard, samples.prepared);
    if (samples.replication != NULL)
        set_replication(api, shard, samples.replication);
}

static const char content_type[] = "text/plain; version=0.0.4; charset=utf-8";

void metrics_get_partitions(Api *api, HttpRequest *request)
{
    HttpReply reply = {.status = 200, .content_type = content_type};
    FILE *out = open_memstream(&reply.given_body, &reply.body_length);
    ASSERT(out != NULL);
    batcher_write_partitions(api->batcher, out);
    ASSERT(fclose(out) == 0);
    http_reply(request, &reply);
}

void metrics_get(Api *api, HttpRequest *request)
{
    HttpReply reply = {.status = 200, .content_type = content_type};
    metrics_unset_gauges(api->options.metrics);
    set_process(api);
    metrics_counter(api->options.metrics, &omitted_family, NULL, NULL)->value = log_omitted();
    set_recovery(api);
    process_metrics_set(api->options.metrics, api->started_at_us);
    for (size_t i = 0; i < directory_shard_count(api->directory); i++)
        set_shard(api, directory_shard(api->directory, i));
    FILE *out = open_memstream(&reply.given_body, &reply.body_length);
    ASSERT(out != NULL);
    metrics_write(api->options.metrics, out);
    ASSERT(fclose(out) == 0);
    http_reply(request, &reply);
}
