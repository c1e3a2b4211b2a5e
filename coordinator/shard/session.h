/*
 * One verified connection to a shard: the inside of Session, for session.c and shard.c.
 *
 * A session goes opening -> idle -> held -> (returning ->) idle …, and ends in closed. It is
 * *verified* before it is ever idle: the participant function `session` sets its time-outs and
 * reports what it is connected to; whatever differs from what is wanted refuses it, with the
 * reason. In the same write all statements are prepared, and a session that probes a suspect shard
 * also commits something, so that a server which can answer but not commit does not pass for
 * usable. A server that has lost history (history.h) is fenced off, durably, over the session that
 * finds it, and the session fails.
 *
 * Events are reported from loop tasks, or from inside session_release.
 */
#ifndef GIRO_SESSION_H
#define GIRO_SESSION_H

#include "shard/history.h"
#include "shard/shard.h"

enum
{
    SESSION_REASON_MAX = 256,
};

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
    Incarnation incarnation;
} SessionIdentity;

typedef enum SessionFailure
{
    SESSION_UNREACHABLE, /* no connection, or it was lost or too slow */
    SESSION_REFUSED,     /* connected to what is not wanted, or not set up */
    SESSION_FENCED,      /* connected to a shard that is fenced off, now or before */
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
    /* The server is not any more what the session was verified to be; the same. */
    void (*unfit)(Shard *shard, Session *session, SessionFailure failure, const char *why);
} SessionEvents;

typedef struct SessionOrder
{
    Loop *loop;
    Shard *shard;
    const ShardOptions *options; /* lent as long as the session */
    const History *history;      /* the same */
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
    const History *history;
    const SessionEvents *events;
    bool probe;
    Backend forsaken;
    SessionState state;
    Incarnation expected;            /* when it was verified */
    size_t marks;                    /* that it asked for then */
    char reason[SESSION_REASON_MAX]; /* why the shard is being fenced off */
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
/* Reads who answered, and what it says of its history; only of a row that was verified. */
void session_identify(const PgRows *rows, SessionIdentity *ret_identity);
void session_report(const PgRows *rows, HistoryReport *ret_report);

#endif
