/* See fields.h. */
#include "api/fields.h"

#include "shard/intake.h"
#include "shard/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const int64_t deadline_ms_max = 31536000000; /* a year */

enum
{
    FAILPOINT_COUNT_MAX = 1000000,
    FAILPOINT_MS_MAX = 600000,
    DECIMAL_DIGITS_MAX = 9,
};

/* ---- single fields -------------------------------------------------------------------------- */

static bool check_names(const Json *body, const char *const *names, size_t count, Fault *fault)
{
    if (json_kind(body) != JSON_KIND_OBJECT)
        return fault_set(fault, ERROR_BODY_INVALID, NULL, "an object is needed");
    const char *unknown = json_field_unknown(body, names, count);
    if (unknown != NULL)
        return fault_set(fault, ERROR_BODY_INVALID, unknown, "the field is unknown");
    return true;
}

/* The field unless it is absent or null. */
static const Json *present(const Json *body, const char *name)
{
    const Json *value = json_field(body, name);
    return value != NULL && json_kind(value) != JSON_KIND_NULL ? value : NULL;
}

static bool optional_string(const Json *body, const char *name, const char **ret_text, Fault *fault)
{
    const Json *value = present(body, name);
    if (value != NULL && json_kind(value) != JSON_KIND_STRING)
    {
        fault_set(fault, ERROR_BODY_INVALID, name, "the field must be a string");
        return false;
    }
    *ret_text = value != NULL ? json_as_string(value) : NULL;
    return true;
}

static bool required_string(const Json *body, const char *name, const char **ret_text, Fault *fault)
{
    const Json *value = json_field(body, name);
    if (value == NULL || json_kind(value) != JSON_KIND_STRING)
    {
        fault_set(fault, ERROR_BODY_INVALID, name,
                  value == NULL ? "the field is missing" : "the field must be a string");
        return false;
    }
    *ret_text = json_as_string(value);
    return true;
}

typedef struct Range
{
    int64_t lowest;
    int64_t highest;
} Range;

/* Leaves *value as it is if the field is absent. */
static bool optional_integer(const Json *body, const char *name, Range range, int64_t *value,
                             Fault *fault)
{
    const Json *field = present(body, name);
    if (field == NULL)
        return true;
    if (json_kind(field) != JSON_KIND_INTEGER || json_as_integer(field) < range.lowest ||
        json_as_integer(field) > range.highest)
        return fault_set(fault, ERROR_BODY_INVALID, name,
                         "the field must be an integer from %" PRId64 " to %" PRId64, range.lowest,
                         range.highest);
    *value = json_as_integer(field);
    return true;
}

static bool read_floor(const Json *body, FloorField *ret_floor, Fault *fault)
{
    const Json *value = json_field(body, "floor");
    FloorField floor = {.given = value != NULL};
    floor.unlimited = floor.given && json_kind(value) == JSON_KIND_NULL;
    if (floor.given && !floor.unlimited)
    {
        const Range range = {-MONEY_MAX, 0};
        if (!optional_integer(body, "floor", range, &floor.value, fault))
            return false;
    }
    *ret_floor = floor;
    return true;
}

static bool metadata_is_flat(const Json *metadata)
{
    void *position = NULL;
    const char *name;
    const Json *value;
    if (json_kind(metadata) != JSON_KIND_OBJECT)
        return false;
    while (json_field_next(metadata, &position, &name, &value))
    {
        if (json_kind(value) != JSON_KIND_STRING)
            return false;
    }
    return true;
}

/* The metadata as text; leaves *metadata as it is if the field is absent. */
static bool read_metadata(const Json *body, Arena *arena, const char **metadata, Fault *fault)
{
    const Json *value = present(body, "metadata");
    if (value == NULL)
        return true;
    if (!metadata_is_flat(value))
        return fault_set(fault, ERROR_BODY_INVALID, "metadata",
                         "the field must be an object of strings");
    char *text = json_dump(value);
    size_t length = strlen(text);
    bool fits = length <= METADATA_BYTES_MAX;
    if (fits)
        *metadata = arena_copy(arena, text, length);
    free(text);
    if (!fits)
        return fault_set(fault, ERROR_BODY_INVALID, "metadata", "the field is larger than %d bytes",
                         METADATA_BYTES_MAX);
    return true;
}

