/*
 * One shard as the coordinator sees it: a bounded pool of verified sessions, and whether the shard
 * can be used at all.
 *
 * A shard is *usable* while it is connected and answers in time. A missed deadline, the loss of the
 * last connection or a failed connect makes it *suspect*: no batch takes locks anywhere for its
 * sake until a probe succeeds. A probe is a new session, verified and made to commit something,
 * tried in the background with back-off 50 ms … 500 ms, also when idle. (A connect that is
 * refused while other sessions work only delays the next one: the server's max_connections may be
 * used up.)
 *
 * A server that refuses a session, is found to have lost history (history.h), or turns out to be
 * fenced off or read-only, is not trusted with the sessions that it has granted before either: all
 * are closed as soon as nobody holds them, also those for settling.
 *
 * Sessions for settling (verdict, COMMIT PREPARED, ROLLBACK PREPARED) have a place of their own in
 * the pool, so that traffic can never starve them, may use any other idle session besides, and are
 * granted for suspect shards too.
 *
 * The pool grants sessions first come, first served. Whoever needs sessions of two shards takes
 * them in ascending order of the shards' ordinals (ground rule of the lock order).
 */
#ifndef GIRO_SHARD_H
#define GIRO_SHARD_H

#include "pg/pg.h"
#include "shard/history.h"
#include "shard/statement.h"

#include <sys/queue.h>

typedef struct Shard Shard;
typedef struct Session Session;

typedef struct ShardOptions
{
    const char *instance; /* the coordinator's name: its sessions make it present at the shard */
    const char *cluster;  /* the session is refused if the shard belongs to another cluster */
    const char *name;
    int ordinal; /* immutable; the order in which shards are locked */
    const char *dsn;
    Incarnation incarnation; /* what the directory says, see shard_expect */
    int sessions_max;        /* for traffic; one more is kept for settling */
    uint64_t connect_deadline_ms;
    uint64_t lock_timeout_ms; /* < statement_timeout_ms < stage deadline */
    uint64_t statement_timeout_ms;
    uint64_t idle_in_transaction_timeout_ms;
} ShardOptions;

typedef enum SessionPurpose
{
    SESSION_TRAFFIC,
    SESSION_SETTLE,
} SessionPurpose;

/* Strings of the options are copied. Starts to connect at once; not usable before that succeeded.
 */
Shard *shard_new(Loop *loop, const ShardOptions *options);
/* Closes all sessions; nobody may hold or wait for one. Accepts NULL. */
void shard_free(Shard *shard);

/* Goes over to another server address, unless it is the same: the shard is suspect until a session
 * there is verified; idle sessions are closed, held ones when they are released. */
void shard_set_dsn(Shard *shard, const char *dsn);
/* Goes over to another incarnation, unless it is the same: what is known of the past of the other
 * one is forgotten, and its sessions end as above. */
void shard_expect(Shard *shard, const Incarnation *incarnation);
/* What is known of its past; for who exchanges marks with the directory. */
History *shard_history(Shard *shard);

const char *shard_name(const Shard *shard);
int shard_ordinal(const Shard *shard);
bool shard_is_usable(const Shard *shard);
/* Is it unusable because it has lost history, until it is readmitted? */
bool shard_is_fenced(const Shard *shard);
/* Why it is not usable, for people; "" while it is. Lent. */
const char *shard_trouble(const Shard *shard);
/* Why no session is granted, in words that clients may hear: they learn that it is fenced off, and
 * why, but not where it is or what its server says. Lent. */
const char *shard_excuse(const Shard *shard);
/* Marks the shard suspect until a probe succeeds; called by whoever sees a stage deadline missed.
 */
void shard_suspect(Shard *shard, const char *why);

/* Called in the turn in which the shard becomes usable again. At most 8 watchers per shard. */
void shard_on_usable(Shard *shard, void (*usable)(void *context, Shard *shard), void *context);

typedef struct ShardCounts
{
    int sessions_open;
    int sessions_busy;
    int waiting;
} ShardCounts;
ShardCounts shard_counts(const Shard *shard);

/* A request for a session; embedded in its owner, who keeps it alive until granted is called or
 * shard_give_up returns. */
typedef struct ShardWaiter
{
    /* session is NULL when the deadline passed or (SESSION_TRAFFIC only) the shard became unusable.
     * Never called from inside shard_acquire. */
    void (*granted)(struct ShardWaiter *waiter, Session *session);
    /* private to shard.c */
    TAILQ_ENTRY(ShardWaiter) link;
    SessionPurpose purpose;
    uint64_t deadline_at_ms;
    bool waiting;
} ShardWaiter;

void shard_acquire(Shard *shard, ShardWaiter *waiter, SessionPurpose purpose, uint64_t deadline_ms);
void shard_give_up(Shard *shard, ShardWaiter *waiter);

/* Gives a session back. It is reused only if it is open, idle and outside a transaction; one with a
 * group under way or a transaction is rolled back first, or closed if it is lost. */
void session_release(Session *session);

int session_backend_pid(const Session *session);
/* When the backend started, microseconds since the Unix epoch; with the pid it names the backend.
 */
int64_t session_backend_start_us(const Session *session);
PgTransaction session_transaction(const Session *session);
bool session_is_open(const Session *session);
/* The commit of this batch was acknowledged over this session: its row stands on the shard from now
 * on, or history is lost. */
void session_note_mark(const Session *session, const uint8_t batch[MARK_LENGTH]);
/* Cuts the connection at once: a group under way is answered PG_LOST in a later turn. */
void session_cut(Session *session);

/* Groups, as in pg.h, in terms of the statement table. */
void session_begin(Session *session);
void session_add(Session *session, Statement statement, const PgParams *params);
/* Transaction control that takes a GID inside the SQL text: `PREPARE TRANSACTION '…'` and the two
 * that finish it. The gid must be of [a-z0-9:-] (asserted). */
void session_add_gid(Session *session, Statement statement, const char *gid);
void session_sync(Session *session);
void session_send(Session *session, uint64_t deadline_ms, PgGroupDone done, void *context);

#endif
