/* See stage.h. */
#include "protocol/stage.h"

#include "base/log.h"
#include "protocol/modes.h"
#include "protocol/protocol.h"
#include "protocol/side.h"

enum
{
    RETRY_FIRST_MS = 20,
    RETRY_LAST_MS = 1000,
};

static const StageRow *table_of(TransferMode mode)
{
    switch (mode)
    {
    case MODE_LOCAL:
        return local_stages();
    case MODE_2PC:
        return two_phase_stages();
    case MODE_SAGA:
        return saga_stages();
    default:
        return NULL;
    }
}

const StageRow *stage_row(const Batch *batch, Stage stage)
{
    return &table_of(batch_kind_row(batch->kind)->mode)[stage];
}

static bool is_successor(const StageRow *row, Stage next)
{
    for (size_t i = 0; i < STAGE_SUCCESSORS_MAX; i++)
    {
        if (row->then[i] == next)
            return true;
    }
    return false;
}

/* Recovery enters the same table: where a leg is left when nobody knows the verdict, or where a
 * decided batch is left when nobody knows what became of its leg. */
static Stage first_stage(const Batch *batch)
{
    if (!batch->is_recovered)
        return STAGE_ACQUIRE;
    return batch->outcome == BATCH_COMMITTED ? STAGE_LOOK : STAGE_ASK;
}

/* The one place that changes the stage of a batch. */
static void set_stage(Batch *batch, Stage next)
{
    const StageRow *from = stage_row(batch, batch->stage);
    const StageRow *to = stage_row(batch, next);
    ASSERT(to->name != NULL);
    ASSERT(batch->stage == STAGE_NONE ? next == first_stage(batch) : is_successor(from, next));
    batch->tries = batch->stage == next ? batch->tries + 1 : 0;
    if (log_enabled(LOG_DEBUG))
    {
        char id[UUID_TEXT_MAX + 1];
        uuid_format(batch->id, id);
        log_debug("batch=%s %s %s -> %s", id, mode_name(batch_kind_row(batch->kind)->mode),
                  from->name != NULL ? from->name : "new", to->name);
    }
    batch_meters_enter(protocol_meters(batch->protocol), batch, next);
    batch->stage = next;
}

static uint64_t back_off_ms(int tries)
{
    uint64_t pause = RETRY_FIRST_MS;
    for (int i = 1; i < tries && pause < RETRY_LAST_MS; i++)
        pause *= 2;
    return pause < RETRY_LAST_MS ? pause : RETRY_LAST_MS;
}

static void send_stage(Batch *batch)
{
    stage_row(batch, batch->stage)->send(batch);
}

void stage_enter(Batch *batch, Stage next)
{
    /* acquire and lock go once per side, ascending: that is progress, not a retry. */
    bool retry = next == batch->stage && next != STAGE_ACQUIRE && next != STAGE_LOCK;
    set_stage(batch, next);
    if (!retry)
    {
        send_stage(batch);
        return;
    }
    /* What only waits keeps no session from anybody. */
    for (int i = 0; i < batch->side_count; i++)
        side_release(&batch->sides[i]);
    stage_pause(batch, back_off_ms(batch->tries), send_stage);
}

void stage_pause(Batch *batch, uint64_t ms, void (*then)(Batch *batch))
{
    if (loop_timer_running(batch->timer))
        return;
    batch->pending++;
    batch->after_pause = then;
    loop_timer_start(batch->timer, ms);
}

void stage_pause_over(void *context)
{
    Batch *batch = context;
    batch->pending--;
    if (batch->after_pause != NULL)
        batch->after_pause(batch);
    if (batch->pending == 0)
        protocol_ready(batch);
}

void stage_drive(Batch *batch)
{
    batch->driven = true;
    while (batch->pending == 0 && batch->stage != STAGE_RELEASE)
        stage_enter(batch, stage_row(batch, batch->stage)->settle(batch));
    batch->driven = false;
    if (batch->pending == 0)
        protocol_return_batch(batch);
}

static void print_row(FILE *out, const StageRow *table, const StageRow *row)
{
    fprintf(out, "  %-8s %-12s", row->name,
            row->sides == (SIDE_HOME | SIDE_REMOTE) ? "home, remote"
            : row->sides == SIDE_HOME               ? "home"
            : row->sides == SIDE_REMOTE             ? "remote"
                                                    : "-");
    for (size_t i = 0; i < STAGE_SUCCESSORS_MAX && row->then[i] != STAGE_NONE; i++)
        fprintf(out, "%s %s", i == 0 ? " ->" : " |", table[row->then[i]].name);
    fputc('\n', out);
}

void stage_print(FILE *out)
{
    for (TransferMode mode = 0; mode < MODE_COUNT; mode++)
    {
        const StageRow *table = table_of(mode);
        if (table == NULL)
            continue;
        fprintf(out, "%s\n", mode_name(mode));
        for (int stage = 0; stage < STAGE_COUNT; stage++)
        {
            if (table[stage].name != NULL)
                print_row(out, table, &table[stage]);
        }
    }
}

static void visit_row(StageVisitor visit, void *context, const char *mode, const StageRow *row)
{
    if (row->sides & SIDE_HOME)
        visit(context, mode, row->name, side_role_name(SIDE_HOME));
    if (row->sides & SIDE_REMOTE)
        visit(context, mode, row->name, side_role_name(SIDE_REMOTE));
}

void stage_visit_places(StageVisitor visit, void *context)
{
    for (TransferMode mode = 0; mode < MODE_COUNT; mode++)
    {
        const StageRow *table = table_of(mode);
        for (int stage = 0; table != NULL && stage < STAGE_COUNT; stage++)
        {
            if (table[stage].name != NULL)
                visit_row(visit, context, mode_name(mode), &table[stage]);
        }
    }
}
