/*
 * A connection under test with what was told of it, and the loop that drives it: shared by the
 * tests of the connection layer.
 */
#ifndef GIRO_PG_CLIENT_H
#define GIRO_PG_CLIENT_H

#include "pg/pg.h"

enum
{
    DEADLINE_MS = 5000,
};

typedef struct Client
{
    Loop *loop;
    Pg *pg;
    bool connected;
    bool told;
    char text[512];
    bool lost;

    bool answered;
    bool in_send;
    size_t count;
    PgAnswer answers[PG_GROUP_MAX]; /* without rows */
    PgTransaction transaction;
    void (*check)(const PgRows *rows); /* sees the first answer's rows while they are lent */
} Client;

/* For cmocka: a new client with a connection; *state is the client. */
int client_set_up(void **state, const char *dsn);
int client_tear_down(void **state);

/* Records the outcome of connecting; its context is the client. */
void client_connected(void *context, bool connected, const char *text);
/* Connects and waits for the outcome, client->connected and client->text. */
void client_connect(Client *client, const char *dsn, uint64_t deadline_ms);
/* The same, after closing the connection at hand. */
void client_reconnect(Client *client, const char *dsn, uint64_t deadline_ms);

/* Records the answers in the client; its context. */
void client_answered(void *context, const PgAnswer *answers, size_t count,
                     PgTransaction transaction);
/* Sends the group that was begun and waits for its answers. */
void client_send(Client *client, uint64_t deadline_ms);
/* A group of one statement. */
void client_run(Client *client, const char *sql);
/* One letter per answer: d(one), e(rror), s(kipped), l(ost). */
void assert_kinds(const Client *client, const char *kinds);

/* A port of 127.0.0.1 on which somebody listens who never accepts; returns the listening socket. */
int hanging_listener(int *ret_port);

#endif
