/* See error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REFUSAL(name, title, advice)                                                               \
    {                                                                                              \
        name, title, advice, 422, false, 0, ERROR_EFFECT_NONE                                      \
    }
#define WRONG(name, status, title, advice)                                                         \
    {                                                                                              \
        name, title, advice, status, false, 0, ERROR_EFFECT_NONE                                   \
    }
#define LATER(name, status, pause_ms, title, advice)                                               \
    {                                                                                              \
        name, title, advice, status, true, pause_ms, ERROR_EFFECT_NONE                             \
    }

static const ErrorRow rows[ERROR_COUNT] = {
    [ERROR_NONE] = {"none", "No error", "Nothing is wrong.", 200, false, 0, ERROR_EFFECT_NONE},

    [ERROR_INSUFFICIENT_FUNDS] =
        REFUSAL("insufficient-funds", "The debit account would fall below its floor",
                "No money moved, and this key will never move any. Fund the account and use a "
                "new key."),
    [ERROR_CREDIT_ACCOUNT_NOT_FOUND] =
        REFUSAL("account-not-found", "No such account",
                "No money moved, or it came back: the account to be credited does not exist. "
                "Correct its id, or create it, and use a new key."),
    [ERROR_ACCOUNT_FROZEN] =
        REFUSAL("account-frozen", "The debit account is frozen",
                "No money moved: the account may not pay. When an operator has opened it "
                "again, use a new key."),
    [ERROR_ACCOUNT_CLOSED] =
        REFUSAL("account-closed", "An account of the transfer is closed",
                "No money moved, or it came back. A closed account is never opened again: use "
                "another account and a new key."),
    [ERROR_CURRENCY_MISMATCH] =
        REFUSAL("currency-mismatch", "The accounts and the transfer differ in currency",
                "No money moved, or it came back. Both accounts and the transfer must have one "
                "currency: correct it and use a new key."),
    [ERROR_SAME_ACCOUNT] =
        REFUSAL("same-account", "Debit and credit account are the same account",
                "No money moved. A transfer needs two different accounts: correct it and use a "
                "new key."),
    [ERROR_BALANCE_LIMIT] =
        REFUSAL("balance-limit", "A balance would leave the range of exact integers",
                "No money moved, or it came back. A balance stays within plus and minus "
                "9007199254740991: use another account or a smaller amount, and a new key."),
    [ERROR_CANCELLED] =
        REFUSAL("cancelled", "The transfer was cancelled",
                "The transfer was given up and its money is back on the debit account. To pay "
                "after all use a new key."),
    [ERROR_DEADLINE_PASSED] =
        REFUSAL("deadline-passed", "The credit did not apply before the deadline",
                "The transfer was given up at its deadline_ms and its money is back on the "
                "debit account. To pay after all use a new key."),

    [ERROR_JSON_INVALID] =
        WRONG("json-invalid", 400, "The body is not the JSON that is accepted",
              "Nothing happened and no key was used up. Send UTF-8 JSON without duplicate "
              "keys, NUL characters or deep nesting."),
    [ERROR_BODY_INVALID] =
        WRONG("body-invalid", 400, "A field is missing, unknown or of a wrong type",
              "Nothing happened and no key was used up. Correct the field that errors names; "
              "unknown fields are refused."),
    [ERROR_PARAMETER_INVALID] =
        WRONG("parameter-invalid", 400, "A query parameter is unknown or has a wrong value",
              "Nothing happened. Correct or leave out the query parameter."),
    [ERROR_CURSOR_INVALID] =
        WRONG("cursor-invalid", 400, "The cursor is not one of this list",
              "Nothing happened. Use next_cursor as it was given, with the same list, or "
              "begin again without a cursor."),
    [ERROR_IDEMPOTENCY_KEY_MISSING] =
        WRONG("idempotency-key-missing", 400, "The request needs an Idempotency-Key header",
              "Nothing happened. Choose a key for every payment, keep it, and send it again "
              "with every repeat."),
    [ERROR_IDEMPOTENCY_KEY_INVALID] =
        WRONG("idempotency-key-invalid", 400, "The Idempotency-Key is not acceptable",
              "Nothing happened. A key is 1 to 255 printable ASCII characters without "
              "blanks."),
    [ERROR_HEADER_INVALID] =
        WRONG("header-invalid", 400, "A header is repeated or malformed",
              "Nothing happened and no key was used up. Send each header once, on one line, "
              "without control characters."),
    [ERROR_UNAUTHENTICATED] =
        WRONG("unauthenticated", 401, "A valid bearer token is needed",
              "Nothing happened. Send a valid token as Authorization: Bearer."),
    [ERROR_FORBIDDEN] = WRONG("forbidden", 403, "The token does not allow this",
                              "Nothing happened. Ask for a token with the right that this needs."),
    [ERROR_ROUTE_NOT_FOUND] = WRONG("route-not-found", 404, "No such resource",
                                    "Nothing happened. /openapi.json lists the resources."),
    [ERROR_ACCOUNT_NOT_FOUND] = WRONG("account-not-found", 404, "No such account",
                                      "There is no such account: create it, or correct its id."),
    [ERROR_DEBIT_ACCOUNT_NOT_FOUND] =
        WRONG("debit-account-not-found", 404, "No such debit account; nothing was recorded",
              "No money moved and nothing was recorded, so that the key stays free. Create "
              "the account, or correct its id, and repeat."),
    [ERROR_TRANSFER_NOT_FOUND] =
        WRONG("transfer-not-found", 404, "No such transfer",
              "No transfer with this id is recorded. After outcome-unknown this proves nothing: "
              "repeat the transfer with its key."),
    [ERROR_METHOD_NOT_ALLOWED] =
        WRONG("method-not-allowed", 405, "The resource has other methods",
              "Nothing happened. Use one of the methods in the Allow header."),
    [ERROR_REQUEST_TIMEOUT] =
        WRONG("request-timeout", 408, "The request arrived too slowly",
              "Nothing happened and no key was used up: the request never arrived whole. "
              "Send it again, with the same key."),
    [ERROR_ACCOUNT_EXISTS] =
        WRONG("account-exists", 409, "The account exists with other properties",
              "Nothing was changed. The id is taken, with another currency or floor: use "
              "another id, or the account as it is."),
    [ERROR_STATE_CONFLICT] =
        WRONG("state-conflict", 409, "The state does not allow this",
              "Nothing was changed. Look at what stands, which detail describes; repeat once "
              "it allows the change."),
    [ERROR_BODY_TOO_LARGE] = WRONG("body-too-large", 413, "The body is larger than is accepted",
                                   "Nothing happened and no key was used up. Send less at a time."),
    [ERROR_MEDIA_TYPE] =
        WRONG("media-type", 415, "The body must be application/json",
              "Nothing happened and no key was used up. Send Content-Type: application/json; "
              "JSON is always UTF-8."),
    [ERROR_AMOUNT_INVALID] =
        WRONG("amount-invalid", 422, "An amount is an integer from 1 to 9007199254740991",
              "No money moved and no key was used up. Send the amount in minor units as a "
              "plain integer, without fraction, exponent or quotes."),
    [ERROR_ACCOUNT_ID_INVALID] =
        WRONG("account-id-invalid", 422, "The account id is not acceptable",
              "Nothing happened and no key was used up. An account id is 1 to 96 of A-Z a-z "
              "0-9 . _ : @ -, and not . or .. alone."),
    [ERROR_CURRENCY_INVALID] =
        WRONG("currency-invalid", 422, "The currency is not acceptable",
              "Nothing happened and no key was used up. A currency is 3 to 8 of A-Z 0-9."),
    [ERROR_IDEMPOTENCY_KEY_REUSED] =
        WRONG("idempotency-key-reused", 422, "The key stands for a transfer with other content",
              "No money moved for this request: the key belongs to an earlier transfer whose "
              "differing_fields have other values. Use a new key for a new payment."),

    [ERROR_ACCOUNT_BUSY] =
        LATER("account-busy", 429, 500, "An account of the transfer is locked by other work",
              "Nothing happened and the key stays free. Repeat with the same key after "
              "Retry-After."),
    [ERROR_OVERLOADED] =
        LATER("overloaded", 503, 1000, "The coordinator is at its limit",
              "Nothing happened and the key stays free. Repeat with the same key after "
              "Retry-After, with fewer requests at a time."),
    [ERROR_SHARD_UNAVAILABLE] =
        LATER("shard-unavailable", 503, 1000, "A shard of the request does not answer",
              "Nothing happened and the key stays free. Repeat with the same key after "
              "Retry-After, until the shard is back."),
    [ERROR_SHARD_ERROR] =
        LATER("shard-error", 503, 5000, "A shard failed at the work; nothing was applied",
              "Nothing happened and the key stays free. Repeat with the same key later; if "
              "it stays, an operator must look at the shard."),
    [ERROR_PARTITION_MOVING] =
        LATER("partition-moving", 503, 500, "The partition of an account is being moved",
              "Nothing happened and the key stays free. Repeat with the same key after "
              "Retry-After: moves are short."),
    [ERROR_DIRECTORY_UNAVAILABLE] =
        LATER("directory-unavailable", 503, 1000, "The directory does not answer",
              "Nothing happened and the key stays free. Repeat with the same key after "
              "Retry-After."),
    [ERROR_DRAINING] =
        LATER("draining", 503, 1000, "No new transfers are taken now",
              "Nothing happened and the key stays free: the coordinator is shutting down, or an "
              "operator has paused intake, as detail says. Repeat with the same key, at another "
              "coordinator or after Retry-After."),
    [ERROR_OUTCOME_UNKNOWN] = {"outcome-unknown",
                               "The outcome is not known yet; repeat the same request",
                               "The request may have taken effect or may still do so. "
                               "Repeat exactly it, a transfer with the same key, until "
                               "there is another answer: nothing moves twice. A look-up "
                               "that finds nothing proves nothing.",
                               503, true, 1000, ERROR_EFFECT_UNKNOWN},

    [ERROR_INTERNAL] = {"internal", "A bug in the coordinator",
                        "Whether anything happened is not known. Repeat exactly the "
                        "same request, a transfer with the same key, and report "
                        "request_id.",
                        500, false, 0, ERROR_EFFECT_UNKNOWN},

    [ERROR_CONFIG] =
        WRONG("config", 500, "The configuration is not acceptable", "Never sent to a client."),
    [ERROR_SETUP] = WRONG("setup", 500, "The cluster cannot be set up", "Never sent to a client."),
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
