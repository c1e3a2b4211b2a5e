/*
 * What every shard of a transfer says of it: its home, then the shard of its credit. Nothing is
 * inferred, decided or changed.
 */
#ifndef GIRO_PROBE_H
#define GIRO_PROBE_H

#include "api/handler.h"
#include "api/steps_document.h"

typedef struct ProbeResult
{
    ErrorCode code; /* ERROR_NONE, or why the home says nothing, as of lookup.h */
    const char *detail;
    const StepsHome *home;
    const StepsRemote *remote; /* NULL if no other shard has to do with it; says if it is silent */
} ProbeResult;

typedef struct Probe
{
    HttpRequest *request; /* not answered before done was called; memory is taken from its arena */
    uint8_t id[16];
    Shard *home; /* NULL: it is looked for */
    /* Called exactly once, never from inside probe_start. The result is lent until it returns, the
     * home until the request is answered. */
    void (*done)(void *context, const ProbeResult *result);
    void *context;
} Probe;

/* False, and done is not called, if no routing is known yet. */
bool probe_start(Api *api, const Probe *probe) ATTR_MUST_USE;

#endif
