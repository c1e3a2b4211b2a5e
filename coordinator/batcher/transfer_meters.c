/* See transfer_meters.h. */
#include "batcher/transfer_meters.h"

#include <stdlib.h>

static const MetricFamily transfers_family = {
    .name = "giro_transfers_total",
    .help = "Transfers that came to their end here, by mode and outcome; replayed ones had a "
            "record before.",
    .type = METRIC_COUNTER,
    .labels = {"mode", "outcome"},
};

static const MetricFamily accepted_family = {
    .name = "giro_sagas_accepted_total",
    .help = "Sagas whose debit became durable here.",
    .type = METRIC_COUNTER,
};

static const MetricFamily away_family = {
    .name = "giro_transfers_not_accepted_total",
    .help = "Transfers of which nothing was recorded, by the code that their clients were told.",
    .type = METRIC_COUNTER,
    .labels = {"code"},
};

static const MetricFamily doubt_family = {
    .name = "giro_outcomes_unknown_total",
    .help = "Clients that were told that the outcome of their transfer is not known.",
    .type = METRIC_COUNTER,
};

static const MetricFamily duration_family = {
    .name = "giro_transfer_duration_seconds",
    .help =
        "From the request for a transfer to its end, by mode; of those that ended here, without "
        "replayed ones.",
    .type = METRIC_HISTOGRAM_SECONDS,
    .labels = {"mode"},
    .buckets = {1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000,
                10000000, 60000000, 600000000, 3600000000},
};

/* Why a transfer may be turned away. */
static const ErrorCode codes[] = {
    ERROR_DEBIT_ACCOUNT_NOT_FOUND,
    ERROR_ACCOUNT_BUSY,
    ERROR_OVERLOADED,
    ERROR_SHARD_UNAVAILABLE,
    ERROR_SHARD_ERROR,
    ERROR_PARTITION_MOVING,
    ERROR_DRAINING,
    ERROR_DIRECTORY_UNAVAILABLE,
};

enum
{
    END_IS_REPLAY = TRANSFER_STATE_COUNT, /* behind the states */
    ENDS,
};

struct TransferMeters
{
    Metrics *metrics;
    PartitionMeters *partitions;
    Counter *transfers[MODE_COUNT][ENDS]; /* NULL for what cannot be */
    Histogram *durations[MODE_COUNT];
    Counter *accepted;
    Counter *away[ERROR_COUNT];
    Counter *doubt;
};

static void make_mode(TransferMeters *meters, TransferMode mode)
{
    meters->durations[mode] =
        metrics_histogram(meters->metrics, &duration_family, mode_name(mode), NULL);
    for (int end = 0; end < ENDS; end++)
    {
        const char *name =
            end == END_IS_REPLAY ? "replayed" : transfer_state_name((TransferState)end);
        bool may_be = end != TRANSFER_PENDING && (end != TRANSFER_REVERSED || mode == MODE_SAGA);
        if (may_be)
            meters->transfers[mode][end] =
                metrics_counter(meters->metrics, &transfers_family, mode_name(mode), name);
    }
}

TransferMeters *transfer_meters_new(Metrics *metrics)
{
    TransferMeters *meters = base_calloc(1, sizeof *meters);
    meters->metrics = metrics;
    meters->partitions = partition_meters_new();
    make_mode(meters, MODE_LOCAL);
    make_mode(meters, MODE_2PC);
    make_mode(meters, MODE_SAGA);
    meters->accepted = metrics_counter(metrics, &accepted_family, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
        meters->away[codes[i]] =
            metrics_counter(metrics, &away_family, error_row(codes[i])->name, NULL);
    meters->doubt = metrics_counter(metrics, &doubt_family, NULL, NULL);
    return meters;
}

void transfer_meters_free(TransferMeters *meters)
{
    if (meters == NULL)
        return;
    partition_meters_free(meters->partitions);
    free(meters);
}

PartitionMeters *transfer_meters_partitions(TransferMeters *meters)
{
    return meters->partitions;
}

void transfer_meters_accept(TransferMeters *meters)
{
    counter_add(meters->accepted, 1);
}

/* One that was claimed began with another request, maybe of another coordinator: what is left is
 * the clock on the wall. */
static uint64_t duration_us(const Transfer *transfer)
{
    if (transfer->asked_at_us != 0)
        return base_now_us() - transfer->asked_at_us;
    int64_t since_us = base_wall_clock_us() - transfer->record.created_at_us;
    return since_us > 0 ? (uint64_t)since_us : 0;
}

void transfer_meters_record(TransferMeters *meters, const Transfer *transfer)
{
    const TransferRecord *record = &transfer->record;
    if (transfer->redo)
        return; /* its end was another one's to count */
    uint64_t took_us = transfer->replayed ? 0 : duration_us(transfer);
    if (!transfer->replayed)
        histogram_observe(meters->durations[record->mode], took_us);
    partition_meters_record(meters->partitions, transfer, took_us);
    int end = transfer->replayed ? END_IS_REPLAY : (int)record->state;
    counter_add(meters->transfers[record->mode][end], 1);
}

void transfer_meters_turn_away(TransferMeters *meters, ErrorCode code)
{
    Counter **counter = &meters->away[code];
    if (*counter == NULL)
        *counter = metrics_counter(meters->metrics, &away_family, error_row(code)->name, NULL);
    counter_add(*counter, 1);
}

void transfer_meters_doubt(TransferMeters *meters, size_t clients)
{
    counter_add(meters->doubt, clients);
}
