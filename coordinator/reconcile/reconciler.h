/*
 * Reconciliation inside a serving coordinator: passes by schedule and by request, one at a time,
 * and the reports of the last ones. Reports are kept in memory, RECONCILER_KEPT of them, and go
 * with the process; how far the books are proved stands on the shards.
 *
 * Several coordinators may have a schedule: the one whose turn it is claims the pass (pass.h).
 */
#ifndef GIRO_RECONCILER_H
#define GIRO_RECONCILER_H

#include "base/metrics.h"
#include "reconcile/report.h"
#include "shard/directory.h"

typedef struct Reconciler Reconciler;

enum
{
    RECONCILER_KEPT = 32,
    RECONCILER_WAITING_MAX = 4, /* requests that wait for their turn */
};

typedef struct ReconcilerOptions
{
    Loop *loop;
    Directory *directory;
    Metrics *metrics;
    const char *instance;
    uint64_t every_ms; /* 0: only by request */
} ReconcilerOptions;

Reconciler *reconciler_new(const ReconcilerOptions *options);
/* After reconciler_drain was answered, or with nothing under way. Accepts NULL. */
void reconciler_free(Reconciler *reconciler);
/* Stops the pass that runs, takes no more requests, and calls drained. */
void reconciler_drain(Reconciler *reconciler, void (*drained)(void *context), void *context);

/* One pass, wanted or had. */
typedef struct Run
{
    char id[UUID_TEXT_MAX + 1];
    bool wants_full;
    bool by_schedule;
    int64_t asked_at_us;
    const Report *report; /* NULL while it waits for its turn */
} Run;

/* False if too many wait, it drains, or no routing is known yet. */
bool reconciler_request(Reconciler *reconciler, bool full, Run *ret_run) ATTR_MUST_USE;
size_t reconciler_count(const Reconciler *reconciler);
/* The newest first. */
Run reconciler_run(const Reconciler *reconciler, size_t i);
/* False if it is not known (any more). */
bool reconciler_find(const Reconciler *reconciler, const char *id, Run *ret_run) ATTR_MUST_USE;

/* The document of a run as api.md has it, as an array element or alone; without lists if brief. */
void run_write_json(const Run *run, JsonWriter *writer, bool brief);

#endif
