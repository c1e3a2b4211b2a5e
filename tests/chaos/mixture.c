/* See mixture.h. */
#include "mixture.h"

#include "base/base.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    QUEUE_MAX = 1 << 16, /* beyond it orders are repeated at the end of the run only */
    BATCH_MAX = 20,
    RECENT = 64,
    RETRY_MS = 100,
};

typedef struct Retry
{
    size_t order;
    int64_t due_us;
} Retry;

struct Mixture
{
    pthread_mutex_t mutex; /* guards all below, and history and roster */
    History *history;
    Roster *roster;
    Dice dice;
    int64_t retry_us;
    Retry queue[QUEUE_MAX]; /* a ring, in the order of their due times */
    size_t queue_head;
    size_t queue_count;
};

Mixture *mixture_new(History *history, Roster *roster, uint64_t seed)
{
    Mixture *mixture = base_calloc(1, sizeof(*mixture));
    pthread_mutex_init(&mixture->mutex, NULL);
    mixture->history = history;
    mixture->roster = roster;
    mixture->dice = dice_new(seed, 1);
    mixture->retry_us = RETRY_MS * 1000;
    return mixture;
}

void mixture_free(Mixture *mixture)
{
    if (mixture != NULL)
    {
        pthread_mutex_destroy(&mixture->mutex);
        free(mixture);
    }
}

void mixture_set_retry(Mixture *mixture, int retry_ms)
{
    pthread_mutex_lock(&mixture->mutex);
    mixture->retry_us = (int64_t)retry_ms * 1000;
    pthread_mutex_unlock(&mixture->mutex);
}

/* ---- which order ----------------------------------------------------------------------------- */

static void queue(Mixture *mixture, size_t number)
{
    Order *order = history_order(mixture->history, number);
    if (order->is_queued || order_is_settled(order) || mixture->queue_count == QUEUE_MAX)
    {
        return;
    }
    order->is_queued = true;
    mixture->queue[(mixture->queue_head + mixture->queue_count++) % QUEUE_MAX] =
        (Retry){.order = number, .due_us = history_now_us(mixture->history) + mixture->retry_us};
}

/* The next one that is due and still needs it. */
static bool take_due(Mixture *mixture, size_t *ret_number)
{
    while (mixture->queue_count > 0)
    {
        const Retry *retry = &mixture->queue[mixture->queue_head];
        Order *order = history_order(mixture->history, retry->order);
        if (retry->due_us > history_now_us(mixture->history))
        {
            return false;
        }
        *ret_number = retry->order;
        order->is_queued = false;
        mixture->queue_head = (mixture->queue_head + 1) % QUEUE_MAX;
        mixture->queue_count--;
        if (!order_is_settled(order))
        {
            return true;
        }
    }
    return false;
}

/* One of the last `range` orders; there must be any. */
static size_t pick_recent(Mixture *mixture, size_t range)
{
    size_t count = history_count(mixture->history);
    size_t among = count < range ? count : range;
    return count - (size_t)dice_between(&mixture->dice, 1, (int)among);
}

static size_t new_order(Mixture *mixture)
{
    Dice *dice = &mixture->dice;
    const Account *debit = roster_pick_debit(mixture->roster, dice);
    const Account *credit = roster_pick_credit(mixture->roster, dice);
    int roll = dice_between(dice, 1, 10);
    Order order = {.debit = debit->id,
                   .credit = credit->id,
                   .debit_shard = debit->shard,
                   .credit_shard = credit->shard,
                   .amount = dice_chance(dice, 4) ? 100000 : dice_between(dice, 1, 20),
                   .mode = roll <= 4   ? ORDER_SAGA
                           : roll <= 7 ? ORDER_2PC
                                       : ORDER_AUTO};
    if (order.mode == ORDER_SAGA && dice_chance(dice, 10))
    {
        order.deadline_ms = dice_between(dice, 20, 3000);
    }
    return history_add(mixture->history, &order);
}

static size_t pick_order(Mixture *mixture)
{
    size_t number;
    size_t count = history_count(mixture->history);
    int roll = dice_between(&mixture->dice, 1, 100);
    if (dice_chance(&mixture->dice, 60) && take_due(mixture, &number))
    {
        return number;
    }
    if (count > 0 && roll <= 8)
    {
        return pick_recent(mixture, RECENT);
    }
    if (count > 0 && (roll <= 11 || count == HISTORY_ORDERS_MAX))
    {
        return pick_recent(mixture, count);
    }
    return new_order(mixture);
}

