/*
 * See exam.h.
 *
 * A case is asked about at home, then perhaps at its credit's shard. `ask_next` picks the first
 * case with an open question and puts the same question for all cases of that shard at once; when
 * no question is open the round is over.
 */
#include "reconcile/case.h"

#include <stdlib.h>
#include <string.h>

struct Exam
{
    ExamOptions options;
    Case *cases; /* ascending by transfer once it runs */
    size_t count;
    bool quiet;
    int round;
    Shard *asked; /* the shard of the running question */
    bool asking_home;
    LoopTimer *pause;
    void (*done)(void *context);
    void *context;
};

static void ask_next(void *context);

uint64_t exam_pause_ms(int round)
{
    static const uint64_t first_ms = 300;
    return first_ms * (uint64_t)round;
}

Exam *exam_new(const ExamOptions *options)
{
    Exam *exam = base_calloc(1, sizeof *exam);
    exam->options = *options;
    exam->cases = base_calloc(EXAM_MAX, sizeof *exam->cases);
    exam->pause = loop_timer_new(options->loop, ask_next, exam);
    return exam;
}

void exam_free(Exam *exam)
{
    if (exam == NULL)
        return;
    loop_timer_free(exam->pause);
    free(exam->cases);
    free(exam);
}

/* ---- the set -------------------------------------------------------------------------------- */

void exam_clear(Exam *exam)
{
    exam->count = 0;
}

static Case *add(Exam *exam, const uint8_t id[16], CaseOrigin origin)
{
    ASSERT(exam->count < EXAM_MAX);
    Case *new = &exam->cases[exam->count++];
    *new = (Case){.origin = origin, .home = exam->options.here};
    memcpy(new->id, id, sizeof new->id);
    return new;
}

void exam_add(Exam *exam, const uint8_t id[16])
{
    add(exam, id, CASE_OF_HOME);
}

void exam_add_orphan(Exam *exam, const ExamEntry *entry)
{
    case_set_entry(add(exam, entry->transfer, CASE_OF_ORPHAN), entry);
}

void exam_add_credit(Exam *exam, const ExamEntry *entry)
{
    Case *new = add(exam, entry->transfer, CASE_OF_CREDIT);
    Location payer;
    case_set_entry(new, entry);
    if (route_account_id_is_valid(entry->counterparty) &&
        directory_locate(exam->options.directory, entry->counterparty, &payer))
        new->home = payer.shard;
    new->credit_shard = exam->options.here;
}

static int compare(const void *a, const void *b)
{
    const Case *left = a;
    const Case *right = b;
    int order = memcmp(left->id, right->id, sizeof left->id);
    return order != 0 ? order : (int)left->origin - (int)right->origin;
}

static void sort(Exam *exam)
{
    size_t kept = 0;
    qsort(exam->cases, exam->count, sizeof *exam->cases, compare);
    for (size_t i = 0; i < exam->count; i++)
    {
        bool again = kept > 0 && exam->cases[i].origin == CASE_OF_HOME &&
                     compare(&exam->cases[kept - 1], &exam->cases[i]) == 0;
        if (!again)
            exam->cases[kept++] = exam->cases[i];
    }
    exam->count = kept;
}

size_t exam_count(const Exam *exam)
{
    return exam->count;
}

ExamResult exam_result(const Exam *exam, size_t i)
{
    ASSERT(i < exam->count);
    const Case *one = &exam->cases[i];
    return (ExamResult){
        .transfer = one->id,
        .entry_account = one->origin == CASE_OF_HOME ? NULL : one->entry_account,
        .standing = one->is_open ? EXAM_OPEN : EXAM_SETTLED,
    };
}

/* ---- the end of a round --------------------------------------------------------------------- */

static bool is_wrong(const Case *one)
{
    Judgement judgements[JUDGEMENTS_MAX];
    size_t count = case_judge(one, judgements);
    for (size_t i = 0; i < count; i++)
    {
        if (item_kind_is_finding(judgements[i].kind))
            return true;
    }
    return false;
}

static void conclude(Exam *exam, Case *one)
{
    Judgement judgements[JUDGEMENTS_MAX];
    size_t count = one->is_unasked ? 0 : case_judge(one, judgements);
    one->is_open = one->is_unasked || count > 0;
    for (size_t i = 0; i < count; i++)
    {
        ReportItem item;
        case_item(one, &judgements[i], &item);
        if (item_kind_is_finding(item.kind) || !exam->quiet)
            report_add(exam->options.report, &item);
    }
}

