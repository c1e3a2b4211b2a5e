/*
 * Examines a set of transfers: asks their homes, then their credit accounts' shards, and judges
 * what both say (evidence.h). The order of looking matters: what is seen posted at home has a leg
 * that is visible, or prepared, whenever it is asked for later. So home comes first; on the
 * credit's shard the list of prepared legs, then the rows in a new statement.
 *
 * Snapshots of two shards are never of one moment, and recovery is at work. Therefore every
 * difference is asked again, from the start and after a pause, and only what stands EXAM_ROUNDS
 * times is a finding.
 *
 * One exam belongs to one shard (`here`), is used again and again, and examines one set at a time.
 */
#ifndef GIRO_EXAM_H
#define GIRO_EXAM_H

#include "reconcile/asker.h"
#include "reconcile/report.h"

typedef struct Exam Exam;

enum
{
    EXAM_MAX = 1024, /* transfers at a time */
    EXAM_ROUNDS = 3,
};

typedef struct ExamOptions
{
    Loop *loop;
    const Directory *directory;
    Asker *asker;
    Report *report;
    Shard *here;
} ExamOptions;

/* Before the next look: longer each time. */
uint64_t exam_pause_ms(int round);

Exam *exam_new(const ExamOptions *options);
/* Must not be at work. Accepts NULL. */
void exam_free(Exam *exam);

/* At most EXAM_MAX are added after this. */
void exam_clear(Exam *exam);
/* A transfer that has its home here; a second time is once. */
void exam_add(Exam *exam, const uint8_t id[16]);

typedef struct ExamEntry
{
    const uint8_t *transfer;
    const char *account;
    int64_t amount; /* signed */
    const char *counterparty;
} ExamEntry;

/* An entry here whose transfer is not recorded here. That of a credit is looked for at the home of
 * the counterparty, which paid; of a debit or a refund it must be here. */
void exam_add_credit(Exam *exam, const ExamEntry *entry);
void exam_add_orphan(Exam *exam, const ExamEntry *entry);

/* Reports findings and, unless quiet, what is in flight. Calls done once, never from inside. */
void exam_run(Exam *exam, bool quiet, void (*done)(void *context), void *context);

typedef enum ExamStanding
{
    EXAM_SETTLED, /* whole and final */
    EXAM_OPEN,    /* in flight, wrong, or a shard could not be asked */
} ExamStanding;

typedef struct ExamResult
{
    const uint8_t *transfer;
    const char *entry_account; /* of exam_add_credit and exam_add_orphan; NULL else */
    ExamStanding standing;
} ExamResult;

size_t exam_count(const Exam *exam);
ExamResult exam_result(const Exam *exam, size_t i);

#endif
