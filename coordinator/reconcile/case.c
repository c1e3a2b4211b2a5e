/* See case.h. */
#include "reconcile/case.h"

#include <stdio.h>
#include <string.h>

/* Columns of the participant function reconcile_transfers. */
enum
{
    HOME_ID,
    HOME_STATE,
    HOME_MODE,
    HOME_AMOUNT,
    HOME_CURRENCY,
    HOME_BATCH,
    HOME_DEBIT_ACCOUNT,
    HOME_CREDIT_ACCOUNT,
    HOME_IS_DECIDED,
    HOME_DEBIT,
    HOME_REFUND,
    HOME_CREDIT_ENTRY_ACCOUNT,
    HOME_CREDIT_AMOUNT,
    HOME_HAS_DEBIT_ACCOUNT,
    HOME_HAS_CREDIT_ACCOUNT,
    HOME_IS_DUE,
};

/* … and of reconcile_credits. */
enum
{
    CREDIT_ID,
    CREDIT_IS_PREPARED,
    CREDIT_HAS_LEG,
    CREDIT_RECEIPT,
    CREDIT_ENTRY_ACCOUNT,
    CREDIT_AMOUNT,
    CREDIT_HAS_ACCOUNT,
};

void case_set_entry(Case *one, const ExamEntry *entry)
{
    snprintf(one->entry_account, sizeof one->entry_account, "%s", entry->account);
    one->entry_amount = entry->amount;
}

static Leg read_leg(const PgRows *rows, size_t row, size_t column)
{
    if (pg_is_null(rows, row, column))
        return LEG_NONE;
    return pg_bool(rows, row, column) ? LEG_RIGHT : LEG_WRONG;
}

static Leg compare_credit(const Case *one, const char *account, int64_t amount)
{
    bool right = amount == one->amount && strcmp(account, one->credit_account) == 0;
    return right ? LEG_RIGHT : LEG_WRONG;
}

static Leg read_credit(const Case *one, const PgRows *rows, size_t row, size_t account_column)
{
    if (pg_is_null(rows, row, account_column))
        return LEG_NONE;
    return compare_credit(one, pg_text(rows, row, account_column),
                          pg_int8(rows, row, account_column + 1));
}

static RecordedState read_state(const char *name)
{
    static const char *const names[] = {
        [RECORDED_PENDING] = "pending",
        [RECORDED_POSTED] = "posted",
        [RECORDED_REFUSED] = "refused",
        [RECORDED_REVERSED] = "reversed",
    };
    for (size_t i = RECORDED_PENDING; i < ARRAY_LENGTH(names); i++)
    {
        if (strcmp(names[i], name) == 0)
            return (RecordedState)i;
    }
    ASSERT(false);
    return RECORDED_NOT;
}

/* Does it take the credit's shard to judge it? */
static bool needs_credit_shard(const Case *one)
{
    if (one->origin == CASE_OF_CREDIT || one->evidence.state == RECORDED_REFUSED)
        return false;
    return one->evidence.mode != MODE_LOCAL || one->credit_shard != one->home;
}

static void locate_credit(Case *one, const Directory *directory)
{
    Location payee;
    if (one->origin == CASE_OF_CREDIT)
        return;
    one->credit_shard = one->home;
    if (route_account_id_is_valid(one->credit_account) &&
        directory_locate(directory, one->credit_account, &payee))
        one->credit_shard = payee.shard;
}

void case_take_home(Case *one, const PgRows *rows, size_t row, const Directory *directory)
{
    Evidence *evidence = &one->evidence;
    bool known = mode_parse(pg_text(rows, row, HOME_MODE), &evidence->mode);
    ASSERT(known);
    evidence->state = read_state(pg_text(rows, row, HOME_STATE));
    evidence->is_decided = pg_bool(rows, row, HOME_IS_DECIDED);
    evidence->is_due = pg_bool(rows, row, HOME_IS_DUE);
    evidence->debit = read_leg(rows, row, HOME_DEBIT);
    evidence->refund = read_leg(rows, row, HOME_REFUND);
    evidence->has_debit_account = pg_bool(rows, row, HOME_HAS_DEBIT_ACCOUNT);
    one->amount = pg_int8(rows, row, HOME_AMOUNT);
    memcpy(one->batch, pg_uuid(rows, row, HOME_BATCH), sizeof one->batch);
    snprintf(one->currency, sizeof one->currency, "%s", pg_text(rows, row, HOME_CURRENCY));
    snprintf(one->debit_account, sizeof one->debit_account, "%s",
             pg_text(rows, row, HOME_DEBIT_ACCOUNT));
    snprintf(one->credit_account, sizeof one->credit_account, "%s",
             pg_text(rows, row, HOME_CREDIT_ACCOUNT));
    locate_credit(one, directory);
    if (one->origin == CASE_OF_CREDIT)
    {
        evidence->credit = compare_credit(one, one->entry_account, one->entry_amount);
        evidence->has_credit_account = true;
    }
    else
    {
        evidence->credit = read_credit(one, rows, row, HOME_CREDIT_ENTRY_ACCOUNT);
        evidence->has_credit_account = pg_bool(rows, row, HOME_HAS_CREDIT_ACCOUNT);
    }
}