static bool check_account_id(const char *name, const char *id, Fault *fault)
{
    if (!route_account_id_is_valid(id))
        return fault_set(fault, ERROR_ACCOUNT_ID_INVALID, name,
                         "an account id is 1 to %d of [A-Za-z0-9._:@-], not '.' or '..'",
                         ACCOUNT_ID_MAX);
    return true;
}

static bool check_currency(const char *currency, Fault *fault)
{
    if (!route_currency_is_valid(currency))
        return fault_set(fault, ERROR_CURRENCY_INVALID, "currency",
                         "a currency is 3 to %d of [A-Z0-9]", CURRENCY_MAX);
    return true;
}

/* ---- keys ----------------------------------------------------------------------------------- */

typedef struct Span
{
    const char *text;
    size_t length;
} Span;

/* The key without the pair of quotes that may stand around it. */
static bool take_key(Span span, const char *field, char ret_key[IDEMPOTENCY_KEY_MAX + 1],
                     Fault *fault)
{
    const char *key = span.text;
    size_t length = span.length;
    if (length >= 2 && key[0] == '"' && key[length - 1] == '"')
    {
        key++;
        length -= 2;
    }
    bool printable = true;
    for (size_t i = 0; i < length; i++)
        printable = printable && key[i] > 0x20 && key[i] < 0x7F;
    if (length == 0 || length > IDEMPOTENCY_KEY_MAX || !printable)
        return fault_set(fault, ERROR_IDEMPOTENCY_KEY_INVALID, field,
                         "a key is 1 to %d printable ASCII characters without blanks",
                         IDEMPOTENCY_KEY_MAX);
    memcpy(ret_key, key, length);
    ret_key[length] = '\0';
    return true;
}

/* ---- bodies --------------------------------------------------------------------------------- */

bool fields_account(const Json *body, Arena *arena, AccountBody *ret_body, Fault *fault)
{
    static const char *const names[] = {"id", "currency", "floor", "metadata"};
    AccountBody account = {.metadata = "{}"};
    if (!check_names(body, names, ARRAY_LENGTH(names), fault) ||
        !required_string(body, "id", &account.id, fault) ||
        !required_string(body, "currency", &account.currency, fault) ||
        !read_floor(body, &account.floor, fault) ||
        !read_metadata(body, arena, &account.metadata, fault) ||
        !check_account_id("id", account.id, fault) || !check_currency(account.currency, fault))
        return false;
    *ret_body = account;
    return true;
}

static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
    {
        if (((unsigned char)*text & 0xC0) != 0x80)
            count++;
    }
    return count;
}

static bool check_reason(const char *reason, Fault *fault)
{
    if (count_characters(reason) < REASON_CHARACTERS_MIN || strlen(reason) > REASON_BYTES_MAX)
        return fault_set(fault, ERROR_BODY_INVALID, "reason",
                         "a reason has at least %d characters and at most %d bytes",
                         REASON_CHARACTERS_MIN, REASON_BYTES_MAX);
    return true;
}

static bool check_status(const char *status, Fault *fault)
{
    if (status == NULL || strcmp(status, "open") == 0 || strcmp(status, "frozen") == 0 ||
        strcmp(status, "closed") == 0)
        return true;
    return fault_set(fault, ERROR_BODY_INVALID, "status",
                     "a status is \"open\", \"frozen\" or \"closed\"");
}

bool fields_patch(const Json *body, PatchBody *ret_body, Fault *fault)
{
    static const char *const names[] = {"reason", "status", "floor"};
    PatchBody patch = {0};
    if (!check_names(body, names, ARRAY_LENGTH(names), fault) ||
        !required_string(body, "reason", &patch.reason, fault) ||
        !optional_string(body, "status", &patch.status, fault) ||
        !read_floor(body, &patch.floor, fault) || !check_reason(patch.reason, fault) ||
        !check_status(patch.status, fault))
        return false;
    if (patch.status == NULL && !patch.floor.given)
        return fault_set(fault, ERROR_BODY_INVALID, NULL, "neither status nor floor is given");
    *ret_body = patch;
    return true;
}

