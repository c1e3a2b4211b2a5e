/*
 * Hash, range and compound keyspaces side by side, as docker/up.sh describes them: which partition
 * an id belongs to, transfers between them in every mode, and look-ups by id.
 *
 *   ""    hash, 64 partitions, 2pc
 *   "r:"  range, split at r:g, r:n and r:t, 2pc
 *   "t:"  compound, split at t:g, t:n and t:t, saga
 *
 * Partition i of each keyspace is on shard i modulo 3.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>

enum
{
    SHARDS = 3,
    HOME = 1,
    REMOTE = 2,
    TENANT_ACCOUNTS = 30,
};

typedef enum Keyspace
{
    HASH,
    RANGE,
    COMPOUND,
    KEYSPACE_COUNT,
} Keyspace;

static const char *const prefixes[KEYSPACE_COUNT] = {"", "r:", "t:"};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    return 0;
}

static int repair(void **state)
{
    cluster_start_postgres(cluster);
    return fixture_check_books(state);
}

/* ---- accounts -------------------------------------------------------------------------------- */

/* Creates an account and compares where it lives. */
static void open_in(const char *id, const char *keyspace, int shard)
{
    char body[256];
    char name[32];
    Response response;
    snprintf(body, sizeof body, "{\"id\":\"%s\",\"currency\":\"EUR\"}", id);
    client_call(client, &(Request){.path = "/v1/accounts", .body = body}, &response);
    if (response.status != 200)
        response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "route.keyspace"), keyspace);
    snprintf(name, sizeof name, "shard-%d", shard);
    if (shard != 0)
        assert_string_equal(response_string(&response, "route.shard"), name);
    response_done(&response);
}

static void fund(const char *account, int shard, int64_t amount)
{
    AccountName world;
    bank_world(client, shard, world);
    bank_expect(client, &(Payment){world, account, amount, bank_key()}, 201, NULL, NULL);
}

/* A fresh account of this keyspace on shard 1 or 2, with 100. */
static void open_funded(Keyspace keyspace, int shard, AccountName ret_name)
{
    static int counter;
    if (keyspace == HASH)
    {
        bank_open(client, shard, 100, ret_name);
        return;
    }
    snprintf(ret_name, sizeof(AccountName), "%s%c%d:x", prefixes[keyspace], shard == 1 ? 'a' : 'h',
             ++counter);
    open_in(ret_name, prefixes[keyspace], shard);
    fund(ret_name, shard, 100);
}

static int64_t accounts_on(int shard, const char *id)
{
    return sql_integer(cluster_dsn(cluster, shard),
                       "select count(*) from giro.accounts where id = '%s'", id);
}

/* ---- where ids belong ------------------------------------------------------------------------ */

