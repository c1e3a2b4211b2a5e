/*
 * Chance that can be had again: a stream of numbers that follows from a seed (splitmix64). Each
 * user throws dice of its own, so that what one of them does changes nothing for the others.
 */
#ifndef GIRO_CHAOS_DICE_H
#define GIRO_CHAOS_DICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Dice
{
    uint64_t state;
} Dice;

/* Streams of the same seed have nothing to do with each other. */
Dice dice_new(uint64_t seed, uint64_t stream);
int dice_between(Dice *dice, int lowest, int highest); /* both included */
bool dice_chance(Dice *dice, int percent);

#endif
