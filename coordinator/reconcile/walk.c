/*
 * See walk.h. One table row per step: what it asks, and what it makes of the answer. A step settles
 * a page and then either goes on itself (`page`) or is over (`next_step`).
 */
#include "reconcile/walk_inside.h"

#include <stdlib.h>
#include <string.h>

enum
{
    PREPARED_AGE_MS = 1000, /* younger ones are the business of a living batch */
    PREPARED_MAX = 100,
    IDS_PAGE = 500,
};

typedef struct StepRow
{
    const char *name;
    bool only_full;
    Statement statement;
    void (*fill)(void *context, PgParams *params);
    void (*settle)(Walk *walk, const PgRows *rows);
} StepRow;

static void ask_page(Walk *walk);

/* ---- books and prepared legs ---------------------------------------------------------------- */

static void copy(char *ret_text, size_t size, const PgRows *rows, size_t row, size_t column)
{
    snprintf(ret_text, size, "%s", pg_text(rows, row, column));
}

static void settle_books(Walk *walk, const PgRows *rows)
{
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        ReportSum sum = {0};
        int64_t difference = pg_int8(rows, row, 4);
        snprintf(sum.shard, sizeof sum.shard, "%s", shard_name(walk_shard(walk)));
        copy(sum.currency, sizeof sum.currency, rows, row, 0);
        copy(sum.balances, sizeof sum.balances, rows, row, 1);
        copy(sum.clearing, sizeof sum.clearing, rows, row, 2);
        copy(sum.difference, sizeof sum.difference, rows, row, 3);
        report_add_sum(walk_report(walk), &sum);
        if (difference == 0)
            continue;
        ReportItem item = {.kind = ITEM_ZERO_SUM, .has_amount = true, .amount = difference};
        memcpy(item.currency, sum.currency, sizeof item.currency);
        walk_find(walk, &item);
    }
    walk_next_step(walk);
}

static void fill_prepared(void *context, PgParams *params)
{
    (void)context;
    pg_params_int8(params, PREPARED_AGE_MS);
    pg_params_int4(params, PREPARED_MAX);
}

static void settle_prepared(Walk *walk, const PgRows *rows)
{
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        ReportItem item = {.kind = ITEM_PREPARED};
        copy(item.detail, sizeof item.detail, rows, row, 0);
        walk_find(walk, &item);
    }
    walk_next_step(walk);
}

/* ---- transfers by id ------------------------------------------------------------------------ */

static void fill_ids(void *context, PgParams *params)
{
    const Walk *walk = context;
    pg_params_bool(params, walk->step == STEP_CARRIED);
    if (walk->has_position)
        pg_params_uuid(params, walk->position);
    else
        pg_params_null(params);
    pg_params_int4(params, IDS_PAGE);
}

/* Carries on what stays open; of the carried ones, lets go of what is settled. */
static void note_ids(void *context)
{
    Walk *walk = context;
    size_t open = 0;
    for (size_t i = 0; i < exam_count(walk->exam); i++)
        open += exam_result(walk->exam, i).standing == EXAM_OPEN ? 1 : 0;
    if (walk->step == STEP_CARRIED || open > 0)
        walk_note(walk);
    else
        ask_page(walk);
}

static void settle_ids(Walk *walk, const PgRows *rows)
{
    size_t count = pg_row_count(rows);
    if (count == 0)
    {
        walk_next_step(walk);
        return;
    }
    exam_clear(walk->exam);
    for (size_t row = 0; row < count; row++)
        exam_add(walk->exam, pg_uuid(rows, row, 0));
    walk->has_position = true;
    memcpy(walk->position, pg_uuid(rows, count - 1, 0), sizeof walk->position);
    bool first_look = walk->step == STEP_TRANSFERS || !walk->options.full;
    if (first_look)
        report_count(walk_report(walk), &(ReportCounts){.transfers = (int64_t)count});
    exam_run(walk->exam, !first_look, note_ids, walk);
}

/* ---- the steps ------------------------------------------------------------------------------ */

static const StepRow steps[STEP_COUNT] = {
    [STEP_BOOKS] = {"books", false, STATEMENT_BOOKS, NULL, settle_books},
    [STEP_PREPARED] = {"prepared", false, STATEMENT_RECONCILE_PREPARED, fill_prepared,
                       settle_prepared},
    [STEP_CARRIED] = {"carried", false, STATEMENT_RECONCILE_IDS, fill_ids, settle_ids},
    [STEP_ACCOUNTS] = {"accounts", false, STATEMENT_RECONCILE_ACCOUNTS, walk_fill_accounts,
                       walk_settle_accounts},
    [STEP_TRANSFERS] = {"transfers", true, STATEMENT_RECONCILE_IDS, fill_ids, settle_ids},
    [STEP_BATCHES] = {"batches", true, STATEMENT_RECONCILE_BATCHES, walk_fill_batches,
                      walk_settle_batches},
};

