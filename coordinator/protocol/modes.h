/* The stage tables, one per mode, and the stages that they share. */
#ifndef GIRO_MODES_H
#define GIRO_MODES_H

#include "protocol/batch.h"

/* Each has STAGE_COUNT rows, indexed by stage. */
const StageRow *local_stages(void);     /* local.c */
const StageRow *two_phase_stages(void); /* two_phase.c */
const StageRow *saga_stages(void);      /* saga.c */

/* work.c: the way of a batch on which nothing goes wrong */
void acquire_send(Batch *batch);
Stage acquire_settle(Batch *batch);
bool any_side_failed(const Batch *batch);
void lock_send(Batch *batch);
Stage lock_settle(Batch *batch);
void judge_send(Batch *batch);
Stage judge_settle_local(Batch *batch);
Stage judge_settle_two_phase(Batch *batch);
void prepare_send(Batch *batch);
Stage prepare_settle(Batch *batch);
void decide_send(Batch *batch);
Stage decide_settle_local(Batch *batch);
Stage decide_settle_two_phase(Batch *batch);
void release_send(Batch *batch);

/* settle.c: after the decision, or in doubt of it */
void apply_send(Batch *batch);
Stage apply_settle(Batch *batch);
void ask_send(Batch *batch);
Stage ask_settle_local(Batch *batch);
Stage ask_settle_two_phase(Batch *batch);
void cancel_send(Batch *batch);
Stage cancel_settle(Batch *batch);
void look_send(Batch *batch);
Stage look_settle(Batch *batch);
void missing_send(Batch *batch);
Stage missing_settle(Batch *batch);
void finish_send(Batch *batch);
Stage finish_settle(Batch *batch);
void stuck_send(Batch *batch);
Stage stuck_settle(Batch *batch);

/* saga_steps.c: the steps of a saga, each a transaction of its own */
Stage saga_acquire_settle(Batch *batch);
Stage saga_judge_settle(Batch *batch);
void credit_send(Batch *batch);
void close_send(Batch *batch);
void refund_send(Batch *batch);
void tombstone_send(Batch *batch);
Stage step_settle(Batch *batch);

#endif
