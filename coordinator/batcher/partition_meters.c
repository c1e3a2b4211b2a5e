/* See partition_meters.h. */
#include "batcher/partition_meters.h"

#include "base/map.h"

#include <inttypes.h>
#include <stdlib.h>

enum
{
    WINDOW_US = 60 * 1000 * 1000,
    UNIT_BITS = 6, /* durations are counted in units of 64 us */
    STEP_BITS = 3, /* 8 buckets for each doubling */
    STEPS = 1 << STEP_BITS,
    TOP_BITS = 27, /* beyond 2 hours all is one */
    BUCKETS = (TOP_BITS - STEP_BITS + 1) * STEPS,
};

typedef enum PartitionSide
{
    SIDE_IS_DEBIT,
    SIDE_IS_CREDIT,
    PARTITION_SIDE_COUNT,
} PartitionSide;

static const char *const side_names[PARTITION_SIDE_COUNT] = {"debit", "credit"};

typedef struct PartitionMeter
{
    int32_t partition;
    const char *keyspace; /* the last time; lent as long as the directory */
    const Shard *shard;   /* the same */
    uint64_t requests[PARTITION_SIDE_COUNT];
    uint64_t rows;
    uint64_t bytes;
    uint64_t duration_sum_us;
    uint64_t duration_count;
    uint64_t window_since_us;
    uint32_t now[BUCKETS];
    uint32_t before[BUCKETS];
} PartitionMeter;

/* What a map's key is made of. */
typedef struct PartitionKey
{
    uint64_t partition;
    uint64_t unused;
} PartitionKey;

struct PartitionMeters
{
    Map *meters; /* by PartitionKey */
};

PartitionMeters *partition_meters_new(void)
{
    PartitionMeters *meters = base_calloc(1, sizeof *meters);
    meters->meters = map_new();
    return meters;
}

static void free_meter(void *context, void *value)
{
    (void)context;
    free(value);
}

