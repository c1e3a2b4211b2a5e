/*
 * Walks one shard for a pass, page by page:
 *
 *   books       the zero sum, one snapshot
 *   prepared    legs in doubt, to be named
 *   carried     transfers that earlier passes could not settle
 *   accounts    the chain of entries behind what was proved; each new entry has its transfer
 *   transfers   full passes only: all that have their home here, both legs or none
 *   batches     full passes only: visible legs whose home has decided them
 *
 * What a page leads to is asked and judged (exam.h) before the next page is read, and then noted on
 * the shard: so a walk may end anywhere, and the next one goes on behind what was proved. A walk
 * anew notes no proofs, since it leaves transfers to a later step, which may not come. Memory is
 * bounded by the page.
 */
#ifndef GIRO_WALK_H
#define GIRO_WALK_H

#include "reconcile/exam.h"

typedef struct Walk Walk;

typedef struct WalkOptions
{
    ExamOptions exam;
    bool full; /* all steps */
    bool anew; /* accounts from the first entry on, whatever was proved; notes no proofs */
    void (*done)(void *context, Walk *walk);
    void *context;
} WalkOptions;

/* Starts; calls done once, never from inside. */
Walk *walk_new(const WalkOptions *options);
/* After done. Accepts NULL. */
void walk_free(Walk *walk);

#endif
