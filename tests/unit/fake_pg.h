/*
 * A scripted stand-in for coordinator/pg (pg.h), for tests of the layers above it. Link it by this
 * line in the test's header comment; parameters and the readers of rows stay the real ones:
 *
 *   Fakes: tests/unit/fake_pg.c tests/unit/fake_server.c tests/unit/fake_values.c
 *
 * There is one fake server per DSN text. A message is known by its *text*: the statement's name
 * when it is executed ("lock"), "prepare lock" when it is prepared, else the SQL itself. For each
 * message the server looks for an answer in this order:
 *
 *   1. the oldest unused rule of fake_answer() for that text (a rule that ends in '*'
 *      matches a prefix);
 *   2. what a server does by itself: transaction control (with the state of the transaction, so
 *      that COMMIT of a failed one answers ROLLBACK), set-up of sessions from fake_identity(),
 *      ping, limit, prepare, finish;
 *   3. the function given to fake_serve();
 *   4. otherwise the test aborts, naming the message.
 *
 * As with the real thing: an error skips the rest of its segment, a lost connection takes the
 * "done" answers of the unconfirmed segment with it, and callbacks come in a later turn. Deadlines
 * are those of the real loop, so tests of them use a few milliseconds.
 *
 *   FakeServer *server = fake_server("a");
 *   fake_answer(server, "lock", fake_rows(rows));            next lock: these rows
 *   fake_answer(server, "COMMIT", fake_lose());              then the reply to COMMIT is lost
 *   fake_answer(server, "PREPARE TRANSACTION *", fake_hang()); unanswered until fake_resume()
 *   … run the loop …
 *   assert_string_equal(fake_sent(server, 0), "BEGIN ISOLATION LEVEL READ COMMITTED; limit; lock");
 */
#ifndef GIRO_FAKE_PG_H
#define GIRO_FAKE_PG_H

#include "fake_values.h"

typedef struct FakeServer FakeServer;

/* Around every test. fake_stop aborts when a connection is still open. */
void fake_start(void);
void fake_stop(void);

/* The server at this DSN; made when it is first named, here or by pg_connect. */
FakeServer *fake_server(const char *dsn);

/* ---- answers --------------------------------------------------------------------------------- */

typedef enum FakeDeed
{
    FAKE_DO,    /* done, as the other fields say */
    FAKE_ERROR, /* the server raises `sqlstate` */
    FAKE_LOSE,  /* the connection ends and this answer is lost */
    FAKE_HANG,  /* nothing more comes on this connection until fake_resume */
    FAKE_PASS,  /* of fake_serve only: this message is not expected */
} FakeDeed;

typedef struct FakeAnswer
{
    FakeDeed deed;
    const char *tag;      /* NULL: as the server by itself, or "SELECT <rows>" */
    const char *sqlstate; /* of the error or warning */
    bool warned;
    FakeRows *rows;
} FakeAnswer;

FakeAnswer fake_done(const char *tag);
FakeAnswer fake_rows(FakeRows *rows);
FakeAnswer fake_error(const char *sqlstate);
FakeAnswer fake_warning(const char *tag, const char *sqlstate);
FakeAnswer fake_lose(void);
FakeAnswer fake_hang(void);

/* Adds a rule that is used once. */
void fake_answer(FakeServer *server, const char *text, FakeAnswer answer);
size_t fake_unused(const FakeServer *server); /* rules that no message has used yet */

typedef FakeAnswer (*FakeServe)(void *context, const char *text, const PgParams *params);
void fake_serve(FakeServer *server, FakeServe serve, void *context);

/* ---- what happens to connections ------------------------------------------------------------- */

typedef enum FakeConnect
{
    FAKE_ACCEPTS,
    FAKE_REFUSES,
    FAKE_HANGS,
} FakeConnect;

void fake_connects(FakeServer *server, FakeConnect how); /* from now on */
void fake_crash(FakeServer *server);                     /* every connection ends */
void fake_resume(FakeServer *server); /* connections that hang go on; the message is done */

size_t fake_connection_count(const FakeServer *server);
size_t fake_connects_seen(const FakeServer *server);

/* What the function `session` reports; change it before connecting. */
typedef struct FakeIdentity
{
    const char *cluster; /* NULL: not set up */
    const char *name;
    int ordinal;
    int format_version;
    int64_t epoch;
    const char *system_identifier;
    const char *timeline;
    const char *fenced; /* NULL: it is not */
    int missing_marks;
    const char *isolation;
    const char *synchronous_commit;
    bool in_recovery;
    bool read_only;
    int max_prepared;
    int lock_timeout_ms; /* < 0: as was asked for; likewise the next two */
    int statement_timeout_ms;
    int idle_timeout_ms;
} FakeIdentity;
FakeIdentity *fake_identity(FakeServer *server);

/* ---- what was sent --------------------------------------------------------------------------- */

/* The text of group number `index` that the server received, set-up of sessions not counted:
 * messages joined by "; ", " | " where a Sync lies between. NULL if there were not so many. */
const char *fake_sent(const FakeServer *server, size_t index);
size_t fake_sent_count(const FakeServer *server);
/* The same over all servers, in the order of sending, each as "<dsn>: <text>". */
const char *fake_log(size_t index);

/* Parameters of the latest message with this text; NULL if there was none. See fake_values.h. */
const PgParams *fake_params(const FakeServer *server, const char *text);

#endif
