/*
 * Claims transfers that are due: pending sagas and lost credits that this coordinator let go of,
 * and what others left behind. The same path for all; it runs all the time, also when nothing else
 * happens, at once when a shard has come back, and again at once while there is more than one round
 * takes.
 */
#ifndef GIRO_CLAIMER_H
#define GIRO_CLAIMER_H

#include "protocol/batch.h"
#include "shard/call.h"

typedef struct Claimer Claimer;

typedef struct ClaimerOptions
{
    Loop *loop;
    Directory *directory;
    Caller *caller;
    const char *instance; /* the coordinator's; must outlive the claimer */
    uint64_t period_ms;
    size_t claims_max; /* per round, home and other shard */
    /* May more be taken on now? */
    bool (*has_room)(void *context);
    /* A transfer whose debit is durable; owned by the callee. Its locations are not filled in. */
    void (*claimed)(void *context, Transfer *transfer, Shard *home);
    void *context;
} ClaimerOptions;

Claimer *claimer_new(const ClaimerOptions *options);
void claimer_free(Claimer *claimer); /* accepts NULL; no call of it may be under way */
/* Makes the next round start at once. */
void claimer_hurry(Claimer *claimer);
void claimer_stop(Claimer *claimer);

#endif
