/* See evidence.h. */
#include "evidence.h"

#include "processes.h"
#include "sql.h"

#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_MS = 200,
    QUIET_LOOKS = 3, /* in a row: what is in flight inside a coordinator shows up in between */
};

static int64_t count_all(const Cluster *cluster, const char *query)
{
    int64_t count = 0;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        count += sql_integer(cluster_dsn(cluster, shard), "%s", query);
    }
    return count;
}

void evidence_await_quiet(const Cluster *cluster, int timeout_ms, Evidence *evidence)
{
    int quiet = 0;
    for (int waited = 0; waited < timeout_ms && quiet < QUIET_LOOKS; waited += PAUSE_MS)
    {
        evidence->left_pending =
            count_all(cluster, "select count(*) from giro.transfers where state = 'pending'");
        evidence->left_prepared = count_all(
            cluster, "select count(*) from pg_prepared_xacts where database = current_database()");
        quiet = evidence->left_pending + evidence->left_prepared == 0 ? quiet + 1 : 0;
        processes_pause_ms(PAUSE_MS);
    }
}

static int compare_facts(const void *a, const void *b)
{
    return strcmp((*(const AccountFact *const *)a)->id, (*(const AccountFact *const *)b)->id);
}

static int compare_name(const void *name, const void *fact)
{
    return strcmp(name, (*(const AccountFact *const *)fact)->id);
}

static void mark(const char *dsn, AccountFact *const *sorted, size_t count)
{
    SqlRows *rows = sql_rows(dsn, "select id from giro.accounts");
    for (size_t row = 0; row < sql_row_count(rows); row++)
    {
        AccountFact *const *fact =
            bsearch(sql_field(rows, row, 0), sorted, count, sizeof(*sorted), compare_name);
        if (fact != NULL)
        {
            (*fact)->exists = true;
        }
    }
    sql_rows_free(rows);
}

AccountFact *evidence_accounts(const Cluster *cluster, const Roster *roster)
{
    size_t count = roster_count(roster);
    AccountFact *facts = base_calloc(count, sizeof(*facts));
    AccountFact **sorted = base_calloc(count, sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
    {
        const Account *account = roster_account(roster, i);
        facts[i] = (AccountFact){.id = account->id, .is_acknowledged = account->is_acknowledged};
        sorted[i] = &facts[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_facts);
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        mark(cluster_dsn(cluster, shard), sorted, count);
    }
    free(sorted);
    return facts;
}
