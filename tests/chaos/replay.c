/* See replay.h. */
#include "replay.h"

#include "errand.h"
#include "processes.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

enum
{
    PARALLEL = 4, /* batches at once */
    PAUSE_MS = 100,
};

/* What still wants an answer. */
typedef struct Rest
{
    History *history;
    size_t *orders;
    size_t count;
} Rest;

static bool is_answered_for_good(const Order *order)
{
    const Answer *last = order_last_payment(order);
    return verdict_is_final(last->verdict) || answer_is_unpaid(last);
}

static void drop_answered_ones(Rest *rest)
{
    size_t left = 0;
    for (size_t i = 0; i < rest->count; i++)
    {
        if (!is_answered_for_good(history_order(rest->history, rest->orders[i])))
        {
            rest->orders[left++] = rest->orders[i];
        }
    }
    rest->count = left;
}

static void make(const Rest *rest, size_t from, int girod, Errand *ret_errand)
{
    *ret_errand = (Errand){.verb = VERB_BATCH, .girod = girod};
    snprintf(ret_errand->prefer, sizeof(ret_errand->prefer), "Prefer: wait=8");
    for (size_t i = from; i < rest->count && i < from + ERRAND_ORDERS_MAX; i++)
    {
        errand_add(ret_errand, rest->history, rest->orders[i]);
    }
}

/* Some batches at once; returns the place behind them. */
static size_t send_some(const Rest *rest, size_t from, Client *client, int girod)
{
    Errand errands[PARALLEL];
    Request requests[PARALLEL];
    Response responses[PARALLEL];
    size_t count = 0;
    for (; count < PARALLEL && from < rest->count; count++)
    {
        make(rest, from, girod, &errands[count]);
        errand_request(&errands[count], rest->history, &requests[count]);
        from += errands[count].count;
    }
    client_call_all(client, requests, count, responses);
    for (size_t i = 0; i < count; i++)
    {
        errand_answer(&errands[i], rest->history, &responses[i]);
        errand_done(&errands[i]);
    }
    responses_done(responses, count);
    return from;
}

size_t replay_run(const Cluster *cluster, History *history, size_t first, int timeout_ms)
{
    int coordinators = cluster_coordinator_count(cluster);
    Client *clients[CLUSTER_COORDINATORS_MAX];
    Rest rest = {.history = history, .count = history_count(history) - first};
    int64_t until_us = history_now_us(history) + (int64_t)timeout_ms * 1000;
    rest.orders = base_calloc(rest.count + 1, sizeof(rest.orders[0]));
    for (size_t i = 0; i < rest.count; i++)
    {
        rest.orders[i] = first + i;
    }
    for (int i = 0; i < coordinators; i++)
    {
        clients[i] = client_new(cluster_url(cluster, i + 1));
    }
    for (int turn = 0; rest.count > 0 && history_now_us(history) < until_us;)
    {
        for (size_t at = 0; at < rest.count; turn++)
        {
            at = send_some(&rest, at, clients[turn % coordinators], turn % coordinators + 1);
        }
        drop_answered_ones(&rest);
        processes_pause_ms(rest.count > 0 ? PAUSE_MS : 0);
    }
    for (int i = 0; i < coordinators; i++)
    {
        client_free(clients[i]);
    }
    free(rest.orders);
    return rest.count;
}
