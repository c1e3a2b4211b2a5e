/*
 * Brings together what the checker looks at: what the shards hold at the end of a run.
 */
#ifndef GIRO_CHAOS_EVIDENCE_H
#define GIRO_CHAOS_EVIDENCE_H

#include "checker.h"
#include "roster.h"

/* Waits until no shard holds a pending transfer or a prepared transaction of ours; at most
 * timeout_ms. Fills in how many there are then. */
void evidence_await_quiet(const Cluster *cluster, int timeout_ms, Evidence *evidence);
/* Which accounts exist; on the heap. */
AccountFact *evidence_accounts(const Cluster *cluster, const Roster *roster);

#endif
