/*
 * From what the batcher tells of a transfer to what its client is answered: the status, and either
 * the transfer or a problem. The same for a single transfer and for an item of a batch; only the
 * way in which it is written differs.
 */
#ifndef GIRO_TRANSFER_ANSWER_H
#define GIRO_TRANSFER_ANSWER_H

#include "api/problem.h"
#include "protocol/transfer.h"

typedef struct TransferAnswer
{
    int status;
    bool replayed;                /* an earlier request had this key and content */
    const TransferRecord *record; /* what to show; NULL: the problem. Lent by the outcome */
    Problem problem;              /* may point at `id` and into the outcome */
    char id[UUID_TEXT_MAX + 1];
} TransferAnswer;

/* The answer lives as long as the outcome, and must not be copied. */
void transfer_answer_make(TransferAnswer *ret_answer, const TransferOutcome *outcome);

#endif
