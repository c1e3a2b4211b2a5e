/*
 * What a list of transfers is asked for: the query parameters of GET /v1/transfers. Pure.
 */
#ifndef GIRO_TRANSFERS_QUERY_H
#define GIRO_TRANSFERS_QUERY_H

#include "api/cursor.h"
#include "api/handler.h"

/* Strings are lent by the request; NULL: of any kind. */
typedef struct TransfersQuery
{
    const char *state;
    const char *mode;
    const char *shard;
    const char *account; /* on either side */
    const char *reference;
    const bool *attention; /* NULL, or whether it needs attention */
    bool unfinished;
    bool partial; /* a list without the shards that do not answer is better than none */
    int64_t older_ms;
    int limit;
    bool has_cursor;
    TransferKey before; /* the cursor */
} TransfersQuery;

/* Reads the parameters of the request. A shard must be one that the directory lists. */
bool transfers_query_read(const Api *api, const HttpRequest *request, TransfersQuery *ret_query,
                          Fault *fault) ATTR_MUST_USE;

/* An age: a number and ms, s, m, h or d; at most ten years. */
bool transfers_query_age(const char *text, int64_t *ret_ms, Fault *fault) ATTR_MUST_USE;

#endif
