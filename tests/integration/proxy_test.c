/*
 * The proxy of the harness against a real Postgres: it must lose what it is told to lose and leave
 * everything else alone, or the tests that rely on it prove nothing.
 *
 * All cases use shard 1 of a cluster whose coordinator stands idle; they talk to it by libpq, with
 * the simple and with the extended protocol.
 */
#include "check.h"
#include "cluster.h"
#include "processes.h"
#include "sql.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Fixture
{
    Cluster *cluster;
    Proxy *proxy; /* a second one: the coordinator's own traffic does not come through it */
    const char *direct;
    char through[512];
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = base_calloc(1, sizeof(*fixture));
    fixture->cluster = cluster_new(&(ClusterOptions){.shards = 1, .proxied = true});
    fixture->direct = cluster_dsn(fixture->cluster, 1);
    int port = atoi(strstr(fixture->direct, "port=") + 5);
    fixture->proxy = proxy_new(0, port);
    assert_non_null(fixture->proxy);
    const char *after_port = strchr(strstr(fixture->direct, "port="), ' ');
    snprintf(fixture->through, sizeof(fixture->through), "host=127.0.0.1 port=%d%s",
             proxy_port(fixture->proxy), after_port);
    sql_run(fixture->direct, "create table public.marks (mark text)");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    proxy_free(fixture->proxy);
    cluster_free(fixture->cluster);
    free(fixture);
    return 0;
}

/* Before each test: no rule, no marks. */
static int begin(void **state)
{
    Fixture *fixture = *state;
    proxy_set_rule(fixture->proxy, NULL);
    proxy_set_black_hole(fixture->proxy, false);
    sql_run(fixture->direct, "truncate public.marks");
    return 0;
}

static SqlSession *open_session(const Fixture *fixture)
{
    SqlSession *session = sql_session_new(fixture->through);
    assert_non_null(session);
    return session;
}

static int64_t marks(const Fixture *fixture)
{
    return sql_integer(fixture->direct, "select count(*) from public.marks");
}

