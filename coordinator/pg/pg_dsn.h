/*
 * A DSN taken apart: the endpoints to try, one by one, and the settings that hold for all of them.
 *
 * libpq would resolve host names on the calling thread and ignore connect_timeout when driven by
 * PQconnectPoll, so the walk over hosts and addresses is done by pg_dial.c, one libpq connection
 * per address. Settings that the DSN does not name get the values that this program needs.
 */
#ifndef GIRO_PG_DSN_H
#define GIRO_PG_DSN_H

#include "base/error.h"

#include <stddef.h>

enum
{
    PG_ENDPOINTS_MAX = 8,
    PG_SETTINGS_MAX = 64, /* with the closing NULL */
};

typedef struct PgEndpoint
{
    char *host;    /* name, address or socket directory; NULL = libpq's default directory */
    char *address; /* numeric, if the DSN has hostaddr; else NULL */
    char *port;    /* NULL = the default */
} PgEndpoint;

typedef struct PgDsn
{
    PgEndpoint endpoints[PG_ENDPOINTS_MAX];
    size_t endpoint_count;
    char *keywords[PG_SETTINGS_MAX];
    char *values[PG_SETTINGS_MAX];
    size_t setting_count;
} PgDsn;

/* The error's text never quotes the DSN, which may hold a password. pg_dsn_done is needed only
 * after success. */
bool pg_dsn_init(PgDsn *ret_dsn, const char *text, Error *error) ATTR_MUST_USE;
void pg_dsn_done(PgDsn *dsn);

/* Does the endpoint need no look-up of a name: a socket, or a numeric address? */
bool pg_endpoint_is_direct(const PgEndpoint *endpoint);

#endif
