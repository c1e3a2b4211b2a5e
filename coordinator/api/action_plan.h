/*
 * What an action would do to a transfer, and why, or why it makes no sense. Pure: the row at home
 * and, where the shards were probed, what each of them says, lead to one plan.
 *
 * Three rules bound all plans. Money goes back only behind a tombstone: a saga is asked to be given
 * up, and the receipt on the credit's shard decides. What was ever posted is never reversed. What
 * recovery does by itself is only made due at once.
 */
#ifndef GIRO_ACTION_PLAN_H
#define GIRO_ACTION_PLAN_H

#include "api/steps_document.h"

typedef enum Action
{
    ACTION_CANCEL,
    ACTION_RETRY,
    ACTION_RESOLVE,
    ACTION_COUNT,
} Action;
const char *action_name(Action action);

typedef enum PlanEffect
{
    PLAN_STANDS,      /* nothing: what is wished for stands already */
    PLAN_CONFLICT,    /* nothing: it makes no sense */
    PLAN_GIVE_UP,     /* note at home that the saga is to be reversed */
    PLAN_RETRY,       /* make it due now */
    PLAN_ACKNOWLEDGE, /* take the note away that its credit can no longer apply */
    PLAN_EFFECT_COUNT,
} PlanEffect;
const char *plan_effect_name(PlanEffect effect);

enum
{
    PLAN_WORDS_MAX = 255,
    PLAN_STEPS_MAX = 3,
};

typedef struct Plan
{
    PlanEffect effect;
    char why[PLAN_WORDS_MAX + 1]; /* for people */
    size_t step_count;
    char steps[PLAN_STEPS_MAX][PLAN_WORDS_MAX + 1]; /* what happens, in order */
} Plan;

typedef struct PlanQuestion
{
    Action action;
    TransferState outcome; /* of a resolve: posted or reversed */
    const TransferRecord *record;
    const StepsHome *home;     /* NULL: nobody was probed, which a resolve needs */
    const StepsRemote *remote; /* NULL: nobody was probed, or there is no other shard */
} PlanQuestion;

void plan_make(const PlanQuestion *question, Plan *ret_plan);

/* The plan and what it rests on, as a dry run answers it. Shards must have been probed. */
void plan_document_write(JsonWriter *writer, const PlanQuestion *question, const Plan *plan);

#endif
