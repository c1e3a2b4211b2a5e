/*
 * Set-up on real Postgres servers: `girod init` with everything that it must refuse. What needs no
 * server (mistakes in the description) is in tests/unit/config_test.c.
 *
 * One cluster "demo" of two shards is up for all cases. Further clusters are made of fresh
 * databases on the server of its shard 1; a case names them by a word of its own: <word>_directory,
 * <word>_1, <word>_2.
 */
#include "books.h"
#include "check.h"
#include "cluster.h"
#include "processes.h"
#include "sql.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    DSN_MAX = 256,
    TEXT_MAX = 4096,
    OUTPUT_MAX = 16384,
    SHARDS = 2,
};

typedef struct Place
{
    char dsn[DSN_MAX];
    char owner_dsn[DSN_MAX];
} Place;

/* A description in the making; places 0 is the directory. */
typedef struct Plan
{
    const char *cluster;
    Place places[CLUSTER_SHARDS_MAX + 1];
    const char *names[CLUSTER_SHARDS_MAX + 1];
    int ordinals[CLUSTER_SHARDS_MAX + 1];
    int shards;
    const char *keyspaces;
} Plan;

#define HASH_KEYSPACE "{\"prefix\":\"\",\"kind\":\"hash\"}"
/* What up.sh describes besides; its splits stand. */
#define OTHER_KEYSPACES                                                                            \
    ",{\"prefix\":\"r:\",\"kind\":\"range\"}"                                                      \
    ",{\"prefix\":\"t:\",\"kind\":\"compound\",\"default_mode\":\"saga\"}"

static int set_up(void **state)
{
    *state = cluster_new(&(ClusterOptions){.shards = SHARDS});
    return 0;
}

