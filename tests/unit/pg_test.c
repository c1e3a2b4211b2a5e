/*
 * Groups and lost connections, against a real Postgres that the test starts itself.
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

static PrivatePostgres server;

static int setup(void **state)
{
    return client_set_up(state, server.dsn);
}

static void on_lost(void *context)
{
    ((Client *)context)->lost = true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void answers_every_message_of_a_group(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "begin", NULL);
    pg_group_sql(client->pg, "create table t (a int primary key)", NULL);
    pg_group_sql(client->pg, "insert into t values (1), (2)", NULL);
    pg_group_sql(client->pg, "select * from t", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "dddd");
    assert_string_equal(client->answers[0].tag, "BEGIN");
    assert_string_equal(client->answers[2].tag, "INSERT 0 2");
    assert_string_equal(client->answers[3].tag, "SELECT 2");
    assert_int_equal(client->transaction, PG_TRANSACTION_OPEN);
    client_run(client, "rollback");
    assert_string_equal(client->answers[0].tag, "ROLLBACK");
    assert_int_equal(client->transaction, PG_TRANSACTION_IDLE);
}

static void skips_what_follows_an_error_until_the_sync(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select 1", NULL);
    pg_group_sql(client->pg, "select 1/0", NULL);
    pg_group_sql(client->pg, "select 2", NULL);
    pg_group_sync(client->pg);
    pg_group_sql(client->pg, "select 3", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "desd");
    assert_string_equal(client->answers[1].sqlstate, "22012");
    assert_string_equal(client->answers[1].text, "division by zero");
    assert_int_equal(client->transaction, PG_TRANSACTION_IDLE);
}

static void reports_a_failed_transaction(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "begin", NULL);
    pg_group_sql(client->pg, "select nonsense", NULL);
    pg_group_sql(client->pg, "commit", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "des");
    assert_int_equal(client->transaction, PG_TRANSACTION_FAILED);
    client_run(client, "commit");
    assert_kinds(client, "d");
    assert_string_equal(client->answers[0].tag, "ROLLBACK");
}

static void finishes_a_prepared_transaction_behind_a_sync(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "begin", NULL);
    pg_group_sql(client->pg, "prepare transaction 'a'", NULL);
    pg_group_sync(client->pg);
    pg_group_sql(client->pg, "commit prepared 'a'", NULL);
    pg_group_sync(client->pg);
    pg_group_sql(client->pg, "commit prepared 'a'", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "ddde");
    assert_string_equal(client->answers[1].tag, "PREPARE TRANSACTION");
    assert_string_equal(client->answers[2].tag, "COMMIT PREPARED");
    assert_false(client->answers[2].warned);
    assert_string_equal(client->answers[3].sqlstate, "42704");
}

static void an_error_at_the_sync_belongs_to_the_last_message(void **state)
{
    Client *client = *state;
    client_run(client, "create table parent (a int primary key)");
    client_run(client,
               "create table child (a int references parent deferrable initially deferred)");
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "insert into child values (7)", NULL);
    pg_group_sync(client->pg);
    pg_group_sql(client->pg, "select count(*) from child", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "ed");
    assert_string_equal(client->answers[0].sqlstate, "23503");
    assert_int_equal(client->transaction, PG_TRANSACTION_IDLE);
    client_run(client, "drop table child, parent");
}

static void notes_warnings_but_not_notices(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "drop table if exists nowhere", NULL);
    pg_group_sync(client->pg);
    pg_group_sql(client->pg, "commit", NULL);
    pg_group_sync(client->pg);
    pg_group_sql(client->pg, "select 1", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "ddd");
    assert_false(client->answers[0].warned);
    assert_true(client->answers[1].warned);
    assert_string_equal(client->answers[1].sqlstate, "25P01");
    assert_string_equal(client->answers[1].tag, "COMMIT");
    assert_false(client->answers[2].warned);
    client_run(client, "select 1");
    assert_false(client->answers[0].warned);
}

static void a_warning_at_the_sync_belongs_to_the_last_message(void **state)
{
    Client *client = *state;
    client_run(client, "create table late (a int)");
    client_run(client, "create function warn() returns trigger language plpgsql as"
                       " $$begin raise warning 'late'; return null; end$$");
    client_run(client, "create constraint trigger late after insert on late deferrable initially"
                       " deferred for each row execute function warn()");
    client_run(client, "insert into late values (1)");
    assert_kinds(client, "d");
    assert_true(client->answers[0].warned);
    assert_string_equal(client->answers[0].sqlstate, "01000");
    client_run(client, "drop table late");
    client_run(client, "drop function warn");
}

static void runs_prepared_statements(void **state)
{
    Client *client = *state;
    PgParams *params = pg_params_new(100);
    pg_params_int4(params, 20);
    pg_group_begin(client->pg);
    pg_group_prepare(client->pg, "twice", "select $1::int * 2 where $1::int < 50");
    pg_group_execute(client->pg, "twice", params);
    pg_params_reset(params);
    pg_params_int4(params, 70);
    pg_group_execute(client->pg, "twice", params);
    pg_group_execute(client->pg, "missing", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "ddde");
    assert_string_equal(client->answers[1].tag, "SELECT 1");
    assert_string_equal(client->answers[2].tag, "SELECT 0");
    assert_string_equal(client->answers[3].sqlstate, "26000");
    pg_params_free(params);
}

static void sends_large_groups(void **state)
{
    Client *client = *state;
    size_t length = 4 * 1024 * 1024;
    char *text = malloc(length + 1);
    memset(text, 'x', length);
    text[length] = '\0';
    PgParams *params = pg_params_new(length);
    pg_params_text(params, text);
    for (int round = 0; round < 2; round++)
    {
        pg_group_begin(client->pg);
        for (int i = 0; i < 4; i++)
            pg_group_sql(client->pg, "select 1 where length($1::text) = 4 * 1024 * 1024", params);
        client_send(client, 4 * DEADLINE_MS);
        assert_kinds(client, "dddd");
        assert_string_equal(client->answers[3].tag, "SELECT 1");
    }
    pg_params_free(params);
    free(text);
}

/* ---- values ---------------------------------------------------------------------------------- */

