/* See plan.h. */
#include "plan.h"

#include "dice.h"

#include "base/base.h"

#include <stdlib.h>

struct Plan
{
    PlanStep *steps;
    size_t count;
    size_t size;
    int end_ms;
};

/* Steps behind the end are what ends a trouble: they come at the end. */
static void add(Plan *plan, PlanStep step)
{
    if (plan->count == plan->size)
    {
        plan->size = 2 * plan->size + 256;
        plan->steps = base_realloc(plan->steps, plan->size * sizeof(plan->steps[0]));
    }
    step.at_ms = step.at_ms < plan->end_ms ? step.at_ms : plan->end_ms;
    step.number = plan->count;
    plan->steps[plan->count++] = step;
}

/* Returns when it is over. */
static int add_pair(Plan *plan, PlanStep begin, Deed end, int length_ms)
{
    add(plan, begin);
    begin.deed = end;
    begin.at_ms += length_ms;
    add(plan, begin);
    return begin.at_ms;
}

/* ---- one track each; all return when the trouble is over ------------------------------------- */

static int trouble_directory(Plan *plan, Dice *dice, PlanStep step)
{
    step.deed = DEED_KILL_POSTGRES;
    int over_ms = add_pair(plan, step, DEED_START_POSTGRES, dice_between(dice, 300, 3000));
    return over_ms + dice_between(dice, 8000, 16000);
}

static int trouble_shard(Plan *plan, Dice *dice, PlanStep step)
{
    int roll = dice_between(dice, 1, 100);
    if (roll <= 35)
    {
        step.deed = DEED_KILL_POSTGRES;
        return add_pair(plan, step, DEED_START_POSTGRES, dice_between(dice, 100, 3000));
    }
    if (roll <= 60)
    {
        int length_ms =
            dice_chance(dice, 15) ? dice_between(dice, 5000, 9000) : dice_between(dice, 100, 3500);
        step.deed = DEED_STOP_POSTGRES;
        return add_pair(plan, step, DEED_CONTINUE_POSTGRES, length_ms);
    }
    step.deed = DEED_STORM;
    for (int i = dice_between(dice, 1, 5); i > 0; i--)
    {
        add(plan, step);
        step.at_ms += dice_between(dice, 20, 400);
    }
    return step.at_ms;
}

static int trouble_girod(Plan *plan, Dice *dice, PlanStep step)
{
    if (dice_chance(dice, 50))
    {
        step.deed = DEED_KILL_GIROD;
        return add_pair(plan, step, DEED_START_GIROD, dice_between(dice, 0, 2500));
    }
    int length_ms =
        dice_chance(dice, 15) ? dice_between(dice, 8000, 13000) : dice_between(dice, 50, 3000);
    step.deed = DEED_STOP_GIROD;
    return add_pair(plan, step, DEED_CONTINUE_GIROD, length_ms);
}

static ProxyRule choose_swallow(Dice *dice)
{
    static const char *const tags[] = {"COMMIT", "PREPARE TRANSACTION", "COMMIT PREPARED",
                                       "ROLLBACK PREPARED"};
    return (ProxyRule){.action = PROXY_SWALLOW, .tag = tags[dice_between(dice, 0, 3)]};
}

static ProxyRule choose_statement(Dice *dice)
{
    /* What is executed often stands there more than once. */
    static const char *const statements[] = {
        "lock",    "lock",    "apply",     "apply",   "record", "record",
        "receive", "receive", "settle",    "settle",  "COMMIT", "PREPARE TRANSACTION",
        "claim",   "verdict", "tombstone", "session", "finish", "COMMIT PREPARED",
    };
    static const ProxyAction actions[] = {PROXY_CUT_BEFORE, PROXY_CUT_AFTER, PROXY_DELAY,
                                          PROXY_DELAY_REPLY, PROXY_SWALLOW};
    int last = (int)ARRAY_LENGTH(statements) - 1;
    return (ProxyRule){.action = actions[dice_between(dice, 0, (int)ARRAY_LENGTH(actions) - 1)],
                       .statement = statements[dice_between(dice, 0, last)],
                       .ms = dice_chance(dice, 10) ? dice_between(dice, 4000, 8000)
                                                   : dice_between(dice, 5, 1500)};
}