static int tear_down(void **state)
{
    cluster_free(*state);
    return 0;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* A DSN with one setting replaced. */
static void replace_setting(char dsn[DSN_MAX], const char *name, const char *value)
{
    char old[DSN_MAX];
    char pattern[32];
    snprintf(old, sizeof(old), "%s", dsn);
    snprintf(pattern, sizeof(pattern), "%s=", name);
    char *at = strstr(old, pattern);
    assert_non_null(at);
    char *rest = at + strcspn(at, " ");
    snprintf(dsn, DSN_MAX, "%.*s%s%.60s%s", (int)(at - old), old, pattern, value, rest);
}

/* The plan that up.sh made. */
static Plan plan_of_demo(const Cluster *cluster)
{
    Plan plan = {.cluster = "demo",
                 .names = {"directory", "shard-1", "shard-2"},
                 .ordinals = {0, 1, 2},
                 .shards = SHARDS,
                 .keyspaces = HASH_KEYSPACE OTHER_KEYSPACES};
    for (int i = 0; i <= SHARDS; i++)
    {
        snprintf(plan.places[i].dsn, DSN_MAX, "%s", cluster_coord_dsn(cluster, i));
        snprintf(plan.places[i].owner_dsn, DSN_MAX, "%s", cluster_dsn(cluster, i));
    }
    return plan;
}

/* A plan over fresh databases on the server of shard 1. */
static Plan plan_afresh(const Cluster *cluster, const char *word)
{
    Plan plan = plan_of_demo(cluster);
    plan.cluster = word;
    plan.keyspaces = HASH_KEYSPACE;
    for (int i = 0; i <= SHARDS; i++)
    {
        char number[16];
        char database[64];
        snprintf(number, sizeof(number), "%d", i);
        snprintf(database, sizeof(database), "%s_%s", word, i == 0 ? "directory" : number);
        sql_run(cluster_dsn(cluster, 1), "create database %s", database);
        plan.places[i] = (Place){0};
        snprintf(plan.places[i].dsn, DSN_MAX, "%s", cluster_coord_dsn(cluster, 1));
        snprintf(plan.places[i].owner_dsn, DSN_MAX, "%s", cluster_dsn(cluster, 1));
        replace_setting(plan.places[i].dsn, "dbname", database);
        replace_setting(plan.places[i].owner_dsn, "dbname", database);
    }
    return plan;
}

static void write_plan(const Cluster *cluster, const Plan *plan, char ret_path[DSN_MAX])
{
    snprintf(ret_path, DSN_MAX, "%s/plan.json", cluster_directory(cluster));
    FILE *file = fopen(ret_path, "we");
    assert_non_null(file);
    fprintf(file, "{\"cluster\":\"%s\",\"directory\":{\"dsn\":\"%s\",\"owner_dsn\":\"%s\"}",
            plan->cluster, plan->places[0].dsn, plan->places[0].owner_dsn);
    for (int i = 1; i <= plan->shards; i++)
    {
        fprintf(file, "%s{\"name\":\"%s\",\"ordinal\":%d,\"dsn\":\"%s\",\"owner_dsn\":\"%s\"}",
                i == 1 ? ",\"shards\":[" : ",", plan->names[i], plan->ordinals[i],
                plan->places[i].dsn, plan->places[i].owner_dsn);
    }
    fprintf(file, "],\"keyspaces\":[%s]}", plan->keyspaces);
    fclose(file);
}

static int run_init(const Cluster *cluster, const Plan *plan, const char *flags,
                    char ret_output[OUTPUT_MAX])
{
    char path[DSN_MAX];
    char command[TEXT_MAX];
    write_plan(cluster, plan, path);
    snprintf(command, sizeof(command), "\"$GIRO_BIN\" init --config %s %s", path, flags);
    return cluster_shell(cluster, command, ret_output, OUTPUT_MAX);
}

static void expect_ready(const Cluster *cluster, const Plan *plan)
{
    char output[OUTPUT_MAX];
    int status = run_init(cluster, plan, "", output);
    check(status == 0 && strstr(output, ": ready\n") != NULL, "init ends with %d: %s", status,
          output);
}

static void expect_refusal(const Cluster *cluster, const Plan *plan, const char *why)
{
    char output[OUTPUT_MAX];
    int status = run_init(cluster, plan, "", output);
    check(status != 0 && strstr(output, why) != NULL, "init ends with %d and not with '%s': %s",
          status, why, output);
}

/* Everything that stands in the databases of the demo cluster, as one hash; without the lines in
 * which pg_dump writes a random word. */
static void fingerprint(const Cluster *cluster, char ret_hash[128])
{
    int status = cluster_shell(cluster,
                               "for dsn in \"$GIRO_DIRECTORY_DSN\" \"$GIRO_SHARD_1_DSN\" "
                               "\"$GIRO_SHARD_2_DSN\"; do "
                               "pg_dump -d \"$dsn\" || exit 1; done | "
                               "grep -v restrict | sha256sum",
                               ret_hash, 128);
    assert_int_equal(status, 0);
}

/* ---- repeating ------------------------------------------------------------------------------- */

static void a_second_init_changes_nothing(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    char before[128];
    char after[128];
    char output[OUTPUT_MAX];
    fingerprint(cluster, before);
    assert_int_equal(run_init(cluster, &plan, "", output), 0);
    assert_string_equal(output, "cluster demo: ready\n");
    fingerprint(cluster, after);
    assert_string_equal(before, after);
}

static void two_inits_at_the_same_time_both_succeed(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "twins");
    char path[DSN_MAX];
    char command[TEXT_MAX];
    char output[OUTPUT_MAX];
    write_plan(cluster, &plan, path);
    snprintf(command, sizeof(command),
             "\"$GIRO_BIN\" init --config %s & first=$!; "
             "\"$GIRO_BIN\" init --config %s && wait $first",
             path, path);
    int status = cluster_shell(cluster, command, output, sizeof(output));
    check(status == 0, "%s", output);
    assert_true(
        sql_is(plan.places[0].owner_dsn, "64", "select count(*) from giro_directory.partitions"));
}

static void an_init_that_fails_midway_is_completed_by_the_next_one(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "midway");
    sql_run(plan.places[2].owner_dsn, "create schema giro");
    expect_refusal(cluster, &plan, "schema/shard/001_tables.sql: schema \"giro\" already exists");
    assert_true(
        sql_is(plan.places[0].owner_dsn, "64", "select count(*) from giro_directory.partitions"));
    /* No coordinator sees it before all of it stands. */
    static const char read[] = "select from giro_directory.read_partitions()";
    char sqlstate[6];
    sql_state(plan.places[0].dsn, read, sqlstate);
    assert_string_equal(sqlstate, "42501");
    sql_run(plan.places[2].owner_dsn, "drop schema giro");
    expect_ready(cluster, &plan);
    sql_state(plan.places[0].dsn, read, sqlstate);
    assert_string_equal(sqlstate, "");
    for (int shard = 1; shard <= SHARDS; shard++)
    {
        assert_true(sql_is(plan.places[shard].owner_dsn, "32",
                           "select count(*) from giro.partitions where state = 'owned'"));
    }
    assert_true(
        sql_is(plan.places[0].owner_dsn, "0", "select count(*) from giro_directory.check_cover()"));
}

