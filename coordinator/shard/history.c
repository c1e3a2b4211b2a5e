/* See history.h. */
#include "shard/history.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

static bool is_same(const Incarnation *a, const Incarnation *b)
{
    return strcmp(a->system_identifier, b->system_identifier) == 0 && a->epoch == b->epoch &&
           strcmp(a->timeline, b->timeline) == 0;
}

bool history_expect(History *history, const Incarnation *expected)
{
    bool is_first = history->expected.epoch == 0;
    if (is_same(&history->expected, expected))
        return false;
    *history = (History){.expected = *expected};
    return !is_first;
}

void history_note(History *history, const uint8_t batch[MARK_LENGTH])
{
    memcpy(history->noted[history->noted_count++ % HISTORY_NOTED_MAX], batch, MARK_LENGTH);
}

void history_forget_listed(History *history)
{
    history->listed_count = 0;
}

void history_list(History *history, const uint8_t batch[MARK_LENGTH])
{
    if (history->listed_count < HISTORY_LISTED_MAX)
        memcpy(history->listed[history->listed_count++], batch, MARK_LENGTH);
}

size_t history_marks(const History *history, uint8_t ret_marks[HISTORY_MARKS_MAX][MARK_LENGTH])
{
    size_t noted =
        history->noted_count < HISTORY_NOTED_MAX ? history->noted_count : HISTORY_NOTED_MAX;
    memcpy(ret_marks, history->noted, noted * MARK_LENGTH);
    memcpy(ret_marks + noted, history->listed, history->listed_count * MARK_LENGTH);
    return noted + history->listed_count;
}

size_t history_take(History *history, uint8_t ret_marks[HISTORY_TAKEN_MAX][MARK_LENGTH])
{
    uint64_t count = history->noted_count - history->written_count;
    if (count > HISTORY_TAKEN_MAX)
        count = HISTORY_TAKEN_MAX;
    for (uint64_t i = 0; i < count; i++)
    {
        uint64_t number = history->noted_count - count + i;
        memcpy(ret_marks[i], history->noted[number % HISTORY_NOTED_MAX], MARK_LENGTH);
    }
    history->taken_count = history->noted_count;
    return (size_t)count;
}

void history_written(History *history)
{
    history->written_count = history->taken_count;
}

static HistoryVerdict compare_epochs(int64_t expected, int64_t actual, char *text, size_t size)
{
    if (actual > expected)
    {
        snprintf(text, size, "its epoch is %lld, and the directory knows only %lld",
                 (long long)actual, (long long)expected);
        return HISTORY_OTHER;
    }
    snprintf(text, size, "its epoch is %lld, not %lld: another server has taken its place",
             (long long)actual, (long long)expected);
    return HISTORY_LOST;
}

/* The epoch comes before timeline and marks: these mean something only under the same one. */
HistoryVerdict history_judge(const Incarnation *expected, const HistoryReport *report, char *text,
                             size_t size)
{
    const Incarnation *actual = &report->incarnation;
    if (strcmp(actual->system_identifier, expected->system_identifier) != 0)
    {
        snprintf(text, size, "another server answers: its system identifier is %s, not %s",
                 actual->system_identifier, expected->system_identifier);
        return HISTORY_OTHER;
    }
    if (report->fenced != NULL)
    {
        snprintf(text, size, "%s", report->fenced);
        return HISTORY_FENCED;
    }
    if (actual->epoch != expected->epoch)
        return compare_epochs(expected->epoch, actual->epoch, text, size);
    if (strcmp(actual->timeline, expected->timeline) != 0)
    {
        snprintf(text, size, "its timeline is %s, not %s: it was promoted, or restored",
                 actual->timeline, expected->timeline);
        return HISTORY_LOST;
    }
    if (report->missing_marks > 0)
    {
        snprintf(text, size,
                 "%zu of %zu batches that it has acknowledged are missing: it is an older copy, or "
                 "a failover has lost them",
                 report->missing_marks, report->marks);
        return HISTORY_LOST;
    }
    return HISTORY_INTACT;
}