static int trouble_proxy(Plan *plan, Dice *dice, PlanStep step)
{
    int roll = dice_between(dice, 1, 100);
    int length_ms = dice_between(dice, 500, 4000);
    if (roll <= 5)
    {
        step.deed = DEED_CUT_ALL;
        add(plan, step);
        return step.at_ms;
    }
    if (roll <= 10)
    {
        step.deed = DEED_HOLE;
        return add_pair(plan, step, DEED_NO_HOLE, dice_between(dice, 200, 5000));
    }
    step.deed = DEED_RULE;
    step.rule = roll <= 55 ? choose_swallow(dice) : choose_statement(dice);
    step.rule.count = dice_between(dice, 1, 8);
    return add_pair(plan, step, DEED_NO_RULE, length_ms);
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct Track
{
    int (*trouble)(Plan *plan, Dice *dice, PlanStep step);
    int target;
    int least_ms; /* between two troubles */
    int most_ms;
} Track;

static void lay(Plan *plan, const Track *track, Dice dice)
{
    int at_ms = dice_between(&dice, 300, track->most_ms);
    while (at_ms < plan->end_ms)
    {
        PlanStep step = {.at_ms = at_ms, .target = track->target};
        at_ms = track->trouble(plan, &dice, step);
        at_ms += dice_between(&dice, track->least_ms, track->most_ms);
    }
}

static int compare_steps(const void *a, const void *b)
{
    const PlanStep *left = a;
    const PlanStep *right = b;
    if (left->at_ms != right->at_ms)
    {
        return left->at_ms < right->at_ms ? -1 : 1;
    }
    return left->number < right->number ? -1 : 1;
}

Plan *plan_new(const PlanOptions *options)
{
    ASSERT(options->seconds > 0 && options->seconds <= PLAN_SECONDS_MAX);
    Plan *plan = base_calloc(1, sizeof(*plan));
    uint64_t stream = 100;
    plan->end_ms = options->seconds * 1000;
    Track directory = {trouble_directory, 0, 3000, 9000};
    lay(plan, &directory, dice_new(options->seed, stream++));
    for (int i = 1; i <= options->shards; i++)
    {
        Track shard = {trouble_shard, i, 2000, 7000};
        Track proxy = {trouble_proxy, i, 100, 1500};
        lay(plan, &shard, dice_new(options->seed, stream++));
        lay(plan, &proxy, dice_new(options->seed, stream++));
    }
    for (int i = 1; i <= options->coordinators; i++)
    {
        Track girod = {trouble_girod, i, 2500, 8000};
        lay(plan, &girod, dice_new(options->seed, stream++));
    }
    qsort(plan->steps, plan->count, sizeof(plan->steps[0]), compare_steps);
    return plan;
}

void plan_free(Plan *plan)
{
    if (plan != NULL)
    {
        free(plan->steps);
        free(plan);
    }
}

size_t plan_count(const Plan *plan)
{
    return plan->count;
}

const PlanStep *plan_step(const Plan *plan, size_t index)
{
    ASSERT(index < plan->count);
    return &plan->steps[index];
}

bool plan_ends_trouble(const PlanStep *step)
{
    static const bool ends[DEED_COUNT] = {
        [DEED_START_POSTGRES] = true, [DEED_CONTINUE_POSTGRES] = true, [DEED_START_GIROD] = true,
        [DEED_CONTINUE_GIROD] = true, [DEED_NO_RULE] = true,           [DEED_NO_HOLE] = true,
    };
    return ends[step->deed];
}