bool fields_action(const Json *body, const char **ret_reason, Fault *fault)
{
    static const char *const names[] = {"reason"};
    const char *reason;
    if (!check_names(body, names, ARRAY_LENGTH(names), fault) ||
        !required_string(body, "reason", &reason, fault) || !check_reason(reason, fault))
        return false;
    *ret_reason = reason;
    return true;
}

bool fields_resolution(const Json *body, const char **ret_reason, TransferState *ret_outcome,
                       Fault *fault)
{
    static const char *const names[] = {"reason", "outcome"};
    const char *reason;
    const char *outcome;
    TransferState state;
    if (!check_names(body, names, ARRAY_LENGTH(names), fault) ||
        !required_string(body, "reason", &reason, fault) || !check_reason(reason, fault) ||
        !required_string(body, "outcome", &outcome, fault))
        return false;
    if (!transfer_state_parse(outcome, &state) ||
        (state != TRANSFER_POSTED && state != TRANSFER_REVERSED))
        return fault_set(fault, ERROR_BODY_INVALID, "outcome",
                         "an outcome is \"posted\" or \"reversed\"");
    *ret_reason = reason;
    *ret_outcome = state;
    return true;
}

bool fields_intake(const Json *body, const char **ret_reason, const char **ret_scope, Fault *fault)
{
    static const char *const names[] = {"reason", "scope"};
    const char *reason;
    const char *scope;
    if (!check_names(body, names, ARRAY_LENGTH(names), fault) ||
        !required_string(body, "reason", &reason, fault) || !check_reason(reason, fault) ||
        !required_string(body, "scope", &scope, fault))
        return false;
    if (!intake_scope_is_valid(scope))
        return fault_set(fault, ERROR_BODY_INVALID, "scope",
                         "a scope is \"all\", \"shard:<name>\" or \"account:<id>\"");
    *ret_reason = reason;
    *ret_scope = scope;
    return true;
}

static bool read_mode(const Json *body, TransferMode *ret_mode, Fault *fault)
{
    const char *name;
    TransferMode mode = MODE_AUTO;
    if (!optional_string(body, "mode", &name, fault))
        return false;
    if (name != NULL && (!mode_parse(name, &mode) || mode == MODE_LOCAL))
        return fault_set(fault, ERROR_BODY_INVALID, "mode",
                         "a mode is \"auto\", \"2pc\" or \"saga\"");
    *ret_mode = mode;
    return true;
}

static bool read_reference(const Json *body, const char **ret_reference, Fault *fault)
{
    if (!optional_string(body, "reference", ret_reference, fault))
        return false;
    if (*ret_reference != NULL && strlen(*ret_reference) > REFERENCE_MAX)
        return fault_set(fault, ERROR_BODY_INVALID, "reference",
                         "the field is longer than %d bytes", REFERENCE_MAX);
    return true;
}

/* The fields that every transfer has; the amount's value is judged later. */
static bool read_transfer_shape(const Json *body, Arena *arena, TransferRequest *transfer,
                                Fault *fault)
{
    const Range deadlines = {1, deadline_ms_max};
    if (!required_string(body, "debit_account", &transfer->debit_account, fault) ||
        !required_string(body, "credit_account", &transfer->credit_account, fault))
        return false;
    if (json_field(body, "amount") == NULL)
        return fault_set(fault, ERROR_BODY_INVALID, "amount", "the field is missing");
    return required_string(body, "currency", &transfer->currency, fault) &&
           read_mode(body, &transfer->mode, fault) &&
           read_reference(body, &transfer->reference, fault) &&
           read_metadata(body, arena, &transfer->metadata, fault) &&
           optional_integer(body, "deadline_ms", deadlines, &transfer->deadline_ms, fault);
}

static bool read_amount(const Json *body, int64_t *ret_amount, Fault *fault)
{
    const Json *amount = json_field(body, "amount");
    if (json_kind(amount) != JSON_KIND_INTEGER || json_as_integer(amount) < 1 ||
        json_as_integer(amount) > MONEY_MAX)
        return fault_set(fault, ERROR_AMOUNT_INVALID, "amount",
                         "an amount is an integer from 1 to %" PRId64, MONEY_MAX);
    *ret_amount = json_as_integer(amount);
    return true;
}

static bool read_transfer_values(const Json *body, TransferRequest *transfer, Fault *fault)
{
    return check_account_id("debit_account", transfer->debit_account, fault) &&
           check_account_id("credit_account", transfer->credit_account, fault) &&
           read_amount(body, &transfer->amount, fault) && check_currency(transfer->currency, fault);
}

