/*
 * Kinds of batches. Local and two-phase batches carry a transfer from request to outcome; a saga
 * takes one batch for each of its steps, and its transfers are batched anew for each.
 */
#ifndef GIRO_KIND_H
#define GIRO_KIND_H

#include "shard/mode.h"

#include <stdbool.h>

typedef enum BatchKind
{
    BATCH_LOCAL,     /* both accounts on one shard */
    BATCH_TWO_PHASE, /* of one ordered pair of shards */
    BATCH_HOLD,      /* saga: the debit, at home */
    BATCH_CREDIT,    /* saga: the credit or its refusal, on the credit accounts' shard */
    BATCH_CLOSE,     /* saga: posted, at home, under an applied receipt */
    BATCH_CANCEL,    /* saga: a tombstone on the credit accounts' shard */
    BATCH_REFUND,    /* saga: the money back, at home, under a refused or cancelled receipt */
    BATCH_KIND_COUNT,
} BatchKind;

typedef struct BatchKindRow
{
    const char *name;
    TransferMode mode;
    bool at_home;   /* works on the debit accounts' shard */
    bool at_remote; /* works on the credit accounts' shard */
    bool debit;     /* concerns the debit accounts */
    bool credit;    /* concerns the credit accounts */
    bool locks;     /* locks and judges them */
    bool decides;   /* records transfers: until it commits nothing has happened */
} BatchKindRow;

const BatchKindRow *batch_kind_row(BatchKind kind);

#endif
