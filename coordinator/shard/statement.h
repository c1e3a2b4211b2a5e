/*
 * The statement table: every SQL text that the coordinator ever sends to a shard or the directory
 * stands in statement.c. Calls of participant functions are prepared once per session; transaction
 * control is sent as it is. The parameters of a call are those of the function in
 * participants/<name>.sql, in order.
 */
#ifndef GIRO_STATEMENT_H
#define GIRO_STATEMENT_H

#include <stdbool.h>

typedef enum Statement
{
    /* transaction control */
    STATEMENT_BEGIN, /* BEGIN ISOLATION LEVEL READ COMMITTED */
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_PREPARE,           /* PREPARE TRANSACTION '<gid>' */
    STATEMENT_COMMIT_PREPARED,   /* COMMIT PREPARED '<gid>' */
    STATEMENT_ROLLBACK_PREPARED, /* ROLLBACK PREPARED '<gid>' */

    /* participants */
    STATEMENT_LOCK,
    STATEMENT_APPLY,
    STATEMENT_RECORD,
    STATEMENT_FINISH,
    STATEMENT_VERDICT,
    STATEMENT_LEG_EXISTS,
    STATEMENT_PREPARED_EXISTS,
    STATEMENT_END_SESSION,
    STATEMENT_MISSING_LEG,
    STATEMENT_TRANSFERS_BY_ID,
    STATEMENT_ACCOUNT_CREATE,
    STATEMENT_ACCOUNT_GET,
    STATEMENT_ACCOUNT_PATCH,
    STATEMENT_ACCOUNT_ENTRIES,

    STATEMENT_COUNT,
} Statement;

typedef struct StatementRow
{
    const char *name; /* "lock": also the name of the prepared statement and of the SQL function */
    const char *sql;
    bool prepared;  /* prepared at the start of every shard session */
    bool takes_gid; /* sql is a prefix; a quoted gid is appended */
} StatementRow;

const StatementRow *statement_row(Statement statement);

#endif