/* The lower ends of a keyspace's partitions but the first. */
#define BOUNDS(shown)                                                                              \
    "select string_agg(" shown ", ',' order by lo) filter (where lo <> '')"                        \
    " from giro_directory.partitions where keyspace = '%s'"

static void keyspaces_of_all_kinds_are_split_as_described(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "kinds");
    plan.keyspaces = "{\"prefix\":\"\",\"kind\":\"hash\",\"partitions\":3},"
                     "{\"prefix\":\"r:\",\"kind\":\"range\",\"splits\":[\"r:g\",\"r:p\"]},"
                     "{\"prefix\":\"c\",\"kind\":\"compound\",\"splits\":[\"cm\"],"
                     "\"default_mode\":\"saga\"}";
    expect_ready(cluster, &plan);
    expect_ready(cluster, &plan);
    assert_true(sql_is(plan.places[0].owner_dsn, "5555555555555555,aaaaaaaaaaaaaaaa",
                       BOUNDS("encode(lo, 'hex')"), ""));
    assert_true(
        sql_is(plan.places[0].owner_dsn, "r:g,r:p", BOUNDS("convert_from(lo, 'utf8')"), "r:"));
    assert_true(sql_is(plan.places[0].owner_dsn, "cm", BOUNDS("convert_from(lo, 'utf8')"), "c"));
    assert_true(sql_is(plan.places[0].owner_dsn, "saga",
                       "select default_mode from giro_directory.keyspaces where prefix = 'c'"));
    assert_true(
        sql_is(plan.places[0].owner_dsn, "0", "select count(*) from giro_directory.check_cover()"));
    plan.keyspaces = "{\"prefix\":\"\",\"kind\":\"hash\"},{\"prefix\":\"c\",\"kind\":\"compound\"},"
                     "{\"prefix\":\"r:\",\"kind\":\"range\",\"splits\":[\"r:g\"]}";
    expect_refusal(cluster, &plan, "\"r:\" has 3 partitions, which init does not change, not 2");
    plan.keyspaces = "{\"prefix\":\"\",\"kind\":\"hash\"},{\"prefix\":\"c\",\"kind\":\"compound\"},"
                     "{\"prefix\":\"r:\",\"kind\":\"range\",\"splits\":[\"r:g\",\"r:q\"]}";
    expect_refusal(cluster, &plan, "keyspace \"r:\" is not split at \"r:q\"");
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void the_coordinators_role_may_execute_and_nothing_else(void **state)
{
    Cluster *cluster = *state;
    static const char *const forbidden[] = {
        "select from giro.accounts",
        "select from giro.transfers",
        "insert into giro.partitions (partition, keyspace, kind, lo, epoch)"
        " values (999, '', 'hash', '', 1)",
        "update giro.shard set epoch = 2",
        "select giro.setup_shard('demo', 'shard-1', 1)",
        "select giro.grant_coordinator('giro_coordinator')",
        "create table giro.mine (i int)",
        "create schema mine",
        "create role mine",
    };
    char sqlstate[6];
    for (size_t i = 0; i < ARRAY_LENGTH(forbidden); i++)
    {
        sql_state(cluster_coord_dsn(cluster, 1), forbidden[i], sqlstate);
        check(strcmp(sqlstate, "42501") == 0, "%s: %s", forbidden[i], sqlstate);
    }
    sql_state(cluster_coord_dsn(cluster, 0), "select from giro_directory.shards", sqlstate);
    assert_string_equal(sqlstate, "42501");
    sql_state(cluster_coord_dsn(cluster, 0), "select from giro_directory.read_shards()", sqlstate);
    assert_string_equal(sqlstate, "");
    sql_state(cluster_coord_dsn(cluster, 1), "select from giro.session(1000, 3000, 10000)",
              sqlstate);
    assert_string_equal(sqlstate, "");
}

