/*
 * One HTTP request on its way: a payment, a batch of them, a look, a cancel, or the creation of an
 * account; and the answers in the history that it is to fill.
 */
#ifndef GIRO_CHAOS_ERRAND_H
#define GIRO_CHAOS_ERRAND_H

#include "client.h"
#include "history.h"
#include "roster.h"

enum
{
    ERRAND_ORDERS_MAX = 500,
    ERRAND_PREFER_MAX = 40,
    ERRAND_TIMEOUT_MS = 12000,
};

typedef struct ErrandOrder
{
    size_t order;
    size_t answer;
} ErrandOrder;

/* Zeroed at first. Its user sets verb, girod and prefer, then adds orders, or sets `account`. */
typedef struct Errand
{
    Verb verb;
    int girod;
    char prefer[ERRAND_PREFER_MAX]; /* "Prefer: wait=1"; "" for none */
    Account *account;               /* to be created, instead of all orders */
    size_t count;                   /* of orders; one, but for a batch */
    ErrandOrder *orders;
    char *body;
    char path[80];
    char key[HISTORY_KEY_MAX + 1];
    const char *headers[2];
} Errand;

/* The order is sent from now on. */
void errand_add(Errand *errand, const History *history, size_t order);
/* Makes the request, which lives as long as the errand. */
void errand_request(Errand *errand, const History *history, Request *ret_request);
/* Fills the answers. */
void errand_answer(Errand *errand, const History *history, const Response *response);
void errand_done(Errand *errand);

#endif
