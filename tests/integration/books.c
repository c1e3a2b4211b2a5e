/*
 * The checks of books.h. The SQL looks at one shard at a time; legs of a transfer that live on
 * different shards are brought together here, by transfer id.
 */
#include "books.h"

#include "check.h"
#include "processes.h"
#include "sql.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    FINDINGS_MAX = 20, /* more are only counted */
    FINDING_MAX = 256,
    PAUSE_MS = 200,
};

typedef struct Findings
{
    char texts[FINDINGS_MAX][FINDING_MAX];
    size_t count;
} Findings;

ATTR_PRINTF(2, 3)
static void find(Findings *findings, const char *format, ...)
{
    if (findings->count < FINDINGS_MAX)
    {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(findings->texts[findings->count], FINDING_MAX, format, arguments);
        va_end(arguments);
    }
    findings->count++;
}

/* ---- one shard at a time --------------------------------------------------------------------- */

typedef struct ShardCheck
{
    const char *query; /* each row it answers is a finding: its first column says what */
} ShardCheck;

static const ShardCheck shard_checks[] = {
    {"select format('the zero sum of %s is off by %s', currency, difference)"
     " from giro.books() where difference <> 0"},
    {"select format('account %s: balance %s, version %s, but %s entries sum up to %s, last seq %s',"
     "              a.id, a.balance, a.version, e.count, e.sum, e.last)"
     " from giro.accounts a"
     " left join (select account, count(*) as count, sum(amount) as sum, max(seq) as last"
     "            from giro.entries group by account) e on e.account = a.id"
     " where (a.balance, a.version, a.version) is distinct from"
     "       (coalesce(e.sum, 0), coalesce(e.count, 0), coalesce(e.last, 0))"},
    {"select format('account %s: entry %s has balance %s after %s', account, seq, balance, before)"
     " from (select account, seq, amount, balance,"
     "              coalesce(lag(balance) over (partition by account order by seq), 0) as before"
     "       from giro.entries) e"
     " where balance <> before + amount"},
    {"select format('account %s has balance %s, below its floor %s', id, balance, floor)"
     " from giro.accounts where balance < floor"},
    {"select format('entries of account %s, which does not live here', e.account)"
     " from giro.entries e"
     " where not exists (select from giro.accounts a where a.id = e.account) limit 1"},
    {"select format('prepared transaction %s is left', gid)"
     " from pg_prepared_xacts where gid like 'giro:%' and database = current_database()"},
};

static void check_shard(const Cluster *cluster, int shard, Findings *findings)
{
    for (size_t i = 0; i < ARRAY_LENGTH(shard_checks); i++)
    {
        SqlRows *rows = sql_rows(cluster_dsn(cluster, shard), "%s", shard_checks[i].query);
        for (size_t row = 0; row < sql_row_count(rows); row++)
        {
            find(findings, "shard-%d: %s", shard, sql_field(rows, row, 0));
        }
        sql_rows_free(rows);
    }
}

static void check_log(const Cluster *cluster, int database, Findings *findings)
{
    FILE *file = fopen(cluster_postgres_log(cluster, database), "re");
    char line[1024];
    check(file != NULL, "%s is missing", cluster_postgres_log(cluster, database));
    while (fgets(line, sizeof(line), file) != NULL)
    {
        if (strstr(line, "deadlock detected") != NULL)
        {
            find(findings, "database %d: %s", database, line);
        }
    }
    fclose(file);
}

/* ---- transfers over all shards --------------------------------------------------------------- */

