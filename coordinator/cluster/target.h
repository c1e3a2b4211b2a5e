/*
 * One database that `girod init` sets up, seen through the same non-blocking layer as the service;
 * set-up is a list of steps, so each call runs the loop until its answer is there (or its deadline
 * has passed) and reports any failure as one Error: "shard-1: what was tried: what Postgres said".
 */
#ifndef GIRO_TARGET_H
#define GIRO_TARGET_H

#include "cluster/init_sql.h"
#include "pg/pg.h"

typedef struct Target Target;

/* Reads the rows of an answer, which are lent for the time of the call. */
typedef void (*TargetRead)(void *context, const PgRows *rows);

/* Connects. `name` is lent and used in messages. NULL with ERROR_SETUP. */
Target *target_new(Loop *loop, const char *name, const char *dsn, Error *error) ATTR_MUST_USE;
void target_free(Target *target); /* accepts NULL */

/* Runs one statement of the table. params and read may be NULL. */
bool target_run(Target *target, InitStatement statement, const PgParams *params,
                Error *error) ATTR_MUST_USE;
bool target_ask(Target *target, InitStatement statement, const PgParams *params, TargetRead read,
                void *context, Error *error) ATTR_MUST_USE;

/* Runs a file of many statements; `path` names it in messages. */
bool target_run_file(Target *target, const char *path, const char *text,
                     Error *error) ATTR_MUST_USE;
/* Runs one statement that the server composed. */
bool target_run_text(Target *target, const char *what, const char *sql, Error *error) ATTR_MUST_USE;

/* Ends the transaction; anything but a plain COMMIT is a failure. */
bool target_commit(Target *target, Error *error) ATTR_MUST_USE;

/* "name: …" with ERROR_SETUP; returns false. */
bool target_complain(const Target *target, Error *error, const char *format, ...) ATTR_PRINTF(3, 4);

#endif
