/* See history.h. */
#include "history.h"

#include "base/base.h"
#include "shard/route.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct History
{
    int64_t started_us;
    Order *orders;
    size_t count;
    size_t size;
};

static const char *const verdict_names[VERDICT_COUNT] = {
    [VERDICT_AWAITED] = "awaited",   [VERDICT_MAYBE] = "maybe",   [VERDICT_NONE] = "none",
    [VERDICT_PENDING] = "pending",   [VERDICT_POSTED] = "posted", [VERDICT_REFUSED] = "refused",
    [VERDICT_REVERSED] = "reversed", [VERDICT_ABSENT] = "absent", [VERDICT_WRONG] = "wrong",
};

static const char *const verb_names[VERB_COUNT] = {
    [VERB_PAY] = "pay",
    [VERB_BATCH] = "batch",
    [VERB_CANCEL] = "cancel",
    [VERB_LOOK] = "look",
};

const char *verdict_name(Verdict verdict)
{
    return verdict_names[verdict];
}

bool verdict_is_final(Verdict verdict)
{
    return verdict == VERDICT_POSTED || verdict == VERDICT_REFUSED || verdict == VERDICT_REVERSED;
}

bool verb_pays(Verb verb)
{
    return verb == VERB_PAY || verb == VERB_BATCH;
}

History *history_new(void)
{
    History *history = base_calloc(1, sizeof(*history));
    history->started_us = (int64_t)base_now_us();
    return history;
}

int64_t history_now_us(const History *history)
{
    return (int64_t)base_now_us() - history->started_us;
}

void history_free(History *history)
{
    if (history == NULL)
    {
        return;
    }
    for (size_t i = 0; i < history->count; i++)
    {
        free(history->orders[i].answers);
    }
    free(history->orders);
    free(history);
}

size_t history_add(History *history, const Order *content)
{
    ASSERT(history->count < HISTORY_ORDERS_MAX);
    if (history->count == history->size)
    {
        history->size = 2 * history->size + 1024;
        history->orders = base_realloc(history->orders, history->size * sizeof(Order));
    }
    Order *order = &history->orders[history->count];
    *order = *content;
    order->answers = NULL;
    order->count = 0;
    order->size = 0;
    snprintf(order->key, sizeof(order->key), "chaos-%zu", history->count);
    transfer_id_make(order->debit, order->key, order->id);
    return history->count++;
}

size_t history_count(const History *history)
{
    return history->count;
}

Order *history_order(const History *history, size_t number)
{
    ASSERT(number < history->count);
    return &history->orders[number];
}

size_t history_sent(Order *order, Verb verb, int girod, int64_t now_us)
{
    if (order->count == order->size)
    {
        order->size = 2 * order->size + 2;
        order->answers = base_realloc(order->answers, order->size * sizeof(Answer));
    }
    order->answers[order->count] = (Answer){.sent_us = now_us, .verb = verb, .girod = girod};
    return order->count++;
}

void history_answered(Order *order, size_t answer, const Answer *what, int64_t now_us)
{
    ASSERT(answer < order->count);
    Answer *own = &order->answers[answer];
    ASSERT(own->verdict == VERDICT_AWAITED && what->verdict != VERDICT_AWAITED);
    Answer is = *what;
    is.sent_us = own->sent_us;
    is.answered_us = now_us;
    is.verb = own->verb;
    is.girod = own->girod;
    *own = is;
}

const Answer *order_final(const Order *order)
{
    for (size_t i = 0; i < order->count; i++)
    {
        if (verdict_is_final(order->answers[i].verdict))
        {
            return &order->answers[i];
        }
    }
    return NULL;
}

const Answer *order_last_payment(const Order *order)
{
    const Answer *last = NULL;
    for (size_t i = 0; i < order->count; i++)
    {
        last = verb_pays(order->answers[i].verb) ? &order->answers[i] : last;
    }
    return last;
}

bool answer_is_unpaid(const Answer *answer)
{
    return strcmp(answer->code, "debit-account-not-found") == 0;
}

bool order_is_settled(const Order *order)
{
    const Answer *last = order_last_payment(order);
    return order_final(order) != NULL || (last != NULL && answer_is_unpaid(last));
}

void order_print(const Order *order, FILE *file)
{
    static const char *const modes[] = {"auto", "2pc", "saga"};
    char id[UUID_TEXT_MAX + 1];
    uuid_format(order->id, id);
    fprintf(file, "%s  %s  %s (shard %d) -> %s (shard %d)  %" PRId64 "  %s", order->key, id,
            order->debit, order->debit_shard, order->credit, order->credit_shard, order->amount,
            modes[order->mode]);
    fprintf(file, order->deadline_ms > 0 ? "  deadline %d ms\n" : "\n", order->deadline_ms);
    for (size_t i = 0; i < order->count; i++)
    {
        const Answer *answer = &order->answers[i];
        fprintf(file, "    %10.4f s  %-6s girod %d  %10.4f s  %3d %s%s%s\n",
                (double)answer->sent_us / 1e6, verb_names[answer->verb], answer->girod,
                (double)answer->answered_us / 1e6, answer->status, verdict_name(answer->verdict),
                answer->code[0] == '\0' ? "" : " ", answer->code);
    }
}

void history_print(const History *history, FILE *file)
{
    for (size_t i = 0; i < history->count; i++)
    {
        order_print(&history->orders[i], file);
    }
}
