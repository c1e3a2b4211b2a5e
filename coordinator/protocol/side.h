/*
 * One exchange of a batch with one of its shards: failpoint, session, messages, answer.
 *
 * Every exchange ends in a recorded outcome (side->outcome, sqlstate, text), also when the session
 * was lost, the deadline passed, or no session could be had. So a stage has nothing to do but
 * compose and read.
 */
#ifndef GIRO_SIDE_H
#define GIRO_SIDE_H

#include "protocol/batch.h"

/* Sends on the session that holds the side's open transaction. If that session or its transaction
 * is gone, nothing is sent and the outcome is ANSWER_NOT_DONE. */
void side_send_in_transaction(Side *side, SideCompose compose, SideRead read);
/* Sends on the side's session, or on one acquired for settling. If none can be had, the outcome is
 * ANSWER_NOT_DONE. */
void side_send(Side *side, SideCompose compose, SideRead read);
/* Waits for a session of the traffic pool. The outcome is ANSWER_DONE or ANSWER_NOT_DONE. */
void side_acquire(Side *side);
/* Gives the session back; does nothing without one. */
void side_release(Side *side);

/* For read functions. */
void side_record(Side *side, AnswerClass outcome, const PgAnswer *cause);
/* The shard has acknowledged the commit of the batch, whose row stands there now. */
void side_note_mark(const Side *side);
/* Classifies the calls answers[0 … count-1] of an open transaction: the first that is not done
 * decides. */
void side_record_calls(Side *side, const PgAnswer *answers, size_t count);

#endif