/* The server works on after its client is gone. */
static bool await_marks(const Fixture *fixture, int64_t wanted)
{
    for (int tries = 0; tries < 200; tries++)
    {
        if (marks(fixture) == wanted)
        {
            return true;
        }
        processes_pause_ms(10);
    }
    return false;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void passes_everything_without_a_rule(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    SqlSession *session = open_session(fixture);
    sql_session_run(session, "insert into public.marks values ($1)", "extended", sqlstate, tag);
    assert_string_equal(tag, "INSERT 0 1");
    sql_session_run(session, "insert into public.marks values ('simple')", NULL, sqlstate, tag);
    assert_string_equal(tag, "INSERT 0 1");
    sql_session_run(session, "select repeat('x', 3000000)", NULL, sqlstate, tag);
    assert_string_equal(tag, "SELECT 1");
    sql_session_run(session, "select 1 / 0", NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "22012");
    assert_int_equal(marks(fixture), 2);
    assert_int_equal(proxy_connections(fixture->proxy), 1);
    sql_session_free(session);
}

static void declines_a_wish_for_tls_and_goes_on(void **state)
{
    Fixture *fixture = *state;
    char dsn[600];
    snprintf(dsn, sizeof(dsn), "%s sslmode=prefer gssencmode=prefer", fixture->through);
    assert_int_equal(sql_integer(dsn, "select 7"), 7);
}

static void swallows_the_reply_to_a_simple_query_after_it_has_run(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    proxy_set_rule(fixture->proxy, &(ProxyRule){.action = PROXY_SWALLOW, .statement = "commit"});
    SqlSession *session = open_session(fixture);
    sql_session_run(session, "begin; insert into public.marks values ('a')", NULL, sqlstate, tag);
    assert_string_equal(tag, "INSERT 0 1");
    sql_session_run(session, "commit", NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "08006");
    assert_true(sql_session_is_lost(session));
    assert_int_equal(proxy_hits(fixture->proxy), 1);
    assert_int_equal(marks(fixture), 1);
    sql_session_free(session);
}

static void swallows_the_reply_to_an_extended_statement(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    proxy_set_rule(fixture->proxy,
                   &(ProxyRule){.action = PROXY_SWALLOW, .statement = "public.marks", .count = 1});
    SqlSession *session = open_session(fixture);
    sql_session_run(session, "insert into public.marks values ($1)", "a", sqlstate, tag);
    assert_string_equal(sqlstate, "08006");
    assert_int_equal(marks(fixture), 1);
    sql_session_free(session);

    session = open_session(fixture);
    sql_session_run(session, "insert into public.marks values ($1)", "b", sqlstate, tag);
    assert_string_equal(tag, "INSERT 0 1");
    assert_int_equal(proxy_hits(fixture->proxy), 1);
    sql_session_free(session);
}

static void swallows_by_command_tag(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    proxy_set_rule(fixture->proxy,
                   &(ProxyRule){.action = PROXY_SWALLOW, .tag = "PREPARE TRANSACTION"});
    SqlSession *session = open_session(fixture);
    sql_session_run(session, "begin; insert into public.marks values ('a')", NULL, sqlstate, tag);
    sql_session_run(session, "prepare transaction 'proxy:test'", NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "08006");
    assert_int_equal(sql_integer(fixture->direct, "select count(*) from pg_prepared_xacts"), 1);
    sql_run(fixture->direct, "rollback prepared 'proxy:test'");
    sql_session_free(session);
}

static void cuts_before_the_statement_arrives(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    proxy_set_rule(fixture->proxy,
                   &(ProxyRule){.action = PROXY_CUT_BEFORE, .statement = "public.marks"});
    SqlSession *session = open_session(fixture);
    sql_session_run(session, "insert into public.marks values ($1)", "a", sqlstate, tag);
    assert_string_equal(sqlstate, "08006");
    sql_session_free(session);
    processes_pause_ms(200);
    assert_int_equal(marks(fixture), 0);
}

static void cuts_after_the_statement_has_been_sent_and_it_runs_all_the_same(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    proxy_set_rule(fixture->proxy,
                   &(ProxyRule){.action = PROXY_CUT_AFTER, .statement = "public.marks"});
    SqlSession *session = open_session(fixture);
    sql_session_run(session, "insert into public.marks select $1 from pg_sleep(0.3)", "a", sqlstate,
                    tag);
    assert_string_equal(sqlstate, "08006");
    assert_int_equal(marks(fixture), 0);
    assert_true(await_marks(fixture, 1));
    sql_session_free(session);
}

static void delays_a_statement(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    proxy_set_rule(
        fixture->proxy,
        &(ProxyRule){.action = PROXY_DELAY, .statement = "public.marks", .count = 1, .ms = 300});
    SqlSession *session = open_session(fixture);
    double started = seconds_now();
    sql_session_run(session, "insert into public.marks values ($1)", "a", sqlstate, tag);
    assert_string_equal(tag, "INSERT 0 1");
    assert_true(seconds_now() - started > 0.28);
    sql_session_free(session);
}

static void delivers_a_delayed_statement_after_its_client_has_left(void **state)
{
    Fixture *fixture = *state;
    char command[1024];
    proxy_set_rule(
        fixture->proxy,
        &(ProxyRule){.action = PROXY_DELAY, .statement = "public.marks", .count = 1, .ms = 700});
    snprintf(command, sizeof(command),
             "timeout -s KILL 0.3 psql -X '%s' -c \"insert into public.marks values ('late')\"",
             fixture->through);
    assert_int_not_equal(cluster_shell(fixture->cluster, command, NULL, 0), 0);
    assert_int_equal(marks(fixture), 0);
    assert_true(await_marks(fixture, 1));
}

static void delays_a_reply_while_the_work_is_done(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    proxy_set_rule(
        fixture->proxy,
        &(ProxyRule){.action = PROXY_DELAY_REPLY, .tag = "INSERT", .count = 1, .ms = 300});
    SqlSession *session = open_session(fixture);
    double started = seconds_now();
    sql_session_run(session, "insert into public.marks values ('a')", NULL, sqlstate, tag);
    assert_string_equal(tag, "INSERT 0 1");
    assert_true(seconds_now() - started > 0.28);
    sql_session_free(session);
}

static void loses_everything_as_a_black_hole_and_goes_on_afterwards(void **state)
{
    Fixture *fixture = *state;
    char command[1024];
    proxy_set_black_hole(fixture->proxy, true);
    snprintf(command, sizeof(command), "timeout 0.5 psql -X '%s' -c 'select 1'", fixture->through);
    assert_int_equal(cluster_shell(fixture->cluster, command, NULL, 0), 124);
    proxy_set_black_hole(fixture->proxy, false);
    assert_int_equal(sql_integer(fixture->through, "select 7"), 7);
}

static void cuts_all_connections(void **state)
{
    Fixture *fixture = *state;
    char sqlstate[6];
    char tag[40];
    SqlSession *session = open_session(fixture);
    proxy_cut_all(fixture->proxy);
    sql_session_run(session, "select 1", NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "08006");
    sql_session_free(session);
}

static void stands_between_the_coordinators_and_their_shards(void **state)
{
    Fixture *fixture = *state;
    Proxy *proxy = cluster_proxy(fixture->cluster, 1);
    const char *dsn = cluster_coord_dsn(fixture->cluster, 1);
    proxy_set_rule(proxy, &(ProxyRule){.action = PROXY_PASS, .statement = "giro.session"});
    assert_true(sql_is(dsn, "shard-1", "select name from giro.session(1000, 3000, 10000)"));
    assert_true(proxy_await_hits(proxy, 1, 1000));
    proxy_set_rule(proxy, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(passes_everything_without_a_rule, begin),
        cmocka_unit_test_setup(declines_a_wish_for_tls_and_goes_on, begin),
        cmocka_unit_test_setup(swallows_the_reply_to_a_simple_query_after_it_has_run, begin),
        cmocka_unit_test_setup(swallows_the_reply_to_an_extended_statement, begin),
        cmocka_unit_test_setup(swallows_by_command_tag, begin),
        cmocka_unit_test_setup(cuts_before_the_statement_arrives, begin),
        cmocka_unit_test_setup(cuts_after_the_statement_has_been_sent_and_it_runs_all_the_same,
                               begin),
        cmocka_unit_test_setup(delays_a_statement, begin),
        cmocka_unit_test_setup(delivers_a_delayed_statement_after_its_client_has_left, begin),
        cmocka_unit_test_setup(delays_a_reply_while_the_work_is_done, begin),
        cmocka_unit_test_setup(loses_everything_as_a_black_hole_and_goes_on_afterwards, begin),
        cmocka_unit_test_setup(cuts_all_connections, begin),
        cmocka_unit_test_setup(stands_between_the_coordinators_and_their_shards, begin),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