static const char *const transfer_names[] = {
    "debit_account", "credit_account", "amount",      "currency",        "mode",
    "reference",     "metadata",       "deadline_ms", "idempotency_key", /* last: of items only */
};

bool fields_transfer(const Json *body, Arena *arena, TransferRequest *ret_request, Fault *fault)
{
    TransferRequest transfer = {0};
    if (!check_names(body, transfer_names, ARRAY_LENGTH(transfer_names) - 1, fault) ||
        !read_transfer_shape(body, arena, &transfer, fault) ||
        !read_transfer_values(body, &transfer, fault))
        return false;
    *ret_request = transfer;
    return true;
}

bool fields_batch(const Json *body, const Json **ret_items, Fault *fault)
{
    static const char *const names[] = {"transfers"};
    if (!check_names(body, names, ARRAY_LENGTH(names), fault))
        return false;
    const Json *items = json_field(body, "transfers");
    if (items == NULL)
        return fault_set(fault, ERROR_BODY_INVALID, "transfers", "the field is missing");
    if (json_kind(items) != JSON_KIND_ARRAY || json_array_length(items) < 1 ||
        json_array_length(items) > BATCH_ITEMS_MAX)
        return fault_set(fault, ERROR_BODY_INVALID, "transfers",
                         "the field must be an array of 1 to %d transfers", BATCH_ITEMS_MAX);
    *ret_items = items;
    return true;
}

/* A missing key is told apart from other missing fields, as a missing header is. */
static bool item_key(const Json *item, const char **ret_key, Fault *fault)
{
    if (present(item, "idempotency_key") == NULL)
    {
        fault_set(fault, ERROR_IDEMPOTENCY_KEY_MISSING, "idempotency_key",
                  "a transfer needs a key");
        return false;
    }
    return required_string(item, "idempotency_key", ret_key, fault);
}

bool fields_batch_item(const Json *item, Arena *arena, TransferRequest *ret_request, Fault *fault)
{
    TransferRequest transfer = {0};
    const char *given;
    char key[IDEMPOTENCY_KEY_MAX + 1];
    if (!check_names(item, transfer_names, ARRAY_LENGTH(transfer_names), fault) ||
        !item_key(item, &given, fault) || !read_transfer_shape(item, arena, &transfer, fault) ||
        !take_key((Span){given, strlen(given)}, "idempotency_key", key, fault) ||
        !read_transfer_values(item, &transfer, fault))
        return false;
    transfer.idempotency_key = arena_copy(arena, key, strlen(key));
    *ret_request = transfer;
    return true;
}

bool fields_failpoint(const Json *body, FailpointBody *ret_body, Fault *fault)
{
    static const char *const names[] = {"action", "skip", "count", "ms", "account"};
    static const Range skips = {0, FAILPOINT_COUNT_MAX};
    static const Range counts = {1, FAILPOINT_COUNT_MAX};
    static const Range pauses = {0, FAILPOINT_MS_MAX};
    const char *action;
    const char *account;
    int64_t skip = 0;
    int64_t count = 1;
    int64_t ms = 0;
    if (!check_names(body, names, ARRAY_LENGTH(names), fault) ||
        !required_string(body, "action", &action, fault) ||
        !optional_integer(body, "skip", skips, &skip, fault) ||
        !optional_integer(body, "count", counts, &count, fault) ||
        !optional_integer(body, "ms", pauses, &ms, fault) ||
        !optional_string(body, "account", &account, fault))
        return false;
    if (account != NULL && !route_account_id_is_valid(account))
        return fault_set(fault, ERROR_BODY_INVALID, "account", "that is no account id");
    *ret_body = (FailpointBody){.action = action,
                                .skip = (int)skip,
                                .count = (int)count,
                                .ms = (uint64_t)ms,
                                .account = account};
    return true;
}

bool fields_reconciliation(const Json *body, bool *ret_full, Fault *fault)
{
    static const char *const names[] = {"full"};
    if (!check_names(body, names, ARRAY_LENGTH(names), fault))
        return false;
    const Json *full = json_field(body, "full");
    if (full != NULL && json_kind(full) != JSON_KIND_BOOL)
        return fault_set(fault, ERROR_BODY_INVALID, "full", "the field must be a boolean");
    *ret_full = full != NULL && json_as_bool(full);
    return true;
}

