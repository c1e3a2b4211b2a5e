/*
 * What a request may say: bodies, headers and query values, checked to the letter of the API. Pure
 * functions; every failure is a Fault that names the field.
 *
 * The shape of a whole body (unknown, missing and mistyped fields: 400) is judged before the values
 * (422), so that a client sees the same answer whatever the order of its fields. An optional field
 * that is null counts as absent, except `floor`, where null means "no limit".
 */
#ifndef GIRO_FIELDS_H
#define GIRO_FIELDS_H

#include "api/problem.h"
#include "base/limits.h"
#include "http/arena.h"
#include "protocol/transfer.h"
#include "json/json.h"

enum
{
    BODY_BYTES_MAX = 64 * 1024,
    BATCH_BODY_BYTES_MAX = 4 * 1024 * 1024,
    BATCH_ITEMS_MAX = 5000,
    REASON_CHARACTERS_MIN = 10,
    REASON_BYTES_MAX = 1000,
    LIST_LIMIT_DEFAULT = 100,
    LIST_LIMIT_MAX = 1000,
    WAIT_S_DEFAULT = 5,
    WAIT_S_MAX = 30,
    MS_PER_S = 1000,
};

/* A floor as given: absent, null (no limit), or a number ≤ 0. */
typedef struct FloorField
{
    bool given;
    bool unlimited;
    int64_t value;
} FloorField;

/* Strings are lent by the document or taken from the arena. */
typedef struct AccountBody
{
    const char *id;
    const char *currency;
    FloorField floor;
    const char *metadata; /* JSON object; "{}" if absent */
} AccountBody;

typedef struct PatchBody
{
    const char *reason;
    const char *status; /* NULL if absent */
    FloorField floor;
} PatchBody;

bool fields_account(const Json *body, Arena *arena, AccountBody *ret_body,
                    Fault *fault) ATTR_MUST_USE;
bool fields_patch(const Json *body, PatchBody *ret_body, Fault *fault) ATTR_MUST_USE;
/* The body of an action: why it is asked for. Lent by the document. */
bool fields_action(const Json *body, const char **ret_reason, Fault *fault) ATTR_MUST_USE;
/* The body of a resolve: the same, and whether it is to be posted or reversed. */
bool fields_resolution(const Json *body, const char **ret_reason, TransferState *ret_outcome,
                       Fault *fault) ATTR_MUST_USE;
/* The body of a pause or resume: why, and a scope as intake.h has them. */
bool fields_intake(const Json *body, const char **ret_reason, const char **ret_scope,
                   Fault *fault) ATTR_MUST_USE;
/* The body of one transfer; its key stands in a header and is left NULL. */
bool fields_transfer(const Json *body, Arena *arena, TransferRequest *ret_request,
                     Fault *fault) ATTR_MUST_USE;

/* The envelope of a batch: 1 to BATCH_ITEMS_MAX items of any kind. */
bool fields_batch(const Json *body, const Json **ret_items, Fault *fault) ATTR_MUST_USE;
/* An item of a batch: the same fields and its key. */
bool fields_batch_item(const Json *item, Arena *arena, TransferRequest *ret_request,
                       Fault *fault) ATTR_MUST_USE;

typedef struct FailpointBody
{
    const char *action;
    int skip;
    int count;
    uint64_t ms;
    const char *account; /* NULL = of all */
} FailpointBody;
/* The body of a reconciliation: is a full pass wanted? false if it does not say. */
bool fields_reconciliation(const Json *body, bool *ret_full, Fault *fault) ATTR_MUST_USE;
bool fields_failpoint(const Json *body, FailpointBody *ret_body, Fault *fault) ATTR_MUST_USE;

/* Is the Content-Type (NULL if there is none) application/json? A charset other than UTF-8 is none,
 * whatever other parameters there are. */
bool fields_is_json(const char *content_type);

/* The key of an Idempotency-Key header (NULL if there is none) without its quotes. */
bool fields_key(const char *header, char ret_key[IDEMPOTENCY_KEY_MAX + 1],
                Fault *fault) ATTR_MUST_USE;

typedef struct Preferences
{
    int wait_s; /* WAIT_S_DEFAULT if not given, at most WAIT_S_MAX */
    bool respond_async;
} Preferences;
/* Reads one Prefer header into *preferences, which starts at the defaults. What is not understood
 * is ignored, as RFC 7240 says; a malformed wait is a fault. */
bool fields_prefer(const char *header, Preferences *preferences, Fault *fault) ATTR_MUST_USE;

/* A list's `limit` (NULL if not given). */
bool fields_limit(const char *text, int *ret_limit, Fault *fault) ATTR_MUST_USE;

#endif
