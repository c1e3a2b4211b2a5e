/*
 * SQL for tests: blocking, one connection per call, text results (libpq-fe.h is included by sql.c
 * alone). A statement that fails ends the test, except where the function says otherwise.
 */
#ifndef GIRO_TESTS_SQL_H
#define GIRO_TESTS_SQL_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rows of a query. Free with sql_rows_free. */
typedef struct SqlRows SqlRows;

SqlRows *sql_rows(const char *dsn, const char *query, ...) ATTR_PRINTF(2, 3) ATTR_MUST_USE;
void sql_rows_free(SqlRows *rows); /* accepts NULL */
size_t sql_row_count(const SqlRows *rows);
/* "" for null. Lent. */
const char *sql_field(const SqlRows *rows, size_t row, size_t column);
int64_t sql_field_integer(const SqlRows *rows, size_t row, size_t column); /* 0 for null */

/* Runs statements for their effect. */
void sql_run(const char *dsn, const char *statements, ...) ATTR_PRINTF(2, 3);
/* The one value of a query. */
int64_t sql_integer(const char *dsn, const char *query, ...) ATTR_PRINTF(2, 3);
/* Does the query answer one row whose one value is this text? Prints what it answered if not. */
bool sql_is(const char *dsn, const char *wanted, const char *query, ...) ATTR_PRINTF(3, 4);

/* The SQLSTATE that the statements end with: "" for success, "08006" when there is no connection.
 */
void sql_state(const char *dsn, const char *statements, char ret_state[6]);

/* One lasting connection, for tests that need a session of their own. NULL if it cannot connect. */
typedef struct SqlSession SqlSession;
SqlSession *sql_session_new(const char *dsn) ATTR_MUST_USE;
void sql_session_free(SqlSession *session); /* accepts NULL */
/* Runs statements with the simple protocol, or, if parameter is not NULL, one statement with $1 by
 * the extended protocol. ret_state as sql_state; ret_tag is the last command tag, "" on failure. */
void sql_session_run(SqlSession *session, const char *statements, const char *parameter,
                     char ret_state[6], char ret_tag[40]);
SqlRows *sql_session_rows(SqlSession *session, const char *query, ...)
    ATTR_PRINTF(2, 3) ATTR_MUST_USE;
bool sql_session_is_lost(const SqlSession *session);

#endif
