/*
 * Shards, partitions and directory as operators see them, also while a shard is away or fenced.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum
{
    SHARDS = 3,
    TRIES = 300,
    PAUSE_US = 100000,
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    return 0;
}

static void get(const char *path, Response *ret_response)
{
    client_call(client, &(Request){.path = path}, ret_response);
    response_expect(ret_response, 200, NULL);
}

static bool flag(const Response *response, const char *path)
{
    const Json *value = response_value(response, path);
    check(value != NULL && json_kind(value) == JSON_KIND_BOOL, "no %s", path);
    return json_as_bool(value);
}

static void every_shard_says_what_it_is(void **state)
{
    Response response;
    (void)state;
    get("/v1/shards", &response);
    assert_int_equal(json_array_length(response_value(&response, "items")), SHARDS);
    assert_string_equal(response_string(&response, "items.1.name"), "shard-2");
    assert_true(flag(&response, "items.1.reachable"));
    assert_true(flag(&response, "items.1.usable"));
    assert_false(flag(&response, "items.1.fenced"));
    assert_string_equal(response_string(&response, "items.1.role"), "primary");
    assert_string_equal(response_string(&response, "items.1.settings.fsync"), "on");
    assert_true(strlen(response_string(&response, "items.1.server_version")) >= 2);
    assert_int_equal(response_integer(&response, "items.1.epoch"), 1);
    assert_int_equal(response_integer(&response, "items.1.prepared.used"), 0);
    assert_int_equal(response_integer(&response, "items.1.prepared.max"),
                     sql_integer(cluster_dsn(cluster, 2),
                                 "select current_setting('max_prepared_transactions')::int"));
    assert_true(response_integer(&response, "items.1.sessions.open") >= 1);
    assert_true(response_integer(&response, "items.1.sessions.server_used") >= 1);
    assert_int_equal(response_integer(&response, "items.1.replication.standbys"), 0);
    /* One machine, one clock. */
    assert_in_range(response_integer(&response, "items.1.clock_skew_ms") + 2000, 0, 4000);
    response_done(&response);
}

static void a_prepared_transaction_is_counted(void **state)
{
    Response response;
    (void)state;
    sql_run(cluster_dsn(cluster, 1), "begin; create table t (); prepare transaction 'by hand'");
    get("/v1/shards", &response);
    assert_int_equal(response_integer(&response, "items.0.prepared.used"), 1);
    response_done(&response);
    sql_run(cluster_dsn(cluster, 1), "rollback prepared 'by hand'");
}

static void a_shard_that_is_away_is_listed_with_its_trouble(void **state)
{
    Response response;
    (void)state;
    cluster_signal_postgres(cluster, 2, SIGKILL);
    get("/v1/shards", &response);
    assert_int_equal(json_array_length(response_value(&response, "items")), SHARDS);
    assert_false(flag(&response, "items.1.reachable"));
    assert_true(strlen(response_string(&response, "items.1.trouble")) > 0);
    assert_int_equal(json_kind(response_value(&response, "items.1.settings")), JSON_KIND_NULL);
    assert_true(flag(&response, "items.2.reachable"));
    response_done(&response);
    cluster_start_postgres(cluster);
    cluster_up(cluster);
}

static void a_fenced_shard_says_why(void **state)
{
    Response response;
    bool fenced = false;
    (void)state;
    sql_run(cluster_dsn(cluster, 3), "update giro.shard set fenced = 'a test', fenced_at = now()");
    sql_run(cluster_dsn(cluster, 3),
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where usename = 'giro_coordinator' and pid <> pg_backend_pid()");
    for (int i = 0; i < TRIES && !fenced; i++)
    {
        get("/v1/shards", &response);
        fenced = flag(&response, "items.2.fenced");
        if (fenced)
            assert_non_null(strstr(response_string(&response, "items.2.trouble"), "a test"));
        response_done(&response);
        if (!fenced)
            usleep(PAUSE_US);
    }
    assert_true(fenced);
    sql_run(cluster_dsn(cluster, 3), "update giro.shard set fenced = null, fenced_at = null");
    cluster_up(cluster);
    for (int i = 0; i < TRIES && fenced; i++)
    {
        usleep(PAUSE_US);
        get("/v1/shards", &response);
        fenced = flag(&response, "items.2.fenced");
        response_done(&response);
    }
    assert_false(fenced);
}

static void partitions_and_directory_are_those_of_the_database(void **state)
{
    Response response;
    char path[300] = "/v1/partitions?limit=10";
    int64_t listed = 0;
    int64_t last = -1;
    int64_t all =
        sql_integer(cluster_dsn(cluster, 0), "select count(*) from giro_directory.partitions");
    (void)state;
    while (path[0] != '\0')
    {
        get(path, &response);
        size_t count = json_array_length(response_value(&response, "items"));
        for (size_t i = 0; i < count; i++)
        {
            char field[40];
            snprintf(field, sizeof field, "items.%zu.partition", i);
            int64_t number = response_integer(&response, field);
            assert_true(number > last);
            last = number;
            snprintf(field, sizeof field, "items.%zu.shard", i);
            assert_true(sql_is(cluster_dsn(cluster, 0), response_string(&response, field),
                               "select shard from giro_directory.partitions where partition = %lld",
                               (long long)number));
        }
        listed += (int64_t)count;
        const char *cursor = response_string(&response, "next_cursor");
        snprintf(path, sizeof path, cursor[0] != '\0' ? "/v1/partitions?limit=10&cursor=%s" : "%s",
                 cursor);
        response_done(&response);
    }
    assert_int_equal(listed, all);

    get("/v1/directory", &response);
    assert_int_equal(response_integer(&response, "partitions"), all);
    assert_int_equal(response_integer(&response, "shards"), SHARDS);
    assert_int_equal(
        response_integer(&response, "version"),
        sql_integer(cluster_dsn(cluster, 0), "select version from giro_directory.cluster"));
    assert_true(flag(&response, "reachable"));
    assert_int_equal(
        json_array_length(response_value(&response, "keyspaces")),
        sql_integer(cluster_dsn(cluster, 0), "select count(*) from giro_directory.keyspaces"));
    response_done(&response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(every_shard_says_what_it_is),
        with_books(a_prepared_transaction_is_counted),
        with_books(a_shard_that_is_away_is_listed_with_its_trouble),
        with_books(a_fenced_shard_says_why),
        with_books(partitions_and_directory_are_those_of_the_database),
    };
    return cmocka_run_group_tests_name("topology", tests, start, fixture_stop);
}
