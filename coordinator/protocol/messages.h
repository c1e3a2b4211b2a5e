/*
 * The parameters of the participant functions that work on a batch, in the order of
 * participants/<name>.sql. Each adds one message to the side's session.
 */
#ifndef GIRO_MESSAGES_H
#define GIRO_MESSAGES_H

#include "protocol/batch.h"

void message_lock(Side *side);
void message_find_transfers(Side *side); /* transfers_by_id, of all transfers of the batch */
void message_apply(Side *side);          /* the side's accepted legs, and its batch row */
void message_record(Side *side);         /* the transfers with their final states */
void message_finish(Side *side);         /* batch->finishing */
void message_verdict(Side *side);

/* saga_messages.c */
void message_find_receipts(Side *side); /* receipts_by_id, of all transfers of the batch */
void message_receive(Side *side);       /* the receipts of the judged credits */
void message_settle(Side *side); /* the final states: of a close, or of a refund's accepted ones */
void message_tombstone(Side *side);

/* For the two: an empty buffer, and what many messages start with. */
PgParams *message_params(const Side *side);
void message_add_partitions(PgParams *params, const Side *side);
void message_add_route(PgParams *params, const Location *location);

#endif
