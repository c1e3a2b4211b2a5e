/* See action_plan.h. */
#include "api/action_plan.h"

#include "api/transfer_document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const action_names[ACTION_COUNT] = {
    [ACTION_CANCEL] = "cancel",
    [ACTION_RETRY] = "retry",
    [ACTION_RESOLVE] = "resolve",
};

const char *action_name(Action action)
{
    ASSERT(action >= 0 && action < ACTION_COUNT);
    return action_names[action];
}

static const char *const effect_names[PLAN_EFFECT_COUNT] = {
    [PLAN_STANDS] = "none",     [PLAN_CONFLICT] = "none",           [PLAN_GIVE_UP] = "give-up",
    [PLAN_RETRY] = "retry-now", [PLAN_ACKNOWLEDGE] = "acknowledge",
};

const char *plan_effect_name(PlanEffect effect)
{
    ASSERT(effect >= 0 && effect < PLAN_EFFECT_COUNT);
    return effect_names[effect];
}

static void decide(Plan *plan, PlanEffect effect, const char *format, ...) ATTR_PRINTF(3, 4);
static void decide(Plan *plan, PlanEffect effect, const char *format, ...)
{
    va_list arguments;
    plan->effect = effect;
    va_start(arguments, format);
    vsnprintf(plan->why, sizeof plan->why, format, arguments);
    va_end(arguments);
}

static void add_step(Plan *plan, const char *format, ...) ATTR_PRINTF(2, 3);
static void add_step(Plan *plan, const char *format, ...)
{
    va_list arguments;
    ASSERT(plan->step_count < PLAN_STEPS_MAX);
    va_start(arguments, format);
    vsnprintf(plan->steps[plan->step_count++], sizeof plan->steps[0], format, arguments);
    va_end(arguments);
}

/* ---- what is the case ----------------------------------------------------------------------- */

static bool has_receipt(const PlanQuestion *question, const char *outcome)
{
    const StepsRemote *remote = question->remote;
    return remote != NULL && remote->receipt != NULL && strcmp(remote->receipt, outcome) == 0;
}

static bool is_credited(const PlanQuestion *question)
{
    return has_receipt(question, "applied");
}

static bool cannot_be_credited(const PlanQuestion *question)
{
    return has_receipt(question, "refused") || has_receipt(question, "cancelled");
}

static bool is_pending(const PlanQuestion *question)
{
    return question->record->state == TRANSFER_PENDING;
}

/* A pending saga, or a posted transfer whose credit is being done again. */
static bool is_due(const PlanQuestion *question)
{
    return question->record->next_attempt_at_us != 0;
}

static bool attention_is(const PlanQuestion *question, const char *word)
{
    const char *attention = question->record->attention;
    return attention != NULL && strncmp(attention, word, strlen(word)) == 0;
}

/* ---- plans ---------------------------------------------------------------------------------- */

static void plan_give_up(const PlanQuestion *question, Plan *plan)
{
    const TransferRecord *record = question->record;
    if (is_credited(question))
        decide(plan, PLAN_GIVE_UP, "the credit stands on %s: it will be posted all the same",
               record->credit_shard);
    else
        decide(plan, PLAN_GIVE_UP,
               "a pending saga can be given up; what becomes of it is decided by the receipt on %s",
               record->credit_shard);
    add_step(plan, "home, %s: note that the saga is to be reversed, and make it due now",
             record->debit_shard);
    add_step(plan, "credit, %s: a cancelled receipt, unless one stands there; it is waited for",
             record->credit_shard);
    add_step(plan, "home, %s: refund the amount by a new entry; or, if the credit came first, post",
             record->debit_shard);
}

static void plan_retry(const PlanQuestion *question, Plan *plan)
{
    const TransferRecord *record = question->record;
    decide(plan, PLAN_RETRY, "it is made due now; every step may be done twice without harm");
    add_step(plan, "home, %s: make it due now, so that a coordinator claims it at once",
             record->debit_shard);
    if (is_credited(question))
        add_step(plan, "home, %s: post it, since the credit stands", record->debit_shard);
    else if (cannot_be_credited(question))
        add_step(plan, "home, %s: refund the amount, since the credit never will apply",
                 record->debit_shard);
    else
        add_step(plan, "credit, %s, then home: go on where it stopped", record->credit_shard);
}

/* Why what is decided by two-phase commit cannot be hurried by hand. */
static void plan_nothing_for_leg(const PlanQuestion *question, Plan *plan)
{
    decide(plan, PLAN_CONFLICT,
           "it is decided, and its leg is tried again by itself until %s applies it: %s",
           question->record->waits_for,
           attention_is(question, "leg-stuck") ? "see the advice, which only a person can follow"
                                               : "bring that shard back");
}

static void plan_cancel(const PlanQuestion *question, Plan *plan)
{
    const TransferRecord *record = question->record;
    if (is_pending(question))
        plan_give_up(question, plan);
    else if (record->state == TRANSFER_REVERSED && record->refusal == ERROR_CANCELLED)
        decide(plan, PLAN_STANDS, "it was cancelled");
    else if (record->mode != MODE_SAGA)
        decide(plan, PLAN_CONFLICT, "only a saga can be cancelled");
    else
        decide(plan, PLAN_CONFLICT, "the transfer is final");
}

static void plan_try_again(const PlanQuestion *question, Plan *plan)
{
    if (is_due(question))
        plan_retry(question, plan);
    else if (question->record->waits_for != NULL)
        plan_nothing_for_leg(question, plan);
    else
        decide(plan, PLAN_CONFLICT, "the transfer is final: nothing of it is left to be tried");
}