void partition_meters_free(PartitionMeters *meters)
{
    if (meters == NULL)
        return;
    map_each(meters->meters, free_meter, NULL);
    map_free(meters->meters);
    free(meters);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* NULL if there is no room for one more. */
static PartitionMeter *meter_of(PartitionMeters *meters, const Location *location)
{
    _Static_assert(sizeof(PartitionKey) == MAP_KEY_SIZE, "the key of a partition is a map's key");
    PartitionKey key = {.partition = (uint64_t)location->partition};
    PartitionMeter *meter = map_get(meters->meters, &key);
    if (meter == NULL && map_count(meters->meters) < PARTITIONS_SHOWN_MAX)
    {
        meter = base_calloc(1, sizeof *meter);
        meter->partition = location->partition;
        map_put(meters->meters, &key, meter);
    }
    if (meter != NULL)
    {
        meter->keyspace = location->keyspace;
        meter->shard = location->shard;
    }
    return meter;
}

static size_t bucket_of(uint64_t duration_us)
{
    uint64_t units = duration_us >> UNIT_BITS;
    if (units < STEPS)
        return units;
    if (units >> TOP_BITS != 0)
        return BUCKETS - 1;
    int top = 63 - __builtin_clzll(units);
    return (size_t)(top - STEP_BITS + 1) * STEPS + ((units >> (top - STEP_BITS)) & (STEPS - 1));
}

/* The upper end of a bucket. */
static uint64_t bucket_end_us(size_t bucket)
{
    uint64_t step = bucket % STEPS;
    uint64_t units = bucket < STEPS ? step + 1 : (STEPS + step + 1) << (bucket / STEPS - 1);
    return units << UNIT_BITS;
}

/* Makes the present window begin less than one window ago. */
static void turn_windows(PartitionMeter *meter, uint64_t now_us)
{
    uint64_t age_us = now_us - meter->window_since_us;
    if (age_us < WINDOW_US)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
    {
        meter->before[i] = age_us < 2 * (uint64_t)WINDOW_US ? meter->now[i] : 0;
        meter->now[i] = 0;
    }
    meter->window_since_us = now_us;
}

static void observe(PartitionMeter *meter, uint64_t duration_us)
{
    turn_windows(meter, base_now_us());
    meter->now[bucket_of(duration_us)]++;
    meter->duration_sum_us += duration_us;
    meter->duration_count++;
}

/* Rows that a new transfer has added on a side: itself and its receipt, and its entries. */
static unsigned rows_of(const TransferRecord *record, PartitionSide side)
{
    bool posted = record->state == TRANSFER_POSTED;
    bool reversed = record->state == TRANSFER_REVERSED;
    if (side == SIDE_IS_DEBIT)
        return 1U + (posted ? 1U : 0U) + (reversed ? 2U : 0U);
    bool receipt = record->mode == MODE_SAGA && (posted || reversed);
    return (receipt ? 1U : 0U) + (posted ? 1U : 0U);
}

void partition_meters_record(PartitionMeters *meters, const Transfer *transfer,
                             uint64_t duration_us)
{
    const Location *locations[PARTITION_SIDE_COUNT] = {&transfer->debit, &transfer->credit};
    for (int side = 0; side < PARTITION_SIDE_COUNT; side++)
    {
        PartitionMeter *meter = meter_of(meters, locations[side]);
        if (meter == NULL)
            continue;
        meter->requests[side]++;
        meter->bytes += transfer->bytes;
        if (transfer->replayed)
            continue;
        meter->rows += rows_of(&transfer->record, (PartitionSide)side);
        /* Once, where both accounts are in it. */
        if (side == SIDE_IS_DEBIT || transfer->debit.partition != transfer->credit.partition)
            observe(meter, duration_us);
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

/* NAN while there was none in these windows. */
static double quantile_seconds(const PartitionMeter *meter, uint64_t percent)
{
    uint64_t count = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        count += (uint64_t)meter->now[i] + meter->before[i];
    uint64_t wanted = (count * percent + 99) / 100;
    for (size_t i = 0; i < BUCKETS && count > 0; i++)
    {
        seen += (uint64_t)meter->now[i] + meter->before[i];
        if (seen >= wanted)
            return (double)bucket_end_us(i) / 1e6;
    }
    return __builtin_nan("");
}

static void write_info(FILE *out, const PartitionMeter *meter)
{
    fprintf(out, "giro_partition_info{partition=\"%" PRId32 "\",keyspace=\"%s\",shard=\"%s\"} 1\n",
            meter->partition, meter->keyspace, shard_name(meter->shard));
}

static void write_requests(FILE *out, const PartitionMeter *meter)
{
    for (int side = 0; side < PARTITION_SIDE_COUNT; side++)
        fprintf(out,
                "giro_partition_requests_total{partition=\"%" PRId32 "\",side=\"%s\"} %" PRIu64
                "\n",
                meter->partition, side_names[side], meter->requests[side]);
}

static void write_rows(FILE *out, const PartitionMeter *meter)
{
    fprintf(out, "giro_partition_rows_total{partition=\"%" PRId32 "\"} %" PRIu64 "\n",
            meter->partition, meter->rows);
}

static void write_bytes(FILE *out, const PartitionMeter *meter)
{
    fprintf(out, "giro_partition_bytes_total{partition=\"%" PRId32 "\"} %" PRIu64 "\n",
            meter->partition, meter->bytes);
}

static void write_durations(FILE *out, const PartitionMeter *meter)
{
    static const char name[] = "giro_partition_duration_seconds";
    static const struct
    {
        const char *quantile;
        uint64_t percent;
    } shown[] = {{"0.5", 50}, {"0.95", 95}, {"0.99", 99}};
    for (size_t i = 0; i < ARRAY_LENGTH(shown); i++)
    {
        double value = quantile_seconds(meter, shown[i].percent);
        char text[32] = "NaN";
        if (value == value)
            snprintf(text, sizeof text, "%.15g", value);
        fprintf(out, "%s{partition=\"%" PRId32 "\",quantile=\"%s\"} %s\n", name, meter->partition,
                shown[i].quantile, text);
    }
    fprintf(out, "%s_sum{partition=\"%" PRId32 "\"} %.15g\n", name, meter->partition,
            (double)meter->duration_sum_us / 1e6);
    fprintf(out, "%s_count{partition=\"%" PRId32 "\"} %" PRIu64 "\n", name, meter->partition,
            meter->duration_count);
}

typedef struct Sorted
{
    PartitionMeter **meters;
    size_t count;
} Sorted;

static void collect(void *context, void *value)
{
    Sorted *sorted = context;
    sorted->meters[sorted->count++] = value;
}

static int compare(const void *a, const void *b)
{
    int32_t left = (*(PartitionMeter *const *)a)->partition;
    int32_t right = (*(PartitionMeter *const *)b)->partition;
    return (left > right) - (left < right);
}

void partition_meters_write(PartitionMeters *meters, FILE *out)
{
    static const struct
    {
        const char *head;
        void (*write)(FILE *out, const PartitionMeter *meter);
    } families[] = {
        {"# HELP giro_partition_info 1, for the keyspace and the shard of the partition.\n"
         "# TYPE giro_partition_info gauge\n",
         write_info},
        {"# HELP giro_partition_requests_total Transfers that ended here, replayed ones too, from "
         "(debit) and to (credit) accounts of the partition.\n"
         "# TYPE giro_partition_requests_total counter\n",
         write_requests},
        {"# HELP giro_partition_rows_total Transfers, entries and receipts that these added.\n"
         "# TYPE giro_partition_rows_total counter\n",
         write_rows},
        {"# HELP giro_partition_bytes_total Bytes of text in these requests.\n"
         "# TYPE giro_partition_bytes_total counter\n",
         write_bytes},
        {"# HELP giro_partition_duration_seconds From the request for a transfer of the partition "
         "to its end; quantiles of the last one to two minutes.\n"
         "# TYPE giro_partition_duration_seconds summary\n",
         write_durations},
    };
    Sorted sorted = {.meters = base_calloc(map_count(meters->meters), sizeof(PartitionMeter *))};
    map_each(meters->meters, collect, &sorted);
    qsort(sorted.meters, sorted.count, sizeof *sorted.meters, compare);
    for (size_t i = 0; i < sorted.count; i++)
        turn_windows(sorted.meters[i], base_now_us());
    for (size_t family = 0; family < ARRAY_LENGTH(families); family++)
    {
        fputs(families[family].head, out);
        for (size_t i = 0; i < sorted.count; i++)
            families[family].write(out, sorted.meters[i]);
    }
    free(sorted.meters);
}
