/*
 * `girod readmit`: an operator's word that a shard goes on with the server that its owner_dsn leads
 * to, although that has lost history, was promoted or restored, or was fenced off for any of it.
 *
 * Two steps, each a transaction:
 *
 *   1. directory   decides a new epoch, higher than any that the directory or the server has had;
 *                  notes it with the server's timeline, system identifier and dsn, forgets the
 * marks that the server lacks, and records all of this with the reason
 *   2. shard       takes the epoch over, and its fence is lifted
 *
 * In this order there is no moment in which two servers pass for the shard: after 1 any server with
 * an older epoch is refused, also the one that is being readmitted, until 2. It may die in between
 * and be repeated: the next run decides a higher epoch. Coordinators see 1 with their next copy of
 * the directory, and 2 with their next session.
 *
 * Nothing is done for a shard that is as the directory says. Never changed is what the shard
 * holds: what it has lost is lost, and reconciliation names it.
 */
#ifndef GIRO_READMIT_H
#define GIRO_READMIT_H

#include "cluster/config.h"
#include "loop/loop.h"

#include <stdio.h>

typedef struct ReadmitOptions
{
    const char *shard;  /* its name in the description */
    const char *reason; /* for people who ask later */
    FILE *report;       /* what was found, and what was done */
} ReadmitOptions;

/* Runs the loop until it is done. False with ERROR_SETUP or ERROR_CONFIG. */
bool readmit_shard(Loop *loop, const Config *config, const ReadmitOptions *options,
                   Error *error) ATTR_MUST_USE;

#endif
