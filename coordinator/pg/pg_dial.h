/*
 * Finding a server: tries the endpoints of a DSN and the addresses of each host name in turn, each
 * within its share of the deadline, until one lets us in.
 *
 * The share of a host is what is left of the deadline divided by the hosts not tried yet; the share
 * of an address is the same within its host. A first host that hangs therefore never uses up the
 * time of the second one.
 */
#ifndef GIRO_PG_DIAL_H
#define GIRO_PG_DIAL_H

#include "loop/loop.h"

struct pg_conn; /* libpq's PGconn */

typedef struct PgDial PgDial;

/* `connection` is the caller's from now on; NULL when every address failed, and then `text` says
 * why. Called exactly once, never from inside pg_dial_new; the dial ends with it and may be freed
 * in it. */
typedef void (*PgDialed)(void *context, struct pg_conn *connection, const char *text);

PgDial *pg_dial_new(Loop *loop, const char *dsn, uint64_t deadline_ms, PgDialed dialed,
                    void *context);
/* Gives up at once, without a callback. Accepts NULL. */
void pg_dial_free(PgDial *dial);

#endif
