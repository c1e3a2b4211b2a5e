/*
 * SQL for tests, see sql.h.
 */
#include "sql.h"

#include "check.h"

#include <libpq-fe.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct SqlRows
{
    PGresult *result;
};

struct SqlSession
{
    PGconn *connection;
};

static void ignore_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

static PGconn *connect(const char *dsn)
{
    PGconn *connection = PQconnectdb(dsn);
    PQsetNoticeReceiver(connection, ignore_notice, NULL);
    return connection;
}

static bool succeeded(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
}

static char *format_text(const char *format, va_list arguments)
{
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    ASSERT(length >= 0);
    return text;
}

/* Frees the text of the query. */
static SqlRows *ask_on(PGconn *connection, char *query)
{
    PGresult *result = PQexec(connection, query);
    check(succeeded(result), "%s: %s", query, PQerrorMessage(connection));
    free(query);
    SqlRows *rows = base_calloc(1, sizeof(*rows));
    rows->result = result;
    return rows;
}

static SqlRows *ask(const char *dsn, char *query)
{
    PGconn *connection = connect(dsn);
    check(PQstatus(connection) == CONNECTION_OK, "%s", PQerrorMessage(connection));
    SqlRows *rows = ask_on(connection, query);
    PQfinish(connection);
    return rows;
}

SqlRows *sql_rows(const char *dsn, const char *query, ...)
{
    va_list arguments;
    va_start(arguments, query);
    char *text = format_text(query, arguments);
    va_end(arguments);
    return ask(dsn, text);
}

void sql_rows_free(SqlRows *rows)
{
    if (rows != NULL)
    {
        PQclear(rows->result);
        free(rows);
    }
}

size_t sql_row_count(const SqlRows *rows)
{
    return (size_t)PQntuples(rows->result);
}

const char *sql_field(const SqlRows *rows, size_t row, size_t column)
{
    return PQgetvalue(rows->result, (int)row, (int)column);
}

int64_t sql_field_integer(const SqlRows *rows, size_t row, size_t column)
{
    return strtoll(sql_field(rows, row, column), NULL, 10);
}

void sql_run(const char *dsn, const char *statements, ...)
{
    va_list arguments;
    va_start(arguments, statements);
    char *text = format_text(statements, arguments);
    va_end(arguments);
    sql_rows_free(ask(dsn, text));
}

int64_t sql_integer(const char *dsn, const char *query, ...)
{
    va_list arguments;
    va_start(arguments, query);
    char *text = format_text(query, arguments);
    va_end(arguments);
    SqlRows *rows = ask(dsn, text);
    check(sql_row_count(rows) == 1, "%s: %zu rows instead of one", query, sql_row_count(rows));
    int64_t value = sql_field_integer(rows, 0, 0);
    sql_rows_free(rows);
    return value;
}

bool sql_is(const char *dsn, const char *wanted, const char *query, ...)
{
    va_list arguments;
    va_start(arguments, query);
    char *text = format_text(query, arguments);
    va_end(arguments);
    SqlRows *rows = ask(dsn, text);
    bool is = sql_row_count(rows) == 1 && strcmp(sql_field(rows, 0, 0), wanted) == 0;
    if (!is)
    {
        fprintf(stderr, "%s: %s (%zu rows) instead of %s\n", query,
                sql_row_count(rows) > 0 ? sql_field(rows, 0, 0) : "nothing", sql_row_count(rows),
                wanted);
    }
    sql_rows_free(rows);
    return is;
}

static void copy_state(const PGresult *result, char ret_state[6])
{
    const char *state = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (succeeded(result))
    {
        state = "";
    }
    else if (state == NULL)
    {
        state = "08006"; /* libpq's own failures have none */
    }
    snprintf(ret_state, 6, "%s", state);
}

void sql_state(const char *dsn, const char *statements, char ret_state[6])
{
    PGconn *connection = connect(dsn);
    PGresult *result = PQexec(connection, statements);
    copy_state(result, ret_state);
    PQclear(result);
    PQfinish(connection);
}

SqlSession *sql_session_new(const char *dsn)
{
    PGconn *connection = connect(dsn);
    if (PQstatus(connection) != CONNECTION_OK)
    {
        PQfinish(connection);
        return NULL;
    }
    SqlSession *session = base_calloc(1, sizeof(*session));
    session->connection = connection;
    return session;
}

void sql_session_free(SqlSession *session)
{
    if (session != NULL)
    {
        PQfinish(session->connection);
        free(session);
    }
}

void sql_session_run(SqlSession *session, const char *statements, const char *parameter,
                     char ret_state[6], char ret_tag[40])
{
    PGresult *result = parameter == NULL ? PQexec(session->connection, statements)
                                         : PQexecParams(session->connection, statements, 1, NULL,
                                                        &parameter, NULL, NULL, 0);
    copy_state(result, ret_state);
    snprintf(ret_tag, 40, "%s", succeeded(result) ? PQcmdStatus(result) : "");
    PQclear(result);
}

SqlRows *sql_session_rows(SqlSession *session, const char *query, ...)
{
    va_list arguments;
    va_start(arguments, query);
    char *text = format_text(query, arguments);
    va_end(arguments);
    return ask_on(session->connection, text);
}

bool sql_session_is_lost(const SqlSession *session)
{
    return PQstatus(session->connection) != CONNECTION_OK;
}
