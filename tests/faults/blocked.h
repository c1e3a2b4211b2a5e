/*
 * How long accounts stay locked while the coordinators that locked them stand still.
 *
 * An account is blocked while its row cannot be locked at two looks in a row: others may hold it
 * for a moment meanwhile.
 */
#ifndef GIRO_TESTS_BLOCKED_H
#define GIRO_TESTS_BLOCKED_H

#include "cell.h"

enum
{
    /* The longest session time-out of a coordinator, idle_in_transaction_session_timeout, and 2 s.
     */
    BLOCKED_MS_MAX = 30000 + 2000,
};

typedef struct Watch Watch;

/* Of the accounts of these cells, which live longer. */
Watch *watch_new(Cell *cells, size_t count);
void watch_free(Watch *watch);
/* Looks once at those whose faults have struck; returns how many cannot be locked. */
size_t watch_look(Watch *watch);
/* Goes on looking until the longest time that is allowed has passed and all can be locked; prints a
 * line for each cell, and blames those that took too long. */
void watch_out(Watch *watch);

#endif