/* ---- headers and query values --------------------------------------------------------------- */

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static size_t trimmed_length(const char *text, size_t length)
{
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    return length;
}

static bool span_is(Span span, const char *word)
{
    return span.length == strlen(word) && strncasecmp(span.text, word, span.length) == 0;
}

/* May this parameter of a Content-Type stand with JSON? `text` ends at the next ';'. */
static bool fits_json(const char *text, size_t length)
{
    static const char charset[] = "charset=";
    size_t name = strlen(charset);
    if (length < name || strncasecmp(text, charset, name) != 0)
        return true;
    Span value = {text + name, length - name};
    if (value.length >= 2 && value.text[0] == '"' && value.text[value.length - 1] == '"')
        value = (Span){value.text + 1, value.length - 2};
    return span_is(value, "utf-8");
}

bool fields_is_json(const char *content_type)
{
    if (content_type == NULL)
        return false;
    const char *at = skip_blanks(content_type);
    size_t length = strcspn(at, ";");
    if (!span_is((Span){at, trimmed_length(at, length)}, "application/json"))
        return false;
    for (at += length; *at == ';'; at += length)
    {
        at = skip_blanks(at + 1);
        length = strcspn(at, ";");
        if (!fits_json(at, trimmed_length(at, length)))
            return false;
    }
    return true;
}

bool fields_key(const char *header, char ret_key[IDEMPOTENCY_KEY_MAX + 1], Fault *fault)
{
    if (header == NULL)
        return fault_set(fault, ERROR_IDEMPOTENCY_KEY_MISSING, NULL,
                         "a transfer needs an Idempotency-Key header");
    const char *text = skip_blanks(header);
    Span span = {text, trimmed_length(text, strlen(text))};
    return take_key(span, NULL, ret_key, fault);
}

/* Digits only, at most 9 of them. */
static bool parse_decimal(const char *text, size_t length, int *ret_value)
{
    int value = 0;
    if (length == 0 || length > DECIMAL_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
    {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *ret_value = value;
    return true;
}

/* One preference of the list: its name ends at '=', ';' or a blank. */
static bool read_preference(const char *text, size_t length, Preferences *preferences, Fault *fault)
{
    static const char wait[] = "wait";
    static const char async[] = "respond-async";
    size_t name_length = 0;
    while (name_length < length && strchr("=; \t", text[name_length]) == NULL)
        name_length++;
    if (name_length == strlen(async) && strncasecmp(text, async, name_length) == 0)
        preferences->respond_async = true;
    if (name_length != strlen(wait) || strncasecmp(text, wait, name_length) != 0)
        return true;
    const char *end = text + length;
    const char *at = skip_blanks(text + name_length);
    at = at < end && *at == '=' ? skip_blanks(at + 1) : end;
    size_t digits = 0;
    while (at + digits < end && strchr("; \t", at[digits]) == NULL)
        digits++;
    int wait_s;
    if (!parse_decimal(at, digits, &wait_s))
        return fault_set(fault, ERROR_HEADER_INVALID, NULL,
                         "Prefer: wait=N takes a whole number of seconds");
    preferences->wait_s = wait_s < WAIT_S_MAX ? wait_s : WAIT_S_MAX;
    return true;
}

bool fields_prefer(const char *header, Preferences *preferences, Fault *fault)
{
    while (*header != '\0')
    {
        const char *start = skip_blanks(header);
        size_t length = strcspn(start, ",");
        if (!read_preference(start, length, preferences, fault))
            return false;
        header = start + length;
        if (*header == ',')
            header++;
    }
    return true;
}

bool fields_limit(const char *text, int *ret_limit, Fault *fault)
{
    int limit = LIST_LIMIT_DEFAULT;
    if (text != NULL &&
        (!parse_decimal(text, strlen(text), &limit) || limit < 1 || limit > LIST_LIMIT_MAX))
        return fault_set(fault, ERROR_PARAMETER_INVALID, NULL, "limit is an integer from 1 to %d",
                         LIST_LIMIT_MAX);
    *ret_limit = limit;
    return true;
}