static const char legs_query[] =
    "select coalesce(t.id, e.transfer), t.state, t.debit_account, t.credit_account,"
    " coalesce(t.amount, 0), (t.id is not null)::int, coalesce(e.debits, 0),"
    " coalesce(e.credits, 0), coalesce(e.refunds, 0), coalesce(e.debited, 0),"
    " coalesce(e.credited, 0), coalesce(e.refunded, 0), e.debited_account, e.credited_account"
    " from giro.transfers t"
    " full join (select transfer,"
    "                   count(*) filter (where step = 'debit') as debits,"
    "                   count(*) filter (where step = 'credit') as credits,"
    "                   count(*) filter (where step = 'refund') as refunds,"
    "                   sum(amount) filter (where step = 'debit') as debited,"
    "                   sum(amount) filter (where step = 'credit') as credited,"
    "                   sum(amount) filter (where step = 'refund') as refunded,"
    "                   min(account) filter (where step = 'debit') as debited_account,"
    "                   min(account) filter (where step = 'credit') as credited_account"
    "            from giro.entries group by transfer) e on e.transfer = t.id";

static void copy_text(char *ret_text, size_t size, const SqlRows *rows, size_t row, size_t column)
{
    snprintf(ret_text, size, "%s", sql_field(rows, row, column));
}

static void read_legs(BooksTransfer *legs, const SqlRows *rows, size_t row)
{
    copy_text(legs->id, sizeof(legs->id), rows, row, 0);
    copy_text(legs->state, sizeof(legs->state), rows, row, 1);
    copy_text(legs->debit_account, sizeof(legs->debit_account), rows, row, 2);
    copy_text(legs->credit_account, sizeof(legs->credit_account), rows, row, 3);
    legs->amount = sql_field_integer(rows, row, 4);
    legs->homes = sql_field_integer(rows, row, 5);
    legs->debits = sql_field_integer(rows, row, 6);
    legs->credits = sql_field_integer(rows, row, 7);
    legs->refunds = sql_field_integer(rows, row, 8);
    legs->debited = sql_field_integer(rows, row, 9);
    legs->credited = sql_field_integer(rows, row, 10);
    legs->refunded = sql_field_integer(rows, row, 11);
    copy_text(legs->debited_account, sizeof(legs->debited_account), rows, row, 12);
    copy_text(legs->credited_account, sizeof(legs->credited_account), rows, row, 13);
}

static void take_text(char *text, size_t size, const char *more)
{
    if (more[0] != '\0')
    {
        snprintf(text, size, "%s", more);
    }
}

static void add_legs(BooksTransfer *sum, const BooksTransfer *legs)
{
    take_text(sum->state, sizeof(sum->state), legs->state);
    take_text(sum->debit_account, sizeof(sum->debit_account), legs->debit_account);
    take_text(sum->credit_account, sizeof(sum->credit_account), legs->credit_account);
    take_text(sum->debited_account, sizeof(sum->debited_account), legs->debited_account);
    take_text(sum->credited_account, sizeof(sum->credited_account), legs->credited_account);
    sum->amount += legs->amount;
    sum->homes += legs->homes;
    sum->debits += legs->debits;
    sum->credits += legs->credits;
    sum->refunds += legs->refunds;
    sum->debited += legs->debited;
    sum->credited += legs->credited;
    sum->refunded += legs->refunded;
}

/* Do the legs have the amounts and the accounts that the transfer names? */
static bool legs_fit(const BooksTransfer *legs)
{
    return (legs->debits == 0 || (legs->debited == -legs->amount &&
                                  strcmp(legs->debited_account, legs->debit_account) == 0)) &&
           (legs->credits == 0 || (legs->credited == legs->amount &&
                                   strcmp(legs->credited_account, legs->credit_account) == 0)) &&
           (legs->refunds == 0 || legs->refunded == legs->amount);
}

static bool is_whole(const BooksTransfer *legs)
{
    int64_t d = legs->debits;
    int64_t c = legs->credits;
    int64_t r = legs->refunds;
    if (strcmp(legs->state, "posted") == 0)
    {
        return d == 1 && c == 1 && r == 0;
    }
    if (strcmp(legs->state, "refused") == 0)
    {
        return d == 0 && c == 0 && r == 0;
    }
    if (strcmp(legs->state, "reversed") == 0)
    {
        return d == 1 && c == 0 && r == 1;
    }
    return strcmp(legs->state, "pending") == 0 && d == 1 && c <= 1 && r == 0;
}

