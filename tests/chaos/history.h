/*
 * What was asked for, and every answer to it.
 *
 * An order is a transfer that a client wants: its content and its key. It may be sent any number of
 * times, by several clients, at once or one after the other, to any coordinator; each request is an
 * answer of the order, first awaited, then with what came back. Answers stand in the order in which
 * their requests were sent, and none is ever left out: no answer is a `maybe`.
 *
 * Not thread-safe: its user holds a lock of its own.
 */
#ifndef GIRO_CHAOS_HISTORY_H
#define GIRO_CHAOS_HISTORY_H

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum
{
    HISTORY_ORDERS_MAX = 1 << 20,
    HISTORY_KEY_MAX = 24,
    HISTORY_CODE_MAX = 31,
};

typedef enum Verdict
{
    VERDICT_AWAITED,
    VERDICT_MAYBE,   /* no answer, or the answer that nobody knows */
    VERDICT_NONE,    /* this request has no effect; says nothing of others */
    VERDICT_PENDING, /* accepted and not final */
    VERDICT_POSTED,  /* final, like the next two */
    VERDICT_REFUSED,
    VERDICT_REVERSED,
    VERDICT_ABSENT, /* a look or a cancel found no such transfer */
    VERDICT_WRONG,  /* an answer that the contract has no place for */
    VERDICT_COUNT,
} Verdict;
const char *verdict_name(Verdict verdict);
bool verdict_is_final(Verdict verdict); /* posted, refused, reversed */

typedef enum Verb
{
    VERB_PAY,
    VERB_BATCH, /* pay, as an item of a batch */
    VERB_CANCEL,
    VERB_LOOK,
    VERB_COUNT,
} Verb;
bool verb_pays(Verb verb);

typedef struct Answer
{
    int64_t sent_us; /* since the start of the run */
    int64_t answered_us;
    uint8_t id[16]; /* of the transfer, if has_id */
    bool has_id;
    bool replayed; /* it said that the key was known */
    Verb verb;
    int girod;
    Verdict verdict;
    int status;                      /* HTTP; 0: none */
    char code[HISTORY_CODE_MAX + 1]; /* of the problem or the refusal */
} Answer;

typedef enum OrderMode
{
    ORDER_AUTO,
    ORDER_2PC,
    ORDER_SAGA,
} OrderMode;

typedef struct Order
{
    const char *debit; /* lent, for as long as the history lives */
    const char *credit;
    int debit_shard; /* 0: not known */
    int credit_shard;
    int64_t amount;
    OrderMode mode;
    int deadline_ms; /* 0: none */
    char key[HISTORY_KEY_MAX + 1];
    uint8_t id[16]; /* what the transfer must be called */
    bool is_queued; /* its user's: to be sent again */
    Answer *answers;
    size_t count;
    size_t size;
} Order;

typedef struct History History;

History *history_new(void);
void history_free(History *history);            /* accepts NULL */
int64_t history_now_us(const History *history); /* since it was made; from any thread */

/* Takes a copy, and makes key and id. Returns its number. There must be room. */
size_t history_add(History *history, const Order *content);
size_t history_count(const History *history);
/* Lent until the next order is added. */
Order *history_order(const History *history, size_t number);

/* A request goes out; returns the number of its answer. */
size_t history_sent(Order *order, Verb verb, int girod, int64_t now_us);
/* What came back. Of `what`, only the outcome is taken. */
void history_answered(Order *order, size_t answer, const Answer *what, int64_t now_us);

/* The first final answer; NULL if there is none. */
const Answer *order_final(const Order *order);
/* The answer, perhaps awaited, to the last request to pay; NULL if there was none. */
const Answer *order_last_payment(const Order *order);
/* There is no account to be debited. */
bool answer_is_unpaid(const Answer *answer);
/* Final, or there is no account to be debited, which will be answered for ever. */
bool order_is_settled(const Order *order);

/* The order with all its answers, one line each. */
void order_print(const Order *order, FILE *file);
void history_print(const History *history, FILE *file);

#endif
