/*
 * One session over a scripted connection, and a stand-in for the pool that it belongs to, which
 * notes what it is told.
 */
#ifndef GIRO_SESSION_WORLD_H
#define GIRO_SESSION_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_pg.h"
#include "shard/session.h"

#define with_session(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

typedef struct Pool
{
    Loop *loop;
    FakeServer *server;
    Session *session;
    History history;
    bool ended; /* the opening */
    bool opened;
    SessionFailure failure;
    char why[256];
    bool returned;
    bool lost;
    int overdue;
    int unfit;

    bool answered;
    size_t count;
    PgAnswer answers[PG_GROUP_MAX];
    PgTransaction transaction;
} Pool;

extern Pool pool;
extern const ShardOptions options;
extern const SessionEvents events;

/* For cmocka. */
int set_up(void **state);
int tear_down(void **state);

/* Opens the session, and waits until that has succeeded or failed. */
void open_session(void);
/* The same, as a probe that ends the forsaken backend (0: none). */
void open_probe(Backend forsaken);
/* Opens it and takes it for a work. */
void hold(void);

/* What was added goes out; send_now waits for the answers, which stand in the pool. */
void send_later(void);
void send_now(void);

#endif
