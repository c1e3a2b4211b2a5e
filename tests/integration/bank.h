/*
 * Accounts and transfers as tests want them: on a chosen shard, with money, under fresh names.
 */
#ifndef GIRO_TESTS_BANK_H
#define GIRO_TESTS_BANK_H

#include "client.h"
#include "cluster.h"
#include "shard/route.h"

typedef char AccountName[ACCOUNT_ID_MAX + 1];

/* Opens a fresh account on the shard (1 … n) with this much money, which comes from the shard's
 * world account; no floor if the balance is negative. */
void bank_open(Client *client, int shard, int64_t balance, AccountName ret_name);
/* Opens `count` of them. */
void bank_open_many(Client *client, int shard, int64_t balance, AccountName *ret_names,
                    size_t count);
/* The account without a floor on that shard. */
void bank_world(Client *client, int shard, AccountName ret_name);

/* Takes all money out of the account and closes it. */
void bank_close(Client *client, const char *account);

int64_t bank_balance(Client *client, const char *account);
/* Waits, at most 15 s, until the account has this balance: a credit may become visible a little
 * later than the answer. */
void bank_await_balance(Client *client, const char *account, int64_t balance);

typedef struct Payment
{
    const char *debit;
    const char *credit;
    int64_t amount;
    const char *key;
    const char *fields; /* more fields of the body: "\"mode\":\"saga\""; NULL for none */
} Payment;

/* The body of a transfer; free() it. */
char *bank_body(const Payment *payment);
void bank_pay(Client *client, const Payment *payment, Response *ret_response);
/* With one header more, like "Prefer: wait=1"; NULL = none. */
void bank_pay_with(Client *client, const Payment *payment, const char *header,
                   Response *ret_response);
/* Pays and expects the status and, if not NULL, the code; copies the transfer's id if ret_id is not
 * NULL. */
void bank_expect(Client *client, const Payment *payment, int status, const char *code,
                 char ret_id[UUID_TEXT_MAX + 1]);
/* Pays, and repeats under the same key while the answer permits it, at most for 15 s, until the
 * transfer is posted. */
void bank_pay_finally(Client *client, const Payment *payment);
/* A key that no test of this program has used. Lent until 64 more have been made. */
const char *bank_key(void);

#endif
