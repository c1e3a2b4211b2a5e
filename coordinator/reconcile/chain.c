/* See chain.h. */
#include "reconcile/chain.h"

#include <stdio.h>
#include <string.h>

void chain_clear(Chain *chain)
{
    *chain = (Chain){0};
}

bool chain_is_open(const Chain *chain)
{
    return chain->account[0] != '\0';
}

bool chain_goes_on(const Chain *chain, const ChainRow *row)
{
    return strcmp(chain->account, row->account) == 0;
}

static bool fault(Chain *chain, ItemKind kind, int64_t amount, ReportItem *ret_fault)
{
    *ret_fault = (ReportItem){.kind = kind, .has_amount = true, .amount = amount};
    memcpy(ret_fault->account, chain->account, sizeof ret_fault->account);
    chain->faulty = true;
    return true;
}

void chain_open(Chain *chain, const ChainRow *row)
{
    ASSERT(!chain_is_open(chain));
    *chain = (Chain){.seq = row->start_seq, .balance = row->start_balance};
    snprintf(chain->account, sizeof chain->account, "%s", row->account);
}

bool chain_add(Chain *chain, const ChainRow *row, ReportItem *ret_fault)
{
    ASSERT(chain_goes_on(chain, row));
    chain->version = row->version;
    chain->head = row->balance;
    if (!row->has_entry)
        return false;
    int64_t off = row->entry_balance - row->amount - chain->balance;
    bool gap = row->seq != chain->seq + 1;
    chain->seq = row->seq;
    chain->balance = row->entry_balance;
    if (gap)
        return fault(chain, ITEM_SEQUENCE_GAP, off, ret_fault);
    if (off != 0)
        return fault(chain, ITEM_ENTRY_BALANCE, off, ret_fault);
    return false;
}

bool chain_end(Chain *chain, ReportItem *ret_fault)
{
    ASSERT(chain_is_open(chain));
    int64_t off = chain->head - chain->balance;
    if (chain->version > chain->seq)
        return fault(chain, ITEM_ENTRY_MISSING, off, ret_fault);
    if (chain->version < chain->seq)
        return fault(chain, ITEM_ENTRY_SURPLUS, off, ret_fault);
    if (off != 0)
        return fault(chain, ITEM_BALANCE, off, ret_fault);
    return false;
}
