/*
 * The books of a whole cluster, checked by SQL behind the coordinators' backs. To be called after
 * every test.
 *
 *   1. On every shard, per currency: balances + clearing = 0. Over all shards the sum of clearing
 *      is what pending transfers hold.
 *   2. Per account: the balance is the sum of its entries, their seq is 1 … version without gaps,
 *      and each entry's balance follows from the one before it.
 *   3. Per transfer: one home; posted has one debit and one credit of its amount on the accounts it
 *      names, refused has none, reversed has debit and refund, pending has the debit.
 *   4. No prepared transaction of ours is left.
 *   5. No Postgres log speaks of a deadlock.
 *
 * What is in flight settles by itself, so findings are looked at again until they are gone or
 * BOOKS_PATIENCE_MS have passed.
 */
#ifndef GIRO_TESTS_BOOKS_H
#define GIRO_TESTS_BOOKS_H

#include "cluster.h"

enum
{
    BOOKS_PATIENCE_MS = 15000,
    BOOKS_ID_MAX = 36,
    BOOKS_STATE_MAX = 12,
    BOOKS_ACCOUNT_MAX = 96,
};

/* What all shards know of a transfer, added up. */
typedef struct BooksTransfer
{
    char id[BOOKS_ID_MAX + 1];
    char state[BOOKS_STATE_MAX + 1]; /* "" where it has no home */
    char debit_account[BOOKS_ACCOUNT_MAX + 1];
    char credit_account[BOOKS_ACCOUNT_MAX + 1];
    int64_t amount; /* over all homes */
    int64_t homes;
    int64_t debits;
    int64_t credits;
    int64_t refunds;
    int64_t debited; /* sums of amounts, signed */
    int64_t credited;
    int64_t refunded;
    char debited_account[BOOKS_ACCOUNT_MAX + 1];
    char credited_account[BOOKS_ACCOUNT_MAX + 1];
} BooksTransfer;

/* All of them, by id; on the heap. All Postgres servers must run. */
BooksTransfer *books_transfers(const Cluster *cluster, size_t *ret_count);

/* Prints what it finds and returns how much that is. All Postgres servers must run. */
size_t books_look(const Cluster *cluster);
/* The same; ends the test if anything is wrong. */
void books_check(const Cluster *cluster);

/* The number of transfers over all shards; with it a test makes sure that it compared something. */
int64_t books_transfer_count(const Cluster *cluster);

#endif
