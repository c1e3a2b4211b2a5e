/*
 * Finding a transfer: all shards that may hold its record are asked at once, and the first one that
 * has it answers. That it never happened takes an answer from all of them.
 */
#ifndef GIRO_LOOKUP_H
#define GIRO_LOOKUP_H

#include "api/handler.h"

typedef struct LookupResult
{
    ErrorCode code; /* ERROR_NONE; ERROR_TRANSFER_NOT_FOUND; or why a shard could not say */
    const char *detail;
    const PgRows *rows; /* the row, lent until done returns */
    Shard *shard;       /* which has it */
} LookupResult;

typedef struct Lookup
{
    Statement statement; /* STATEMENT_TRANSFER_GET or STATEMENT_STEPS_HOME */
    uint8_t id[16];
    /* Called exactly once, never from inside lookup_start. */
    void (*done)(void *context, const LookupResult *result);
    void *context; /* must live until done was called */
} Lookup;

/* Asks the shards that the directory names for this id. False, and done is not called, if no
 * routing is known yet. */
bool lookup_start(Api *api, const Lookup *lookup) ATTR_MUST_USE;
/* Asks this shard only. */
void lookup_on_shard(Api *api, Shard *shard, const Lookup *lookup);

/* The id in the path. False if it was not one; the request is answered then. */
bool path_transfer(HttpRequest *request, uint8_t ret_id[16]) ATTR_MUST_USE;

#endif
