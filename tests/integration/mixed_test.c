/*
 * Sagas, two-phase and local transfers on the same accounts at the same time, while a thread per
 * shard takes snapshots without a pause: in each of them balances and clearing add up to nothing,
 * per currency.
 */
#include "fixture.h"
#include "processes.h"
#include "snapshots.h"
#include "sql.h"
#include "stream.h"

#include <stdio.h>
#include <string.h>

enum
{
    SHARDS = 3,
    PER_SHARD = 4,
    START = 40, /* so little that some transfers are refused */
    CLIENTS = 32,
    TRANSFERS = 900,
    SNAPSHOTS_MIN = 50, /* on each shard */
};

static Cluster *cluster;
static Client *client;
static AccountName accounts[SHARDS][PER_SHARD];
static AccountName closed[SHARDS]; /* sagas to them come back */

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    for (int shard = 0; shard < SHARDS; shard++)
    {
        bank_open_many(client, shard + 1, START, accounts[shard], PER_SHARD);
        bank_open(client, shard + 1, 0, closed[shard]);
        bank_close(client, closed[shard]);
    }
    return 0;
}

static void check_snapshots(const SnapshotCounts *counts)
{
    int with_transit = 0;
    for (int i = 0; i < SHARDS; i++)
    {
        const SnapshotCounts *seen = &counts[i];
        print_message("shard-%d: %d snapshots, %d with money in transit, %d out of balance\n",
                      i + 1, seen->taken, seen->with_transit, seen->unbalanced);
        check(seen->failed + seen->lost == 0, "shard-%d: %d looks failed: %s", i + 1,
              seen->failed + seen->lost, seen->trouble);
        assert_int_equal(seen->unbalanced, 0);
        assert_int_equal(seen->below_floor, 0);
        assert_true(seen->taken > SNAPSHOTS_MIN);
        with_transit += seen->with_transit;
    }
    assert_true(with_transit > 0);
}

/* ---- the load -------------------------------------------------------------------------------- */

/* A third each of sagas, two-phase and the default; a third of all inside one shard. */
static Payment mixture(size_t index)
{
    static const char *const modes[] = {"\"mode\":\"saga\"", "\"mode\":\"2pc\"", NULL};
    size_t from = index % SHARDS;
    size_t to = (from + index / SHARDS % 3) % SHARDS;
    Payment payment = {.debit = accounts[from][index / 3 % PER_SHARD],
                       .credit = accounts[to][(index / 7 + 1) % PER_SHARD],
                       .amount = 1 + (int64_t)(index % 9),
                       .fields = modes[index / 9 % 3]};
    if (index % 20 == 19)
        payment.credit = closed[to];
    else if (strcmp(payment.debit, payment.credit) == 0)
        payment.credit = accounts[to][(index / 7 + 2) % PER_SHARD];
    if (strcmp(payment.debit, payment.credit) == 0)
        payment.credit = accounts[to][(index / 7 + 3) % PER_SHARD];
    return payment;
}

static int64_t everything(void)
{
    int64_t sum = 0;
    for (int shard = 0; shard < SHARDS; shard++)
    {
        for (int i = 0; i < PER_SHARD; i++)
            sum += bank_balance(client, accounts[shard][i]);
    }
    return sum;
}

static int64_t count(const char *condition)
{
    int64_t sum = 0;
    for (int shard = 1; shard <= SHARDS; shard++)
        sum += sql_integer(cluster_dsn(cluster, shard),
                           "select count(*) from giro.transfers where %s", condition);
    return sum;
}

static int64_t await_no_pending(void)
{
    int64_t pending = count("state = 'pending'");
    for (int i = 0; i < 300 && pending > 0; i++)
    {
        processes_pause_ms(50);
        pending = count("state = 'pending'");
    }
    return pending;
}

static void books_balance_in_every_snapshot_of_a_mixed_load(void **state)
{
    Stream stream = {.name = "mixed", .clients = CLIENTS, .total = TRANSFERS, .pick = mixture};
    SnapshotCounts seen[SHARDS];
    (void)state;
    Snapshots *snapshots = snapshots_start(cluster, 0);
    stream_run(client, &stream);
    int64_t pending = await_no_pending();
    snapshots_stop(snapshots, seen);
    stream_done(&stream);
    check_snapshots(seen);
    assert_int_equal(pending, 0);
    assert_int_equal(stream.lost, 0);
    assert_true(stream.posted > TRANSFERS / 2);
    assert_true(stream.refused > 0);
    assert_int_equal(everything(), (int64_t)SHARDS * PER_SHARD * START);
    /* Everything was in the mixture. */
    assert_true(count("mode = 'saga' and state = 'posted'") > 50);
    assert_true(count("mode = 'saga' and state = 'reversed'") > 0);
    assert_true(count("mode = '2pc' and state = 'posted'") > 50);
    assert_true(count("mode = '2pc' and state = 'refused'") > 0);
    assert_true(count("mode = 'local' and state = 'posted'") > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(books_balance_in_every_snapshot_of_a_mixed_load),
    };
    return cmocka_run_group_tests_name("mixed", tests, start, fixture_stop);
}
