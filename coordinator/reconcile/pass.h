/*
 * One pass of reconciliation over all shards: a claim on the shard with the lowest ordinal, then a
 * walk of every shard (walk.h), PASS_WALKS_MAX at a time, then the end noted there.
 *
 * Why this proves the books. Per account the entries form a chain that ends at the balance; per
 * shard balances and clearing add up to 0 in one snapshot; per transfer both legs stand or none, or
 * it is in flight and named. So what all clearing adds up to is minus the sum of all entries, which
 * is what the named transfers hold. Sets are compared throughout; sums are only shown.
 *
 * A pass is full (from the first entry on, all transfers, all batches) or incremental: what is new
 * since earlier passes, and what those left open. An incremental pass does not see what somebody
 * did to rows that were proved before; the accounts' balances and the zero sums it always sees. The
 * first pass of all is both: all that there is is new to it, and it notes what it has proved.
 */
#ifndef GIRO_PASS_H
#define GIRO_PASS_H

#include "reconcile/report.h"
#include "shard/call.h"

typedef struct Pass Pass;

enum
{
    PASS_WALKS_MAX = 8,
    PASS_PATIENCE_MS = 30000,
};

typedef struct PassOptions
{
    Loop *loop;
    Directory *directory; /* loaded */
    Caller *caller;
    const char *holder;   /* of the claim: names this process */
    bool full;            /* else incremental, unless there was no full pass ever */
    bool rests;           /* between statements, see asker.h */
    uint64_t patience_ms; /* with a shard that does not answer */
    uint64_t every_ms;    /* by schedule: only if the last pass ended that long ago; 0 = now */
    void (*done)(void *context, Pass *pass); /* never from inside pass_new */
    void *context;
} PassOptions;

/* Starts. */
Pass *pass_new(const PassOptions *options);
/* After done. Accepts NULL. */
void pass_free(Pass *pass);
/* Makes it end soon, incomplete. */
void pass_stop(Pass *pass);

/* False after done: somebody else is at it, or it is not due. There is nothing in the report. */
bool pass_was_granted(const Pass *pass);
/* Lent; grows while the pass goes on. */
const Report *pass_report(const Pass *pass);
/* The caller's from now on; after done. */
Report *pass_take_report(Pass *pass);

/* What a caller for passes needs. */
CallerOptions pass_caller_options(void);

#endif
