/* See errand.h. */
#include "errand.h"

#include "answers.h"
#include "bank.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void errand_add(Errand *errand, const History *history, size_t order)
{
    ASSERT(errand->count < ERRAND_ORDERS_MAX && (errand->count == 0 || errand->verb == VERB_BATCH));
    errand->orders = base_realloc(errand->orders, (errand->count + 1) * sizeof(errand->orders[0]));
    size_t answer = history_sent(history_order(history, order), errand->verb, errand->girod,
                                 history_now_us(history));
    errand->orders[errand->count++] = (ErrandOrder){.order = order, .answer = answer};
}

/* ---- requests -------------------------------------------------------------------------------- */

static char *order_body(const Order *order)
{
    static const char *const modes[] = {
        [ORDER_AUTO] = "\"mode\":\"auto\"",
        [ORDER_2PC] = "\"mode\":\"2pc\"",
        [ORDER_SAGA] = "\"mode\":\"saga\"",
    };
    char fields[80];
    snprintf(fields, sizeof(fields), "%s", modes[order->mode]);
    if (order->deadline_ms > 0)
    {
        snprintf(fields, sizeof(fields), "%s,\"deadline_ms\":%d", modes[order->mode],
                 order->deadline_ms);
    }
    return bank_body(&(Payment){
        .debit = order->debit, .credit = order->credit, .amount = order->amount, .fields = fields});
}

/* An item is the body of a payment with its key in front. */
static char *batch_body(const Errand *errand, const History *history)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    ASSERT(stream != NULL);
    for (size_t i = 0; i < errand->count; i++)
    {
        const Order *order = history_order(history, errand->orders[i].order);
        char *body = order_body(order);
        fprintf(stream, "%s{\"idempotency_key\":\"%s\",%s", i == 0 ? "{\"transfers\":[" : ",",
                order->key, body + 1);
        free(body);
    }
    fprintf(stream, "]}");
    fclose(stream);
    return text;
}

static char *account_body(const Account *account)
{
    char *text = NULL;
    int length = asprintf(&text, "{\"id\":\"%s\",\"currency\":\"EUR\"}", account->id);
    ASSERT(length > 0);
    return text;
}

static void set_path(Errand *errand, const char *path)
{
    snprintf(errand->path, sizeof(errand->path), "%s", path);
}

/* A look or a cancel, by the transfer's id. */
static void set_transfer_path(Errand *errand, const Order *order)
{
    char id[UUID_TEXT_MAX + 1];
    uuid_format(order->id, id);
    snprintf(errand->path, sizeof(errand->path), "/v1/transfers/%s%s", id,
             errand->verb == VERB_CANCEL ? "/actions/cancel" : "");
}

static void fill(Errand *errand, const History *history)
{
    if (errand->account != NULL)
    {
        set_path(errand, "/v1/accounts");
        errand->body = account_body(errand->account);
        return;
    }
    const Order *order = history_order(history, errand->orders[0].order);
    switch (errand->verb)
    {
    case VERB_PAY:
        set_path(errand, "/v1/transfers");
        errand->body = order_body(order);
        snprintf(errand->key, sizeof(errand->key), "%s", order->key);
        return;
    case VERB_BATCH:
        set_path(errand, "/v1/transfers/batch");
        errand->body = batch_body(errand, history);
        return;
    case VERB_CANCEL:
        set_transfer_path(errand, order);
        errand->body = base_strdup("{\"reason\":\"because of the chaos\"}");
        return;
    default:
        set_transfer_path(errand, order);
        return;
    }
}

void errand_request(Errand *errand, const History *history, Request *ret_request)
{
    fill(errand, history);
    errand->headers[0] = errand->prefer[0] == '\0' ? NULL : errand->prefer;
    *ret_request = (Request){.path = errand->path,
                             .body = errand->body,
                             .key = errand->key[0] == '\0' ? NULL : errand->key,
                             .headers = errand->headers,
                             .timeout_ms = ERRAND_TIMEOUT_MS};
}

/* ---- answers --------------------------------------------------------------------------------- */

static void note_account(Account *account, const Response *response)
{
    if (response->status == 200 || response->status == 201)
    {
        roster_acknowledge(account, response_string(response, "route.shard"));
    }
}

void errand_answer(Errand *errand, const History *history, const Response *response)
{
    int64_t now_us = history_now_us(history);
    if (errand->account != NULL)
    {
        note_account(errand->account, response);
    }
    for (size_t i = 0; i < errand->count; i++)
    {
        const ErrandOrder *place = &errand->orders[i];
        Answer answer = errand->verb == VERB_BATCH ? answer_of_item(response, i)
                                                   : answer_of_response(errand->verb, response);
        history_answered(history_order(history, place->order), place->answer, &answer, now_us);
    }
}

void errand_done(Errand *errand)
{
    free(errand->orders);
    free(errand->body);
    *errand = (Errand){0};
}
