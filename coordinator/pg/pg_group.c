/* See pg_group.h. */
#include "pg/pg_group.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    NOTHING = 0, /* offset of the empty string at the start of every group's bytes */
    FIRST_ROOM = 1024,
    KEPT_ROOM = 1024 * 1024, /* what an idle connection may hold on to */
    RESULT_BINARY = 1,
};

static size_t store(PgGroup *group, const void *bytes, size_t length)
{
    if (group->used + length > group->room)
    {
        size_t room = group->room > 0 ? group->room : FIRST_ROOM;
        while (room < group->used + length)
            room *= 2;
        group->bytes = base_realloc(group->bytes, room);
        group->room = room;
    }
    size_t at = group->used;
    if (length > 0)
        memcpy(group->bytes + at, bytes, length);
    group->used += length;
    return at;
}

static size_t store_text(PgGroup *group, const char *text)
{
    return text != NULL ? store(group, text, strlen(text) + 1) : NOTHING;
}

static void drop_rows(PgGroup *group, size_t position)
{
    PQclear(group->results[position]);
    group->results[position] = NULL;
    group->answers[position].rows = NULL;
}

void pg_group_clear(PgGroup *group)
{
    for (size_t i = 0; i < group->answered; i++)
        drop_rows(group, i);
    memset(group->answers, 0, group->count * sizeof group->answers[0]);
    if (group->room > KEPT_ROOM)
    {
        free(group->bytes);
        group->bytes = NULL;
        group->room = 0;
    }
    group->count = 0;
    group->used = 0;
    group->answered = 0;
    group->confirmed = 0;
    store(group, "", 1);
}

void pg_group_done(PgGroup *group)
{
    for (size_t i = 0; i < group->answered; i++)
        drop_rows(group, i);
    free(group->bytes);
    *group = (PgGroup){0};
}

void pg_group_append(PgGroup *group, PgMessageKind kind, const char *name, const char *sql,
                     const PgParams *params)
{
    ASSERT(group->count < PG_GROUP_MAX);
    PgMessage *message = &group->messages[group->count++];
    message->kind = kind;
    message->name = store_text(group, name);
    message->sql = store_text(group, sql);
    message->ends_segment = false;
    message->param_count = 0;
    if (params == NULL)
        return;
    ASSERT(!params->overflow && params->elements_due == 0);
    size_t base = store(group, params->bytes, params->used);
    message->param_count = params->count;
    for (int i = 0; i < params->count; i++)
    {
        message->param_offsets[i] = base + params->offsets[i];
        message->param_lengths[i] = params->lengths[i];
    }
}

