/*
 * Asks shards on behalf of a pass, gently: on a shard one statement at a time, and if the pass
 * rests, between two of them as long as the last one took. A shard that does not answer is asked
 * again until patience_ms have passed; then it is given up for the rest of the pass, and
 * whoever asks it hears so at once.
 */
#ifndef GIRO_ASKER_H
#define GIRO_ASKER_H

#include "shard/call.h"

typedef struct Asker Asker;

enum
{
    ASKER_REST_MAX_MS = 1000,
};

typedef struct Ask
{
    Statement statement;
    void (*fill)(void *context, PgParams *params); /* as in Call; may be called several times */
    /* Called once, never from inside asker_ask; rows are NULL, and `why` says why, if the shard was
     * given up. Both are lent. */
    void (*done)(void *context, const PgRows *rows, const char *why);
    void *context; /* must live until done was called */
} Ask;

typedef struct AskerOptions
{
    Loop *loop;
    Caller *caller;
    bool rests;
    uint64_t patience_ms;
} AskerOptions;

Asker *asker_new(const AskerOptions *options);
/* Nothing may be under way. Accepts NULL. */
void asker_free(Asker *asker);
void asker_ask(Asker *asker, Shard *shard, const Ask *ask);
/* Gives all shards up; what is under way is answered by and by. */
void asker_stop(Asker *asker);

#endif
