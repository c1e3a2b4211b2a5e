/* See error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REFUSAL(name, title)                                                                       \
    {                                                                                              \
        name, title, 422, false, 0, ERROR_EFFECT_NONE                                              \
    }
#define WRONG(name, status, title)                                                                 \
    {                                                                                              \
        name, title, status, false, 0, ERROR_EFFECT_NONE                                           \
    }
#define LATER(name, status, pause_ms, title)                                                       \
    {                                                                                              \
        name, title, status, true, pause_ms, ERROR_EFFECT_NONE                                     \
    }

static const ErrorRow rows[ERROR_COUNT] = {
    [ERROR_NONE] = {"none", "No error", 200, false, 0, ERROR_EFFECT_NONE},

    [ERROR_INSUFFICIENT_FUNDS] =
        REFUSAL("insufficient-funds", "The debit account would fall below its floor"),
    [ERROR_CREDIT_ACCOUNT_NOT_FOUND] = REFUSAL("account-not-found", "No such account"),
    [ERROR_ACCOUNT_FROZEN] = REFUSAL("account-frozen", "The debit account is frozen"),
    [ERROR_ACCOUNT_CLOSED] = REFUSAL("account-closed", "An account of the transfer is closed"),
    [ERROR_CURRENCY_MISMATCH] =
        REFUSAL("currency-mismatch", "The accounts and the transfer differ in currency"),
    [ERROR_SAME_ACCOUNT] = REFUSAL("same-account", "Debit and credit account are the same account"),
    [ERROR_BALANCE_LIMIT] =
        REFUSAL("balance-limit", "A balance would leave the range of exact integers"),
    [ERROR_CANCELLED] = REFUSAL("cancelled", "The transfer was cancelled"),
    [ERROR_DEADLINE_PASSED] =
        REFUSAL("deadline-passed", "The credit did not apply before the deadline"),

    [ERROR_JSON_INVALID] = WRONG("json-invalid", 400, "The body is not the JSON that is accepted"),
    [ERROR_BODY_INVALID] =
        WRONG("body-invalid", 400, "A field is missing, unknown or of a wrong type"),
    [ERROR_PARAMETER_INVALID] =
        WRONG("parameter-invalid", 400, "A query parameter is unknown or has a wrong value"),
    [ERROR_CURSOR_INVALID] = WRONG("cursor-invalid", 400, "The cursor is not one of this list"),
    [ERROR_IDEMPOTENCY_KEY_MISSING] =
        WRONG("idempotency-key-missing", 400, "The request needs an Idempotency-Key header"),
    [ERROR_IDEMPOTENCY_KEY_INVALID] =
        WRONG("idempotency-key-invalid", 400, "The Idempotency-Key is not acceptable"),
    [ERROR_HEADER_INVALID] = WRONG("header-invalid", 400, "A header is repeated or malformed"),
    [ERROR_UNAUTHENTICATED] = WRONG("unauthenticated", 401, "A valid bearer token is needed"),
    [ERROR_FORBIDDEN] = WRONG("forbidden", 403, "The token does not allow this"),
    [ERROR_ROUTE_NOT_FOUND] = WRONG("route-not-found", 404, "No such resource"),
    [ERROR_ACCOUNT_NOT_FOUND] = WRONG("account-not-found", 404, "No such account"),
    [ERROR_DEBIT_ACCOUNT_NOT_FOUND] =
        WRONG("debit-account-not-found", 404, "No such debit account; nothing was recorded"),
    [ERROR_TRANSFER_NOT_FOUND] = WRONG("transfer-not-found", 404, "No such transfer"),
    [ERROR_METHOD_NOT_ALLOWED] = WRONG("method-not-allowed", 405, "The resource has other methods"),
    [ERROR_REQUEST_TIMEOUT] = WRONG("request-timeout", 408, "The request arrived too slowly"),
    [ERROR_ACCOUNT_EXISTS] =
        WRONG("account-exists", 409, "The account exists with other properties"),
    [ERROR_STATE_CONFLICT] = WRONG("state-conflict", 409, "The state does not allow this"),
    [ERROR_BODY_TOO_LARGE] = WRONG("body-too-large", 413, "The body is larger than is accepted"),
    [ERROR_MEDIA_TYPE] = WRONG("media-type", 415, "The body must be application/json"),
    [ERROR_AMOUNT_INVALID] =
        WRONG("amount-invalid", 422, "An amount is an integer from 1 to 9007199254740991"),
    [ERROR_ACCOUNT_ID_INVALID] =
        WRONG("account-id-invalid", 422, "The account id is not acceptable"),
    [ERROR_CURRENCY_INVALID] = WRONG("currency-invalid", 422, "The currency is not acceptable"),
    [ERROR_IDEMPOTENCY_KEY_REUSED] =
        WRONG("idempotency-key-reused", 422, "The key stands for a transfer with other content"),

    [ERROR_ACCOUNT_BUSY] =
        LATER("account-busy", 429, 500, "An account of the transfer is locked by other work"),
    [ERROR_OVERLOADED] = LATER("overloaded", 503, 1000, "The coordinator is at its limit"),
    [ERROR_SHARD_UNAVAILABLE] =
        LATER("shard-unavailable", 503, 1000, "A shard of the request does not answer"),
    [ERROR_SHARD_ERROR] =
        LATER("shard-error", 503, 5000, "A shard failed at the work; nothing was applied"),
    [ERROR_PARTITION_MOVING] =
        LATER("partition-moving", 503, 500, "The partition of an account is being moved"),
    [ERROR_DIRECTORY_UNAVAILABLE] =
        LATER("directory-unavailable", 503, 1000, "The directory does not answer"),
    [ERROR_DRAINING] = LATER("draining", 503, 1000, "The coordinator is shutting down"),
    [ERROR_OUTCOME_UNKNOWN] = {"outcome-unknown",
                               "The outcome is not known yet; repeat the same request", 503, true,
                               1000, ERROR_EFFECT_UNKNOWN},

    [ERROR_INTERNAL] = {"internal", "A bug in the coordinator", 500, false, 0,
                        ERROR_EFFECT_UNKNOWN},

    [ERROR_CONFIG] = WRONG("config", 500, "The configuration is not acceptable"),
    [ERROR_SETUP] = WRONG("setup", 500, "The cluster cannot be set up"),
};

const ErrorRow *error_row(ErrorCode code)
{
    ASSERT(code >= ERROR_NONE && code < ERROR_COUNT);
    return &rows[code];
}

bool error_is_refusal(ErrorCode code)
{
    return code >= ERROR_REFUSAL_FIRST && code <= ERROR_REFUSAL_LAST;
}

ErrorCode error_by_name(const char *name, bool refusal)
{
    for (int code = ERROR_NONE + 1; code < ERROR_COUNT; code++)
    {
        if (error_is_refusal((ErrorCode)code) == refusal && strcmp(rows[code].name, name) == 0)
            return (ErrorCode)code;
    }
    return ERROR_NONE;
}

bool error_set(Error *error, ErrorCode code, const char *format, ...)
{
    if (error == NULL)
        return false;
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    error->sqlstate[0] = '\0';
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}
