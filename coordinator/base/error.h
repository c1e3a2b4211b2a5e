/*
 * Every code that a client, an operator or a log may see, in one table.
 *
 * Two kinds share the table because both end as a problem document: refusals (business answers that
 * stick to an idempotency key; ERROR_REFUSAL_FIRST … ERROR_REFUSAL_LAST) and operating errors. Bugs
 * are neither: they abort (see ASSERT).
 */
#ifndef GIRO_ERROR_H
#define GIRO_ERROR_H

#include "base/base.h"

#include <stdbool.h>

typedef enum ErrorCode
{
    ERROR_NONE,

    /* Refusals: recorded under the key, for ever. */
    ERROR_INSUFFICIENT_FUNDS,
    ERROR_CREDIT_ACCOUNT_NOT_FOUND, /* "account-not-found" as a refusal (422) */
    ERROR_ACCOUNT_FROZEN,
    ERROR_ACCOUNT_CLOSED,
    ERROR_CURRENCY_MISMATCH,
    ERROR_SAME_ACCOUNT,
    ERROR_BALANCE_LIMIT,
    ERROR_CANCELLED,
    ERROR_DEADLINE_PASSED,

    /* The request itself is wrong; nothing happens, no key is consumed. */
    ERROR_JSON_INVALID,
    ERROR_BODY_INVALID,
    ERROR_PARAMETER_INVALID,
    ERROR_CURSOR_INVALID,
    ERROR_IDEMPOTENCY_KEY_MISSING,
    ERROR_IDEMPOTENCY_KEY_INVALID,
    ERROR_HEADER_INVALID,
    ERROR_UNAUTHENTICATED,
    ERROR_FORBIDDEN,
    ERROR_ROUTE_NOT_FOUND,
    ERROR_ACCOUNT_NOT_FOUND,
    ERROR_DEBIT_ACCOUNT_NOT_FOUND,
    ERROR_TRANSFER_NOT_FOUND,
    ERROR_METHOD_NOT_ALLOWED,
    ERROR_REQUEST_TIMEOUT,
    ERROR_ACCOUNT_EXISTS,
    ERROR_STATE_CONFLICT,
    ERROR_BODY_TOO_LARGE,
    ERROR_MEDIA_TYPE,
    ERROR_AMOUNT_INVALID,
    ERROR_ACCOUNT_ID_INVALID,
    ERROR_CURRENCY_INVALID,
    ERROR_IDEMPOTENCY_KEY_REUSED,

    /* Not accepted now; the key stays free (except outcome-unknown). */
    ERROR_ACCOUNT_BUSY,
    ERROR_OVERLOADED,
    ERROR_SHARD_UNAVAILABLE,
    ERROR_SHARD_ERROR,
    ERROR_PARTITION_MOVING,
    ERROR_DIRECTORY_UNAVAILABLE,
    ERROR_DRAINING,
    ERROR_OUTCOME_UNKNOWN,

    ERROR_INTERNAL,

    /* Never sent to a client: the command line and set-up. */
    ERROR_CONFIG,
    ERROR_SETUP,

    ERROR_COUNT,

    ERROR_REFUSAL_FIRST = ERROR_INSUFFICIENT_FUNDS,
    ERROR_REFUSAL_LAST = ERROR_DEADLINE_PASSED,
} ErrorCode;

/* What a problem document says of its own request. */
typedef enum ErrorEffect
{
    ERROR_EFFECT_NONE,
    ERROR_EFFECT_UNKNOWN,
} ErrorEffect;

typedef struct ErrorRow
{
    const char *name;   /* the code of api.md: "insufficient-funds" */
    const char *title;  /* one short sentence, the same for every occurrence */
    const char *advice; /* for the caller: what became of the money, and what to do */
    int status;         /* HTTP status */
    bool retryable;     /* may the very same request succeed later? */
    int retry_after_ms; /* suggested pause; 0 = none */
    ErrorEffect effect;
} ErrorRow;

/* Owned by the caller, fixed size, cheap to copy. */
typedef struct Error
{
    ErrorCode code;
    char sqlstate[6]; /* "" where the cause is not an SQL error */
    char text[256];   /* for people; never parsed */
} Error;

/* The row of a code. Aborts on a code out of range. */
const ErrorRow *error_row(ErrorCode code);

/* The code with this name, ERROR_NONE if there is none. `refusal` picks the refusal of a shared
 * name. */
ErrorCode error_by_name(const char *name, bool refusal);

bool error_is_refusal(ErrorCode code);

/* Fills *error (may be NULL) and returns false, so that a failing function ends `return
 * error_set(…)`. */
bool error_set(Error *error, ErrorCode code, const char *format, ...) ATTR_PRINTF(3, 4);

#endif
