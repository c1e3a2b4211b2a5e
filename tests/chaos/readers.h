/*
 * A reader that looks at one account after the other through the API, by turns at every
 * coordinator, and keeps what it saw. Each look is answered before the next one is sent, so
 * that an account may never look older than before.
 */
#ifndef GIRO_CHAOS_READERS_H
#define GIRO_CHAOS_READERS_H

#include "checker.h"
#include "roster.h"

enum
{
    READINGS_MAX = 1 << 20, /* the reader ends when it has as many */
};

typedef struct Reader Reader;

Reader *reader_start(const Cluster *cluster, const Roster *roster, uint64_t seed);
/* Returns what was seen, on the heap; frees the reader. */
Reading *reader_stop(Reader *reader, size_t *ret_count);

/* Fills in what the entries say about the readings. All Postgres servers must run. */
void readings_resolve(Reading *readings, size_t count, const Cluster *cluster,
                      const Roster *roster);

#endif