static void an_id_at_a_split_belongs_to_the_range_above_it(void **state)
{
    static const struct
    {
        const char *split;
        int below;
        int above;
    } rows[] = {{"r:g", 1, 2}, {"r:n", 2, 3}, {"r:t", 3, 1}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
    {
        AccountName above;
        AccountName below;
        /* The longest id of z's is the last one below, '-' is the first character. */
        memset(below, 'z', ACCOUNT_ID_MAX);
        below[ACCOUNT_ID_MAX] = '\0';
        memcpy(below, rows[i].split, strlen(rows[i].split));
        below[2]--;
        snprintf(above, sizeof above, "%s-", rows[i].split);
        open_in(rows[i].split, "r:", rows[i].above);
        open_in(above, "r:", rows[i].above);
        open_in(below, "r:", rows[i].below);
        for (int shard = 1; shard <= SHARDS; shard++)
        {
            assert_int_equal(accounts_on(shard, rows[i].split), shard == rows[i].above);
            assert_int_equal(accounts_on(shard, above), shard == rows[i].above);
            assert_int_equal(accounts_on(shard, below), shard == rows[i].below);
        }
        fund(rows[i].split, rows[i].above, 10);
        fund(below, rows[i].below, 10);
        bank_expect(client, &(Payment){rows[i].split, below, 3, bank_key()}, 201, NULL, NULL);
        assert_int_equal(bank_balance(client, rows[i].split), 7);
        bank_await_balance(client, below, 13);
    }
    open_in("r:", "r:", 1);
    open_in("r:zzz", "r:", 1);
}

static void the_longest_prefix_wins_and_what_only_looks_like_one_does_not(void **state)
{
    static const char *const hashed[] = {"r", "t", "R:a", "xr:a", "rt:a", "-r:"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(hashed); i++)
        open_in(hashed[i], "", 0);
    open_in("t:r:a", "t:", 3);
    open_in("r:t:a", "r:", 1);
}

static void every_range_of_the_directory_stands_on_its_owner_and_nowhere_else(void **state)
{
    (void)state;
    SqlRows *rows =
        sql_rows(cluster_dsn(cluster, 0),
                 "select p.partition, p.keyspace, k.kind, p.lo, coalesce(p.hi::text, 'null'), "
                 "right(p.shard, 1) from giro_directory.partitions p "
                 "join giro_directory.keyspaces k on k.prefix = p.keyspace");
    assert_int_equal(sql_row_count(rows), 64 + 4 + 4);
    for (size_t i = 0; i < sql_row_count(rows); i++)
    {
        for (int shard = 1; shard <= SHARDS; shard++)
        {
            int64_t there = sql_integer(
                cluster_dsn(cluster, shard),
                "select count(*) from giro.partitions where partition = %s and keyspace = '%s' "
                "and kind = '%s' and lo = '%s' and coalesce(hi::text, 'null') = '%s'",
                sql_field(rows, i, 0), sql_field(rows, i, 1), sql_field(rows, i, 2),
                sql_field(rows, i, 3), sql_field(rows, i, 4));
            assert_int_equal(there, sql_field_integer(rows, i, 5) == shard);
        }
    }
    sql_rows_free(rows);
    assert_int_equal(
        sql_integer(cluster_dsn(cluster, 0), "select count(*) from giro_directory.check_cover()"),
        0);
}

static void a_tenant_is_contiguous_in_a_compound_keyspace(void **state)
{
    static const char *const neighbours[] = {"t:acm:1",  "t:acme-x:1", "t:acme.b:1", "t:acme0:1",
                                             "t:acme_1", "t:acmeA",    "t:acmez:1",  "t:ACME:1"};
    (void)state;
    for (int i = 0; i < TENANT_ACCOUNTS; i++)
    {
        AccountName name;
        snprintf(name, sizeof name, "t:acme:%d", i);
        open_in(name, "t:", 1);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(neighbours); i++)
        open_in(neighbours[i], "t:", 1);
    /* In the order of routes, its first account and its last have only its own between them. */
    assert_true(
        sql_is(cluster_dsn(cluster, 1), "30|1",
               "select concat_ws('|', max(place) - min(place) + 1, count(distinct partition)) "
               "from (select a.id, p.partition, row_number() over (order by a.route) as place "
               "      from giro.accounts a join giro.partitions p on p.keyspace = 't:' "
               "        and a.route >= p.lo and (p.hi is null or a.route < p.hi)) placed "
               "where id like 't:acme:%%'"));
}

/* ---- transfers between keyspaces ------------------------------------------------------------- */

static void look_up(const char *id, Response *ret_response)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/transfers/%s", id);
    client_call(client, &(Request){.path = path}, ret_response);
}

/* Pays 1 and compares the mode, and what a look-up by id and one by key say. */
static void pay_and_find(const Payment *payment, const char *mode)
{
    char id[UUID_TEXT_MAX + 1];
    char path[512];
    Response response;
    bank_pay(client, payment, &response);
    response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "mode"), mode);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);

    look_up(id, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "debit_account"), payment->debit);
    assert_string_equal(response_string(&response, "mode"), mode);
    response_done(&response);

    snprintf(path, sizeof path, "/v1/transfers?debit_account=%s&idempotency_key=%s", payment->debit,
             payment->key);
    client_call(client, &(Request){.path = path}, &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response_string(&response, "items.0.id"), id);
    response_done(&response);

    bank_expect(client, payment, 200, NULL, NULL);
}