static void plan_resolve_pending(const PlanQuestion *question, Plan *plan)
{
    const char *shard = question->record->credit_shard;
    bool as_posted = question->outcome == TRANSFER_POSTED;
    if (as_posted && cannot_be_credited(question))
        decide(plan, PLAN_CONFLICT, "the credit is %s on %s: it can only be reversed",
               question->remote->receipt, shard);
    else if (as_posted && question->home->giving_up && !is_credited(question))
        decide(plan, PLAN_CONFLICT, "it is being given up already: it can only be reversed");
    else if (!as_posted && is_credited(question))
        decide(plan, PLAN_CONFLICT, "the credit stands on %s, and is never taken back", shard);
    else if (as_posted || cannot_be_credited(question))
        plan_retry(question, plan);
    else
        plan_give_up(question, plan);
}

/* Only posted 2PC transfers can be final and need a person. */
static void plan_resolve_posted(const PlanQuestion *question, Plan *plan)
{
    const TransferRecord *record = question->record;
    if (question->outcome != TRANSFER_POSTED)
        decide(plan, PLAN_CONFLICT,
               "what was ever posted is never reversed: pay the amount back by a new transfer");
    else if (is_due(question))
        plan_retry(question, plan);
    else if (attention_is(question, "credit-refused") && cannot_be_credited(question))
    {
        decide(plan, PLAN_ACKNOWLEDGE,
               "the debit stands, the credit is %s on %s and never will apply: pay the amount by a "
               "new transfer",
               question->remote->receipt, record->credit_shard);
        add_step(plan, "home, %s: take the note away; no money moves", record->debit_shard);
    }
    else if (record->waits_for != NULL)
        plan_nothing_for_leg(question, plan);
    else
        decide(plan, PLAN_CONFLICT, "what the shards say does not explain why it needs a person");
}

static void plan_resolve(const PlanQuestion *question, Plan *plan)
{
    const TransferRecord *record = question->record;
    ASSERT(question->home != NULL);
    if (record->attention == NULL && record->state == question->outcome)
        decide(plan, PLAN_STANDS, "it is %s", transfer_state_name(record->state));
    else if (record->attention == NULL)
        decide(plan, PLAN_CONFLICT, "it needs nobody's attention");
    else if (is_pending(question))
        plan_resolve_pending(question, plan);
    else
        plan_resolve_posted(question, plan);
}

void plan_make(const PlanQuestion *question, Plan *ret_plan)
{
    static void (*const makers[ACTION_COUNT])(const PlanQuestion *, Plan *) = {
        [ACTION_CANCEL] = plan_cancel,
        [ACTION_RETRY] = plan_try_again,
        [ACTION_RESOLVE] = plan_resolve,
    };
    *ret_plan = (Plan){0};
    makers[question->action](question, ret_plan);
}

/* ---- the document --------------------------------------------------------------------------- */

static void write_home(JsonWriter *writer, const StepsHome *home)
{
    char batch[UUID_TEXT_MAX + 1];
    uuid_format(home->batch, batch);
    json_begin_object(writer, "home");
    json_put_string(writer, "shard", home->shard);
    json_put_string(writer, "state", transfer_state_name(home->state));
    json_put_bool(writer, "giving_up", home->giving_up);
    json_put_string(writer, "batch_id", batch);
    json_put_string(writer, "verdict", home->coordinator != NULL ? "commit" : NULL);
    json_put_string(writer, "coordinator", home->coordinator);
    json_put_timestamp(writer, "recorded_at", home->created_at_us);
    json_put_timestamp(writer, "leg_seen_at", home->finished_at_us);
    json_put_timestamp(writer, "refunded_at", home->refunded_at_us);
    json_end_object(writer);
}

static void write_remote(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    if (remote == NULL)
    {
        json_put_null(writer, "credit");
        return;
    }
    json_begin_object(writer, "credit");
    json_put_string(writer, "shard", home->remote_shard);
    json_put_bool(writer, "answered", remote->trouble == NULL);
    json_put_string(writer, "trouble", remote->trouble);
    json_put_string(writer, "receipt", remote->receipt);
    json_put_string(writer, "refusal", remote->refusal);
    json_put_timestamp(writer, "receipt_at", remote->receipt_at_us);
    json_put_bool(writer, "leg_is_prepared", remote->is_prepared);
    json_put_timestamp(writer, "leg_at", remote->leg_at_us);
    json_put_timestamp(writer, "credited_at", remote->credited_at_us);
    json_end_object(writer);
}

void plan_document_write(JsonWriter *writer, const PlanQuestion *question, const Plan *plan)
{
    bool is_resolve = question->action == ACTION_RESOLVE;
    json_begin_object(writer, NULL);
    json_put_bool(writer, "dry_run", true);
    json_put_string(writer, "action", action_name(question->action));
    json_put_string(writer, "outcome", is_resolve ? transfer_state_name(question->outcome) : NULL);
    json_put_bool(writer, "possible", plan->effect != PLAN_CONFLICT);
    json_put_string(writer, "effect", plan_effect_name(plan->effect));
    json_put_string(writer, "explanation", plan->why);
    json_begin_array(writer, "plan");
    for (size_t i = 0; i < plan->step_count; i++)
        json_put_string(writer, NULL, plan->steps[i]);
    json_end_array(writer);
    transfer_document_write(writer, "transfer", question->record);
    json_begin_object(writer, "evidence");
    write_home(writer, question->home);
    write_remote(writer, question->home, question->remote);
    json_end_object(writer);
    json_end_object(writer);
}