static void end_round(Exam *exam)
{
    size_t again = 0;
    for (size_t i = 0; i < exam->count && exam->round < EXAM_ROUNDS; i++)
    {
        Case *one = &exam->cases[i];
        if (one->is_unasked || !is_wrong(one))
            continue;
        case_forget(one);
        again++;
    }
    if (again > 0)
    {
        loop_timer_start(exam->pause, exam_pause_ms(exam->round));
        exam->round++;
        return;
    }
    for (size_t i = 0; i < exam->count; i++)
        conclude(exam, &exam->cases[i]);
    exam->done(exam->context);
}

/* ---- questions ------------------------------------------------------------------------------ */

static bool is_asked(const Exam *exam, const Case *one)
{
    if (!case_has_question(one))
        return false;
    if (exam->asking_home)
        return !one->home_was_asked && one->home == exam->asked;
    return one->home_was_asked && one->credit_shard == exam->asked;
}

static size_t count_asked(const Exam *exam)
{
    size_t count = 0;
    for (size_t i = 0; i < exam->count; i++)
        count += is_asked(exam, &exam->cases[i]) ? 1 : 0;
    return count;
}

static void fill(void *context, PgParams *params)
{
    const Exam *exam = context;
    size_t count = count_asked(exam);
    pg_params_array(params, PG_ELEMENT_UUID, count);
    for (size_t i = 0; i < exam->count; i++)
    {
        if (is_asked(exam, &exam->cases[i]))
            pg_params_add_uuid(params, exam->cases[i].id);
    }
    if (exam->asking_home)
        return;
    pg_params_array(params, PG_ELEMENT_UUID, count);
    for (size_t i = 0; i < exam->count; i++)
    {
        if (is_asked(exam, &exam->cases[i]))
            pg_params_add_uuid(params, exam->cases[i].batch);
    }
}

static size_t first_case(const Exam *exam, const uint8_t id[16])
{
    size_t low = 0;
    size_t high = exam->count;
    while (low < high)
    {
        size_t middle = low + (high - low) / 2;
        if (memcmp(exam->cases[middle].id, id, 16) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Hands a row to the cases that it was asked for. */
static void take_row(Exam *exam, const PgRows *rows, size_t row)
{
    const uint8_t *id = pg_uuid(rows, row, 0);
    for (size_t i = first_case(exam, id); i < exam->count && memcmp(exam->cases[i].id, id, 16) == 0;
         i++)
    {
        Case *one = &exam->cases[i];
        if (!is_asked(exam, one))
            continue;
        if (exam->asking_home)
            case_take_home(one, rows, row, exam->options.directory);
        else
            case_take_credit(one, rows, row);
    }
}

static void mark_asked(Exam *exam, bool answered)
{
    for (size_t i = 0; i < exam->count; i++)
    {
        Case *one = &exam->cases[i];
        if (!is_asked(exam, one))
            continue;
        one->is_unasked = !answered;
        if (exam->asking_home)
            one->home_was_asked = true;
        else
            one->credit_was_asked = true;
    }
}

static void answered(void *context, const PgRows *rows, const char *why)
{
    Exam *exam = context;
    if (rows == NULL)
        report_add_gap(exam->options.report, shard_name(exam->asked), why);
    for (size_t row = 0; row < pg_row_count(rows); row++)
        take_row(exam, rows, row);
    mark_asked(exam, rows != NULL);
    ask_next(exam);
}

static void ask_next(void *context)
{
    Exam *exam = context;
    size_t first = 0;
    while (first < exam->count && !case_has_question(&exam->cases[first]))
        first++;
    if (first == exam->count)
    {
        end_round(exam);
        return;
    }
    const Case *one = &exam->cases[first];
    exam->asking_home = !one->home_was_asked;
    exam->asked = exam->asking_home ? one->home : one->credit_shard;
    asker_ask(
        exam->options.asker, exam->asked,
        &(Ask){exam->asking_home ? STATEMENT_RECONCILE_TRANSFERS : STATEMENT_RECONCILE_CREDITS,
               fill, answered, exam});
}

void exam_run(Exam *exam, bool quiet, void (*done)(void *context), void *context)
{
    exam->quiet = quiet;
    exam->done = done;
    exam->context = context;
    exam->round = 1;
    sort(exam);
    loop_timer_start(exam->pause, 0);
}
