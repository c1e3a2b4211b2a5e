/*
 * An endless stream of transfers of one kind over the accounts of a world: who pays whom, each
 * under a key that was never used. Uniform, or all from or to one account.
 */
#ifndef GIRO_BENCH_FLOW_H
#define GIRO_BENCH_FLOW_H

#include "world.h"

typedef enum FlowShape
{
    FLOW_LOCAL,      /* both accounts on one shard, any */
    FLOW_CROSS,      /* between the shards of the flow, both ways */
    FLOW_HOT_CREDIT, /* all to one account of shard 1, from the other shards */
    FLOW_HOT_DEBIT,  /* all from one account of shard 1 */
    FLOW_TOUCHING,   /* between the last shard and any other, both ways */
} FlowShape;

typedef struct Flow Flow;

typedef struct FlowOptions
{
    const World *world;
    FlowShape shape;
    int shards;       /* LOCAL, CROSS: the first n only; 0 = all */
    const char *mode; /* "2pc", "saga", "auto" */
} FlowOptions;

enum
{
    FLOW_KEY_MAX = 40,
};

typedef struct FlowTransfer
{
    WorldId debit;
    WorldId credit;
    char key[FLOW_KEY_MAX];
} FlowTransfer;

Flow *flow_new(const FlowOptions *options);
void flow_free(Flow *flow); /* accepts NULL */
const char *flow_mode(const Flow *flow);
void flow_next(Flow *flow, FlowTransfer *ret_transfer);

/* Uniform: 0 … below-1, and the open interval (0, 1). */
typedef struct Dice
{
    uint64_t state;
} Dice;
Dice dice_new(void); /* seeded at random */
size_t dice_below(Dice *dice, size_t below);
double dice_part(Dice *dice);

#endif
