/* One transfer under examination: what is known of it so far. The inside of Exam, free of I/O. */
#ifndef GIRO_CASE_H
#define GIRO_CASE_H

#include "reconcile/evidence.h"
#include "reconcile/exam.h"

typedef enum CaseOrigin
{
    CASE_OF_HOME,   /* the transfer is listed at home */
    CASE_OF_ORPHAN, /* a debit or refund entry without a transfer beside it */
    CASE_OF_CREDIT, /* a credit entry whose home is elsewhere */
} CaseOrigin;

typedef struct Case
{
    uint8_t id[16];
    CaseOrigin origin;
    Shard *home;
    Shard *credit_shard; /* NULL until home has said which account */
    bool home_was_asked;
    bool credit_was_asked; /* or need not be */
    bool is_unasked;       /* a shard did not answer: nothing can be said */
    bool is_open;          /* the result */
    Evidence evidence;
    uint8_t batch[16];
    int64_t amount;
    char currency[CURRENCY_MAX + 1];
    char debit_account[ACCOUNT_ID_MAX + 1];
    char credit_account[ACCOUNT_ID_MAX + 1];
    char entry_account[ACCOUNT_ID_MAX + 1]; /* but for CASE_OF_HOME */
    int64_t entry_amount;
} Case;

void case_set_entry(Case *one, const ExamEntry *entry);
/* Rows of reconcile_transfers and reconcile_credits. */
void case_take_home(Case *one, const PgRows *rows, size_t row, const Directory *directory);
void case_take_credit(Case *one, const PgRows *rows, size_t row);
bool case_has_question(const Case *one);
/* As if nobody had been asked. */
void case_forget(Case *one);

/* Of a credit's case only what speaks of the credit: the rest is said at home. */
size_t case_judge(const Case *one, Judgement ret_judgements[JUDGEMENTS_MAX]);
void case_item(const Case *one, const Judgement *judgement, ReportItem *ret_item);

#endif
