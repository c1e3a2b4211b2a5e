/*
 * A non-blocking connection to one Postgres server (libpq-fe.h is included by this folder alone).
 *
 * The unit of work is a *group*: messages that go out in one write which ends with a Sync. Every
 * message gets exactly one PgAnswer, whatever happens: a result, an error, "skipped" after an
 * earlier error of the group, or "lost". So there is no second path for lost links and time-outs:
 * they are answers.
 *
 * Postgres runs none of its idle timers between the first message and the Sync, therefore a group
 * is handed to libpq as a whole, when it is complete, and not before. (libpq's buffer makes several
 * back-to-back writes of a group above 8 KiB; what the socket does not take goes out as it drains.)
 *
 * An answer counts only once its Sync was answered: outside a transaction block that is where the
 * work commits. So a "done" whose Sync is missing becomes "lost", and an error or a warning that
 * comes with the Sync belongs to the last message before it. A FATAL error is "lost" too: a session
 * can be ended between its commit and the answer.
 *
 * A query is never cancelled (PQcancel blocks and, sent at COMMIT, makes
 * the outcome unknowable); a group that misses its deadline has its connection closed and its
 * missing answers recorded as lost.
 *
 * What an answer means for the protocol is decided elsewhere (protocol/answer.h), from the kind,
 * the SQLSTATE, the exact command tag and `warned`; message texts are for people.
 */
#ifndef GIRO_PG_H
#define GIRO_PG_H

#include "base/error.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum
{
    PG_GROUP_MAX = 64,     /* messages of one group */
    PG_PARAMETER_MAX = 32, /* parameters of one message */
};

/* ---- parameters: binary, built once, sent as they are ---------------------------------------- */

/* A reusable buffer of parameters of one message. Values are copied in. Bounded by PG_PARAMETER_MAX
 * and by max_bytes; overflow is remembered and makes the group functions abort (a bug: callers
 * bound their input). */
typedef struct PgParams PgParams;

PgParams *pg_params_new(size_t max_bytes);
void pg_params_free(PgParams *params); /* accepts NULL */
void pg_params_reset(PgParams *params);

void pg_params_null(PgParams *params);
void pg_params_bool(PgParams *params, bool value);
void pg_params_int4(PgParams *params, int32_t value);
void pg_params_int8(PgParams *params, int64_t value);
void pg_params_text(PgParams *params, const char *value); /* NULL = SQL null */
void pg_params_bytes(PgParams *params, const void *value, size_t length);
void pg_params_uuid(PgParams *params, const uint8_t value[16]);
/* A timestamptz, in microseconds since the Unix epoch. */
void pg_params_timestamp_us(PgParams *params, int64_t value);

typedef enum PgElement
{
    PG_ELEMENT_INT4,
    PG_ELEMENT_INT8,
    PG_ELEMENT_TEXT,
    PG_ELEMENT_BYTES,
    PG_ELEMENT_UUID,
    PG_ELEMENT_COUNT,
} PgElement;

/* A one-dimensional array of `count` elements; exactly `count` pg_params_add_* calls must follow.
 */
void pg_params_array(PgParams *params, PgElement element, size_t count);
void pg_params_add_null(PgParams *params);
void pg_params_add_int4(PgParams *params, int32_t value);
void pg_params_add_int8(PgParams *params, int64_t value);
void pg_params_add_text(PgParams *params, const char *value); /* NULL = SQL null */
void pg_params_add_bytes(PgParams *params, const void *value, size_t length);
void pg_params_add_uuid(PgParams *params, const uint8_t value[16]);

/* ---- answers --------------------------------------------------------------------------------- */

typedef enum PgKind
{
    PG_DONE,    /* the server said it is done: rows or a command tag */
    PG_ERROR,   /* the server raised an error: sqlstate is set */
    PG_SKIPPED, /* not executed, because an earlier message of the group failed */
    PG_LOST,    /* no answer: the connection ended, or the deadline passed, before it came */
} PgKind;

/* The session's transaction after a group, as the server reported it. */
typedef enum PgTransaction
{
    PG_TRANSACTION_IDLE,
    PG_TRANSACTION_OPEN,    /* INTRANS: PREPARE and COMMIT may be sent only from here */
    PG_TRANSACTION_FAILED,  /* INERROR */
    PG_TRANSACTION_UNKNOWN, /* busy or no connection */
} PgTransaction;

