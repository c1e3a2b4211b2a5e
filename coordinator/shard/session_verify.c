/*
 * What a session must be connected to and run under, see session.h. A table of checks, in the order
 * in which they are reported: what the server is first, what is in force last.
 */
#include "shard/session.h"

#include <stdio.h>
#include <string.h>

/* The columns of the function `session`. */
enum
{
    COLUMN_CLUSTER,
    COLUMN_NAME,
    COLUMN_ORDINAL,
    COLUMN_EPOCH,
    COLUMN_FORMAT_VERSION,
    COLUMN_SYSTEM_IDENTIFIER,
    COLUMN_TIMELINE,
    COLUMN_IN_RECOVERY,
    COLUMN_BACKEND_PID,
    COLUMN_BACKEND_START,
    COLUMN_ROLE,
    COLUMN_DATABASE,
    COLUMN_READ_ONLY,
    COLUMN_ISOLATION,
    COLUMN_SYNCHRONOUS_COMMIT,
    COLUMN_LOCK_TIMEOUT,
    COLUMN_STATEMENT_TIMEOUT,
    COLUMN_IDLE_TIMEOUT,
    COLUMN_MAX_PREPARED,
    COLUMN_FENCED,
    COLUMN_MISSING_MARKS,
};

typedef struct Report
{
    const PgRows *rows;
    char *text;
    size_t size;
} Report;

static const char *differs(const Report *report, const char *what, const char *actual,
                           const char *wanted)
{
    snprintf(report->text, report->size, "%s is %s, not %s", what, actual, wanted);
    return report->text;
}

static const char *check_text(const Report *report, const char *what, size_t column,
                              const char *wanted)
{
    const char *actual = pg_text(report->rows, 0, column);
    return strcmp(actual, wanted) == 0 ? NULL : differs(report, what, actual, wanted);
}

static const char *check_number(const Report *report, const char *what, size_t column,
                                uint64_t wanted)
{
    int32_t actual = pg_int4(report->rows, 0, column);
    if (actual >= 0 && (uint64_t)actual == wanted)
        return NULL;
    snprintf(report->text, report->size, "%s is %d, not %llu", what, actual,
             (unsigned long long)wanted);
    return report->text;
}

static const char *check_identity(const Report *report, const ShardOptions *wanted)
{
    const char *problem = check_text(report, "its cluster", COLUMN_CLUSTER, wanted->cluster);
    if (problem == NULL)
        problem = check_text(report, "its name", COLUMN_NAME, wanted->name);
    if (problem == NULL)
        problem = check_number(report, "its ordinal", COLUMN_ORDINAL,
                               (uint64_t)(unsigned)wanted->ordinal);
    if (problem == NULL)
        problem = check_number(report, "its format version", COLUMN_FORMAT_VERSION, FORMAT_VERSION);
    return problem;
}

static const char *check_settings(const Report *report, const ShardOptions *wanted)
{
    const char *commit = pg_text(report->rows, 0, COLUMN_SYNCHRONOUS_COMMIT);
    if (strcmp(commit, "on") != 0 && strcmp(commit, "remote_apply") != 0)
        return differs(report, "synchronous_commit", commit, "on or remote_apply");
    const char *problem =
        check_text(report, "its isolation level", COLUMN_ISOLATION, "read committed");
    if (problem == NULL)
        problem =
            check_number(report, "lock_timeout", COLUMN_LOCK_TIMEOUT, wanted->lock_timeout_ms);
    if (problem == NULL)
        problem =
            check_number(report, "the session's statement_timeout", COLUMN_STATEMENT_TIMEOUT, 0);
    if (problem == NULL)
        problem = check_number(report, "idle_in_transaction_session_timeout", COLUMN_IDLE_TIMEOUT,
                               wanted->idle_in_transaction_timeout_ms);
    return problem;
}

const char *session_verify(const ShardOptions *wanted, const PgRows *rows, char *text, size_t size)
{
    Report report = {rows, text, size};
    if (pg_row_count(rows) != 1 || pg_is_null(rows, 0, COLUMN_CLUSTER))
        return "it is not set up as a shard (see girod init)";
    if (pg_bool(rows, 0, COLUMN_IN_RECOVERY))
        return "the server is in recovery";
    if (pg_bool(rows, 0, COLUMN_READ_ONLY))
        return "the server or the role is read-only";
    if (pg_int4(rows, 0, COLUMN_MAX_PREPARED) == 0)
        return "max_prepared_transactions is 0";
    const char *problem = check_identity(&report, wanted);
    return problem != NULL ? problem : check_settings(&report, wanted);
}

void session_identify(const PgRows *rows, SessionIdentity *ret_identity)
{
    SessionIdentity identity = {
        .backend.pid = pg_int4(rows, 0, COLUMN_BACKEND_PID),
        .backend.started_us = pg_timestamp_us(rows, 0, COLUMN_BACKEND_START),
        .incarnation.epoch = pg_int8(rows, 0, COLUMN_EPOCH),
    };
    Incarnation *incarnation = &identity.incarnation;
    snprintf(incarnation->system_identifier, sizeof incarnation->system_identifier, "%s",
             pg_text(rows, 0, COLUMN_SYSTEM_IDENTIFIER));
    snprintf(incarnation->timeline, sizeof incarnation->timeline, "%s",
             pg_text(rows, 0, COLUMN_TIMELINE));
    *ret_identity = identity;
}

void session_report(const PgRows *rows, HistoryReport *ret_report)
{
    SessionIdentity identity;
    session_identify(rows, &identity);
    *ret_report = (HistoryReport){
        .incarnation = identity.incarnation,
        .fenced = pg_text(rows, 0, COLUMN_FENCED),
        .missing_marks = (size_t)pg_int4(rows, 0, COLUMN_MISSING_MARKS),
    };
}
