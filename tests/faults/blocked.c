/* See blocked.h. */
#include "blocked.h"

#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PAUSE_MS = 100,
    GIVE_UP_MS = 2 * BLOCKED_MS_MAX,
};

struct Watch
{
    Cell *cells;
    size_t count;
    int shards;
    SqlSession *sessions[CLUSTER_SHARDS_MAX];
};

Watch *watch_new(Cell *cells, size_t count)
{
    Watch *watch = base_calloc(1, sizeof *watch);
    watch->cells = cells;
    watch->count = count;
    watch->shards = cluster_shard_count(cells[0].cluster);
    for (int i = 0; i < watch->shards; i++)
    {
        watch->sessions[i] = sql_session_new(cluster_dsn(cells[0].cluster, i + 1));
        ASSERT(watch->sessions[i] != NULL);
    }
    return watch;
}

void watch_free(Watch *watch)
{
    for (int i = 0; i < watch->shards; i++)
        sql_session_free(watch->sessions[i]);
    free(watch);
}

/* The accounts of the cells that have been struck, on one shard: the next one from *place on, NULL
 * after the last one. */
static CellAccount *next_account(const Watch *watch, int shard, size_t *place)
{
    while (*place < 2 * watch->count)
    {
        Cell *cell = &watch->cells[*place / 2];
        CellAccount *account = &cell->accounts[(*place)++ % 2];
        if (cell->struck && account->shard == shard)
            return account;
    }
    return NULL;
}

/* As an array's text; free() it. */
static char *list(const Watch *watch, int shard)
{
    char *text = NULL;
    size_t length = 0;
    size_t place = 0;
    const CellAccount *account;
    FILE *out = open_memstream(&text, &length);
    while ((account = next_account(watch, shard, &place)) != NULL)
        fprintf(out, "%s%s", ftello(out) == 0 ? "" : ",", account->name);
    fclose(out);
    return text;
}

static bool contains(const SqlRows *rows, const char *name)
{
    for (size_t row = 0; row < sql_row_count(rows); row++)
    {
        if (strcmp(sql_field(rows, row, 0), name) == 0)
            return true;
    }
    return false;
}

static size_t look(Watch *watch, int shard)
{
    size_t locked = 0;
    size_t place = 0;
    CellAccount *account;
    char *accounts = list(watch, shard);
    SqlRows *free_ones = sql_session_rows(watch->sessions[shard - 1],
                                          "select id from giro.accounts where id = any ('{%s}')"
                                          " for no key update skip locked",
                                          accounts);
    while ((account = next_account(watch, shard, &place)) != NULL)
    {
        const Cell *cell = &watch->cells[(place - 1) / 2];
        bool was_locked = account->is_locked;
        account->is_locked = !contains(free_ones, account->name);
        if (account->is_locked && was_locked)
            account->blocked_until_ms = now_ms() - cell->struck_at_ms;
        locked += account->is_locked;
    }
    sql_rows_free(free_ones);
    free(accounts);
    return locked;
}

size_t watch_look(Watch *watch)
{
    size_t locked = 0;
    for (int shard = 1; shard <= watch->shards; shard++)
        locked += look(watch, shard);
    return locked;
}

static void report(Cell *cell)
{
    const CellAccount *debit = &cell->accounts[0];
    const CellAccount *credit = &cell->accounts[1];
    if (!cell->struck)
        return;
    printf("  %-40s debit account blocked for %4.1f s, credit account for %4.1f s\n",
           cell->plan->name, (double)debit->blocked_until_ms / 1000,
           (double)credit->blocked_until_ms / 1000);
    if (debit->blocked_until_ms > BLOCKED_MS_MAX || credit->blocked_until_ms > BLOCKED_MS_MAX)
        cell_blame(cell, "an account is blocked for too long: %lld ms and %lld ms",
                   (long long)debit->blocked_until_ms, (long long)credit->blocked_until_ms);
}

void watch_out(Watch *watch)
{
    size_t locked = 0;
    int64_t waited_ms = 0;
    for (int64_t start = now_ms();
         waited_ms < BLOCKED_MS_MAX || (locked > 0 && waited_ms < GIVE_UP_MS);
         waited_ms = now_ms() - start)
    {
        locked = watch_look(watch);
        processes_pause_ms(PAUSE_MS);
    }
    for (size_t i = 0; i < watch->count; i++)
        report(&watch->cells[i]);
}
