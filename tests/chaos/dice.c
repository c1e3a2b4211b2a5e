/* See dice.h. */
#include "dice.h"

#include "base/base.h"

static uint64_t next(Dice *dice)
{
    uint64_t mixed = dice->state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

Dice dice_new(uint64_t seed, uint64_t stream)
{
    Dice dice = {.state = seed};
    dice.state = next(&dice) ^ (stream * 0xd1342543de82ef95);
    return dice;
}

int dice_between(Dice *dice, int lowest, int highest)
{
    ASSERT(lowest <= highest);
    uint64_t width = (uint64_t)((int64_t)highest - lowest + 1);
    return (int)(lowest + (int64_t)(next(dice) % width));
}

bool dice_chance(Dice *dice, int percent)
{
    return dice_between(dice, 1, 100) <= percent;
}
