/*
 * The step that proves accounts, see walk.h: every page's rows go through the chain (chain.h), and
 * what they say of transfers goes to the exam.
 *
 * The transfers of all new entries are examined at their home. Only a walk anew comes to them in
 * the step after this, and here looks at entries whose transfer is not beside them. An account with
 * a fault is not noted as proved: the next pass finds the fault again.
 */
#include "reconcile/walk_inside.h"

#include <string.h>

enum
{
    ACCOUNTS_PAGE = 5000,
};

/* Columns of the participant function reconcile_accounts. */
enum
{
    COLUMN_ACCOUNT,
    COLUMN_BALANCE,
    COLUMN_VERSION,
    COLUMN_START_SEQ,
    COLUMN_START_BALANCE,
    COLUMN_SEQ,
    COLUMN_STEP,
    COLUMN_AMOUNT,
    COLUMN_ENTRY_BALANCE,
    COLUMN_TRANSFER,
    COLUMN_COUNTERPARTY,
    COLUMN_HAS_TRANSFER,
    COLUMN_COMPARED,
};

void walk_fill_accounts(void *context, PgParams *params)
{
    const Walk *walk = context;
    bool inside = chain_is_open(&walk->chain);
    pg_params_bool(params, walk->options.anew);
    pg_params_text(params, inside ? walk->chain.account : walk->last_account);
    if (inside)
    {
        pg_params_int8(params, walk->chain.seq);
        pg_params_int8(params, walk->chain.balance);
    }
    else
    {
        pg_params_null(params);
        pg_params_null(params);
    }
    pg_params_int4(params, ACCOUNTS_PAGE);
    pg_params_int4(params, ROWS_PAGE);
}

static ChainRow read_row(const PgRows *rows, size_t row)
{
    ChainRow chain_row = {
        .account = pg_text(rows, row, COLUMN_ACCOUNT),
        .balance = pg_int8(rows, row, COLUMN_BALANCE),
        .version = pg_int8(rows, row, COLUMN_VERSION),
        .start_seq = pg_int8(rows, row, COLUMN_START_SEQ),
        .start_balance = pg_int8(rows, row, COLUMN_START_BALANCE),
        .has_entry = !pg_is_null(rows, row, COLUMN_SEQ),
    };
    if (chain_row.has_entry)
    {
        chain_row.seq = pg_int8(rows, row, COLUMN_SEQ);
        chain_row.amount = pg_int8(rows, row, COLUMN_AMOUNT);
        chain_row.entry_balance = pg_int8(rows, row, COLUMN_ENTRY_BALANCE);
    }
    return chain_row;
}

/* As far as the open account's chain is sound. */
static void prove(Walk *walk)
{
    const Chain *chain = &walk->chain;
    if (chain->faulty)
        return;
    Proof *proof = &walk->proofs[walk->proof_count++];
    memcpy(proof->account, chain->account, sizeof proof->account);
    proof->seq = chain->seq;
    proof->balance = chain->balance;
}

static void close_chain(Walk *walk)
{
    ReportItem fault;
    if (!chain_is_open(&walk->chain))
        return;
    if (chain_end(&walk->chain, &fault))
        walk_find(walk, &fault);
    prove(walk);
    chain_clear(&walk->chain);
}

/* The account that the page before was cut in: no row says that its head fits where we stand. */
static void close_resumed(Walk *walk, const PgRows *rows, size_t count)
{
    Chain *chain = &walk->chain;
    if (!chain_is_open(chain))
        return;
    bool goes_on = count > 0 && strcmp(chain->account, pg_text(rows, 0, COLUMN_ACCOUNT)) == 0;
    if (goes_on)
        return;
    chain->version = chain->seq;
    chain->head = chain->balance;
    close_chain(walk);
}

static void examine(Walk *walk, const PgRows *rows, size_t row)
{
    const uint8_t *transfer = pg_uuid(rows, row, COLUMN_TRANSFER);
    ExamEntry entry = {
        .transfer = transfer,
        .account = pg_text(rows, row, COLUMN_ACCOUNT),
        .amount = pg_int8(rows, row, COLUMN_AMOUNT),
        .counterparty = pg_text(rows, row, COLUMN_COUNTERPARTY),
    };
    bool is_credit = strcmp(pg_text(rows, row, COLUMN_STEP), "credit") == 0;
    if (pg_bool(rows, row, COLUMN_HAS_TRANSFER))
    {
        if (!walk->options.anew)
            exam_add(walk->exam, transfer);
    }
    else if (is_credit)
        exam_add_credit(walk->exam, &entry);
    else
        exam_add_orphan(walk->exam, &entry);
}

static void take_row(Walk *walk, const PgRows *rows, size_t row)
{
    ChainRow chain_row = read_row(rows, row);
    ReportItem fault;
    if (!chain_goes_on(&walk->chain, &chain_row))
    {
        close_chain(walk);
        chain_open(&walk->chain, &chain_row);
    }
    if (chain_add(&walk->chain, &chain_row, &fault))
        walk_find(walk, &fault);
    if (chain_row.has_entry)
        examine(walk, rows, row);
}

static void disprove(Walk *walk, const char *account)
{
    if (strcmp(walk->chain.account, account) == 0)
        walk->chain.faulty = true;
    for (size_t i = 0; i < walk->proof_count; i++)
    {
        if (strcmp(walk->proofs[i].account, account) == 0)
        {
            walk->proofs[i] = walk->proofs[--walk->proof_count];
            return;
        }
    }
}

static void examined(void *context)
{
    Walk *walk = context;
    for (size_t i = 0; i < exam_count(walk->exam); i++)
    {
        ExamResult result = exam_result(walk->exam, i);
        if (result.entry_account != NULL && result.standing == EXAM_OPEN)
            disprove(walk, result.entry_account);
    }
    if (walk->options.anew && walk->proof_count > 0)
        walk_forget(walk);
    else if (!walk->options.anew && (walk->proof_count > 0 || exam_count(walk->exam) > 0))
        walk_note(walk);
    else
        walk_page(walk);
}

/* What of the page counts, for the report. */
static void count_page(Walk *walk, const PgRows *rows, size_t count)
{
    ReportCounts counts = {.accounts = pg_int8(rows, count, COLUMN_COMPARED)};
    for (size_t row = 0; row < count; row++)
    {
        bool is_entry = !pg_is_null(rows, row, COLUMN_SEQ);
        counts.entries += is_entry ? 1 : 0;
        counts.credits += is_entry && !pg_bool(rows, row, COLUMN_HAS_TRANSFER) ? 1 : 0;
        counts.transfers +=
            is_entry && !walk->options.full && strcmp(pg_text(rows, row, COLUMN_STEP), "debit") == 0
                ? 1
                : 0;
    }
    report_count(walk_report(walk), &counts);
}

void walk_settle_accounts(Walk *walk, const PgRows *rows)
{
    size_t count = pg_row_count(rows) - 1; /* the last one tells of the page */
    const char *last = pg_text(rows, count, COLUMN_ACCOUNT);
    bool cut = count == ROWS_PAGE;
    walk->proof_count = 0;
    exam_clear(walk->exam);
    count_page(walk, rows, count);
    close_resumed(walk, rows, count);
    for (size_t row = 0; row < count; row++)
        take_row(walk, rows, row);
    if (cut)
        prove(walk);
    else
        close_chain(walk);
    if (last == NULL)
    {
        walk_next_step(walk);
        return;
    }
    snprintf(walk->last_account, sizeof walk->last_account, "%s", last);
    if (exam_count(walk->exam) > 0)
        exam_run(walk->exam, false, examined, walk);
    else
        examined(walk);
}
