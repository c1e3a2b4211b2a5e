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
/* The account without a floor on that shard. */
void bank_world(Client *client, int shard, AccountName ret_name);

int64_t bank_balance(Client *client, const char *account);

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
/* Pays and expects the status and, if not NULL, the code; copies the transfer's id if ret_id is not
 * NULL. */
void bank_expect(Client *client, const Payment *payment, int status, const char *code,
                 char ret_id[UUID_TEXT_MAX + 1]);
/* A key that no test of this program has used. Lent until 64 more have been made. */
const char *bank_key(void);

#endif
