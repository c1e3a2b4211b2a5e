/* See flow.h. */
#include "flow.h"

#include "base/base.h"
#include "shard/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct Flow
{
    FlowOptions options;
    Dice dice;
    uint64_t run; /* random: keys of different flows differ */
    uint64_t count;
};

/* ---- chance: splitmix64 ---------------------------------------------------------------------- */

Dice dice_new(void)
{
    Dice dice;
    random_bytes(&dice.state, sizeof dice.state);
    return dice;
}

static uint64_t dice_next(Dice *dice)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

size_t dice_below(Dice *dice, size_t below)
{
    return (size_t)(dice_next(dice) % below);
}

double dice_part(Dice *dice)
{
    return ((double)(dice_next(dice) >> 11) + 0.5) / 9007199254740992.0;
}

/* ---- transfers ------------------------------------------------------------------------------- */

Flow *flow_new(const FlowOptions *options)
{
    Flow *flow = base_calloc(1, sizeof *flow);
    flow->options = *options;
    if (options->shards == 0)
        flow->options.shards = world_shard_count(options->world);
    flow->dice = dice_new();
    random_bytes(&flow->run, sizeof flow->run);
    return flow;
}

void flow_free(Flow *flow)
{
    free(flow);
}

const char *flow_mode(const Flow *flow)
{
    return flow->options.mode;
}

static int any_shard(Flow *flow, int first, int count)
{
    return first + (int)dice_below(&flow->dice, (size_t)count);
}

/* Another one of the flow's shards. */
static int other_shard(Flow *flow, int shard)
{
    int other = any_shard(flow, 1, flow->options.shards - 1);
    return other >= shard ? other + 1 : other;
}

static void any_account(Flow *flow, int shard, WorldId ret_id)
{
    const World *world = flow->options.world;
    world_account(world, shard, dice_below(&flow->dice, world_account_count(world, shard)), ret_id);
}

static void pick_local(Flow *flow, FlowTransfer *ret)
{
    const World *world = flow->options.world;
    int shard = any_shard(flow, 1, flow->options.shards);
    size_t count = world_account_count(world, shard);
    size_t debit = dice_below(&flow->dice, count);
    size_t credit = (debit + 1 + dice_below(&flow->dice, count - 1)) % count;
    world_account(world, shard, debit, ret->debit);
    world_account(world, shard, credit, ret->credit);
}

static void pick_between(Flow *flow, int debit_shard, int credit_shard, FlowTransfer *ret)
{
    any_account(flow, debit_shard, ret->debit);
    any_account(flow, credit_shard, ret->credit);
}

static void pick_touching(Flow *flow, FlowTransfer *ret)
{
    int last = world_shard_count(flow->options.world);
    int other = any_shard(flow, 1, last - 1);
    if (dice_below(&flow->dice, 2) == 0)
        pick_between(flow, last, other, ret);
    else
        pick_between(flow, other, last, ret);
}

static void pick(Flow *flow, FlowTransfer *ret)
{
    int shard = any_shard(flow, 1, flow->options.shards);
    switch (flow->options.shape)
    {
    case FLOW_LOCAL:
        pick_local(flow, ret);
        break;
    case FLOW_CROSS:
        pick_between(flow, shard, other_shard(flow, shard), ret);
        break;
    case FLOW_HOT_CREDIT:
        pick_between(flow, other_shard(flow, 1), 1, ret);
        world_account(flow->options.world, 1, 0, ret->credit);
        break;
    case FLOW_HOT_DEBIT:
        pick_between(flow, 1, other_shard(flow, 1), ret);
        world_account(flow->options.world, 1, 0, ret->debit);
        break;
    case FLOW_TOUCHING:
        pick_touching(flow, ret);
        break;
    }
}

void flow_next(Flow *flow, FlowTransfer *ret_transfer)
{
    pick(flow, ret_transfer);
    snprintf(ret_transfer->key, FLOW_KEY_MAX, "bench-%016" PRIx64 "-%" PRIu64, flow->run,
             flow->count++);
}