static void use_owner(Plan *plan, const char *user, const char *password)
{
    for (int i = 0; i <= plan->shards; i++)
    {
        replace_setting(plan->places[i].owner_dsn, "user", user);
        replace_setting(plan->places[i].owner_dsn, "password", password);
    }
}

static void an_owner_without_superuser_suffices(void **state)
{
    Cluster *cluster = *state;
    const char *server = cluster_dsn(cluster, 1);
    Plan plan = plan_afresh(cluster, "plain");
    sql_run(server, "create role plain login password 'p'");
    use_owner(&plan, "plain", "p");
    expect_refusal(cluster, &plan,
                   "directory: role plain may not create schemas in database plain_directory");
    sql_run(server, "grant create on database plain_directory, plain_1, plain_2 to plain");
    for (int i = 0; i <= SHARDS; i++)
    {
        replace_setting(plan.places[i].dsn, "user", "plain_coordinator");
    }
    expect_refusal(cluster, &plan,
                   "role plain_coordinator does not exist and plain may not create "
                   "it");
    sql_run(server, "alter role plain createrole");
    expect_ready(cluster, &plan);
    expect_ready(cluster, &plan);
    assert_true(sql_is(plan.places[1].dsn, "plain_coordinator",
                       "select role from giro.session(1000, 3000, 10000)"));
}

static void another_owners_schema_is_left_alone(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "foreign");
    sql_run(cluster_dsn(cluster, 1), "create role stranger login createrole password 's'");
    sql_run(cluster_dsn(cluster, 1),
            "grant create on database foreign_directory, foreign_1, foreign_2 to stranger");
    expect_ready(cluster, &plan);
    use_owner(&plan, "stranger", "s");
    expect_refusal(cluster, &plan, "belongs to a role that stranger is no member of");
}

static void a_coordinators_role_that_is_too_strong_is_refused(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    snprintf(plan.places[1].dsn, DSN_MAX, "%s", plan.places[1].owner_dsn);
    expect_refusal(cluster, &plan, "shard-1: the coordinator's role giro_owner must be neither");
    sql_run(cluster_dsn(cluster, 1), "create role mighty superuser login password 'm'");
    replace_setting(plan.places[1].dsn, "user", "mighty");
    expect_refusal(cluster, &plan, "shard-1: the coordinator's role mighty must be neither");
}

/* Coordinators that run read the directory every few seconds, so what is wrong must not get there.
 */
static void a_dsn_that_leads_nowhere_or_elsewhere_is_not_published(void **state)
{
    Cluster *cluster = *state;
    char before[128];
    char after[128];
    fingerprint(cluster, before);
    Plan plan = plan_of_demo(cluster);
    replace_setting(plan.places[2].dsn, "password", "wrong");
    expect_refusal(cluster, &plan, "shard-2, as the coordinator: cannot connect");
    plan = plan_of_demo(cluster);
    replace_setting(plan.places[1].dsn, "port", "1");
    expect_refusal(cluster, &plan, "shard-1, as the coordinator: cannot connect");
    plan = plan_of_demo(cluster);
    snprintf(plan.places[2].dsn, DSN_MAX, "%s", plan.places[1].dsn);
    expect_refusal(cluster, &plan,
                   "shard-2, as the coordinator: dsn and owner_dsn lead to different databases");
    plan = plan_of_demo(cluster);
    replace_setting(plan.places[2].dsn, "dbname", "postgres");
    expect_refusal(cluster, &plan,
                   "shard-2, as the coordinator: dsn and owner_dsn lead to different databases");
    plan = plan_of_demo(cluster);
    snprintf(plan.places[0].dsn, DSN_MAX, "%s", plan.places[1].dsn);
    expect_refusal(cluster, &plan,
                   "directory, as the coordinator: dsn and owner_dsn lead to different databases");
    fingerprint(cluster, after);
    assert_string_equal(before, after);
}

static void a_wrong_password_leaves_fresh_databases_empty(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "typo");
    replace_setting(plan.places[2].dsn, "password", "wrong");
    expect_refusal(cluster, &plan, "shard-2, as the coordinator: cannot connect");
    for (int i = 0; i <= SHARDS; i++)
    {
        assert_true(sql_is(plan.places[i].owner_dsn, "0",
                           "select count(*) from pg_namespace where nspname like 'giro%%'"));
    }
}

