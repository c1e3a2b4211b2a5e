/*
 * Ids of attempts: that none was ever used twice, over all coordinators that have lived.
 */
#ifndef GIRO_TESTS_IDS_H
#define GIRO_TESTS_IDS_H

#include "cluster.h"

#include <stddef.h>

/* Looks at all batches of all shards, and for "already in use" in the logs of Postgres; prints what
 * it finds and returns how much that is. *ret_batches is how many there were. */
size_t ids_look(const Cluster *cluster, size_t *ret_batches);

#endif
