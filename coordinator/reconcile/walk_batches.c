/*
 * The step that looks for the decision of every visible 2PC leg, see walk.h. A leg shows only after
 * its home has committed, so what is not found there at once is wrong; it is asked again all the
 * same, as everything is.
 */
#include "reconcile/walk_inside.h"

#include <string.h>

void walk_fill_batches(void *context, PgParams *params)
{
    const Walk *walk = context;
    if (walk->has_position)
        pg_params_uuid(params, walk->position);
    else
        pg_params_null(params);
    pg_params_int4(params, ROWS_PAGE);
}

static void ask_next(void *context);

static bool is_asked(const Walk *walk, const VisibleLeg *leg)
{
    return !leg->is_decided && leg->home == walk->asked;
}

static void fill(void *context, PgParams *params)
{
    const Walk *walk = context;
    size_t count = 0;
    for (size_t i = 0; i < walk->leg_count; i++)
        count += is_asked(walk, &walk->legs[i]) ? 1 : 0;
    pg_params_array(params, PG_ELEMENT_UUID, count);
    for (size_t i = 0; i < walk->leg_count; i++)
    {
        if (is_asked(walk, &walk->legs[i]))
            pg_params_add_uuid(params, walk->legs[i].batch);
    }
}

/* Legs ascend by batch, as the page did. */
static VisibleLeg *leg_of(Walk *walk, const uint8_t batch[16])
{
    for (size_t low = 0, high = walk->leg_count; low < high;)
    {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(walk->legs[middle].batch, batch, 16);
        if (order == 0)
            return &walk->legs[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void undecided(Walk *walk, const VisibleLeg *leg)
{
    char batch[UUID_TEXT_MAX + 1];
    ReportItem item = {.kind = ITEM_DECISION_MISSING};
    uuid_format(leg->batch, batch);
    snprintf(item.detail, sizeof item.detail, "batch %s is not committed on %s", batch,
             shard_name(leg->home));
    walk_find(walk, &item);
}

/* The legs of the shard asked have been answered, or are given up. */
static void drop_asked(Walk *walk, bool report)
{
    size_t kept = 0;
    for (size_t i = 0; i < walk->leg_count; i++)
    {
        VisibleLeg *leg = &walk->legs[i];
        if (leg->home != walk->asked)
            walk->legs[kept++] = *leg;
        else if (report && !leg->is_decided)
            undecided(walk, leg);
    }
    walk->leg_count = kept;
    walk->asked = NULL;
}

static void answered(void *context, const PgRows *rows, const char *why)
{
    Walk *walk = context;
    bool again = false;
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        VisibleLeg *leg = leg_of(walk, pg_uuid(rows, row, 0));
        if (leg != NULL)
            leg->is_decided = true;
    }
    for (size_t i = 0; i < walk->leg_count; i++)
        again = again || is_asked(walk, &walk->legs[i]);
    if (rows == NULL)
        report_add_gap(walk_report(walk), shard_name(walk->asked), why);
    if (rows != NULL && again && walk->round < EXAM_ROUNDS)
    {
        loop_timer_start(walk->pause, exam_pause_ms(walk->round));
        walk->round++;
        return;
    }
    drop_asked(walk, rows != NULL);
    ask_next(walk);
}

void walk_ask_verdicts(void *context)
{
    Walk *walk = context;
    asker_ask(walk->options.exam.asker, walk->asked,
              &(Ask){STATEMENT_RECONCILE_VERDICTS, fill, answered, walk});
}

static void ask_next(void *context)
{
    Walk *walk = context;
    if (walk->leg_count == 0)
    {
        walk_page(walk);
        return;
    }
    walk->asked = walk->legs[0].home;
    walk->round = 1;
    walk_ask_verdicts(walk);
}

static void unknown_home(Walk *walk, const uint8_t batch_id[16], const char *home)
{
    char batch[UUID_TEXT_MAX + 1];
    ReportItem item = {.kind = ITEM_DECISION_MISSING};
    uuid_format(batch_id, batch);
    snprintf(item.detail, sizeof item.detail, "batch %s names the home %s, which is unknown", batch,
             home);
    walk_find(walk, &item);
}

void walk_settle_batches(Walk *walk, const PgRows *rows)
{
    size_t count = pg_row_count(rows);
    walk->leg_count = 0;
    if (count == 0)
    {
        walk_next_step(walk);
        return;
    }
    for (size_t row = 0; row < count; row++)
    {
        const char *home = pg_text(rows, row, 1);
        const uint8_t *batch = pg_uuid(rows, row, 0);
        if (home == NULL)
            continue;
        VisibleLeg *leg = &walk->legs[walk->leg_count];
        *leg = (VisibleLeg){
            .home = directory_shard_by_name(walk->options.exam.directory, home),
        };
        memcpy(leg->batch, batch, sizeof leg->batch);
        if (leg->home != NULL)
            walk->leg_count++;
        else
            unknown_home(walk, batch, home);
    }
    walk->has_position = true;
    memcpy(walk->position, pg_uuid(rows, count - 1, 0), sizeof walk->position);
    report_count(walk_report(walk), &(ReportCounts){.batches = (int64_t)count});
    ask_next(walk);
}
