/* See evidence.h. */
#include "reconcile/evidence.h"

typedef struct Bench
{
    Judgement *judgements;
    size_t count;
} Bench;

static void tell(Bench *bench, ItemKind kind, Place place)
{
    ASSERT(bench->count < JUDGEMENTS_MAX);
    bench->judgements[bench->count++] = (Judgement){kind, place};
}

static void judge_debit(const Evidence *evidence, Bench *bench)
{
    bool due = evidence->state != RECORDED_REFUSED;
    if (due && evidence->debit == LEG_NONE)
        tell(bench, ITEM_DEBIT_MISSING, PLACE_DEBIT);
    else if (!due && evidence->debit != LEG_NONE)
        tell(bench, ITEM_DEBIT_UNFOUNDED, PLACE_DEBIT);
    else if (evidence->debit == LEG_WRONG)
        tell(bench, ITEM_DEBIT_WRONG, PLACE_DEBIT);
    if (evidence->debit != LEG_NONE && !evidence->has_debit_account)
        tell(bench, ITEM_ACCOUNT_MISSING, PLACE_DEBIT);
}

static void judge_refund(const Evidence *evidence, Bench *bench)
{
    bool due = evidence->state == RECORDED_REVERSED;
    if (due && evidence->refund == LEG_NONE)
        tell(bench, ITEM_REFUND_MISSING, PLACE_DEBIT);
    else if (!due && evidence->refund != LEG_NONE)
        tell(bench, ITEM_REFUND_UNFOUNDED, PLACE_DEBIT);
    else if (evidence->refund == LEG_WRONG)
        tell(bench, ITEM_REFUND_WRONG, PLACE_DEBIT);
}

/* A posted transfer whose credit does not show. */
static ItemKind missing_credit(const Evidence *evidence)
{
    if (evidence->mode == MODE_2PC && evidence->is_prepared)
        return ITEM_NOT_VISIBLE;
    if (evidence->mode == MODE_2PC && evidence->is_due && evidence->receipt == OUTCOME_NONE)
        return ITEM_CREDIT_DUE;
    return ITEM_CREDIT_MISSING;
}

static void judge_credit(const Evidence *evidence, Bench *bench)
{
    bool is_there = evidence->credit != LEG_NONE;
    switch (evidence->state)
    {
    case RECORDED_POSTED:
        if (!is_there)
            tell(bench, missing_credit(evidence), PLACE_CREDIT);
        break;
    case RECORDED_PENDING:
        if (!is_there && evidence->receipt == OUTCOME_APPLIED)
            tell(bench, ITEM_CREDIT_MISSING, PLACE_CREDIT);
        break;
    case RECORDED_REFUSED:
    case RECORDED_REVERSED:
        if (is_there)
            tell(bench, ITEM_CREDIT_UNFOUNDED, PLACE_CREDIT);
        return;
    case RECORDED_NOT:
        break;
    }
    if (evidence->credit == LEG_WRONG)
        tell(bench, ITEM_CREDIT_WRONG, PLACE_CREDIT);
    if (is_there && !evidence->has_credit_account)
        tell(bench, ITEM_ACCOUNT_MISSING, PLACE_CREDIT);
}

/* The rows that decide, where the credit's shard has told all it knows. */
static void judge_markers(const Evidence *evidence, Bench *bench)
{
    bool is_there = evidence->credit != LEG_NONE;
    bool posted = evidence->state == RECORDED_POSTED;
    if (is_there && evidence->receipt == OUTCOME_GIVEN_UP)
        tell(bench, ITEM_RECEIPT_CONTRADICTS, PLACE_CREDIT);
    else if (evidence->mode == MODE_SAGA && is_there && evidence->receipt == OUTCOME_NONE)
        tell(bench, ITEM_RECEIPT_MISSING, PLACE_CREDIT);
    else if (evidence->mode == MODE_2PC && posted && is_there && !evidence->has_leg &&
             evidence->receipt != OUTCOME_APPLIED)
        tell(bench, ITEM_LEG_MISSING, PLACE_CREDIT);
    if (evidence->state != RECORDED_REVERSED)
        return;
    if (evidence->receipt == OUTCOME_NONE)
        tell(bench, ITEM_RECEIPT_MISSING, PLACE_CREDIT);
    else if (evidence->receipt == OUTCOME_APPLIED)
        tell(bench, ITEM_RECEIPT_CONTRADICTS, PLACE_CREDIT);
}

size_t evidence_judge(const Evidence *evidence, Judgement ret_judgements[JUDGEMENTS_MAX])
{
    Bench bench = {.judgements = ret_judgements};
    if (evidence->state == RECORDED_NOT)
    {
        tell(&bench, ITEM_TRANSFER_MISSING,
             evidence->credit != LEG_NONE ? PLACE_CREDIT : PLACE_DEBIT);
        return bench.count;
    }
    judge_debit(evidence, &bench);
    judge_refund(evidence, &bench);
    judge_credit(evidence, &bench);
    if (evidence->credit_shard_was_asked)
        judge_markers(evidence, &bench);
    if (!evidence->is_decided)
        tell(&bench, ITEM_BATCH_MISSING, PLACE_DEBIT);
    if (evidence->state == RECORDED_PENDING)
        tell(&bench, ITEM_IN_TRANSIT, PLACE_DEBIT);
    return bench.count;
}
