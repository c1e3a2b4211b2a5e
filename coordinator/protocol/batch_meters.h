/*
 * What batches add to the metrics: how many there were of each kind, how large they were and what
 * became of them, and how long each shard took at each stage.
 *
 * A stage is measured from its messages to their answer, also where the answer is a time-out or a
 * lost connection; `acquire`, from asking for a session to having one or not.
 */
#ifndef GIRO_BATCH_METERS_H
#define GIRO_BATCH_METERS_H

#include "base/metrics.h"
#include "protocol/batch.h"

typedef struct BatchMeters BatchMeters;

BatchMeters *batch_meters_new(Metrics *metrics);
void batch_meters_free(BatchMeters *meters); /* accepts NULL */

/* Makes the series of a shard, so that they show before it has been worked on. */
void batch_meters_show_shard(BatchMeters *meters, const Shard *shard);

/* How many batches ask for their verdict now. */
size_t batch_meters_in_doubt(const BatchMeters *meters);

/* The batch, still at its old stage, enters this one. */
void batch_meters_enter(BatchMeters *meters, const Batch *batch, Stage next);
void batch_meters_start(BatchMeters *meters, const Batch *batch);
void batch_meters_end(BatchMeters *meters, const Batch *batch);
/* The side's answer at its batch's stage is here; it was waited for since side->sent_at_us. */
void batch_meters_answer(BatchMeters *meters, const Side *side);

#endif
