/*
 * A database under set-up, see target.h.
 */
#include "cluster/target.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    CONNECT_DEADLINE_MS = 10000,
    STATEMENT_DEADLINE_MS = 60000,
    GRACE_MS = 5000, /* the pg layer answers by its deadline; this is a wall behind it */
};

struct Target
{
    Loop *loop;
    const char *name;
    Pg *pg;
    /* of the call under way */
    bool answered;
    bool connected;
    const char *what;
    TargetRead read;
    void *context;
    Error *error;
    bool succeeded;
    char tag[40];
};

bool target_complain(const Target *target, Error *error, const char *format, ...)
{
    char text[sizeof(((Error *)0)->text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return error_set(error, ERROR_SETUP, "%s: %s", target->name, text);
}

static void on_connected(void *context, bool connected, const char *text)
{
    Target *target = context;
    target->answered = true;
    target->connected = connected;
    if (!connected)
    {
        target_complain(target, target->error, "cannot connect: %s", text);
    }
}

Target *target_new(Loop *loop, const char *name, const char *dsn, Error *error)
{
    Target *target = base_calloc(1, sizeof(*target));
    target->loop = loop;
    target->name = name;
    target->error = error;
    target->pg = pg_connect(loop, dsn, CONNECT_DEADLINE_MS, on_connected, target);
    if (!loop_run_until(loop, &target->answered, CONNECT_DEADLINE_MS + GRACE_MS))
    {
        target_complain(target, error, "cannot connect: no answer in time");
    }
    if (!target->connected)
    {
        target_free(target);
        return NULL;
    }
    return target;
}

void target_free(Target *target)
{
    if (target == NULL)
    {
        return;
    }
    pg_close(target->pg);
    free(target);
}

static void report_failure(Target *target, const PgAnswer *answer)
{
    if (answer->kind == PG_ERROR)
    {
        target_complain(target, target->error, "%s: %s (SQLSTATE %s)", target->what, answer->text,
                        answer->sqlstate);
    }
    else
    {
        target_complain(target, target->error, "%s: the connection was lost", target->what);
    }
    if (target->error != NULL)
    {
        snprintf(target->error->sqlstate, sizeof(target->error->sqlstate), "%s", answer->sqlstate);
    }
}

static void on_answer(void *context, const PgAnswer *answers, size_t count,
                      PgTransaction transaction)
{
    (void)transaction;
    Target *target = context;
    ASSERT(count == 1);
    target->answered = true;
    target->succeeded = answers[0].kind == PG_DONE;
    if (!target->succeeded)
    {
        report_failure(target, &answers[0]);
        return;
    }
    snprintf(target->tag, sizeof(target->tag), "%s", answers[0].tag);
    if (target->read != NULL)
    {
        target->read(target->context, answers[0].rows);
    }
}

static bool run(Target *target, const char *sql, const PgParams *params, Error *error)
{
    target->answered = false;
    target->succeeded = false;
    target->error = error;
    pg_group_begin(target->pg);
    pg_group_sql(target->pg, sql, params);
    pg_group_send(target->pg, STATEMENT_DEADLINE_MS, on_answer, target);
    if (!loop_run_until(target->loop, &target->answered, STATEMENT_DEADLINE_MS + GRACE_MS))
    {
        return target_complain(target, error, "%s: no answer in time", target->what);
    }
    return target->succeeded;
}

bool target_ask(Target *target, InitStatement statement, const PgParams *params, TargetRead read,
                void *context, Error *error)
{
    const InitStatementRow *row = init_statement_row(statement);
    target->what = row->what;
    target->read = read;
    target->context = context;
    return run(target, row->sql, params, error);
}

bool target_run(Target *target, InitStatement statement, const PgParams *params, Error *error)
{
    return target_ask(target, statement, params, NULL, NULL, error);
}

bool target_run_text(Target *target, const char *what, const char *sql, Error *error)
{
    target->what = what;
    target->read = NULL;
    return run(target, sql, NULL, error);
}

/* The pg layer sends single statements; the file becomes the one string that a DO executes. */
bool target_run_file(Target *target, const char *path, const char *text, Error *error)
{
    ASSERT(strstr(text, INIT_FILE_QUOTE) == NULL);
    size_t size = strlen(text) + sizeof(INIT_FILE_HEAD INIT_FILE_TAIL);
    char *sql = base_malloc(size);
    snprintf(sql, size, "%s%s%s", INIT_FILE_HEAD, text, INIT_FILE_TAIL);
    bool succeeded = target_run_text(target, path, sql, error);
    free(sql);
    return succeeded;
}

bool target_commit(Target *target, Error *error)
{
    if (!target_run(target, INIT_COMMIT, NULL, error))
    {
        return false;
    }
    return strcmp(target->tag, "COMMIT") == 0 ||
           target_complain(target, error, "commit: Postgres answered %s", target->tag);
}
