/*
 * Many clients at once: batches form, nobody deadlocks, nobody is refused for contention, and the
 * books balance.
 */
#include "bank.h"
#include "books.h"
#include "check.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    PER_SHARD = 8,
    SHARDS = 3,
    RING_CLIENTS = 48,
};

static Cluster *cluster;
static Client *client;
static AccountName accounts[SHARDS][PER_SHARD];

static int start(void **state)
{
    (void)state;
    cluster = cluster_new(&(ClusterOptions){.shards = SHARDS});
    client = client_new(cluster_url(cluster, 1));
    for (int shard = 0; shard < SHARDS; shard++)
    {
        for (int i = 0; i < PER_SHARD; i++)
            bank_open(client, shard + 1, 100000, accounts[shard][i]);
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    client_free(client);
    cluster_free(cluster);
    return 0;
}

static int check_books(void **state)
{
    (void)state;
    books_check(cluster);
    return 0;
}

/* A stream of transfers: `pick` names the accounts of the nth one. */
typedef struct Stream
{
    const char *name;
    void (*pick)(size_t index, const char **ret_debit, const char **ret_credit);
    int64_t amount;
    char **bodies;
    char (*keys)[32];
    size_t posted;
    size_t refused;
    size_t later; /* 429 and 503: may be repeated */
    size_t other;
} Stream;

static void make(void *context, size_t index, Request *ret_request)
{
    Stream *stream = context;
    Payment payment = {.amount = stream->amount};
    stream->pick(index, &payment.debit, &payment.credit);
    snprintf(stream->keys[index], sizeof stream->keys[index], "%s-%zu", stream->name, index);
    stream->bodies[index] = bank_body(&payment);
    *ret_request = (Request){
        .path = "/v1/transfers", .body = stream->bodies[index], .key = stream->keys[index]};
}

static void count(void *context, size_t index, const Response *response)
{
    Stream *stream = context;
    free(stream->bodies[index]);
    if (response->status == 201)
        stream->posted++;
    else if (response->status == 422)
        stream->refused++;
    else if (response->status == 429 || response->status == 503)
        stream->later++;
    else
        stream->other++;
    if (response->status != 201 && response->status != 422 && stream->later + stream->other < 4)
        print_message("%s: %d %s\n", stream->name, response->status, response->body);
}

static void run(Stream *stream, size_t clients, size_t total)
{
    stream->bodies = calloc(total, sizeof *stream->bodies);
    stream->keys = calloc(total, sizeof *stream->keys);
    ClientLoop loop = {clients, total, make, count, stream};
    client_run_loop(client, &loop);
    free(stream->bodies);
    free(stream->keys);
    print_message("%s: %zu posted, %zu refused, %zu to be repeated, %zu other\n", stream->name,
                  stream->posted, stream->refused, stream->later, stream->other);
    assert_int_equal(stream->other, 0);
}

static void both_directions(size_t index, const char **ret_debit, const char **ret_credit)
{
    size_t from = index % 2;
    *ret_debit = accounts[from][(index / 2) % PER_SHARD];
    *ret_credit = accounts[1 - from][(index / 7) % PER_SHARD];
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
    Stream stream = {.name = "opposite", .pick = both_directions, .amount = 1};
    (void)state;
    run(&stream, 64, 3000);
    assert_int_equal(stream.refused, 0);
    assert_true(stream.posted > 2900);
    assert_true(largest_batch() > 1);
}

static void ring(size_t index, const char **ret_debit, const char **ret_credit)
{
    size_t from = index % SHARDS;
    *ret_debit = accounts[from][(index / SHARDS) % PER_SHARD];
    *ret_credit = accounts[(from + 1) % SHARDS][(index / 5) % PER_SHARD];
}

static void a_ring_over_three_shards_does_not_deadlock(void **state)
{
    Stream stream = {.name = "ring", .pick = ring, .amount = 1};
    (void)state;
    run(&stream, RING_CLIENTS, 3000);
    assert_int_equal(stream.refused, 0);
    assert_true(stream.posted > 2900);
}

static void one_hot_account(size_t index, const char **ret_debit, const char **ret_credit)
{
    *ret_debit = accounts[index % SHARDS][index % PER_SHARD];
    *ret_credit = accounts[2][0];
    if (*ret_debit == *ret_credit)
        *ret_debit = accounts[0][0];
}

static void a_hot_account_is_never_a_reason_to_refuse(void **state)
{
    Stream stream = {.name = "hot", .pick = one_hot_account, .amount = 1};
    (void)state;
    int64_t before = bank_balance(client, accounts[2][0]);
    run(&stream, 48, 1500);
    assert_int_equal(stream.refused, 0);
    assert_int_equal(bank_balance(client, accounts[2][0]), before + (int64_t)stream.posted);
}

static AccountName poor;

static void five_can_be_paid(size_t index, const char **ret_debit, const char **ret_credit)
{
    *ret_debit = poor;
    *ret_credit = accounts[index % SHARDS][0];
}

static void of_twenty_parallel_debits_of_1000_on_5000_exactly_five_are_accepted(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++)
    {
        char name[32];
        snprintf(name, sizeof name, "five-%d", round);
        Stream stream = {.name = name, .pick = five_can_be_paid, .amount = 1000};
        bank_open(client, 1 + round % SHARDS, 5000, poor);
        run(&stream, 20, 20);
        assert_int_equal(stream.posted, 5);
        assert_int_equal(stream.refused, 15);
        assert_int_equal(bank_balance(client, poor), 0);
    }
}

static void hundred_parallel_debits_of_one_leave_an_exact_chain(void **state)
{
    Stream stream = {.name = "hundred", .pick = five_can_be_paid, .amount = 1};
    (void)state;
    bank_open(client, 2, 250, poor);
    run(&stream, 100, 100);
    assert_int_equal(stream.posted, 100);
    assert_int_equal(bank_balance(client, poor), 150);
}

#define with_books(test) cmocka_unit_test_teardown(test, check_books)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(two_opposite_streams_of_64_clients_form_batches_without_deadlock),
        with_books(a_ring_over_three_shards_does_not_deadlock),
        with_books(a_hot_account_is_never_a_reason_to_refuse),
        with_books(of_twenty_parallel_debits_of_1000_on_5000_exactly_five_are_accepted),
        with_books(hundred_parallel_debits_of_one_leave_an_exact_chain),
    };
    return cmocka_run_group_tests_name("load", tests, start, stop);
}