static const uint8_t some_uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255};
static const uint8_t some_bytes[4] = {0, 255, 0, 39};

static void check_values(const PgRows *rows)
{
    size_t length = 0;
    assert_int_equal(pg_row_count(rows), 1);
    assert_true(pg_bool(rows, 0, 0));
    assert_int_equal(pg_int4(rows, 0, 1), INT32_MIN);
    assert_true(pg_int8(rows, 0, 2) == -INT64_C(9007199254740991));
    assert_string_equal(pg_text(rows, 0, 3), "Gr\xc3\xbc\xc3\x9f'e");
    assert_memory_equal(pg_bytes(rows, 0, 4, &length), some_bytes, 4);
    assert_int_equal(length, 4);
    assert_memory_equal(pg_uuid(rows, 0, 5), some_uuid, 16);
    assert_true(pg_is_null(rows, 0, 6));
    assert_null(pg_text(rows, 0, 6));
    assert_null(pg_bytes(rows, 0, 7, &length));
    assert_string_equal(pg_text(rows, 0, 8), "");
    assert_non_null(pg_bytes(rows, 0, 9, &length));
    assert_int_equal(length, 0);
    assert_true(pg_timestamp_us(rows, 0, 10) == INT64_C(1769860800123456));
    assert_int_equal(pg_row_count(NULL), 0);
}

static void round_trips_values_of_every_type(void **state)
{
    Client *client = *state;
    PgParams *params = pg_params_new(1000);
    pg_params_bool(params, true);
    pg_params_int4(params, INT32_MIN);
    pg_params_int8(params, -INT64_C(9007199254740991));
    pg_params_text(params, "Gr\xc3\xbc\xc3\x9f'e");
    pg_params_bytes(params, some_bytes, sizeof some_bytes);
    pg_params_uuid(params, some_uuid);
    pg_params_text(params, NULL);
    pg_params_null(params);
    pg_params_text(params, "");
    pg_params_bytes(params, NULL, 0);
    pg_group_begin(client->pg);
    pg_group_sql(client->pg,
                 "select $1::bool, $2::int, $3::bigint, $4::text, $5::bytea, $6::uuid, $7::text,"
                 " $8::bytea, $9::text, $10::bytea, timestamptz '2026-01-31 12:00:00.123456Z'",
                 params);
    client->check = check_values;
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "d");
    pg_params_free(params);
}

