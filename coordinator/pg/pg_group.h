/*
 * A group of messages: what is to be sent, and what was answered.
 *
 * The group is collected first and handed to libpq in one go. It consists of segments, each closed
 * by a Sync; answers are recorded in the order of the messages, and a segment's answers become
 * final when its Sync is answered (see pg.h for why).
 */
#ifndef GIRO_PG_GROUP_H
#define GIRO_PG_GROUP_H

#include "pg/pg_params.h"

struct pg_conn;   /* libpq's PGconn */
struct pg_result; /* libpq's PGresult */

typedef enum PgMessageKind
{
    PG_MESSAGE_SQL,
    PG_MESSAGE_PREPARE,
    PG_MESSAGE_EXECUTE,
} PgMessageKind;

/* Places in PgGroup.bytes, which moves when it grows. */
typedef struct PgMessage
{
    PgMessageKind kind;
    size_t name;
    size_t sql;
    int param_count;
    size_t param_offsets[PG_PARAMETER_MAX];
    int param_lengths[PG_PARAMETER_MAX];
    bool ends_segment;
} PgMessage;

typedef struct PgGroup
{
    PgMessage messages[PG_GROUP_MAX];
    size_t count;
    uint8_t *bytes;
    size_t used;
    size_t room;

    PgAnswer answers[PG_GROUP_MAX];
    struct pg_result *results[PG_GROUP_MAX]; /* what the answers' rows are, owned; or NULL */
    size_t answered;                         /* messages with an answer */
    size_t confirmed;                        /* messages whose Sync was answered */
} PgGroup;

void pg_group_clear(PgGroup *group); /* drops messages and rows, keeps the memory */
void pg_group_done(PgGroup *group);

/* `name` and `sql` may be NULL where the kind has none. */
void pg_group_append(PgGroup *group, PgMessageKind kind, const char *name, const char *sql,
                     const PgParams *params);
void pg_group_end_segment(PgGroup *group);

/* Hands every message and Sync to libpq. False when libpq refuses one: the connection is lost. */
bool pg_group_feed(const PgGroup *group, struct pg_conn *connection) ATTR_MUST_USE;

/* Takes the next result that libpq has parsed, and owns it. Returns false when it ends the session
 * (a FATAL error, or no answer of the server at all): pg_group_lose is due. */
bool pg_group_take(PgGroup *group, struct pg_result *result) ATTR_MUST_USE;
/* A WARNING of the server. */
void pg_group_warn(PgGroup *group, const struct pg_result *notice);
/* The connection ended: what is not confirmed is lost. */
void pg_group_lose(PgGroup *group, const char *text);
bool pg_group_is_complete(const PgGroup *group);

#endif