static Outcome read_outcome(const char *name)
{
    if (name == NULL)
        return OUTCOME_NONE;
    return strcmp(name, "applied") == 0 ? OUTCOME_APPLIED : OUTCOME_GIVEN_UP;
}

void case_take_credit(Case *one, const PgRows *rows, size_t row)
{
    Evidence *evidence = &one->evidence;
    evidence->credit_shard_was_asked = true;
    evidence->is_prepared = pg_bool(rows, row, CREDIT_IS_PREPARED);
    evidence->has_leg = pg_bool(rows, row, CREDIT_HAS_LEG);
    evidence->receipt = read_outcome(pg_text(rows, row, CREDIT_RECEIPT));
    evidence->credit = read_credit(one, rows, row, CREDIT_ENTRY_ACCOUNT);
    evidence->has_credit_account = pg_bool(rows, row, CREDIT_HAS_ACCOUNT);
}

bool case_has_question(const Case *one)
{
    if (one->is_unasked)
        return false;
    if (!one->home_was_asked)
        return true;
    return !one->credit_was_asked && one->evidence.state != RECORDED_NOT && needs_credit_shard(one);
}

void case_forget(Case *one)
{
    one->home_was_asked = false;
    one->credit_was_asked = false;
    one->evidence = (Evidence){0};
}

/* ---- judging -------------------------------------------------------------------------------- */

static bool speaks_of_credit(ItemKind kind)
{
    return kind == ITEM_TRANSFER_MISSING || kind == ITEM_CREDIT_WRONG ||
           kind == ITEM_CREDIT_UNFOUNDED;
}

size_t case_judge(const Case *one, Judgement ret_judgements[JUDGEMENTS_MAX])
{
    Evidence evidence = one->evidence;
    if (one->origin == CASE_OF_CREDIT && evidence.state == RECORDED_NOT)
        evidence.credit = LEG_RIGHT;
    size_t count = evidence_judge(&evidence, ret_judgements);
    if (one->origin != CASE_OF_CREDIT)
        return count;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
    {
        if (speaks_of_credit(ret_judgements[i].kind))
            ret_judgements[kept++] = ret_judgements[i];
    }
    return kept;
}

/* What explains an item in flight. */
static void explain(const Case *one, ItemKind kind, ReportItem *item)
{
    char batch[UUID_TEXT_MAX + 1];
    uuid_format(one->batch, batch);
    if (kind == ITEM_NOT_VISIBLE)
        snprintf(item->detail, sizeof item->detail,
                 "batch %s is decided, its leg on %s is prepared", batch,
                 shard_name(one->credit_shard));
    else if (kind == ITEM_CREDIT_DUE)
        snprintf(item->detail, sizeof item->detail,
                 "the leg of batch %s on %s was lost, its credit is done again", batch,
                 shard_name(one->credit_shard));
    else if (kind == ITEM_IN_TRANSIT && one->evidence.credit != LEG_NONE)
        snprintf(item->detail, sizeof item->detail, "pending saga, credited on %s, not closed yet",
                 shard_name(one->credit_shard));
    else if (kind == ITEM_IN_TRANSIT)
        snprintf(item->detail, sizeof item->detail, "pending saga, not credited on %s yet",
                 shard_name(one->credit_shard));
}

void case_item(const Case *one, const Judgement *judgement, ReportItem *ret_item)
{
    bool has_entry = one->origin != CASE_OF_HOME;
    bool recorded = one->evidence.state != RECORDED_NOT;
    bool at_credit = judgement->place == PLACE_CREDIT;
    const Shard *shard = at_credit ? one->credit_shard : one->home;
    const char *account = at_credit ? one->credit_account : one->debit_account;
    if (has_entry && (at_credit || !recorded))
        account = one->entry_account;
    *ret_item = (ReportItem){
        .kind = judgement->kind,
        .has_transfer = true,
        .has_amount = recorded || has_entry,
        .amount = recorded ? one->amount : one->entry_amount,
    };
    memcpy(ret_item->transfer, one->id, sizeof ret_item->transfer);
    snprintf(ret_item->shard, sizeof ret_item->shard, "%s", shard_name(shard));
    snprintf(ret_item->account, sizeof ret_item->account, "%s", account);
    snprintf(ret_item->currency, sizeof ret_item->currency, "%s", one->currency);
    explain(one, judgement->kind, ret_item);
}
