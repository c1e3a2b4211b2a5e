/*
 * What an answer of a shard means: done, definitely not done, or unknown. (Refusals are rows, the
 * normal path.)
 *
 * Decided from the kind, the SQLSTATE and the exact command tag, never from message text:
 *   - COMMIT and PREPARE of a failed transaction answer the tag ROLLBACK without an error: not
 *     done;
 *   - a wait for a synchronous standby that was cancelled answers the right tag with a WARNING: the
 *     work is visible and may yet vanish in a failover, so it is unknown;
 *   - a session that is being terminated (57P0x) or breaks (08, 58, XX) at a transaction-ending
 *     command may have ended the transaction before: unknown;
 *   - no answer: unknown.
 *
 * The caller has seen to it that a transaction was open (PG_TRANSACTION_OPEN) before it sent the
 * command: a COMMIT without one answers COMMIT.
 */
#ifndef GIRO_ANSWER_H
#define GIRO_ANSWER_H

#include "pg/pg.h"

typedef enum AnswerClass
{
    ANSWER_NONE, /* nothing was asked */
    ANSWER_DONE,
    ANSWER_NOT_DONE,
    ANSWER_UNKNOWN,
} AnswerClass;

/* A call of a participant function inside an open transaction or by itself. Unknown when lost: a
 * call that stood alone may have committed; and when warned: its commit may not have reached the
 * synchronous standby, so that what it answered is not to be acted upon. */
AnswerClass answer_of_call(const PgAnswer *answer);

/* A command that ends a transaction: COMMIT, PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK
 * PREPARED. `tag` is the tag that says it did. */
AnswerClass answer_of_ending(const PgAnswer *answer, const char *tag);

/* Another session holds a lock for too long, or a deadlock was broken: try again, it is nobody's
 * fault. */
bool answer_is_contention(const char *sqlstate);
/* The server has used up what others will give back: prepared transactions, locks, memory. */
bool answer_is_exhaustion(const char *sqlstate);
/* The server went away or is going, takes no writes, or is fenced off; trying again at once will
 * not help. */
bool answer_is_outage(const char *sqlstate);

/* The first of the answers that is not PG_DONE; the last one if all are. count is at least 1. */
const PgAnswer *answer_first_not_done(const PgAnswer *answers, size_t count);

#endif