static void a_server_that_is_down_is_reported(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    replace_setting(plan.places[2].owner_dsn, "port", "1");
    expect_refusal(cluster, &plan, "shard-2: cannot connect");
}

/* ---- settings -------------------------------------------------------------------------------- */

static void restart_postgres(const Cluster *cluster, int database)
{
    cluster_signal_postgres(cluster, database, SIGKILL);
    cluster_start_postgres(cluster);
}

/* After cases that change settings, also when they fail. */
static int put_settings_right(void **state)
{
    Cluster *cluster = *state;
    for (int shard = 1; shard <= SHARDS; shard++)
    {
        sql_run(cluster_dsn(cluster, shard), "alter system reset all");
    }
    restart_postgres(cluster, 1);
    restart_postgres(cluster, 2);
    return 0;
}

static void too_few_prepared_transactions_are_refused(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    sql_run(cluster_dsn(cluster, 2), "alter system set max_prepared_transactions = 7");
    restart_postgres(cluster, 2);
    expect_refusal(cluster, &plan,
                   "shard-2: max_prepared_transactions is 7; two-phase commit "
                   "needs at least 8");
    sql_run(cluster_dsn(cluster, 2), "alter system set max_prepared_transactions = 8");
    restart_postgres(cluster, 2);
    expect_ready(cluster, &plan);
}

static void await_setting(const Cluster *cluster, const char *name, const char *value)
{
    sql_run(cluster_dsn(cluster, 1), "alter system set %s = %s", name, value);
    sql_run(cluster_dsn(cluster, 1), "select pg_reload_conf()");
    for (int tries = 0; tries < 500; tries++)
    {
        if (sql_integer(cluster_dsn(cluster, 1), "select (current_setting('%s') = '%s')::int", name,
                        value) == 1)
        {
            return;
        }
        processes_pause_ms(10);
    }
    fail_msg("%s does not become %s", name, value);
}

static void settings_that_lose_writes_are_refused_unless_allowed(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    static const char *const settings[] = {"fsync", "full_page_writes"};
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
    {
        char why[128];
        char output[OUTPUT_MAX];
        snprintf(why, sizeof(why), "shard-1: %s is off", settings[i]);
        await_setting(cluster, settings[i], "off");
        expect_refusal(cluster, &plan, why);
        assert_int_equal(run_init(cluster, &plan, "--allow-fsync-off", output), 0);
        await_setting(cluster, settings[i], "on");
    }
    expect_ready(cluster, &plan);
}

/* ---- identity -------------------------------------------------------------------------------- */

static void a_shard_of_another_cluster_is_refused(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    plan.cluster = "other";
    expect_refusal(cluster, &plan,
                   "shard-1: this database is a shard of cluster demo, not of other");
}

static void a_directory_of_another_cluster_is_refused(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "lost");
    plan.places[0] = plan_of_demo(cluster).places[0];
    expect_refusal(cluster, &plan, "this directory is of cluster demo, not of lost");
    assert_true(sql_is(plan.places[1].owner_dsn, "0",
                       "select count(*) from pg_namespace where nspname = 'giro'"));
}

static void a_shard_keeps_its_name_and_ordinal(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    plan.names[2] = "shard-x";
    expect_refusal(cluster, &plan, "shard-x: this database is shard shard-2 of this cluster");
    plan = plan_of_demo(cluster);
    plan.ordinals[2] = 5;
    expect_refusal(cluster, &plan, "shard-2: its ordinal is 2 and never changes; 5 is wrong");
}

static void one_database_cannot_be_two_shards(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "double");
    plan.places[2] = plan.places[1];
    expect_refusal(cluster, &plan, "shard-1 and shard-2 are the same database (double_1)");
}

static void another_server_in_a_shards_place_is_refused(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_afresh(cluster, "swapped");
    expect_ready(cluster, &plan);
    /* An empty database of the same name elsewhere, as after a restore that went wrong. */
    sql_run(cluster_dsn(cluster, 2), "create database swapped_2");
    snprintf(plan.places[2].dsn, DSN_MAX, "%s", cluster_coord_dsn(cluster, 2));
    snprintf(plan.places[2].owner_dsn, DSN_MAX, "%s", cluster_dsn(cluster, 2));
    replace_setting(plan.places[2].dsn, "dbname", "swapped_2");
    replace_setting(plan.places[2].owner_dsn, "dbname", "swapped_2");
    expect_refusal(cluster, &plan, "shard shard-2 is the Postgres cluster with system identifier");
}

