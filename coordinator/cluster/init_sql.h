/*
 * The statement table of `girod init` and `girod readmit`: every SQL text that they send, beside
 * the files of schema/ and participants/ themselves. All run with the owner's rights but the last
 * three, by which the coordinator's role is tried.
 */
#ifndef GIRO_INIT_SQL_H
#define GIRO_INIT_SQL_H

/* A file has many statements and a message has one: the file becomes a string that a DO executes.
 */
#define INIT_FILE_QUOTE "$giro_file$"
#define INIT_FILE_HEAD  "do $giro_init$ begin execute " INIT_FILE_QUOTE
#define INIT_FILE_TAIL  INIT_FILE_QUOTE "; end $giro_init$"

typedef enum InitStatement
{
    INIT_BEGIN,
    INIT_COMMIT,
    INIT_ROLLBACK,
    INIT_LOCK,        /* () -> one set-up of a database at a time */
    INIT_FACTS,       /* (role, schema, table) -> one row, see site.c */
    INIT_CREATE_ROLE, /* (role, password) -> the statement that creates it */

    /* shard */
    INIT_SHARD_IDENTITY,         /* () -> cluster, name, ordinal, epoch */
    INIT_SHARD_MIGRATED,         /* () -> number of the last file applied */
    INIT_SHARD_RECORD_MIGRATION, /* (number, name) */
    INIT_SHARD_SETUP,            /* (cluster, name, ordinal) */
    INIT_SHARD_SETUP_PARTITIONS, /* (partitions, keyspaces, kinds, los, his, epochs) -> added */
    INIT_SHARD_HISTORY,          /* (marks) -> why it is fenced, a missing mark */
    INIT_SHARD_READMIT,          /* (epoch) -> done */
    INIT_SHARD_GRANT,            /* (role) */

    /* directory */
    INIT_DIRECTORY_MIGRATED,
    INIT_DIRECTORY_RECORD_MIGRATION,
    INIT_DIRECTORY_SETUP_CLUSTER,    /* (name) */
    INIT_DIRECTORY_SETUP_SHARD,      /* (name, ordinal, dsn, tags, system identifier) */
    INIT_DIRECTORY_SETUP_HISTORY,    /* (name, epoch, timeline) */
    INIT_DIRECTORY_HISTORY,          /* (name) -> system identifier, epoch, timeline */
    INIT_DIRECTORY_MARKS,            /* (name) -> batch, coordinator, noted at */
    INIT_DIRECTORY_READMIT,          /* (name, dsn, what was found, reason) -> the new epoch */
    INIT_DIRECTORY_SETUP_KEYSPACE,   /* (prefix, kind, default mode) */
    INIT_DIRECTORY_SETUP_PARTITIONS, /* (keyspace, los, his, shards) -> made */
    INIT_DIRECTORY_GRANT,            /* (role) */
    INIT_DIRECTORY_SHARDS,           /* () -> name */
    INIT_DIRECTORY_KEYSPACES,        /* () -> prefix */
    INIT_DIRECTORY_PARTITIONS,       /* () -> partition, keyspace, kind, lo, hi, shard, epoch */

    /* as the coordinator */
    INIT_WHERE,        /* () -> system identifier, database, in recovery; needs no set-up */
    INIT_READ_CLUSTER, /* () -> name, version */
    INIT_READ_SESSION, /* () -> cluster, name, system identifier, database */

    INIT_STATEMENT_COUNT,
} InitStatement;

typedef struct InitStatementRow
{
    const char *what; /* for messages: "take the lock" */
    const char *sql;
} InitStatementRow;

const InitStatementRow *init_statement_row(InitStatement statement);

#endif
