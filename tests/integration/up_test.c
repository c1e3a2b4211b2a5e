/*
 * docker/up.sh and docker/down.sh: what they start, leave alone, stop, refuse and say.
 */
#include "books.h"
#include "check.h"
#include "cluster.h"
#include "processes.h"
#include "sql.h"

#include "base/base.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    OUTPUT_MAX = 16384,
};

static int set_up(void **state)
{
    *state = cluster_new(&(ClusterOptions){.shards = 2, .coordinators = 2});
    return 0;
}

static int tear_down(void **state)
{
    cluster_free(*state);
    return 0;
}

/* Does the command end as said, and say so? */
static void expect(const Cluster *cluster, const char *command, bool succeeds, const char *words)
{
    char output[OUTPUT_MAX];
    int status = cluster_shell(cluster, command, output, sizeof(output));
    check((status == 0) == succeeds && strstr(output, words) != NULL,
          "%s: ends with %d, without '%s': %s", command, status, words, output);
}

static bool succeeds(const Cluster *cluster, const char *command)
{
    return cluster_shell(cluster, command, NULL, 0) == 0;
}

static void up_finds_everything_again_after_all_was_killed(void **state)
{
    Cluster *cluster = *state;
    sql_run(cluster_dsn(cluster, 1), "create table public.kept as select 42 as value");
    cluster_signal_girod(cluster, 1, SIGKILL);
    for (int database = 0; database <= cluster_shard_count(cluster); database++)
    {
        cluster_signal_postgres(cluster, database, SIGKILL);
    }
    cluster_up(cluster);
    assert_int_equal(sql_integer(cluster_dsn(cluster, 1), "select value from public.kept"), 42);
    assert_int_equal(cluster_shell(cluster, "curl -sf $GIRO_URL/readyz", NULL, 0), 0);
    books_check(cluster);
}

static void up_leaves_alone_what_runs(void **state)
{
    Cluster *cluster = *state;
    char girod[64];
    snprintf(girod, sizeof(girod), "%s", cluster_env(cluster, "GIRO_PID"));
    int64_t started = sql_integer(cluster_dsn(cluster, 1),
                                  "select extract(epoch from pg_postmaster_start_time())::bigint");
    cluster_up(cluster);
    assert_string_equal(cluster_env(cluster, "GIRO_PID"), girod);
    assert_int_equal(sql_integer(cluster_dsn(cluster, 1),
                                 "select extract(epoch from pg_postmaster_start_time())::bigint"),
                     started);
}

static void down_drains_and_up_starts_again(void **state)
{
    Cluster *cluster = *state;
    pid_t girod = (pid_t)strtol(cluster_env(cluster, "GIRO_PID"), NULL, 10);
    assert_int_equal(cluster_shell(cluster, "bash docker/down.sh", NULL, 0), 0);
    assert_false(process_is_alive(girod));
    assert_int_equal(processes_signal_in(cluster_env(cluster, "GIRO_SHARD_1_PGDATA"), 0), 0);
    cluster_up(cluster);
    assert_int_equal(cluster_shell(cluster, "curl -sf $GIRO_URL/readyz", NULL, 0), 0);
}

static void up_refuses_another_number_of_shards(void **state)
{
    Cluster *cluster = *state;
    expect(cluster, "GIRO_SHARDS=3 bash docker/up.sh", false,
           "was made with 2 shards; partitions cannot be moved in this version, so a new shard "
           "would own none");
    expect(cluster, "GIRO_SHARDS=1 bash docker/up.sh", false, "they cannot be taken away");
    assert_true(succeeds(cluster, "grep -qx GIRO_SHARDS=2 \"$GIRO_DIR/settings\""));
    assert_false(succeeds(cluster, "test -e \"$GIRO_DIR/shard-3\""));
}

/* Nothing is noted that would keep the advice from being followed. */
static void up_finds_a_taken_port_before_it_writes_anything(void **state)
{
    Cluster *cluster = *state;
    expect(cluster, "GIRO_DIR=$GIRO_DIR/another bash docker/up.sh", false,
           "meant for directory, is taken by another program; set GIRO_PG_PORT");
    assert_false(succeeds(cluster, "test -e \"$GIRO_DIR/another/settings\""));
}

static void up_says_what_runs_otherwise_than_asked_for(void **state)
{
    Cluster *cluster = *state;
    char output[OUTPUT_MAX];
    expect(cluster, "GIRO_COORDINATORS=1 bash docker/up.sh", true, "girod 2 goes on on port ");
    expect(cluster, "GIRO_GIROD_FLAGS='--batch 7' bash docker/up.sh", true,
           "girod 1 runs with other flags ('--enable-failpoints'); run make down");
    assert_int_equal(cluster_shell(cluster, "bash docker/up.sh", output, sizeof(output)), 0);
    check(strstr(output, "girod") == NULL, "%s", output);
    expect(cluster,
           "program=$GIRO_BIN; cp $program $GIRO_DIR/girod;"
           "GIRO_BIN=$GIRO_DIR/girod bash docker/up.sh && GIRO_BIN=$program bash docker/up.sh",
           true, "girod 1 runs another program, ");
}

static void an_up_whose_girod_fails_says_that_the_databases_go_on(void **state)
{
    Cluster *cluster = *state;
    cluster_signal_girod(cluster, 1, SIGKILL);
    expect(cluster, "GIRO_GIROD_FLAGS=--nonsense bash docker/up.sh", false,
           "goes on running; it is stopped by: make down GIRO_DIR=");
    cluster_up(cluster);
}

static void a_down_at_the_wrong_place_names_the_clusters_that_run(void **state)
{
    Cluster *cluster = *state;
    char words[256];
    expect(cluster, "GIRO_DIR=$GIRO_DIR/nowhere bash docker/down.sh", true,
           "there is no cluster in ");
    snprintf(words, sizeof(words), "it is stopped by: make down GIRO_DIR=%s\n",
             cluster_directory(cluster));
    expect(cluster, "GIRO_DIR=$GIRO_DIR/nowhere bash docker/down.sh", true, words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_finds_everything_again_after_all_was_killed),
        cmocka_unit_test(up_leaves_alone_what_runs),
        cmocka_unit_test(up_refuses_another_number_of_shards),
        cmocka_unit_test(up_finds_a_taken_port_before_it_writes_anything),
        cmocka_unit_test(up_says_what_runs_otherwise_than_asked_for),
        cmocka_unit_test(an_up_whose_girod_fails_says_that_the_databases_go_on),
        cmocka_unit_test(a_down_at_the_wrong_place_names_the_clusters_that_run),
        cmocka_unit_test(down_drains_and_up_starts_again),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