static void check_arrays(const PgRows *rows)
{
    assert_string_equal(pg_text(rows, 0, 0), "{1,NULL,-3}");
    assert_string_equal(pg_text(rows, 0, 1), "{9007199254740991,0}");
    assert_string_equal(pg_text(rows, 0, 2), "{a,NULL,\"NULL\",\"\"}");
    assert_string_equal(pg_text(rows, 0, 3), "{\"\\\\x00ff0027\",\"\\\\x\"}");
    assert_string_equal(pg_text(rows, 0, 4), "{01020304-0506-0708-090a-0b0c0d0e0fff}");
    assert_string_equal(pg_text(rows, 0, 5), "{}");
}

static void round_trips_arrays_of_every_type(void **state)
{
    Client *client = *state;
    PgParams *params = pg_params_new(1000);
    pg_params_array(params, PG_ELEMENT_INT4, 3);
    pg_params_add_int4(params, 1);
    pg_params_add_null(params);
    pg_params_add_int4(params, -3);
    pg_params_array(params, PG_ELEMENT_INT8, 2);
    pg_params_add_int8(params, INT64_C(9007199254740991));
    pg_params_add_int8(params, 0);
    pg_params_array(params, PG_ELEMENT_TEXT, 4);
    pg_params_add_text(params, "a");
    pg_params_add_text(params, NULL);
    pg_params_add_text(params, "NULL");
    pg_params_add_text(params, "");
    pg_params_array(params, PG_ELEMENT_BYTES, 2);
    pg_params_add_bytes(params, some_bytes, sizeof some_bytes);
    pg_params_add_bytes(params, "", 0);
    pg_params_array(params, PG_ELEMENT_UUID, 1);
    pg_params_add_uuid(params, some_uuid);
    pg_params_array(params, PG_ELEMENT_TEXT, 0);
    pg_group_begin(client->pg);
    pg_group_sql(client->pg,
                 "select $1::int[]::text, $2::bigint[]::text, $3::text[]::text,"
                 " $4::bytea[]::text, $5::uuid[]::text, $6::text[]::text",
                 params);
    client->check = check_arrays;
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "d");
    pg_params_free(params);
}

/* ---- losing connections ---------------------------------------------------------------------- */

static void terminate(int pid)
{
    Client killer = {.loop = loop_new()};
    char sql[64];
    client_connect(&killer, server.dsn, DEADLINE_MS);
    assert_true(killer.connected);
    snprintf(sql, sizeof sql, "select pg_terminate_backend(%d, 5000)", pid);
    client_run(&killer, sql);
    pg_close(killer.pg);
    loop_free(killer.loop);
}

static void tells_when_an_idle_connection_ends(void **state)
{
    Client *client = *state;
    pg_on_lost(client->pg, on_lost, client);
    terminate(pg_backend_pid(client->pg));
    assert_true(loop_run_until(client->loop, &client->lost, DEADLINE_MS));
    assert_false(pg_is_open(client->pg));
    assert_non_null(strstr(pg_trouble(client->pg), "administrator command"));
    client_run(client, "select 1");
    assert_kinds(client, "l");
    assert_int_equal(client->transaction, PG_TRANSACTION_UNKNOWN);
}

static void a_fatal_error_is_a_lost_answer(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "begin", NULL);
    pg_group_sql(client->pg, "select pg_terminate_backend(pg_backend_pid())", NULL);
    pg_group_sql(client->pg, "commit", NULL);
    client_send(client, DEADLINE_MS);
    assert_kinds(client, "lll");
    assert_string_equal(client->answers[1].sqlstate, "57P01");
    assert_int_equal(client->transaction, PG_TRANSACTION_UNKNOWN);
    assert_false(pg_is_timed_out(client->pg));
}

static void an_answer_without_its_sync_is_lost(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select 1", NULL);
    pg_group_sync(client->pg);
    pg_group_sql(client->pg, "select 2", NULL);
    pg_group_sql(client->pg, "select pg_sleep(10)", NULL);
    client_send(client, 200);
    assert_kinds(client, "dll");
}

