/*
 * A batcher with its protocol on two fake shards, and clients that note what they are told: for
 * tests that read the conversation with the shards.
 */
#ifndef GIRO_PROTOCOL_WORLD_H
#define GIRO_PROTOCOL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "batcher/batcher.h"
#include "fake_sessions.h"

#define with_world(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* How a batch takes its locks where the accounts a… are debited and the accounts b… credited. */
#define LOCK_A "s1: begin lock transfers_by_id\n"
#define LOCK_B "s2: begin lock\n"

typedef struct Client
{
    TransferWaiter waiter;
    bool told;
    OutcomeKind kind;
    ErrorCode code;
    TransferState state;
    TransferMode mode;
    ErrorCode refusal;
    bool replayed;
    unsigned differing;
    char detail[160];
} Client;

typedef struct World
{
    Loop *loop;
    Metrics *metrics;
    Shard *a; /* ordinal 1: accounts a… */
    Shard *b; /* ordinal 2: accounts b… */
    Batcher *batcher;
} World;

int set_up(void **state);
/* Drains; every session must have been given back. */
int tear_down(void **state);

/* The answer of a client; for its waiter. */
void told(TransferWaiter *waiter, const TransferOutcome *outcome);
/* A wish for EUR in any mode. Strings are lent. */
TransferRequest request(const char *debit, const char *credit, int64_t amount, const char *key);
/* Submits for a new client, which may wait for a second. */
void submit(World *world, Client *client, const TransferRequest *wanted);
void await(World *world, Client *client);
/* 5 EUR under the key "k": submits and awaits. */
void pay(World *world, Client *client, const char *debit, const char *credit);
/* Drains the batcher: nothing is taken afterwards. */
void finish_batches(World *world);
void check_posted(const Client *client, TransferMode mode);

#endif
