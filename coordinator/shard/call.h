/*
 * One statement and its answer: for account operations and reads, which need no batch.
 *
 * Every statement called this way may be repeated without harm. So a lost connection, a stale route
 * or a partition on the move leads to trying again, with a fresh look at the directory and short
 * pauses, until the deadline; the caller sees rows or one error code, never a stage.
 *
 * A statement that writes and whose answer is lost may still be executed, by a backend that does
 * not know that its client is gone. Therefore
 *   1. that backend is ended, and only when it is gone is the statement sent again: of one call at
 *      most one attempt is alive, and no earlier one acts after the answer to a later one. So an
 *      answered change is never undone by an abandoned attempt of its own call, and a call that is
 *      answered with rows has nothing left behind that could act after a newer call's change;
 *   2. whatever goes wrong from then on, the code is ERROR_OUTCOME_UNKNOWN: an attempt may have
 *      committed before its backend ended, or, when the deadline passed first, may commit later.
 *      Even then the backend is told to go, as soon as the shard can be reached within another
 *      deadline. It goes before it reads another message, or at the next statement of the
 *      function; or it has locked the account's row already, may commit, and a newer change waits
 *      for that row. What remains is the instant before the lock, for a process that is stopped
 *      exactly there; and a shard that cannot be reached for that long.
 *
 * Another error code is ERROR_SHARD_UNAVAILABLE (no session, or it was lost),
 * ERROR_PARTITION_MOVING (the shard or the route did not settle in time), ERROR_ACCOUNT_BUSY (a row
 * stayed locked), ERROR_OVERLOADED (too many calls at once), ERROR_DIRECTORY_UNAVAILABLE (no
 * routing is known yet) or ERROR_SHARD_ERROR (the shard failed at the statement itself). With these
 * nothing was changed.
 */
#ifndef GIRO_CALL_H
#define GIRO_CALL_H

#include "shard/directory.h"

typedef struct Caller Caller;

typedef struct CallerOptions
{
    size_t calls_max; /* at once */
    uint64_t deadline_ms;
    size_t parameter_bytes; /* of one statement, at most */
} CallerOptions;

typedef struct CallResult
{
    ErrorCode code; /* ERROR_NONE: there are rows */
    const char *detail;
    const PgRows *rows;       /* lent until done returns */
    const Location *location; /* where the rows came from; NULL for call_shard */
} CallResult;

typedef struct Call
{
    Statement statement;
    /* Appends the statement's parameters; after partition, epoch, id and route for call_account.
     * May be called several times. NULL: there are none. */
    void (*fill)(void *context, PgParams *params);
    /* Called exactly once, never from inside call_account or call_shard. */
    void (*done)(void *context, const CallResult *result);
    void *context; /* must live until done was called */
} Call;

Caller *caller_new(Loop *loop, Directory *directory, const CallerOptions *options);
/* Nothing may be under way. Accepts NULL. */
void caller_free(Caller *caller);
/* Calls under way, those included that are answered but still end a backend. */
size_t caller_count(const Caller *caller);

/* On the shard that owns the account. The statement's first column is an outcome of its fence. The
 * id must be valid; it is copied. */
void call_account(Caller *caller, const char *account_id, const Call *call);

/* On a given shard. */
void call_shard(Caller *caller, Shard *shard, const Call *call);

#endif
