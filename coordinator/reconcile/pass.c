/* See pass.h. */
#include "reconcile/pass.h"

#include "reconcile/walk.h"

#include <stdlib.h>

enum
{
    HOLD_MS = 60000,
    HOLD_AGAIN_MS = 20000,
    CALLS_MAX = 64,
    CALL_DEADLINE_MS = LONG_READ_MS + 15000, /* the server's limit comes first */
    PARAMETER_BYTES = 512 * 1024,
};

struct Pass
{
    PassOptions options;
    Asker *asker;
    Report *report;
    Shard *first;
    LoopTimer *hold; /* before the claim is extended */
    size_t next;     /* position of the next shard to be walked */
    size_t walking;
    bool granted;
    bool is_first;
    bool ending;
    size_t calls; /* claims and the end, under way */
};

static void ask_claim(Pass *pass);

CallerOptions pass_caller_options(void)
{
    return (CallerOptions){
        .calls_max = CALLS_MAX,
        .deadline_ms = CALL_DEADLINE_MS,
        .parameter_bytes = PARAMETER_BYTES,
    };
}

/* The pass may be freed by its owner. */
static void conclude(Pass *pass)
{
    if (pass->calls > 0)
        return;
    report_end(pass->report);
    pass->options.done(pass->options.context, pass);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void fill_end(void *context, PgParams *params)
{
    const Pass *pass = context;
    pg_params_text(params, pass->options.holder);
    pg_params_bool(params, report_has_no_gap(pass->report));
    pg_params_bool(params, report_is_full(pass->report));
}

static void ended(void *context, const PgRows *rows, const char *why)
{
    Pass *pass = context;
    if (rows == NULL)
        report_add_gap(pass->report, shard_name(pass->first), why);
    pass->calls--;
    conclude(pass);
}

static void end(Pass *pass)
{
    pass->ending = true;
    loop_timer_stop(pass->hold);
    pass->calls++;
    asker_ask(pass->asker, pass->first, &(Ask){STATEMENT_RECONCILE_END, fill_end, ended, pass});
}

/* ---- walks ---------------------------------------------------------------------------------- */

static void walk_done(void *context, Walk *walk);

static void start_walks(Pass *pass)
{
    size_t count = directory_shard_count(pass->options.directory);
    while (pass->next < count && pass->walking < PASS_WALKS_MAX)
    {
        WalkOptions options = {
            .exam =
                {
                    .loop = pass->options.loop,
                    .directory = pass->options.directory,
                    .asker = pass->asker,
                    .report = pass->report,
                    .here = directory_shard(pass->options.directory, pass->next++),
                },
            .full = report_is_full(pass->report),
            .anew = report_is_full(pass->report) && !pass->is_first,
            .done = walk_done,
            .context = pass,
        };
        pass->walking++;
        walk_new(&options);
    }
}

static void walk_done(void *context, Walk *walk)
{
    Pass *pass = context;
    walk_free(walk);
    pass->walking--;
    start_walks(pass);
    if (pass->walking == 0)
        end(pass);
}

/* ---- the claim ------------------------------------------------------------------------------ */

static void fill_claim(void *context, PgParams *params)
{
    const Pass *pass = context;
    pg_params_text(params, pass->options.holder);
    pg_params_int8(params, HOLD_MS);
    if (pass->options.every_ms > 0 && !pass->granted)
        pg_params_int8(params, (int64_t)pass->options.every_ms);
    else
        pg_params_null(params);
}

static void claimed_first(Pass *pass, const PgRows *rows)
{
    bool by_request = pass->options.every_ms == 0;
    pass->granted = rows != NULL ? pg_bool(rows, 0, 0) : by_request;
    if (!pass->granted)
    {
        conclude(pass);
        return;
    }
    pass->is_first = rows != NULL && pg_bool(rows, 0, 1);
    if (pass->is_first)
        report_set_full(pass->report, true);
    loop_timer_start(pass->hold, HOLD_AGAIN_MS);
    start_walks(pass);
}

static void claimed(void *context, const PgRows *rows, const char *why)
{
    Pass *pass = context;
    pass->calls--;
    if (rows == NULL)
        report_add_gap(pass->report, shard_name(pass->first), why);
    if (!pass->granted)
        claimed_first(pass, rows);
    else if (!pass->ending)
        loop_timer_start(pass->hold, HOLD_AGAIN_MS);
    else if (pass->walking == 0)
        conclude(pass);
}

static void ask_claim(Pass *pass)
{
    pass->calls++;
    asker_ask(pass->asker, pass->first,
              &(Ask){STATEMENT_RECONCILE_CLAIM, fill_claim, claimed, pass});
}

static void on_hold(void *context)
{
    ask_claim(context);
}

/* ---- life ----------------------------------------------------------------------------------- */

Pass *pass_new(const PassOptions *options)
{
    ASSERT(directory_shard_count(options->directory) > 0);
    Pass *pass = base_calloc(1, sizeof *pass);
    AskerOptions asker = {
        .loop = options->loop,
        .caller = options->caller,
        .rests = options->rests,
        .patience_ms = options->patience_ms,
    };
    pass->options = *options;
    pass->report = report_new(options->full);
    pass->asker = asker_new(&asker);
    pass->hold = loop_timer_new(options->loop, on_hold, pass);
    pass->first = directory_shard(options->directory, 0);
    ask_claim(pass);
    return pass;
}

void pass_free(Pass *pass)
{
    if (pass == NULL)
        return;
    asker_free(pass->asker);
    report_free(pass->report);
    loop_timer_free(pass->hold);
    free(pass);
}

void pass_stop(Pass *pass)
{
    asker_stop(pass->asker);
}

bool pass_was_granted(const Pass *pass)
{
    return pass->granted;
}

const Report *pass_report(const Pass *pass)
{
    return pass->report;
}

Report *pass_take_report(Pass *pass)
{
    Report *report = pass->report;
    pass->report = NULL;
    return report;
}