static void judge(const BooksTransfer *legs, Findings *findings)
{
    if (legs->homes != 1 || !is_whole(legs) || !legs_fit(legs))
    {
        find(findings,
             "transfer %s: %s on %lld homes, amount %lld, debits %lld (%lld), credits %lld (%lld),"
             " refunds %lld",
             legs->id, legs->state, (long long)legs->homes, (long long)legs->amount,
             (long long)legs->debits, (long long)legs->debited, (long long)legs->credits,
             (long long)legs->credited, (long long)legs->refunds);
    }
}

static int compare_legs(const void *a, const void *b)
{
    return strcmp(((const BooksTransfer *)a)->id, ((const BooksTransfer *)b)->id);
}

/* All rows of all shards, sorted by transfer. */
static BooksTransfer *collect_legs(const Cluster *cluster, size_t *ret_count)
{
    BooksTransfer *all = NULL;
    size_t count = 0;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        SqlRows *rows = sql_rows(cluster_dsn(cluster, shard), "%s", legs_query);
        size_t more = sql_row_count(rows);
        all = base_realloc(all, (count + more + 1) * sizeof(*all));
        for (size_t row = 0; row < more; row++)
        {
            read_legs(&all[count++], rows, row);
        }
        sql_rows_free(rows);
    }
    qsort(all, count, sizeof(*all), compare_legs);
    *ret_count = count;
    return all;
}

BooksTransfer *books_transfers(const Cluster *cluster, size_t *ret_count)
{
    size_t count = 0;
    size_t left = 0;
    BooksTransfer *all = collect_legs(cluster, &count);
    for (size_t i = 0; i < count; left++)
    {
        BooksTransfer sum = all[i++];
        while (i < count && strcmp(all[i].id, sum.id) == 0)
        {
            add_legs(&sum, &all[i++]);
        }
        all[left] = sum;
    }
    *ret_count = left;
    return all;
}

/* Returns what pending transfers hold that has not arrived yet. */
static int64_t check_transfers(const Cluster *cluster, Findings *findings)
{
    size_t count = 0;
    int64_t in_transit = 0;
    BooksTransfer *all = books_transfers(cluster, &count);
    for (size_t i = 0; i < count; i++)
    {
        judge(&all[i], findings);
        if (strcmp(all[i].state, "pending") == 0 && all[i].credits == 0)
        {
            in_transit += all[i].amount;
        }
    }
    free(all);
    return in_transit;
}

static void check_transit(const Cluster *cluster, int64_t in_transit, Findings *findings)
{
    int64_t clearing = 0;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        clearing += sql_integer(cluster_dsn(cluster, shard),
                                "select coalesce(sum(clearing), 0) from giro.books()");
    }
    if (clearing != in_transit)
    {
        find(findings, "clearing adds up to %lld, pending transfers hold %lld", (long long)clearing,
             (long long)in_transit);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void check_all(const Cluster *cluster, Findings *findings)
{
    check_log(cluster, 0, findings);
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        check_shard(cluster, shard, findings);
        check_log(cluster, shard, findings);
    }
    check_transit(cluster, check_transfers(cluster, findings), findings);
}

size_t books_look(const Cluster *cluster)
{
    Findings *findings = base_calloc(1, sizeof(*findings));
    for (int waited = 0; waited <= BOOKS_PATIENCE_MS; waited += PAUSE_MS)
    {
        *findings = (Findings){0};
        check_all(cluster, findings);
        if (findings->count == 0)
        {
            free(findings);
            return 0;
        }
        processes_pause_ms(PAUSE_MS);
    }
    for (size_t i = 0; i < findings->count && i < FINDINGS_MAX; i++)
    {
        print_error("books: %s\n", findings->texts[i]);
    }
    size_t count = findings->count;
    free(findings);
    return count;
}

void books_check(const Cluster *cluster)
{
    size_t count = books_look(cluster);
    check(count == 0, "the books are wrong: %zu findings", count);
}

int64_t books_transfer_count(const Cluster *cluster)
{
    int64_t count = 0;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        count += sql_integer(cluster_dsn(cluster, shard), "select count(*) from giro.transfers");
    }
    return count;
}
