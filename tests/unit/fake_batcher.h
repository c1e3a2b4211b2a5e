/*
 * A batcher that only remembers: the test sees what was submitted and says what the clients are
 * told, in a later turn of the loop, the last one first. A record that they are told of has the key
 * that they submitted.
 */
#ifndef GIRO_FAKE_BATCHER_H
#define GIRO_FAKE_BATCHER_H

#include "batcher/batcher.h"

typedef struct FakeSubmission
{
    size_t count; /* submissions so far */
    char debit_account[ACCOUNT_ID_MAX + 1];
    char credit_account[ACCOUNT_ID_MAX + 1];
    int64_t amount;
    char currency[CURRENCY_MAX + 1];
    char key[IDEMPOTENCY_KEY_MAX + 1];
    char reference[REFERENCE_MAX + 1]; /* "" if none */
    char metadata[256];                /* "" if none */
    TransferMode mode;
    bool respond_async;
    uint64_t wait_ms;
    uint8_t given_up[16]; /* by batcher_give_up */
} FakeSubmission;

/* `outcome` must live as long as it may be told. */
void fake_batcher_reset(Loop *loop, const TransferOutcome *outcome);
void fake_batcher_done(void);
const FakeSubmission *fake_batcher_last(void);
/* How many sagas were asked to be given up. */
size_t fake_batcher_given_up(void);
size_t fake_batcher_hurried(void);

#endif
