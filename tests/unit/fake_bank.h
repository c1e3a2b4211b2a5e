/*
 * What the participant functions of fake shards answer: every account is there, open, in EUR, with
 * a balance of 100 and no history, unless the test says otherwise; nothing is checked or changed.
 */
#ifndef GIRO_FAKE_BANK_H
#define GIRO_FAKE_BANK_H

#include "fake_values.h"
#include "shard/statement.h"

/* Forgets what the tests said; `verdict` answers "abort". */
void fake_bank_start(void);

/* What `lock` says of an account, from now on: "locked", "busy", "missing", "stale_route",
 * "partition_moving". */
void fake_account(const char *id, const char *state, int64_t balance);
/* A row that stands under the id: posted, 5 EUR. */
void fake_transfer(const uint8_t id[16], const char *debit, const char *credit, const char *key);
/* What `verdict` answers from now on: "commit" or "abort". */
void fake_verdict(const char *verdict);
/* What the look-ups of `look` answer. */
void fake_look(bool prepared, bool leg);

/* The receipt that stands for every saga from now on: "applied", "refused", "cancelled"; NULL =
 * none. */
void fake_receipt(const char *outcome);

/* What `recovery` finds from now on, on every shard: "leg" or "batch" with the GID, or "sagas" or
 * "sessions" with their number. NULL: nothing. Lent. */
void fake_found(const char *kind, const char *gid, int64_t count);
/* Does the caller of the last `recovery` pass the batch over? */
bool fake_is_passed(const uint8_t batch_id[16]);
/* What `claim` answers next, once: a posted transfer of 5 EUR whose credit was lost. Lent. */
void fake_lost_credit(const uint8_t id[16], const char *debit, const char *credit, const char *key);
/* Has nobody claimed it yet? */
bool fake_is_due(void);

/* The sagas that `record` has stored since the last end become visible, or are forgotten. */
void fake_bank_end(bool committed);

/* The rows of a statement. Live until fake_values_stop. */
const PgRows *fake_bank_answer(Statement statement, const PgParams *params);

#endif