static void end(void *context)
{
    Walk *walk = context;
    walk->options.done(walk->options.context, walk);
}

static void answered(void *context, const PgRows *rows, const char *why)
{
    Walk *walk = context;
    if (rows == NULL)
        walk_give_up(walk, why);
    else
        steps[walk->step].settle(walk, rows);
}

static void ask_page(Walk *walk)
{
    const StepRow *step = &steps[walk->step];
    asker_ask(walk->options.exam.asker, walk_shard(walk),
              &(Ask){step->statement, step->fill, answered, walk});
}

void walk_next_step(Walk *walk)
{
    do
        walk->step++;
    while (walk->step < STEP_COUNT && steps[walk->step].only_full && !walk->options.full);
    walk->has_position = false;
    if (walk->step < STEP_COUNT)
        ask_page(walk);
    else
        loop_timer_start(walk->timer, 0);
}

void walk_page(Walk *walk)
{
    ask_page(walk);
}

void walk_give_up(Walk *walk, const char *why)
{
    report_add_gap(walk_report(walk), shard_name(walk_shard(walk)), why);
    walk->step = STEP_COUNT;
    loop_timer_start(walk->timer, 0);
}

/* ---- notes ---------------------------------------------------------------------------------- */

static size_t count_standing(const Walk *walk, ExamStanding standing)
{
    size_t count = 0;
    for (size_t i = 0; i < exam_count(walk->exam); i++)
    {
        ExamResult result = exam_result(walk->exam, i);
        count += result.entry_account == NULL && result.standing == standing ? 1 : 0;
    }
    return count;
}

static void put_standing(const Walk *walk, PgParams *params, ExamStanding standing)
{
    pg_params_array(params, PG_ELEMENT_UUID, count_standing(walk, standing));
    for (size_t i = 0; i < exam_count(walk->exam); i++)
    {
        ExamResult result = exam_result(walk->exam, i);
        if (result.entry_account == NULL && result.standing == standing)
            pg_params_add_uuid(params, result.transfer);
    }
}

static void put_accounts(void *context, PgParams *params)
{
    const Walk *walk = context;
    pg_params_array(params, PG_ELEMENT_TEXT, walk->proof_count);
    for (size_t i = 0; i < walk->proof_count; i++)
        pg_params_add_text(params, walk->proofs[i].account);
}

static void fill_note(void *context, PgParams *params)
{
    const Walk *walk = context;
    put_accounts(context, params);
    pg_params_array(params, PG_ELEMENT_INT8, walk->proof_count);
    for (size_t i = 0; i < walk->proof_count; i++)
        pg_params_add_int8(params, walk->proofs[i].seq);
    pg_params_array(params, PG_ELEMENT_INT8, walk->proof_count);
    for (size_t i = 0; i < walk->proof_count; i++)
        pg_params_add_int8(params, walk->proofs[i].balance);
    put_standing(walk, params, EXAM_OPEN);
    put_standing(walk, params, EXAM_SETTLED);
}

static void noted(void *context, const PgRows *rows, const char *why)
{
    Walk *walk = context;
    walk->proof_count = 0;
    if (rows == NULL)
        walk_give_up(walk, why);
    else
        ask_page(walk);
}

void walk_note(Walk *walk)
{
    asker_ask(walk->options.exam.asker, walk_shard(walk),
              &(Ask){STATEMENT_RECONCILE_NOTE, fill_note, noted, walk});
}

void walk_forget(Walk *walk)
{
    asker_ask(walk->options.exam.asker, walk_shard(walk),
              &(Ask){STATEMENT_RECONCILE_FORGET, put_accounts, noted, walk});
}

/* ---- life ----------------------------------------------------------------------------------- */

Shard *walk_shard(const Walk *walk)
{
    return walk->options.exam.here;
}

Report *walk_report(const Walk *walk)
{
    return walk->options.exam.report;
}

void walk_find(Walk *walk, ReportItem *item)
{
    snprintf(item->shard, sizeof item->shard, "%s", shard_name(walk_shard(walk)));
    report_add(walk_report(walk), item);
}

Walk *walk_new(const WalkOptions *options)
{
    Walk *walk = base_calloc(1, sizeof *walk);
    walk->options = *options;
    walk->exam = exam_new(&options->exam);
    walk->timer = loop_timer_new(options->exam.loop, end, walk);
    walk->pause = loop_timer_new(options->exam.loop, walk_ask_verdicts, walk);
    walk->step = STEP_BOOKS;
    ask_page(walk);
    return walk;
}

void walk_free(Walk *walk)
{
    if (walk == NULL)
        return;
    exam_free(walk->exam);
    loop_timer_free(walk->timer);
    loop_timer_free(walk->pause);
    free(walk);
}
