/*
 * What transfers add to the metrics: how many came to which end here, and how many were turned
 * away; and to those of their partitions.
 */
#ifndef GIRO_TRANSFER_METERS_H
#define GIRO_TRANSFER_METERS_H

#include "base/metrics.h"
#include "batcher/partition_meters.h"
#include "protocol/batch.h"

typedef struct TransferMeters TransferMeters;

TransferMeters *transfer_meters_new(Metrics *metrics);
void transfer_meters_free(TransferMeters *meters); /* accepts NULL */
PartitionMeters *transfer_meters_partitions(TransferMeters *meters);

/* Its debit is durable: a saga that is not final yet. */
void transfer_meters_accept(TransferMeters *meters);
/* Its record is final, or stood already. */
void transfer_meters_record(TransferMeters *meters, const Transfer *transfer);
/* Nothing of it was recorded. */
void transfer_meters_turn_away(TransferMeters *meters, ErrorCode code);
/* So many clients were told that its outcome is not known. */
void transfer_meters_doubt(TransferMeters *meters, size_t clients);

#endif