/* ---- which request --------------------------------------------------------------------------- */

static void prefer(Mixture *mixture, Errand *errand)
{
    static const char *const wishes[] = {"Prefer: wait=1", "Prefer: wait=2", "Prefer: wait=0",
                                         "Prefer: respond-async"};
    int roll = dice_between(&mixture->dice, 0, 9);
    snprintf(errand->prefer, sizeof(errand->prefer), "%s",
             roll < (int)ARRAY_LENGTH(wishes) ? wishes[roll] : "");
}

static void choose_batch(Mixture *mixture, Errand *errand)
{
    int count = dice_between(&mixture->dice, 2, BATCH_MAX);
    errand->verb = VERB_BATCH;
    for (int i = 0; i < count; i++)
    {
        errand_add(errand, mixture->history, pick_order(mixture));
    }
}

/* A saga that may be pending, if one is found with few tries. */
static void choose_cancel(Mixture *mixture, Errand *errand)
{
    size_t number = pick_recent(mixture, RECENT);
    for (int i = 0; i < 8 && history_order(mixture->history, number)->mode != ORDER_SAGA; i++)
    {
        number = pick_recent(mixture, RECENT);
    }
    errand->verb = VERB_CANCEL;
    errand_add(errand, mixture->history, number);
}

static void choose(Mixture *mixture, Errand *errand)
{
    int roll = dice_between(&mixture->dice, 1, 100);
    bool has_orders = history_count(mixture->history) > 0;
    prefer(mixture, errand);
    if (roll <= 6)
    {
        choose_batch(mixture, errand);
        return;
    }
    if (roll <= 10 && has_orders)
    {
        choose_cancel(mixture, errand);
        return;
    }
    if (roll <= 14 && has_orders)
    {
        errand->verb = VERB_LOOK;
        errand_add(errand, mixture->history, pick_recent(mixture, 4 * RECENT));
        return;
    }
    if (roll <= 15)
    {
        errand->account = roster_next(mixture->roster, &mixture->dice);
    }
    if (errand->account == NULL)
    {
        errand->verb = VERB_PAY;
        errand_add(errand, mixture->history, pick_order(mixture));
    }
}

void mixture_make(Mixture *mixture, int girod, Errand *ret_errand, Request *ret_request)
{
    *ret_errand = (Errand){.girod = girod};
    pthread_mutex_lock(&mixture->mutex);
    choose(mixture, ret_errand);
    errand_request(ret_errand, mixture->history, ret_request);
    pthread_mutex_unlock(&mixture->mutex);
}

void mixture_repeat(Mixture *mixture, int girod, const size_t *orders, size_t count,
                    Errand *ret_errand, Request *ret_request)
{
    *ret_errand = (Errand){.girod = girod, .verb = VERB_BATCH, .prefer = "Prefer: wait=1"};
    pthread_mutex_lock(&mixture->mutex);
    for (size_t i = 0; i < count && i < ERRAND_ORDERS_MAX; i++)
    {
        errand_add(ret_errand, mixture->history, orders[i]);
    }
    errand_request(ret_errand, mixture->history, ret_request);
    pthread_mutex_unlock(&mixture->mutex);
}

void mixture_take(Mixture *mixture, Errand *errand, const Response *response)
{
    pthread_mutex_lock(&mixture->mutex);
    errand_answer(errand, mixture->history, response);
    for (size_t i = 0; i < errand->count; i++)
    {
        queue(mixture, errand->orders[i].order);
    }
    pthread_mutex_unlock(&mixture->mutex);
    errand_done(errand);
}

/* ---- looking on ------------------------------------------------------------------------------ */

void mixture_each(Mixture *mixture, size_t first,
                  void (*look)(void *context, size_t number, const Order *order), void *context)
{
    pthread_mutex_lock(&mixture->mutex);
    for (size_t i = first; i < history_count(mixture->history); i++)
    {
        look(context, i, history_order(mixture->history, i));
    }
    pthread_mutex_unlock(&mixture->mutex);
}

size_t mixture_count(Mixture *mixture)
{
    pthread_mutex_lock(&mixture->mutex);
    size_t count = history_count(mixture->history);
    pthread_mutex_unlock(&mixture->mutex);
    return count;
}
