/* See transfers_query.h. */
#include "api/transfers_query.h"

#include <stdlib.h>
#include <string.h>

enum
{
    AGE_DIGITS_MAX = 12,
};

static const int64_t age_ms_max = INT64_C(315360000000); /* ten years */

typedef struct AgeUnit
{
    const char *name;
    int64_t ms;
} AgeUnit;

static const AgeUnit age_units[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static bool refuse(Fault *fault, const char *name, const char *what)
{
    return fault_set(fault, ERROR_PARAMETER_INVALID, NULL, "%s is %s", name, what);
}

bool transfers_query_age(const char *text, int64_t *ret_ms, Fault *fault)
{
    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; digits > 0 && digits <= AGE_DIGITS_MAX && i < ARRAY_LENGTH(age_units); i++)
    {
        int64_t number = strtoll(text, NULL, 10);
        if (strcmp(text + digits, age_units[i].name) != 0 || number > age_ms_max / age_units[i].ms)
            continue;
        *ret_ms = number * age_units[i].ms;
        return true;
    }
    return refuse(fault, "older_than", "a number and ms, s, m, h or d, and at most ten years");
}

/* true, false, or with empty a parameter without a value, which means true. */
static bool read_flag(const HttpRequest *request, const char *name, const bool **ret_flag,
                      Fault *fault)
{
    static const bool yes = true;
    static const bool no = false;
    const char *value = query_value(request, name);
    if (value == NULL)
        *ret_flag = NULL;
    else if (value[0] == '\0' || strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
        *ret_flag = &yes;
    else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
        *ret_flag = &no;
    else
        return refuse(fault, name, "true, 1, false, 0 or without value");
    return true;
}

static bool read_plain_flag(const HttpRequest *request, const char *name, bool *ret_flag,
                            Fault *fault)
{
    const bool *flag = NULL;
    if (!read_flag(request, name, &flag, fault))
        return false;
    *ret_flag = flag != NULL && *flag;
    return true;
}

static bool read_words(const Api *api, const HttpRequest *request, TransfersQuery *query,
                       Fault *fault)
{
    TransferState state;
    TransferMode mode = MODE_AUTO;
    query->state = query_value(request, "state");
    query->mode = query_value(request, "mode");
    query->shard = query_value(request, "shard");
    query->account = query_value(request, "account");
    query->reference = query_value(request, "reference");
    if (query->state != NULL && !transfer_state_parse(query->state, &state))
        return refuse(fault, "state", "posted, pending, refused or reversed");
    if (query->mode != NULL && (!mode_parse(query->mode, &mode) || mode == MODE_AUTO))
        return refuse(fault, "mode", "local, 2pc or saga");
    if (query->shard != NULL && directory_shard_by_name(api->directory, query->shard) == NULL)
        return refuse(fault, "shard", "the name of a shard");
    if (query->account != NULL && !route_account_id_is_valid(query->account))
        return refuse(fault, "account", "an account id");
    if (query->reference != NULL && strlen(query->reference) > REFERENCE_MAX)
        return refuse(fault, "reference", "longer than any");
    return true;
}

bool transfers_query_read(const Api *api, const HttpRequest *request, TransfersQuery *ret_query,
                          Fault *fault)
{
    TransfersQuery query = {0};
    const char *age = query_value(request, "older_than");
    const char *cursor = query_value(request, "cursor");
    query.has_cursor = cursor != NULL;
    if (!read_words(api, request, &query, fault) ||
        !read_flag(request, "needs_attention", &query.attention, fault) ||
        !read_plain_flag(request, "unfinished", &query.unfinished, fault) ||
        !read_plain_flag(request, "partial", &query.partial, fault) ||
        (age != NULL && !transfers_query_age(age, &query.older_ms, fault)) ||
        !fields_limit(query_value(request, "limit"), &query.limit, fault) ||
        (cursor != NULL && !cursor_read_transfer(cursor, &query.before, fault)))
        return false;
    *ret_query = query;
    return true;
}
