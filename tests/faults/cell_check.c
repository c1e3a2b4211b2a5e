/*
 * What has to hold of a cell once it has its final answer, asked of the shards behind the
 * coordinators' backs:
 *
 *   1. every shard's books add up;
 *   2. both accounts have the balance that follows, and it is the sum of their entries, without
 *      gaps;
 *   3. there is one transfer with both legs, or with its refund;
 *   4. its coordinator has left nothing prepared.
 */
#include "cell.h"

#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>

enum
{
    CHECK_MS = 60000,
    CHECK_PAUSE_MS = 100,
};

/* Sums over all shards. */
typedef struct Findings
{
    int64_t transfers; /* in the state that was answered */
    int64_t entries;   /* of the transfer */
    int64_t right_entries;
    int64_t right_accounts;
    int64_t prepared;
    int64_t unbalanced; /* shards and currencies */
} Findings;

static const char query[] =
    "with c (id, is_posted, debit, credit, amount, instance, debit_has, credit_has)"
    "  as (values ('%s'::uuid, %s, '%s', '%s', %lld, '%s', %lld, %lld))"
    " select (select count(*) from giro.transfers t where t.id = c.id"
    "         and t.state = case when c.is_posted then 'posted' else 'reversed' end),"
    " (select count(*) from giro.entries e where e.transfer = c.id),"
    " (select count(*) from giro.entries e where e.transfer = c.id"
    "  and (e.step, e.account, e.amount) in (('debit', c.debit, -c.amount),"
    "       (case when c.is_posted then 'credit' else 'refund' end,"
    "        case when c.is_posted then c.credit else c.debit end, c.amount))),"
    " (select count(*) from giro.accounts a,"
    "   lateral (select count(*), coalesce(sum(amount), 0), coalesce(max(seq), 0)"
    "            from giro.entries where account = a.id) e (count, sum, seq)"
    "  where a.id in (c.debit, c.credit)"
    "   and (a.balance, a.version, a.version) = (e.sum, e.count, e.seq)"
    "   and a.balance = case a.id when c.debit then c.debit_has else c.credit_has end),"
    " (select count(*) from pg_prepared_xacts where split_part(gid, ':', 3) like c.instance || "
    "'-%%'),"
    " (select count(*) from giro.books() where difference <> 0)"
    " from c";

static void look_at(const Cell *cell, int shard, Findings *findings)
{
    long long amount = cell->payment.amount;
    long long debit = cell->is_posted ? CELL_BALANCE - amount : CELL_BALANCE;
    long long credit = cell->plan->way->credit_is_closed ? 0
                       : cell->is_posted                 ? CELL_BALANCE + amount
                                                         : CELL_BALANCE;
    SqlRows *rows = sql_rows(cluster_dsn(cell->cluster, shard), query, cell->id,
                             cell->is_posted ? "true" : "false", cell->payment.debit,
                             cell->payment.credit, amount, cell->instance, debit, credit);
    findings->transfers += sql_field_integer(rows, 0, 0);
    findings->entries += sql_field_integer(rows, 0, 1);
    findings->right_entries += sql_field_integer(rows, 0, 2);
    findings->right_accounts += sql_field_integer(rows, 0, 3);
    findings->prepared += sql_field_integer(rows, 0, 4);
    findings->unbalanced += sql_field_integer(rows, 0, 5);
    sql_rows_free(rows);
}

static bool is_right(const Findings *findings)
{
    return findings->transfers == 1 && findings->entries == 2 && findings->right_entries == 2 &&
           findings->right_accounts == 2 && findings->prepared == 0 && findings->unbalanced == 0;
}

void cell_check(Cell *cell)
{
    Findings findings;
    if (!cell->has_ended)
        return; /* it is blamed for that */
    for (int64_t until = now_ms() + CHECK_MS;; processes_pause_ms(CHECK_PAUSE_MS))
    {
        findings = (Findings){0};
        for (int shard = 1; shard <= cluster_shard_count(cell->cluster); shard++)
            look_at(cell, shard, &findings);
        if (is_right(&findings) || now_ms() >= until)
            break;
    }
    if (!is_right(&findings))
        cell_blame(cell,
                   "%s (%s): %lld transfers, %lld entries, %lld of them right, %lld accounts right,"
                   " %lld prepared, %lld shards out of balance",
                   cell->id, cell->is_posted ? "posted" : "reversed", (long long)findings.transfers,
                   (long long)findings.entries, (long long)findings.right_entries,
                   (long long)findings.right_accounts, (long long)findings.prepared,
                   (long long)findings.unbalanced);
}
