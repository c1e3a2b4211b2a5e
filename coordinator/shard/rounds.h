/*
 * Asks every usable shard the same statement again and again: round after round, for as long as the
 * process lives, also when nothing else happens, and at once when a shard has come back.
 *
 * Each shard is asked by itself: one that does not answer delays nobody's next round but its own.
 */
#ifndef GIRO_ROUNDS_H
#define GIRO_ROUNDS_H

#include "shard/call.h"

typedef struct Rounds Rounds;

typedef struct RoundsOptions
{
    Loop *loop;
    Directory *directory;
    Caller *caller;
    Statement statement;
    uint64_t period_ms;
    /* May shards be asked now? NULL: always. */
    bool (*may_ask)(void *context);
    /* Appends the statement's parameters. */
    void (*fill)(void *context, PgParams *params);
    /* Rows are lent. Not called for an answer that failed. */
    void (*answered)(void *context, Shard *shard, const PgRows *rows);
    void *context;
} RoundsOptions;

Rounds *rounds_new(const RoundsOptions *options);
void rounds_free(Rounds *rounds); /* accepts NULL; no call of it may be under way */
/* Makes the next round start after this time, if that is sooner than it would. */
void rounds_hurry(Rounds *rounds, uint64_t after_ms);
void rounds_stop(Rounds *rounds);

/* Appends an array: the names of the shards that are usable now, or of the others. */
void rounds_put_shards(const Directory *directory, bool usable, PgParams *params);

#endif
