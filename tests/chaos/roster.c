/* See roster.h. */
#include "roster.h"

#include "bank.h"
#include "check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Roster
{
    int shards;
    atomic_size_t count;
    atomic_int heat; /* percent */
    Account accounts[ROSTER_MAX];
    size_t world[CLUSTER_SHARDS_MAX];
    size_t usual[CLUSTER_SHARDS_MAX][ROSTER_USUAL];
    size_t frozen[CLUSTER_SHARDS_MAX];
    size_t closed[CLUSTER_SHARDS_MAX];
    size_t created; /* the first one that was created during the run */
    Account unknown;
};

static size_t add(Roster *roster, const char *id, int shard)
{
    size_t number = atomic_load(&roster->count);
    ASSERT(number < ROSTER_MAX);
    Account *account = &roster->accounts[number];
    snprintf(account->id, sizeof(account->id), "%s", id);
    account->shard = shard;
    account->is_acknowledged = shard > 0;
    atomic_store(&roster->count, number + 1);
    return number;
}

static size_t open_one(Roster *roster, Client *client, int shard)
{
    AccountName name;
    bank_open(client, shard, 0, name);
    return add(roster, name, shard);
}

Roster *roster_new(Client *client, int shards)
{
    Roster *roster = base_calloc(1, sizeof(*roster));
    roster->shards = shards;
    snprintf(roster->unknown.id, sizeof(roster->unknown.id), "nobody");
    for (int i = 0; i < shards; i++)
    {
        AccountName world;
        bank_world(client, i + 1, world);
        roster->world[i] = add(roster, world, i + 1);
        roster->accounts[roster->world[i]].is_unlimited = true;
        roster->frozen[i] = open_one(roster, client, i + 1);
        roster->closed[i] = open_one(roster, client, i + 1);
        for (int j = 0; j < ROSTER_USUAL; j++)
        {
            roster->usual[i][j] = open_one(roster, client, i + 1);
        }
    }
    roster->created = roster_count(roster);
    return roster;
}

void roster_free(Roster *roster)
{
    free(roster);
}

void roster_freeze(Roster *roster, Client *client)
{
    for (int i = 0; i < roster->shards; i++)
    {
        char path[160];
        Response response;
        snprintf(path, sizeof(path), "/v1/accounts/%s", roster->accounts[roster->frozen[i]].id);
        Request freeze = {.method = "PATCH",
                          .path = path,
                          .body = "{\"reason\":\"because of the test\",\"status\":\"frozen\"}"};
        client_call(client, &freeze, &response);
        response_expect(&response, 200, NULL);
        response_done(&response);
        bank_close(client, roster->accounts[roster->closed[i]].id);
    }
}

size_t roster_count(const Roster *roster)
{
    return atomic_load(&roster->count);
}

const Account *roster_account(const Roster *roster, size_t number)
{
    ASSERT(number < roster_count(roster));
    return &roster->accounts[number];
}

const Account *roster_world(const Roster *roster, int shard)
{
    return &roster->accounts[roster->world[shard - 1]];
}

const Account *roster_usual(const Roster *roster, int shard, int number)
{
    return &roster->accounts[roster->usual[shard - 1][number]];
}

const Account *roster_frozen(const Roster *roster, int shard)
{
    return &roster->accounts[roster->frozen[shard - 1]];
}

/* ---- chance ---------------------------------------------------------------------------------- */

void roster_heat(Roster *roster, int percent)
{
    atomic_store(&roster->heat, percent);
}

/* Once there are some, every fifth time one of the new ones. */
static const Account *pick_usual(const Roster *roster, Dice *dice)
{
    int shard = dice_between(dice, 1, roster->shards);
    size_t count = roster_count(roster);
    if (count > roster->created && dice_chance(dice, 20))
    {
        return &roster->accounts[dice_between(dice, (int)roster->created, (int)count - 1)];
    }
    bool hot = dice_chance(dice, atomic_load(&roster->heat));
    return roster_usual(roster, shard, hot ? 0 : dice_between(dice, 0, ROSTER_USUAL - 1));
}

const Account *roster_pick_debit(const Roster *roster, Dice *dice)
{
    int shard = dice_between(dice, 1, roster->shards);
    int roll = dice_between(dice, 1, 100);
    if (roll <= 10)
    {
        return roster_world(roster, shard);
    }
    if (roll <= 13)
    {
        return roster_frozen(roster, shard);
    }
    return roll <= 15 ? &roster->unknown : pick_usual(roster, dice);
}

const Account *roster_pick_credit(const Roster *roster, Dice *dice)
{
    int shard = dice_between(dice, 1, roster->shards);
    int roll = dice_between(dice, 1, 100);
    if (roll <= 8)
    {
        return roster_world(roster, shard);
    }
    if (roll <= 11)
    {
        return roster_frozen(roster, shard);
    }
    if (roll <= 16)
    {
        return &roster->accounts[roster->closed[shard - 1]];
    }
    return roll <= 19 ? &roster->unknown : pick_usual(roster, dice);
}

/* ---- new ones -------------------------------------------------------------------------------- */

/* In every keyspace that a cluster of docker/up.sh has. */
static void name_new(char ret_id[ACCOUNT_ID_MAX + 1], size_t number, Dice *dice)
{
    int letter = dice_between(dice, 'a', 'z');
    switch (number % 3)
    {
    case 0:
        snprintf(ret_id, ACCOUNT_ID_MAX + 1, "r:%c%zu", letter, number);
        return;
    case 1:
        snprintf(ret_id, ACCOUNT_ID_MAX + 1, "t:%c:new%zu", letter, number);
        return;
    default:
        snprintf(ret_id, ACCOUNT_ID_MAX + 1, "new%zu", number);
    }
}

Account *roster_next(Roster *roster, Dice *dice)
{
    char id[ACCOUNT_ID_MAX + 1];
    size_t count = roster_count(roster);
    for (size_t i = roster->created; i < count; i++)
    {
        if (!roster->accounts[i].is_acknowledged && dice_chance(dice, 50))
        {
            return &roster->accounts[i];
        }
    }
    if (count == ROSTER_MAX)
    {
        return NULL;
    }
    name_new(id, count, dice);
    return &roster->accounts[add(roster, id, 0)];
}

void roster_acknowledge(Account *account, const char *shard)
{
    account->is_acknowledged = true;
    account->shard = (int)strtol(shard + strcspn(shard, "0123456789"), NULL, 10);
}