static void money_goes_between_all_keyspaces_in_every_mode(void **state)
{
    static const char *const modes[] = {"2pc", "saga"};
    AccountName from[KEYSPACE_COUNT];
    AccountName near[KEYSPACE_COUNT];
    AccountName far[KEYSPACE_COUNT];
    (void)state;
    for (int i = 0; i < KEYSPACE_COUNT; i++)
    {
        open_funded((Keyspace)i, HOME, from[i]);
        open_funded((Keyspace)i, HOME, near[i]);
        open_funded((Keyspace)i, REMOTE, far[i]);
    }
    for (int i = 0; i < KEYSPACE_COUNT * KEYSPACE_COUNT * 2; i++)
    {
        const char *debit = from[i % KEYSPACE_COUNT];
        int to = i / 2 % KEYSPACE_COUNT;
        const char *mode = modes[i % 2];
        char fields[32];
        snprintf(fields, sizeof fields, "\"mode\":\"%s\"", mode);
        pay_and_find(&(Payment){debit, near[to], 1, bank_key(), fields}, "local");
        pay_and_find(&(Payment){debit, far[to], 1, bank_key(), fields}, mode);
        pay_and_find(&(Payment){far[to], debit, 1, bank_key(), fields}, mode);
    }
    for (int i = 0; i < KEYSPACE_COUNT; i++)
    {
        assert_int_equal(bank_balance(client, from[i]), 100 - 6);
        assert_int_equal(bank_balance(client, near[i]), 100 + 6);
        bank_await_balance(client, far[i], 100);
    }
}

static void auto_is_the_default_mode_of_the_debit_accounts_keyspace(void **state)
{
    static const char *const wanted[KEYSPACE_COUNT] = {"2pc", "2pc", "saga"};
    (void)state;
    for (int i = 0; i < KEYSPACE_COUNT; i++)
    {
        for (int to = 0; to < KEYSPACE_COUNT; to++)
        {
            AccountName debit;
            AccountName credit;
            open_funded((Keyspace)i, HOME, debit);
            open_funded((Keyspace)to, REMOTE, credit);
            pay_and_find(&(Payment){debit, credit, 1, bank_key()}, wanted[i]);
            pay_and_find(&(Payment){debit, credit, 1, bank_key(), "\"mode\":\"auto\""}, wanted[i]);
        }
    }
}

/* ---- look-ups by id -------------------------------------------------------------------------- */

static void a_transfer_is_found_by_id_while_a_shard_that_has_not_got_it_is_down(void **state)
{
    char ids[KEYSPACE_COUNT][UUID_TEXT_MAX + 1];
    char nobody[UUID_TEXT_MAX + 1];
    uint8_t id[16];
    Response response;
    (void)state;
    for (int i = 0; i < KEYSPACE_COUNT; i++)
    {
        AccountName debit;
        AccountName credit;
        open_funded((Keyspace)i, HOME, debit);
        open_funded((Keyspace)i, REMOTE, credit);
        bank_expect(client, &(Payment){debit, credit, 1, bank_key()}, 201, NULL, ids[i]);
    }
    transfer_id_make("r:anybody", "never", id);
    uuid_format(id, nobody);
    look_up(nobody, &response);
    response_expect(&response, 404, "transfer-not-found");
    response_done(&response);

    cluster_signal_postgres(cluster, SHARDS, SIGKILL);
    for (int i = 0; i < KEYSPACE_COUNT; i++)
    {
        look_up(ids[i], &response);
        response_expect(&response, 200, NULL);
        response_done(&response);
    }
    /* It may stand on the shard that does not answer. */
    look_up(nobody, &response);
    response_expect(&response, 503, "shard-unavailable");
    response_done(&response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(an_id_at_a_split_belongs_to_the_range_above_it),
        with_books(the_longest_prefix_wins_and_what_only_looks_like_one_does_not),
        with_books(every_range_of_the_directory_stands_on_its_owner_and_nowhere_else),
        with_books(a_tenant_is_contiguous_in_a_compound_keyspace),
        with_books(money_goes_between_all_keyspaces_in_every_mode),
        with_books(auto_is_the_default_mode_of_the_debit_accounts_keyspace),
        cmocka_unit_test_teardown(
            a_transfer_is_found_by_id_while_a_shard_that_has_not_got_it_is_down, repair),
    };
    return cmocka_run_group_tests_name("keyspaces", tests, start, fixture_stop);
}
