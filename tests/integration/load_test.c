/*
 * Many clients at once: batches form, nobody deadlocks, nobody is refused for contention, and the
 * books balance.
 */
#include "fixture.h"
#include "sql.h"
#include "stream.h"

#include <stdio.h>

enum
{
    PER_SHARD = 8,
    SHARDS = 3,
};

static Cluster *cluster;
static Client *client;
static AccountName accounts[SHARDS][PER_SHARD];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    for (int shard = 0; shard < SHARDS; shard++)
        bank_open_many(client, shard + 1, 100000, accounts[shard], PER_SHARD);
    return 0;
}

/* Runs it, forgets the single answers, and insists that there was one for each request. */
static void run(Stream *stream)
{
    stream_run(client, stream);
    stream_done(stream);
    assert_int_equal(stream->lost, 0);
}

static Payment both_directions(size_t index)
{
    size_t from = index % 2;
    return (Payment){.debit = accounts[from][(index / 2) % PER_SHARD],
                     .credit = accounts[1 - from][(index / 7) % PER_SHARD],
                     .amount = 1};
}

static int64_t largest_batch(void)
{
    int64_t largest = 0;
    for (int shard = 1; shard <= SHARDS; shard++)
    {
        int64_t here = sql_integer(cluster_dsn(cluster, shard),
                                   "select coalesce(max(transfer_count), 0) from giro.batches "
                                   "where mode = '2pc' and role = 'home'");
        largest = here > largest ? here : largest;
    }
    return largest;
}

static void two_opposite_streams_of_64_clients_form_batches_without_deadlock(void **state)
{
    Stream stream = {.name = "opposite", .clients = 64, .total = 3000, .pick = both_directions};
    (void)state;
    run(&stream);
    assert_int_equal(stream.refused, 0);
    assert_true(stream.posted > 2900);
    assert_true(largest_batch() > 1);
}

static Payment ring(size_t index)
{
    size_t from = index % SHARDS;
    return (Payment){.debit = accounts[from][(index / SHARDS) % PER_SHARD],
                     .credit = accounts[(from + 1) % SHARDS][(index / 5) % PER_SHARD],
                     .amount = 1};
}

static void a_ring_over_three_shards_does_not_deadlock(void **state)
{
    Stream stream = {.name = "ring", .clients = 48, .total = 3000, .pick = ring};
    (void)state;
    run(&stream);
    assert_int_equal(stream.refused, 0);
    assert_true(stream.posted > 2900);
}

static Payment one_hot_account(size_t index)
{
    const char *hot = accounts[2][0];
    const char *debit = accounts[index % SHARDS][index % PER_SHARD];
    return (Payment){.debit = debit == hot ? accounts[0][0] : debit, .credit = hot, .amount = 1};
}

static void a_hot_account_is_never_a_reason_to_refuse(void **state)
{
    Stream stream = {.name = "hot", .clients = 48, .total = 1500, .pick = one_hot_account};
    (void)state;
    int64_t before = bank_balance(client, accounts[2][0]);
    run(&stream);
    assert_int_equal(stream.refused, 0);
    assert_int_equal(bank_balance(client, accounts[2][0]), before + (int64_t)stream.posted);
}

/* One of eight wants the locked account; all others share their accounts with what wants it. */
static Payment beside_a_locked_account(size_t index)
{
    bool locked = index % 8 == 0;
    return (Payment){.debit = accounts[0][locked ? 0 : 1],
                     .credit = accounts[index % SHARDS][2 + index % 3],
                     .amount = 1};
}

static void a_locked_account_stops_only_its_own_transfers(void **state)
{
    char sqlstate[6];
    char tag[40];
    char lock[200];
    Stream stream = {
        .name = "beside", .clients = 16, .total = 400, .pick = beside_a_locked_account};
    (void)state;
    SqlSession *session = sql_session_new(cluster_dsn(cluster, 1));
    snprintf(lock, sizeof lock, "begin; select from giro.accounts where id = '%s' for update",
             accounts[0][0]);
    sql_session_run(session, lock, NULL, sqlstate, tag);
    assert_string_equal(sqlstate, "");
    run(&stream);
    sql_session_run(session, "rollback", NULL, sqlstate, tag);
    sql_session_free(session);
    assert_int_equal(stream.refused, 0);
    assert_int_equal(stream.posted, 350);
}

static AccountName poor;

static Payment from_the_poor(size_t index, int64_t amount)
{
    return (Payment){.debit = poor, .credit = accounts[index % SHARDS][0], .amount = amount};
}

static Payment a_thousand(size_t index)
{
    return from_the_poor(index, 1000);
}

static Payment one(size_t index)
{
    return from_the_poor(index, 1);
}

static void of_twenty_parallel_debits_of_1000_on_5000_exactly_five_are_accepted(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++)
    {
        char name[32];
        snprintf(name, sizeof name, "five-%d", round);
        Stream stream = {.name = name, .clients = 20, .total = 20, .pick = a_thousand};
        bank_open(client, 1 + round % SHARDS, 5000, poor);
        run(&stream);
        assert_int_equal(stream.posted, 5);
        assert_int_equal(stream.refused, 15);
        assert_int_equal(bank_balance(client, poor), 0);
    }
}

static void hundred_parallel_debits_of_one_leave_an_exact_chain(void **state)
{
    Stream stream = {.name = "hundred", .clients = 100, .total = 100, .pick = one};
    (void)state;
    bank_open(client, 2, 250, poor);
    run(&stream);
    assert_int_equal(stream.posted, 100);
    assert_int_equal(bank_balance(client, poor), 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(two_opposite_streams_of_64_clients_form_batches_without_deadlock),
        with_books(a_ring_over_three_shards_does_not_deadlock),
        with_books(a_hot_account_is_never_a_reason_to_refuse),
        with_books(a_locked_account_stops_only_its_own_transfers),
        with_books(of_twenty_parallel_debits_of_1000_on_5000_exactly_five_are_accepted),
        with_books(hundred_parallel_debits_of_one_leave_an_exact_chain),
    };
    return cmocka_run_group_tests_name("load", tests, start, fixture_stop);
}
