/*
 * The accounts of a run: on every shard some that everybody uses, a hot one, a frozen, a closed and
 * an unlimited one, ids that nobody has, and those that are created while the run goes on.
 *
 * Not thread-safe: its user holds a lock of its own, except where it says so.
 */
#ifndef GIRO_CHAOS_ROSTER_H
#define GIRO_CHAOS_ROSTER_H

#include "client.h"
#include "cluster.h"
#include "dice.h"

#include "base/limits.h"

enum
{
    ROSTER_MAX = 4096,
    ROSTER_USUAL = 32, /* per shard */
};

typedef struct Account
{
    char id[ACCOUNT_ID_MAX + 1];
    int shard;            /* 0: not known yet, or there is no such account */
    bool is_unlimited;    /* has no floor */
    bool is_acknowledged; /* its creation was answered */
} Account;

typedef struct Roster Roster;

/* Opens the accounts, without money. */
Roster *roster_new(Client *client, int shards);
void roster_free(Roster *roster); /* accepts NULL */
/* The frozen ones are frozen, the closed ones closed: to be called when they have got their money.
 */
void roster_freeze(Roster *roster, Client *client);

/* All that exist or are meant to exist, in the order of their creation. May be called by any
 * thread; an account never moves. */
size_t roster_count(const Roster *roster);
const Account *roster_account(const Roster *roster, size_t number);

const Account *roster_world(const Roster *roster, int shard);
/* Shards are 1 … n. */
const Account *roster_usual(const Roster *roster, int shard, int number);
const Account *roster_frozen(const Roster *roster, int shard);

/* From now on the first usual account of a shard is picked this often besides; 0 at the start. */
void roster_heat(Roster *roster, int percent);
const Account *roster_pick_debit(const Roster *roster, Dice *dice);
const Account *roster_pick_credit(const Roster *roster, Dice *dice);

/* The account that is to be created next: one that was not answered for, or a new one. NULL if
 * there is no room. */
Account *roster_next(Roster *roster, Dice *dice);
/* Its creation was answered, with a shard's name. */
void roster_acknowledge(Account *account, const char *shard);

#endif