typedef struct PgRows PgRows; /* opaque: the rows of one answer */

typedef struct PgAnswer
{
    PgKind kind;
    bool warned;        /* a WARNING came with it (a NOTICE does not count) */
    char sqlstate[6];   /* of the error, or of the warning; for logs when the kind is PG_LOST */
    char tag[40];       /* exact command tag: "COMMIT", "PREPARE TRANSACTION", "SELECT 3" */
    char text[160];     /* the server's primary message, for logs */
    const PgRows *rows; /* NULL if none; lent until the group's callback returns */
} PgAnswer;

size_t pg_row_count(const PgRows *rows); /* 0 for NULL */
bool pg_is_null(const PgRows *rows, size_t row, size_t column);
/* Binary values; aborts when the column is null or has another length (a bug in the statement
 * table). */
bool pg_bool(const PgRows *rows, size_t row, size_t column);
int32_t pg_int4(const PgRows *rows, size_t row, size_t column);
int64_t pg_int8(const PgRows *rows, size_t row, size_t column);
/* timestamptz as microseconds since the Unix epoch. */
int64_t pg_timestamp_us(const PgRows *rows, size_t row, size_t column);
/* 16 bytes, lent. */
const uint8_t *pg_uuid(const PgRows *rows, size_t row, size_t column);
/* NUL-terminated, lent. NULL for SQL null. */
const char *pg_text(const PgRows *rows, size_t row, size_t column);
/* Lent; *ret_length set. NULL for SQL null. */
const uint8_t *pg_bytes(const PgRows *rows, size_t row, size_t column, size_t *ret_length);

/* ---- connections ----------------------------------------------------------------------------- */

typedef struct Pg Pg;

/* `text` says why for people, NULL when connected. Called exactly once per pg_connect, never from
 * inside it. */
typedef void (*PgConnected)(void *context, bool connected, const char *text);

/* All answers of the group, in the order of the messages; lent until the callback returns. The
 * callback may send the next group or close the connection. Called exactly once per pg_group_send,
 * never from inside it. */
typedef void (*PgGroupDone)(void *context, const PgAnswer *answers, size_t count,
                            PgTransaction transaction);

/* Starts to connect. Host names are resolved off the loop, addresses (also of several hosts) are
 * tried in turn, each within its share of deadline_ms; unless the dsn sets target_session_attrs, a
 * server in recovery or read-only is passed over. An unusable dsn is reported through the callback.
 */
Pg *pg_connect(Loop *loop, const char *dsn, uint64_t deadline_ms, PgConnected connected,
               void *context);

/* Closes at once and frees. A group under way gets no callback. Accepts NULL. */
void pg_close(Pg *pg);

bool pg_is_open(const Pg *pg);    /* connected, and not known to be lost */
int pg_backend_pid(const Pg *pg); /* 0 when not connected */

/* Ends the connection at once, as if it had been lost: a group under way is answered in a later
 * turn. */
void pg_cut(Pg *pg);

/* Was the connection closed because a group missed its deadline? */
bool pg_is_timed_out(const Pg *pg);
/* Why the connection ended, for people; "" while it is open. Lent. */
const char *pg_trouble(const Pg *pg);

/* Called when an idle connection ends (server stopped, terminated). At most once. */
void pg_on_lost(Pg *pg, void (*lost)(void *context), void *context);

/* A group: begin, add 1 to PG_GROUP_MAX messages, send. `sql` is an unnamed statement, which
 * must cast its parameters ($1::bigint), since they are binary; pg_group_prepare names one;
 * pg_group_execute runs a named one. Strings and params are copied at once; params may be NULL.
 * Results come in binary. */
void pg_group_begin(Pg *pg);
void pg_group_sql(Pg *pg, const char *sql, const PgParams *params);
void pg_group_prepare(Pg *pg, const char *name, const char *sql);
void pg_group_execute(Pg *pg, const char *name, const PgParams *params);
/* A Sync inside the group, for messages that must stand first after one (COMMIT PREPARED); an error
 * before it does not skip what follows it. */
void pg_group_sync(Pg *pg);
/* Sends all of it in one write. On a lost connection every answer is PG_LOST, in a later turn. */
void pg_group_send(Pg *pg, uint64_t deadline_ms, PgGroupDone done, void *context);

#endif
