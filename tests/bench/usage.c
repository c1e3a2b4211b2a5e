/* See usage.h. Linux only: it reads /proc. */
#include "usage.h"

#include "base/base.h"
#include "check.h"
#include "clock.h"
#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* utime, stime and, on request, those of ended children, in seconds. 0 if it is gone. */
static double process_cpu_s(pid_t pid, bool with_children)
{
    char path[64];
    char line[1024] = "";
    long long ticks[4] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    bool got = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    /* "pid (name) state ppid …": the name may hold anything; utime is the 12th field behind it. */
    const char *rest = got ? strrchr(line, ')') : NULL;
    if (rest == NULL ||
        sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &ticks[0],
               &ticks[1], &ticks[2], &ticks[3]) != 4)
        return 0;
    long long sum = ticks[0] + ticks[1] + (with_children ? ticks[2] + ticks[3] : 0);
    return (double)sum / (double)sysconf(_SC_CLK_TCK);
}

double usage_girod_cpu_s(const World *world, int coordinator)
{
    return process_cpu_s(cluster_girod_pid(world_cluster(world), coordinator), false);
}

static void add_process(void *context, pid_t pid)
{
    double *sum = context;
    *sum += process_cpu_s(pid, true);
}

double usage_girod_peak_mib(const World *world, int coordinator)
{
    char path[64];
    char line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status",
             cluster_girod_pid(world_cluster(world), coordinator));
    FILE *file = fopen(path, "re");
    check(file != NULL, "%s cannot be read", path);
    while (fgets(line, sizeof line, file) != NULL)
    {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    fclose(file);
    return (double)kib / 1024;
}

/* ---- the servers ----------------------------------------------------------------------------- */

void usage_count_statements(const World *world, bool on)
{
    world_set(world, "pg_stat_statements.track", on ? "top" : NULL);
}

/* Other sessions than girod's have just ended, or are about to. */
static void end_sessions(const char *dsn)
{
    clock_pause(0.05);
    sql_rows_free(sql_rows(dsn, "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                                " where application_name = 'girod'"));
}

static void read_shard(const World *world, int shard, Usage *usage)
{
    const char *dsn = cluster_dsn(world_cluster(world), shard);
    end_sessions(dsn);
    SqlRows *rows =
        sql_rows(dsn, "select (select coalesce(sum(calls), 0)::bigint from pg_stat_statements"
                      " where dbid = (select oid from pg_database"
                      " where datname = current_database())),"
                      " (select wal_sync from pg_stat_wal),"
                      " pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,"
                      " (select count(*) from giro.batches where role = 'home')");
    usage->statements += (double)sql_field_integer(rows, 0, 0);
    usage->wal_syncs += (double)sql_field_integer(rows, 0, 1);
    usage->wal_bytes += (double)sql_field_integer(rows, 0, 2);
    usage->batches += (double)sql_field_integer(rows, 0, 3);
    sql_rows_free(rows);
    processes_visit_in(cluster_postgres_data(world_cluster(world), shard), add_process,
                       &usage->postgres_cpu_s);
}

void usage_read(const World *world, Usage *ret_usage)
{
    memset(ret_usage, 0, sizeof *ret_usage);
    for (int shard = 1; shard <= world_shard_count(world); shard++)
        read_shard(world, shard, ret_usage);
}

void usage_subtract(Usage *usage, const Usage *earlier)
{
    usage->postgres_cpu_s -= earlier->postgres_cpu_s;
    usage->statements -= earlier->statements;
    usage->wal_syncs -= earlier->wal_syncs;
    usage->wal_bytes -= earlier->wal_bytes;
    usage->batches -= earlier->batches;
}
