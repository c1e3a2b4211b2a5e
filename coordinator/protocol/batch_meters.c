/* See batch_meters.h. */
#include "protocol/batch_meters.h"

#include "base/map.h"

#include <stdlib.h>

static const MetricFamily batches_family = {
    .name = "giro_batches_total",
    .help = "Batches that have ended, by kind and result: committed, failed, or empty, where every "
            "transfer has to be tried again.",
    .type = METRIC_COUNTER,
    .labels = {"kind", "result"},
};

static const MetricFamily size_family = {
    .name = "giro_batch_transfers",
    .help = "Transfers per batch, by kind.",
    .type = METRIC_HISTOGRAM,
    .labels = {"kind"},
    .buckets = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
};

static const MetricFamily stage_family = {
    .name = "giro_stage_duration_seconds",
    .help = "How long a shard took to answer at a stage of a batch; acquire is the wait for a "
            "session.",
    .type = METRIC_HISTOGRAM_SECONDS,
    .labels = {"stage", "shard"},
    .buckets = {250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1000000, 2500000,
                5000000},
};

typedef enum BatchResult
{
    RESULT_IS_COMMITTED,
    RESULT_IS_FAILED,
    RESULT_IS_EMPTY,
    BATCH_RESULT_COUNT,
} BatchResult;

typedef struct ShardMeters
{
    const Shard *shard;
    Histogram *stages[STAGE_COUNT];
} ShardMeters;

struct BatchMeters
{
    Metrics *metrics;
    Counter *batches[BATCH_KIND_COUNT][BATCH_RESULT_COUNT];
    Histogram *sizes[BATCH_KIND_COUNT];
    size_t in_doubt;
    Map *shards; /* by ShardKey */
};

/* What a map's key is made of. */
typedef struct ShardKey
{
    uint64_t shard;
    uint64_t unused;
} ShardKey;

BatchMeters *batch_meters_new(Metrics *metrics)
{
    static const char *const results[BATCH_RESULT_COUNT] = {
        [RESULT_IS_COMMITTED] = "committed",
        [RESULT_IS_FAILED] = "failed",
        [RESULT_IS_EMPTY] = "empty",
    };
    BatchMeters *meters = base_calloc(1, sizeof *meters);
    meters->metrics = metrics;
    meters->shards = map_new();
    for (BatchKind kind = 0; kind < BATCH_KIND_COUNT; kind++)
    {
        const char *name = batch_kind_row(kind)->name;
        meters->sizes[kind] = metrics_histogram(metrics, &size_family, name, NULL);
        for (int result = 0; result < BATCH_RESULT_COUNT; result++)
            meters->batches[kind][result] =
                metrics_counter(metrics, &batches_family, name, results[result]);
    }
    return meters;
}

static void free_shard(void *context, void *value)
{
    (void)context;
    free(value);
}

void batch_meters_free(BatchMeters *meters)
{
    if (meters == NULL)
        return;
    map_each(meters->shards, free_shard, NULL);
    map_free(meters->shards);
    free(meters);
}

static ShardMeters *meters_of(BatchMeters *meters, const Shard *shard)
{
    _Static_assert(sizeof(ShardKey) == MAP_KEY_SIZE, "the key of a shard is a map's key");
    ShardKey key = {.shard = (uintptr_t)shard};
    ShardMeters *found = map_get(meters->shards, &key);
    if (found == NULL)
    {
        found = base_calloc(1, sizeof *found);
        found->shard = shard;
        map_put(meters->shards, &key, found);
    }
    return found;
}

/* Adds up what is shown of a shard: whom to tell, and of what. */
typedef struct Show
{
    Metrics *metrics;
    const Shard *shard;
} Show;

static void show_stage(void *context, const char *mode, const char *stage, const char *side)
{
    const Show *show = context;
    (void)mode;
    (void)side;
    (void)metrics_histogram(show->metrics, &stage_family, stage, shard_name(show->shard));
}

void batch_meters_show_shard(BatchMeters *meters, const Shard *shard)
{
    Show show = {meters->metrics, shard};
    show_stage(&show, NULL, "acquire", NULL);
    stage_visit_places(show_stage, &show);
}

size_t batch_meters_in_doubt(const BatchMeters *meters)
{
    return meters->in_doubt;
}

void batch_meters_enter(BatchMeters *meters, const Batch *batch, Stage next)
{
    if (batch->stage == STAGE_ASK)
        meters->in_doubt--;
    if (next == STAGE_ASK)
        meters->in_doubt++;
}

void batch_meters_start(BatchMeters *meters, const Batch *batch)
{
    histogram_observe(meters->sizes[batch->kind], batch->count);
}

void batch_meters_end(BatchMeters *meters, const Batch *batch)
{
    BatchResult result = batch->outcome == BATCH_COMMITTED ? RESULT_IS_COMMITTED
                         : batch->cause.code != ERROR_NONE ? RESULT_IS_FAILED
                                                           : RESULT_IS_EMPTY;
    if (!batch->is_recovered)
        counter_add(meters->batches[batch->kind][result], 1);
}

void batch_meters_answer(BatchMeters *meters, const Side *side)
{
    Stage stage = side->batch->stage;
    Histogram **histogram = &meters_of(meters, side->shard)->stages[stage];
    if (*histogram == NULL)
        *histogram =
            metrics_histogram(meters->metrics, &stage_family, stage_row(side->batch, stage)->name,
                              shard_name(side->shard));
    histogram_observe(*histogram, base_now_us() - side->sent_at_us);
}
