/*
 * What a coordinator knows of the past of a shard, to notice a server that has forgotten some of
 * it: a copy restored from an older state, a standby that was promoted without the last commits, an
 * old primary that comes back beside its successor.
 *
 * Neither the LSN nor the system identifier shows this. Known are therefore, beside that
 * identifier, the epoch, which an operator raises with every readmission, the timeline, which
 * changes with every promotion and every recovery to a point in time, and *marks*: identities of
 * batches whose commit the shard has acknowledged. Rows of batches are never deleted, so that a
 * mark which is missing proves a loss. Marks are those noted by this coordinator and those that the
 * directory lists of all; all belong to the expected epoch and are forgotten with it.
 *
 * What was acknowledged after the last mark that survives is lost unnoticed here. Pure; a part of
 * Shard.
 */
#ifndef GIRO_HISTORY_H
#define GIRO_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum
{
    HISTORY_NOTED_MAX = 16,
    HISTORY_LISTED_MAX = 32, /* as many as the directory keeps of a shard */
    HISTORY_MARKS_MAX = HISTORY_NOTED_MAX + HISTORY_LISTED_MAX,
    HISTORY_TAKEN_MAX = 8, /* the newest are the most telling */
    MARK_LENGTH = 16,
};

/* Which server, on which course. */
typedef struct Incarnation
{
    char system_identifier[24];
    int64_t epoch;
    char timeline[12]; /* as in the names of WAL files: "00000001" */
} Incarnation;

typedef struct History
{
    Incarnation expected; /* epoch 0: nothing is expected yet */
    uint8_t noted[HISTORY_NOTED_MAX][MARK_LENGTH];
    uint64_t noted_count; /* of all time under this epoch; number i stands in noted[i % MAX] */
    uint64_t taken_count; /* of these, as of the last history_take */
    uint64_t written_count;
    uint8_t listed[HISTORY_LISTED_MAX][MARK_LENGTH];
    size_t listed_count;
} History;

/* From now on this is expected. If it differs from what was, all marks are forgotten and the answer
 * is true, except for the first time. */
bool history_expect(History *history, const Incarnation *expected);

/* A commit of this batch was acknowledged. */
void history_note(History *history, const uint8_t batch[MARK_LENGTH]);

/* Replaces what the directory lists; beyond the maximum it is left out. */
void history_forget_listed(History *history);
void history_list(History *history, const uint8_t batch[MARK_LENGTH]);

/* All marks; returns how many. */
size_t history_marks(const History *history, uint8_t ret_marks[HISTORY_MARKS_MAX][MARK_LENGTH]);

/* The newest marks that the directory has not been told of; history_written says that it has now.
 */
size_t history_take(History *history, uint8_t ret_marks[HISTORY_TAKEN_MAX][MARK_LENGTH]);
void history_written(History *history);

typedef enum HistoryVerdict
{
    HISTORY_INTACT,
    HISTORY_OTHER,  /* not to be used: another server, or one that is ahead of the directory */
    HISTORY_FENCED, /* not to be used: it is fenced off already */
    HISTORY_LOST,   /* to be fenced off */
} HistoryVerdict;

/* What a server says of itself. */
typedef struct HistoryReport
{
    Incarnation incarnation;
    const char *fenced;   /* why it is fenced off; NULL: it is not */
    size_t marks;         /* that it was asked for */
    size_t missing_marks; /* of these */
} HistoryReport;

/* Puts the reason into `text` unless the history is intact. */
HistoryVerdict history_judge(const Incarnation *expected, const HistoryReport *report, char *text,
                             size_t size);

#endif
