/*
 * The limits of the API contract, which the constraints of the shards' tables repeat: nothing
 * larger is ever taken in, so nothing larger is stored.
 */
#ifndef GIRO_LIMITS_H
#define GIRO_LIMITS_H

#include <stdint.h>

enum
{
    ACCOUNT_ID_MAX = 96,
    CURRENCY_MAX = 8,
    IDEMPOTENCY_KEY_MAX = 255,
    REFERENCE_MAX = 128,
    METADATA_BYTES_MAX = 4096,
    NAME_MAX_LENGTH = 40, /* shards, clusters, instances: they become parts of a GID */
};

/* Of amounts, and of balances on both sides of zero: 2^53-1, exact in every JSON reader. */
#define MONEY_MAX INT64_C(9007199254740991)

#endif
