/* See bank.h. */
#include "bank.h"

#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    NAMES_TRIED_MAX = 400,
    KEYS = 64,
    REPEATS_MAX = 150,
    REPEAT_PAUSE_US = 100000,
};

static void create(Client *client, const char *name, bool limited, Response *ret_response)
{
    char body[256];
    snprintf(body, sizeof body, "{\"id\":\"%s\",\"currency\":\"EUR\"%s}", name,
             limited ? "" : ",\"floor\":null");
    Request request = {.path = "/v1/accounts", .body = body};
    client_call(client, &request, ret_response);
    if (ret_response->status != 200)
        response_expect(ret_response, 201, NULL);
}

/* Where an id lives follows from its hash: names are tried until one lives on the shard. */
static void open_on(Client *client, int shard, const char *prefix, bool limited,
                    AccountName ret_name)
{
    static int counter;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "shard-%d", shard);
    for (int i = 0; i < NAMES_TRIED_MAX; i++)
    {
        Response response;
        snprintf(ret_name, sizeof(AccountName), "%s-%d-%d", prefix, shard, limited ? ++counter : i);
        create(client, ret_name, limited, &response);
        bool found = strcmp(response_string(&response, "route.shard"), wanted) == 0;
        response_done(&response);
        if (found)
            return;
    }
    fail_msg("no name lives on %s", wanted);
}

void bank_world(Client *client, int shard, AccountName ret_name)
{
    open_on(client, shard, "world", false, ret_name);
}

void bank_open(Client *client, int shard, int64_t balance, AccountName ret_name)
{
    AccountName world;
    static int counter;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "t%d", ++counter);
    open_on(client, shard, prefix, balance >= 0, ret_name);
    if (balance <= 0)
        return;
    bank_world(client, shard, world);
    Payment funding = {.debit = world, .credit = ret_name, .amount = balance, .key = bank_key()};
    bank_expect(client, &funding, 201, NULL, NULL);
}

void bank_open_many(Client *client, int shard, int64_t balance, AccountName *ret_names,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        bank_open(client, shard, balance, ret_names[i]);
}

int64_t bank_balance(Client *client, const char *account)
{
    char path[160];
    Response response;
    snprintf(path, sizeof path, "/v1/accounts/%s", account);
    client_call(client, &(Request){.path = path}, &response);
    response_expect(&response, 200, NULL);
    int64_t balance = response_integer(&response, "balance");
    response_done(&response);
    return balance;
}

void bank_await_balance(Client *client, const char *account, int64_t balance)
{
    for (int i = 0; i < REPEATS_MAX && bank_balance(client, account) != balance; i++)
        usleep(REPEAT_PAUSE_US);
    assert_int_equal(bank_balance(client, account), balance);
}

char *bank_body(const Payment *payment)
{
    char *body;
    int length = asprintf(&body,
                          "{\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"amount\":%" PRId64
                          ",\"currency\":\"EUR\"%s%s}",
                          payment->debit, payment->credit, payment->amount,
                          payment->fields != NULL ? "," : "",
                          payment->fields != NULL ? payment->fields : "");
    assert_true(length > 0);
    return body;
}

void bank_pay(Client *client, const Payment *payment, Response *ret_response)
{
    bank_pay_with(client, payment, NULL, ret_response);
}

void bank_pay_with(Client *client, const Payment *payment, const char *header,
                   Response *ret_response)
{
    const char *headers[] = {header, NULL};
    char *body = bank_body(payment);
    Request request = {
        .path = "/v1/transfers", .body = body, .key = payment->key, .headers = headers};
    client_call(client, &request, ret_response);
    free(body);
}

void bank_expect(Client *client, const Payment *payment, int status, const char *code,
                 char ret_id[UUID_TEXT_MAX + 1])
{
    Response response;
    bank_pay(client, payment, &response);
    response_expect(&response, status, code);
    if (ret_id != NULL)
    {
        const char *field = status < 300 ? "id" : "transfer_id";
        snprintf(ret_id, UUID_TEXT_MAX + 1, "%s", response_string(&response, field));
    }
    response_done(&response);
}

void bank_close(Client *client, const char *account)
{
    char path[160];
    AccountName world;
    Response response;
    Payment all = {.credit = world, .debit = account, .amount = bank_balance(client, account)};
    all.key = bank_key();
    bank_world(client, 1, world);
    if (all.amount > 0)
        bank_expect(client, &all, 201, NULL, NULL);
    snprintf(path, sizeof path, "/v1/accounts/%s", account);
    Request request = {.method = "PATCH",
                       .path = path,
                       .body = "{\"reason\":\"because of the test\",\"status\":\"closed\"}"};
    client_call(client, &request, &response);
    response_expect(&response, 200, NULL);
    response_done(&response);
}

void bank_pay_finally(Client *client, const Payment *payment)
{
    Response response;
    bank_pay(client, payment, &response);
    for (int i = 0; i < REPEATS_MAX && response.status != 200 && response.status != 201; i++)
    {
        check(response.status == 0 || response.status == 202 || response.status == 429 ||
                  response.status == 503,
              "%s: %d %s", payment->key, response.status, response.body);
        response_done(&response);
        usleep(REPEAT_PAUSE_US);
        bank_pay(client, payment, &response);
    }
    check(response.status == 200 || response.status == 201, "%s: %d %s", payment->key,
          response.status, response.body);
    response_done(&response);
}

const char *bank_key(void)
{
    static char keys[KEYS][32];
    static int counter;
    char *key = keys[counter % KEYS];
    snprintf(key, sizeof keys[0], "key-%d", ++counter);
    return key;
}
