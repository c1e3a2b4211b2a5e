/*
 * Finding a server, against a real Postgres that the test starts itself.
 * Fakes: tests/unit/private_postgres.c tests/unit/pg_client.c
 */
#include "pg_client.h"
#include "private_postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static PrivatePostgres server;

static int setup(void **state)
{
    return client_set_up(state, server.dsn);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void connects_and_names_itself(void **state)
{
    Client *client = *state;
    assert_true(pg_is_open(client->pg));
    assert_true(pg_backend_pid(client->pg) > 0);
    client_run(client, "do $$begin assert current_setting('application_name') = 'girod' and"
                       " current_setting('client_encoding') = 'UTF8'; end$$");
    assert_kinds(client, "d");
    assert_string_equal(client->answers[0].tag, "DO");
}

static void connects_over_tcp(void **state)
{
    Client *client = *state;
    client_reconnect(client, server.tcp_dsn, DEADLINE_MS);
    assert_true(client->connected);
}

static void resolves_host_names(void **state)
{
    Client *client = *state;
    char dsn[256];
    snprintf(dsn, sizeof dsn, "host=localhost port=%d user=postgres dbname=postgres", server.port);
    client_reconnect(client, dsn, DEADLINE_MS);
    assert_true(client->connected);
    snprintf(dsn, sizeof dsn, "host=no_such_host.invalid,%s port=%d user=postgres",
             server.directory, server.port);
    client_reconnect(client, dsn, 4 * DEADLINE_MS);
    assert_true(client->connected);
}

static void reports_what_cannot_be_connected_to(void **state)
{
    Client *client = *state;
    client_reconnect(client, "host=127.0.0.1 port=1 user=postgres", DEADLINE_MS);
    assert_false(client->connected);
    assert_non_null(strstr(client->text, "refused"));
    client_reconnect(client, "this is = no dsn 'secret", DEADLINE_MS);
    assert_false(client->connected);
    assert_null(strstr(client->text, "secret"));
    char dsn[256];
    snprintf(dsn, sizeof dsn, "host=%s port=%d user=postgres dbname=missing", server.directory,
             server.port);
    client_reconnect(client, dsn, DEADLINE_MS);
    assert_false(client->connected);
    assert_non_null(strstr(client->text, "does not exist"));
}

static void passes_over_a_host_that_hangs(void **state)
{
    Client *client = *state;
    int port;
    int fd = hanging_listener(&port);
    char dsn[256];
    snprintf(dsn, sizeof dsn, "host=127.0.0.1,%s port=%d,%d user=postgres dbname=postgres",
             server.directory, port, server.port);
    client_reconnect(client, dsn, 600);
    assert_true(client->connected);
    snprintf(dsn, sizeof dsn, "host=127.0.0.1,127.0.0.1 port=%d,%d user=postgres", port, port);
    uint64_t begin_ms = loop_now_ms(client->loop);
    client_reconnect(client, dsn, 200);
    assert_false(client->connected);
    assert_in_range(loop_now_ms(client->loop) - begin_ms, 190, 1000);
    assert_non_null(strstr(client->text, "in time"));
    close(fd);
}

static void passes_over_a_server_that_is_read_only(void **state)
{
    Client *client = *state;
    client_run(client, "create role reader login");
    client_run(client, "alter role reader set default_transaction_read_only = on");
    char dsn[256];
    snprintf(dsn, sizeof dsn, "host=%s port=%d user=reader dbname=postgres", server.directory,
             server.port);
    client_reconnect(client, dsn, DEADLINE_MS);
    assert_false(client->connected);
    assert_non_null(strstr(client->text, "read-only"));
}

static void may_be_closed_while_it_connects(void **state)
{
    Client *client = *state;
    int port;
    int fd = hanging_listener(&port);
    char dsn[64];
    snprintf(dsn, sizeof dsn, "host=localhost port=%d", port);
    client->told = false;
    for (uint64_t turns_ms = 0; turns_ms < 40; turns_ms += 20)
    {
        bool never = false;
        Pg *pg = pg_connect(client->loop, dsn, DEADLINE_MS, client_connected, client);
        loop_run_until(client->loop, &never, turns_ms);
        pg_close(pg);
        loop_run_until(client->loop, &never, 20);
        assert_false(client->told);
    }
    close(fd);
}

static int start_server(void **state)
{
    (void)state;
    private_postgres_start(&server, NULL);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    private_postgres_stop(&server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, client_tear_down)
        TEST(connects_and_names_itself),
        TEST(connects_over_tcp),
        TEST(resolves_host_names),
        TEST(reports_what_cannot_be_connected_to),
        TEST(passes_over_a_host_that_hangs),
        TEST(passes_over_a_server_that_is_read_only),
        TEST(may_be_closed_while_it_connects),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