/* ---- a changed description ------------------------------------------------------------------- */

static void what_stands_cannot_be_left_out_or_contradicted(void **state)
{
    Cluster *cluster = *state;
    Plan plan = plan_of_demo(cluster);
    char before[128];
    char after[128];
    fingerprint(cluster, before);
    plan.shards = 1;
    expect_refusal(cluster, &plan,
                   "directory: shard shard-2 stands in the directory but not in the description");
    plan = plan_of_demo(cluster);
    plan.keyspaces = "{\"prefix\":\"\",\"kind\":\"range\"}" OTHER_KEYSPACES;
    expect_refusal(cluster, &plan, "keyspace \"\" is of kind hash, which never changes, not range");
    plan.keyspaces = "{\"prefix\":\"\",\"kind\":\"hash\",\"partitions\":128}" OTHER_KEYSPACES;
    expect_refusal(cluster, &plan,
                   "keyspace \"\" has 64 partitions, which init does not change, not 128");
    plan.keyspaces = HASH_KEYSPACE ",{\"prefix\":\"a\",\"kind\":\"hash\"}" OTHER_KEYSPACES;
    expect_refusal(cluster, &plan, "keyspace \"a\" would take ids from keyspace \"\"");
    plan.keyspaces = HASH_KEYSPACE;
    expect_refusal(cluster, &plan, "stands in the directory but not in the description");
    fingerprint(cluster, after);
    assert_string_equal(before, after);
}

static void a_shard_and_a_new_address_can_be_added(void **state)
{
    Cluster *cluster = *state;
    char output[OUTPUT_MAX];
    Plan plan = plan_afresh(cluster, "grows");
    plan.shards = 1;
    expect_ready(cluster, &plan);
    plan.shards = 2;
    assert_int_equal(run_init(cluster, &plan, "", output), 0);
    assert_non_null(strstr(output, "directory: routing version "));
    assert_non_null(strstr(output, "shard-2: schema/shard/001_tables.sql applied"));
    /* Partitions stay with their owner; moving them is no matter of set-up. */
    assert_true(sql_is(plan.places[0].owner_dsn, "shard-1",
                       "select string_agg(distinct shard, ',') from giro_directory.partitions"));
    replace_setting(plan.places[2].dsn, "host", "localhost");
    assert_int_equal(run_init(cluster, &plan, "", output), 0);
    assert_true(sql_is(plan.places[0].owner_dsn, "t",
                       "select dsn like 'host=localhost %%' from giro_directory.shards"
                       " where name = 'shard-2'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_init_changes_nothing),
        cmocka_unit_test(two_inits_at_the_same_time_both_succeed),
        cmocka_unit_test(an_init_that_fails_midway_is_completed_by_the_next_one),
        cmocka_unit_test(keyspaces_of_all_kinds_are_split_as_described),
        cmocka_unit_test(the_coordinators_role_may_execute_and_nothing_else),
        cmocka_unit_test(an_owner_without_superuser_suffices),
        cmocka_unit_test(another_owners_schema_is_left_alone),
        cmocka_unit_test(a_coordinators_role_that_is_too_strong_is_refused),
        cmocka_unit_test(a_dsn_that_leads_nowhere_or_elsewhere_is_not_published),
        cmocka_unit_test(a_wrong_password_leaves_fresh_databases_empty),
        cmocka_unit_test(a_server_that_is_down_is_reported),
        cmocka_unit_test_teardown(too_few_prepared_transactions_are_refused, put_settings_right),
        cmocka_unit_test_teardown(settings_that_lose_writes_are_refused_unless_allowed,
                                  put_settings_right),
        cmocka_unit_test(a_shard_of_another_cluster_is_refused),
        cmocka_unit_test(a_directory_of_another_cluster_is_refused),
        cmocka_unit_test(a_shard_keeps_its_name_and_ordinal),
        cmocka_unit_test(one_database_cannot_be_two_shards),
        cmocka_unit_test(another_server_in_a_shards_place_is_refused),
        cmocka_unit_test(what_stands_cannot_be_left_out_or_contradicted),
        cmocka_unit_test(a_shard_and_a_new_address_can_be_added),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
