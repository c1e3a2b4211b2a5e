/*
 * One verified connection to a shard: the inside of Session, for session.c and shard.c.
 *
 * A session goes opening -> idle -> held -> (returning ->) idle …, and ends in closed. It is
 * *verified* before it is ever idle: the participant function `session` sets its time-outs and
 * reports what it is connected to; whatever differs from what is wanted refuses it, with the
 * reason. In the same write all statements are prepared, and a session that probes a suspect shard
 * also commits something, so that a server which can answer but not commit does not pass for
 * usable.
 *
 * Events are reported from loop tasks, or from inside session_release.
 */
#ifndef GIRO_SESSION_H
#define GIRO_SESSION_H

#include "shard/shard.h"

typedef enum SessionState
{
    SESSION_OPENING,
    SESSION_IDLE,
    SESSION_HELD,
    SESSION_RETURNING, /* released, but a group is under way or a ROLLBACK is */
    SESSION_CLOSED,    /* released or never opened; to be freed */
} SessionState;

/* Names one backend: a pid alone is reused. pid 0 = none. */
typedef struct Backend
{
    int pid;
    int64_t started_us;
} Backend;

/* What the server said of itself. */
typedef struct SessionIdentity
{
    Backend backend;
    int64_t epoch; /* of the shard's history; an operator raises it */
    char system_identifier[24];
    char timeline[12];
} SessionIdentity;

typedef enum SessionFailure
{
    SESSION_UNREACHABLE, /* no connection, or it was lost or too slow */
    SESSION_REFUSED,     /* connected to what is not wanted, or not set up */
} SessionFailure;

typedef struct SessionEvents
{
    void (*opened)(Shard *shard, Session *session);
    /* `closed`: free the session. `why` is lent. */
    void (*failed)(Shard *shard, Session *session, SessionFailure failure, const char *why);
    /* It is idle again, or closed. */
    void (*returned)(Shard *shard, Session *session);
    /* It was idle, and its connection ended: it is closed. */
    void (*lost)(Shard *shard, Session *session, const char *why);
    /* A group missed its deadline; the holder is told right after. */
    void (*overdue)(Shard *shard, Session *session);
} SessionEvents;

typedef struct SessionOrder
{
    Loop *loop;
    Shard *shard;
    const ShardOptions *options; /* lent as long as the session */
    const SessionEvents *events;
    bool probe;
    Backend forsaken; /* an earlier probe's backend, which is ended on the way; pid 0 = none */
} SessionOrder;

struct Session
{
    /* of shard.c */
    TAILQ_ENTRY(Session) link;
    SessionPurpose purpose; /* the place in the pool that it takes */
    unsigned generation;
    uint64_t opening_since_ms;

    /* of session.c */
    Loop *loop;
    Shard *shard;
    const ShardOptions *options;
    const SessionEvents *events;
    bool probe;
    Backend forsaken;
    SessionState state;
    SessionIdentity identity;
    Pg *pg;
    PgParams *limit;      /* parameter of STATEMENT_LIMIT */
    PgParams *long_limit; /* the same, for long reads */
    PgTransaction transaction;
    bool overdue; /* its missed deadline was reported */

    uint64_t hidden; /* bit i: message i of the group is the session's own */
    unsigned messages;
    bool in_block; /* while a group is being built: inside BEGIN … COMMIT, as far as added */
    bool limited;  /* statement_timeout is set for what is added next */
    PgGroupDone done;
    void *done_context;
};

/* Connects and verifies; ends in events->opened or events->failed, in a later turn. */
Session *session_open(const SessionOrder *order);
/* Idle -> held. */
void session_take(Session *session);
/* Closes without any event and frees. Accepts NULL. */
void session_free(Session *session);

/* NULL, or what is wrong with the row that the function `session` answered; uses `text`. Pure. */
const char *session_verify(const ShardOptions *wanted, const PgRows *rows, char *text, size_t size);
/* Reads who answered; only of a row that was verified. */
void session_identify(const PgRows *rows, SessionIdentity *ret_identity);

#endif
