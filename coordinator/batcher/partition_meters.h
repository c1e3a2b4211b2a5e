/*
 * How busy each partition is: requests, rows and bytes, and how long its transfers take, for the
 * text of /metrics/partitions. By it one finds the partition, and so the tenant or account, that
 * makes a shard hot.
 *
 * Only partitions that this coordinator has worked on take room, and at most PARTITIONS_SHOWN_MAX
 * of them. Durations are counted in buckets that grow by an eighth, of this minute and of the one
 * before: quantiles are of these one to two minutes, and at most an eighth too high.
 */
#ifndef GIRO_PARTITION_METERS_H
#define GIRO_PARTITION_METERS_H

#include "protocol/batch.h"

#include <stdio.h>

typedef struct PartitionMeters PartitionMeters;

enum
{
    PARTITIONS_SHOWN_MAX = 8192,
};

PartitionMeters *partition_meters_new(void);
void partition_meters_free(PartitionMeters *meters); /* accepts NULL */

/* A transfer has its final record, after so long; a replayed one had it before. */
void partition_meters_record(PartitionMeters *meters, const Transfer *transfer,
                             uint64_t duration_us);

/* The text format 0.0.4, by ascending partitions. */
void partition_meters_write(PartitionMeters *meters, FILE *out);

#endif