static void a_missed_deadline_closes_the_connection(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select pg_sleep(10)", NULL);
    uint64_t begin_ms = loop_now_ms(client->loop);
    client_send(client, 150);
    assert_in_range(loop_now_ms(client->loop) - begin_ms, 140, 2000);
    assert_kinds(client, "l");
    assert_true(pg_is_timed_out(client->pg));
    assert_false(pg_is_open(client->pg));
    assert_string_equal(pg_trouble(client->pg), "no answer before the deadline");
}

static void answers_a_group_that_is_cut(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select pg_sleep(10)", NULL);
    client->answered = false;
    pg_group_send(client->pg, DEADLINE_MS, client_answered, client);
    pg_cut(client->pg);
    assert_false(client->answered);
    assert_true(loop_run_until(client->loop, &client->answered, 1000));
    assert_kinds(client, "l");
    assert_false(pg_is_timed_out(client->pg));
}

static void calls_nobody_back_after_close(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select pg_sleep(10)", NULL);
    pg_group_send(client->pg, DEADLINE_MS, client_answered, client);
    pg_close(client->pg);
    client->pg = NULL;
    bool never = false;
    loop_run_until(client->loop, &never, 50);
    assert_false(client->answered);
}

static void close_in_callback(void *context, const PgAnswer *answers, size_t count,
                              PgTransaction transaction)
{
    Client *client = context;
    pg_close(client->pg);
    client->pg = NULL;
    assert_int_equal(pg_int4(answers[0].rows, 0, 0), 5);
    client_answered(context, answers, count, transaction);
}

static void may_be_closed_in_its_own_callback(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select 5", NULL);
    pg_group_send(client->pg, DEADLINE_MS, close_in_callback, client);
    assert_true(loop_run_until(client->loop, &client->answered, DEADLINE_MS));
}

static void send_again(void *context, const PgAnswer *answers, size_t count,
                       PgTransaction transaction)
{
    Client *client = context;
    assert_int_equal(answers[0].kind, PG_DONE);
    (void)count;
    (void)transaction;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select 2", NULL);
    pg_group_sql(client->pg, "select 3", NULL);
    pg_group_send(client->pg, DEADLINE_MS, client_answered, client);
    assert_int_equal(pg_int4(answers[0].rows, 0, 0), 1);
}

static void may_send_the_next_group_in_the_callback(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "select 1", NULL);
    pg_group_send(client->pg, DEADLINE_MS, send_again, client);
    assert_true(loop_run_until(client->loop, &client->answered, DEADLINE_MS));
    assert_kinds(client, "dd");
}

static void survives_a_crash_of_the_server(void **state)
{
    Client *client = *state;
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, "begin", NULL);
    pg_group_sql(client->pg, "select pg_sleep(10)", NULL);
    client->answered = false;
    pg_group_send(client->pg, DEADLINE_MS, client_answered, client);
    bool never = false;
    loop_run_until(client->loop, &never, 50);
    private_postgres_halt(&server, "immediate");
    assert_true(loop_run_until(client->loop, &client->answered, DEADLINE_MS));
    assert_kinds(client, "ll");
    client_reconnect(client, server.dsn, 500);
    assert_false(client->connected);
    private_postgres_resume(&server);
    client_reconnect(client, server.dsn, DEADLINE_MS);
    assert_true(client->connected);
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
        TEST(answers_every_message_of_a_group),
        TEST(skips_what_follows_an_error_until_the_sync),
        TEST(reports_a_failed_transaction),
        TEST(finishes_a_prepared_transaction_behind_a_sync),
        TEST(an_error_at_the_sync_belongs_to_the_last_message),
        TEST(notes_warnings_but_not_notices),
        TEST(a_warning_at_the_sync_belongs_to_the_last_message),
        TEST(runs_prepared_statements),
        TEST(sends_large_groups),
        TEST(round_trips_values_of_every_type),
        TEST(round_trips_arrays_of_every_type),
        TEST(tells_when_an_idle_connection_ends),
        TEST(a_fatal_error_is_a_lost_answer),
        TEST(an_answer_without_its_sync_is_lost),
        TEST(a_missed_deadline_closes_the_connection),
        TEST(answers_a_group_that_is_cut),
        TEST(calls_nobody_back_after_close),
        TEST(may_be_closed_in_its_own_callback),
        TEST(may_send_the_next_group_in_the_callback),
        TEST(survives_a_crash_of_the_server),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
