/*
 * The HTTP API: routes to handlers, problems to documents. Knows clients and JSON, never stages.
 *
 *   problem    every error as application/problem+json, from the one table in base/error.h
 *   fields     what a body, a header or a query may say; pure
 *   accounts, transfers, reconciliations, health, failpoints   the handlers
 *   openapi.json   what is built, exactly; served from inside the binary
 */
#ifndef GIRO_API_H
#define GIRO_API_H

#include "batcher/batcher.h"
#include "http/listen.h"
#include "loop/loop.h"
#include "reconcile/reconciler.h"
#include "shard/directory.h"
#include "shard/intake.h"

typedef struct Api Api;

typedef struct ApiOptions
{
    Loop *loop;
    Directory *directory;
    Batcher *batcher;
    Reconciler *reconciler;
    Intake *intake;
    Metrics *metrics;
    ListenAddress address; /* without tokens: loopback only */
    unsigned connections_max;
    uint64_t arrive_timeout_ms; /* a head, a body, the taking of an answer */
    uint64_t call_deadline_ms;  /* account operations and reads */
    uint64_t sample_period_ms;  /* how often shards are looked at for metrics; 0: never */
} ApiOptions;

/* Starts to serve. NULL with ERROR_CONFIG if it cannot listen there, or may not. */
Api *api_new(const ApiOptions *options, Error *error) ATTR_MUST_USE;
/* The loop must run no more turns. Accepts NULL. */
void api_free(Api *api);

uint16_t api_port(const Api *api);

/* Stops listening, is not ready any more, and calls drained once every accepted request has been
 * answered and no read is under way. */
void api_drain(Api *api, void (*drained)(void *context), void *context);

#endif
