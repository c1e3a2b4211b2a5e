/*
 * The chain of an account's entries: seqs without gaps from the start on, each balance that of the
 * one before plus the amount, and at the end the account's own version and balance. Then the
 * balance is the sum of all entries. Pure: fed row by row, in order; an account may go on over
 * pages.
 *
 * One fault per account and place is told; behind it the chain goes on from what stands, so that
 * the next fault is seen as well.
 */
#ifndef GIRO_CHAIN_H
#define GIRO_CHAIN_H

#include "reconcile/report.h"

typedef struct ChainRow
{
    const char *account;
    int64_t balance; /* the account's */
    int64_t version;
    int64_t start_seq; /* where its chain was proved up to */
    int64_t start_balance;
    bool has_entry;
    int64_t seq;
    int64_t amount;
    int64_t entry_balance;
} ChainRow;

typedef struct Chain
{
    char account[ACCOUNT_ID_MAX + 1]; /* "" = none is open */
    int64_t seq;                      /* of the last entry seen */
    int64_t balance;                  /* behind it */
    int64_t version;                  /* the account's, as of its last row */
    int64_t head;                     /* its balance, the same */
    bool faulty;
} Chain;

void chain_clear(Chain *chain);
bool chain_is_open(const Chain *chain);
/* Is the row of the open account? */
bool chain_goes_on(const Chain *chain, const ChainRow *row);
/* Opens the row's account; none may be open. */
void chain_open(Chain *chain, const ChainRow *row);
/* Takes a row of the open account. True with the kind, account and amount of *ret_fault if it does
 * not fit on. */
bool chain_add(Chain *chain, const ChainRow *row, ReportItem *ret_fault);
/* The account has no further entries. True with a fault if its head is not that of its entries. */
bool chain_end(Chain *chain, ReportItem *ret_fault);

#endif
