/*
 * See ids.h. A batch has one row on each of its shards, written by one coordinator for one pair of
 * shards. A second use of its id elsewhere would contradict that; on the same shard it cannot be
 * inserted, and as a GID Postgres refuses it, which its log shows.
 */
#include "ids.h"

#include "check.h"
#include "sql.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Row
{
    char batch[37];
    char role[8];
    char verdict[8];
    char about[160]; /* coordinator, home, remote, mode */
} Row;

typedef struct Rows
{
    Row *rows;
    size_t count;
} Rows;

static int compare(const void *a, const void *b)
{
    return strcmp(((const Row *)a)->batch, ((const Row *)b)->batch);
}

static void collect(const Cluster *cluster, int shard, Rows *all)
{
    SqlRows *rows = sql_rows(cluster_dsn(cluster, shard),
                             "select batch, role, verdict,"
                             " concat_ws(' ', coordinator, mode, home, remote) from giro.batches");
    size_t more = sql_row_count(rows);
    all->rows = base_realloc(all->rows, (all->count + more + 1) * sizeof *all->rows);
    for (size_t i = 0; i < more; i++)
    {
        Row *row = &all->rows[all->count++];
        snprintf(row->batch, sizeof row->batch, "%s", sql_field(rows, i, 0));
        snprintf(row->role, sizeof row->role, "%s", sql_field(rows, i, 1));
        snprintf(row->verdict, sizeof row->verdict, "%s", sql_field(rows, i, 2));
        snprintf(row->about, sizeof row->about, "%s", sql_field(rows, i, 3));
    }
    sql_rows_free(rows);
}

/* An abort row is written by whoever asks, and has no leg beside it. */
static bool belong_together(const Row *a, const Row *b)
{
    return strcmp(a->role, b->role) != 0 && strcmp(a->verdict, "commit") == 0 &&
           strcmp(b->verdict, "commit") == 0 && strcmp(a->about, b->about) == 0;
}

static size_t look_at_logs(const Cluster *cluster)
{
    size_t found = 0;
    char line[1024];
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
    {
        FILE *log = fopen(cluster_postgres_log(cluster, shard), "re");
        check(log != NULL, "no log of shard %d", shard);
        while (fgets(line, sizeof line, log) != NULL)
        {
            if (strstr(line, "is already in use") == NULL)
                continue;
            printf("ids: shard %d: %s", shard, line);
            found++;
        }
        fclose(log);
    }
    return found;
}

size_t ids_look(const Cluster *cluster, size_t *ret_batches)
{
    Rows all = {0};
    size_t found = look_at_logs(cluster);
    size_t batches = 0;
    for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
        collect(cluster, shard, &all);
    qsort(all.rows, all.count, sizeof *all.rows, compare);
    for (size_t first = 0, next; first < all.count; first = next, batches++)
    {
        for (next = first + 1; next < all.count && compare(&all.rows[first], &all.rows[next]) == 0;
             next++)
            ;
        bool alone = next == first + 1;
        if (alone || (next == first + 2 && belong_together(&all.rows[first], &all.rows[first + 1])))
            continue;
        printf("ids: batch %s is used %zu times, as %s and %s\n", all.rows[first].batch,
               next - first, all.rows[first].about, all.rows[first + 1].about);
        found++;
    }
    free(all.rows);
    *ret_batches = batches;
    return found;
}
