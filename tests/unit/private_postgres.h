/*
 * A Postgres server of a test's own: made by initdb in a directory under /tmp, listening on a
 * socket in that directory and on a free port of 127.0.0.1, thrown away at the end. When the test
 * runs as root the server runs as user postgres.
 */
#ifndef GIRO_PRIVATE_POSTGRES_H
#define GIRO_PRIVATE_POSTGRES_H

typedef struct PrivatePostgres
{
    char directory[64]; /* also that of the socket */
    int port;
    char dsn[256];     /* superuser postgres over the socket */
    char tcp_dsn[256]; /* the same over 127.0.0.1 */
} PrivatePostgres;

/* Aborts the test program when the server does not start. `settings` is added to postgresql.conf;
 * may be NULL. */
void private_postgres_start(PrivatePostgres *ret_postgres, const char *settings);
/* mode as for pg_ctl: "fast", "immediate". The data stays. */
void private_postgres_halt(const PrivatePostgres *postgres, const char *mode);
void private_postgres_resume(const PrivatePostgres *postgres);
/* Stops the server and removes the directory. */
void private_postgres_stop(PrivatePostgres *postgres);

/* A port of 127.0.0.1 that nobody listens on now. */
int free_port(void);

#endif
