/*
 * The statement table: every SQL text that the coordinator ever sends to a shard or the directory
 * stands in statement.c. Calls of participant functions are prepared once per session; transaction
 * control is sent as it is. The parameters of a call are those of the function in
 * participants/<name>.sql, in order.
 *
 * statement_timeout is 0 for the session, because it would cut the wait of COMMIT PREPARED for a
 * standby. Calls get it for their own transaction instead: session.c puts STATEMENT_LIMIT before
 * the first call of each transaction, in the same write. That is one small message where setting
 * and resetting it around COMMIT PREPARED would be two, with two more Syncs; it keeps no state
 * between groups, and there is no moment in which a lost reply leaves a wrong value behind.
 */
#ifndef GIRO_STATEMENT_H
#define GIRO_STATEMENT_H

#include <stdbool.h>

enum
{
    FORMAT_VERSION = 1, /* of the tables, of shards and directory alike */
    GID_MAX = 199,      /* Postgres' limit */
    LONG_READ_MS = 60000,
};

typedef enum Statement
{
    /* transaction control */
    STATEMENT_BEGIN, /* BEGIN ISOLATION LEVEL READ COMMITTED */
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_PREPARE,           /* PREPARE TRANSACTION '<gid>' */
    STATEMENT_COMMIT_PREPARED,   /* COMMIT PREPARED '<gid>' */
    STATEMENT_ROLLBACK_PREPARED, /* ROLLBACK PREPARED '<gid>' */

    /* the session itself */
    STATEMENT_SESSION,
    STATEMENT_FENCE_OFF, /* after a session that found lost history */
    STATEMENT_PING,      /* commits, so that it is answered only by a server that can */
    STATEMENT_LIMIT,     /* statement_timeout for the rest of the transaction */

    /* participants */
    STATEMENT_LOCK,
    STATEMENT_WAIT_FOR,
    STATEMENT_APPLY,
    STATEMENT_RECORD,
    STATEMENT_FINISH,
    STATEMENT_VERDICT,
    STATEMENT_LEG_EXISTS,
    STATEMENT_PREPARED_EXISTS,
    STATEMENT_END_SESSION,
    STATEMENT_MISSING_LEG,
    STATEMENT_STUCK_LEG,
    STATEMENT_SETTLED_LEG,
    STATEMENT_RECOVERY,
    STATEMENT_TRANSFERS_BY_ID,
    STATEMENT_TRANSFER_GET,
    STATEMENT_TRANSFERS_LIST,
    STATEMENT_TRANSFERS_SUMMARY,
    STATEMENT_RECEIPTS_BY_ID,
    STATEMENT_RECEIVE,
    STATEMENT_SETTLE,
    STATEMENT_TOMBSTONE,
    STATEMENT_CLAIM,
    STATEMENT_POSTPONE,
    STATEMENT_GIVE_UP,
    STATEMENT_RETRY,
    STATEMENT_ACKNOWLEDGE,
    STATEMENT_STEPS_HOME,
    STATEMENT_STEPS_REMOTE,
    STATEMENT_PREPARED_LIST,
    STATEMENT_VERDICTS_BY_ID,
    STATEMENT_SHARD_STATE,
    STATEMENT_SHARD_REPORT,
    STATEMENT_REPLICATION_STATE,
    STATEMENT_ACCOUNT_CREATE,
    STATEMENT_ACCOUNT_GET,
    STATEMENT_ACCOUNT_PATCH,
    STATEMENT_ACCOUNT_ENTRIES,
    STATEMENT_ACCOUNT_LIST,

    /* reconciliation */
    STATEMENT_BOOKS,
    STATEMENT_RECONCILE_PREPARED,
    STATEMENT_RECONCILE_IDS,
    STATEMENT_RECONCILE_ACCOUNTS,
    STATEMENT_RECONCILE_TRANSFERS,
    STATEMENT_RECONCILE_CREDITS,
    STATEMENT_RECONCILE_BATCHES,
    STATEMENT_RECONCILE_VERDICTS,
    STATEMENT_RECONCILE_NOTE,
    STATEMENT_RECONCILE_FORGET,
    STATEMENT_RECONCILE_CLAIM,
    STATEMENT_RECONCILE_END,
    STATEMENT_FOLD_CLEARING,

    /* the directory: never prepared */
    STATEMENT_BEGIN_SNAPSHOT, /* BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY */
    STATEMENT_READ_CLUSTER,
    STATEMENT_READ_SHARDS,
    STATEMENT_READ_KEYSPACES,
    STATEMENT_READ_PARTITIONS,
    STATEMENT_READ_MARKS,
    STATEMENT_NOTE_MARKS,
    STATEMENT_READ_INTAKE,
    STATEMENT_PAUSE_INTAKE,
    STATEMENT_RESUME_INTAKE,

    STATEMENT_COUNT,
} Statement;

typedef enum StatementKind
{
    STATEMENT_IS_PLAIN,     /* sent as it is */
    STATEMENT_IS_CALL,      /* prepared in every shard session; limited by statement_timeout */
    STATEMENT_IS_READ,      /* the same; changes nothing, so that it may be given up at any time */
    STATEMENT_IS_PREPARED,  /* prepared in every shard session; not limited */
    STATEMENT_IS_LONG_READ, /* parsed at each call; changes nothing; limited by LONG_READ_MS */
    STATEMENT_IS_RARE,      /* parsed at each call; limited by statement_timeout */
    STATEMENT_IS_GID,       /* sql is a prefix; a quoted gid is appended */
    STATEMENT_IS_DIRECTORY, /* sent as it is, to the directory only */
} StatementKind;

typedef struct StatementRow
{
    const char *name; /* "lock": also the name of the prepared statement and of the SQL function */
    StatementKind kind;
    const char *sql;
} StatementRow;

const StatementRow *statement_row(Statement statement);

/* Is it prepared at the start of every shard session? */
bool statement_is_prepared(Statement statement);
/* Does statement_timeout bound it? */
bool statement_is_limited(Statement statement);
/* May it change anything? Of participant functions only. */
bool statement_writes(Statement statement);

#endif