void pg_group_end_segment(PgGroup *group)
{
    if (group->count > 0)
        group->messages[group->count - 1].ends_segment = true;
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool feed_message(const PgGroup *group, const PgMessage *message, PGconn *connection)
{
    const char *values[PG_PARAMETER_MAX];
    int formats[PG_PARAMETER_MAX];
    const char *text = (const char *)group->bytes;
    for (int i = 0; i < message->param_count; i++)
    {
        bool is_null = message->param_lengths[i] == PG_PARAMS_NULL;
        values[i] = is_null ? NULL : text + message->param_offsets[i];
        formats[i] = 1;
    }
    switch (message->kind)
    {
    case PG_MESSAGE_SQL:
        return PQsendQueryParams(connection, text + message->sql, message->param_count, NULL,
                                 values, message->param_lengths, formats, RESULT_BINARY) == 1;
    case PG_MESSAGE_PREPARE:
        return PQsendPrepare(connection, text + message->name, text + message->sql, 0, NULL) == 1;
    case PG_MESSAGE_EXECUTE:
        return PQsendQueryPrepared(connection, text + message->name, message->param_count, values,
                                   message->param_lengths, formats, RESULT_BINARY) == 1;
    }
    return false;
}

bool pg_group_feed(const PgGroup *group, PGconn *connection)
{
    for (size_t i = 0; i < group->count; i++)
    {
        const PgMessage *message = &group->messages[i];
        if (!feed_message(group, message, connection))
            return false;
        if (message->ends_segment && PQpipelineSync(connection) != 1)
            return false;
    }
    return true;
}

/* ---- recording ------------------------------------------------------------------------------- */

/* The end of the segment that awaits confirmation, one past its last message. */
static size_t segment_end(const PgGroup *group)
{
    size_t i = group->confirmed;
    while (i < group->count && !group->messages[i].ends_segment)
        i++;
    return i < group->count ? i + 1 : i;
}

static void copy_text(char *target, size_t size, const char *text)
{
    snprintf(target, size, "%s", text != NULL ? text : "");
}

static void describe(PgAnswer *answer, const PGresult *result)
{
    copy_text(answer->sqlstate, sizeof answer->sqlstate,
              PQresultErrorField(result, PG_DIAG_SQLSTATE));
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    copy_text(answer->text, sizeof answer->text,
              primary != NULL ? primary : PQresultErrorMessage(result));
}

/* Is it an error after which the session goes on? libpq's own errors have no severity. */
static bool session_survives(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity != NULL && strcmp(severity, "ERROR") == 0;
}

/* A warning may have been noted in it already. */
static PgAnswer *next_answer(PgGroup *group)
{
    return &group->answers[group->answered++];
}

/* An error of the Sync itself: the work of the segment did not commit. */
static void take_sync_error(PgGroup *group, PGresult *result)
{
    PgAnswer *answer = &group->answers[group->answered - 1];
    if (answer->kind == PG_DONE)
    {
        drop_rows(group, group->answered - 1);
        answer->kind = PG_ERROR;
        describe(answer, result);
    }
    PQclear(result);
}

static void take_done(PgGroup *group, PGresult *result)
{
    size_t position = group->answered;
    PgAnswer *answer = next_answer(group);
    answer->kind = PG_DONE;
    copy_text(answer->tag, sizeof answer->tag, PQcmdStatus(result));
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
    {
        PQclear(result);
        return;
    }
    group->results[position] = result;
    answer->rows = (const PgRows *)(const void *)result;
}

bool pg_group_take(PgGroup *group, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    bool at_sync = group->answered == segment_end(group);
    if (status == PGRES_PIPELINE_SYNC)
    {
        ASSERT(at_sync);
        group->confirmed = group->answered;
        PQclear(result);
        return true;
    }
    if (status == PGRES_FATAL_ERROR && session_survives(result))
    {
        if (at_sync)
        {
            take_sync_error(group, result);
            return true;
        }
        PgAnswer *answer = next_answer(group);
        answer->kind = PG_ERROR;
        describe(answer, result);
        PQclear(result);
        return true;
    }
    if (status == PGRES_PIPELINE_ABORTED && !at_sync)
    {
        next_answer(group)->kind = PG_SKIPPED;
        PQclear(result);
        return true;
    }
    if ((status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) && !at_sync)
    {
        take_done(group, result);
        return true;
    }
    if (!at_sync)
    {
        PgAnswer *answer = next_answer(group);
        answer->kind = PG_LOST;
        describe(answer, result);
    }
    PQclear(result);
    return false;
}

void pg_group_warn(PgGroup *group, const PGresult *notice)
{
    bool at_sync = group->answered == segment_end(group);
    PgAnswer *answer = &group->answers[at_sync ? group->answered - 1 : group->answered];
    if (at_sync && answer->kind != PG_DONE)
        return;
    answer->warned = true;
    describe(answer, notice);
}

void pg_group_lose(PgGroup *group, const char *text)
{
    while (group->answered < group->count)
    {
        PgAnswer *answer = next_answer(group);
        answer->kind = PG_LOST;
        copy_text(answer->text, sizeof answer->text, text);
    }
    for (size_t i = group->confirmed; i < group->count; i++)
    {
        PgAnswer *answer = &group->answers[i];
        if (answer->kind != PG_DONE)
            continue;
        drop_rows(group, i);
        answer->kind = PG_LOST;
        copy_text(answer->text, sizeof answer->text, text);
    }
    group->confirmed = group->count;
}

bool pg_group_is_complete(const PgGroup *group)
{
    return group->confirmed == group->count;
}
