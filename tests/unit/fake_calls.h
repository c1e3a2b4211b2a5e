/*
 * Calls (call.h) without sessions, on the shards of fake_shards: the test sets what the next calls
 * answer. Answers come in a later turn.
 */
#ifndef GIRO_FAKE_CALLS_H
#define GIRO_FAKE_CALLS_H

#include "fake_shards.h"
#include "shard/call.h"

enum
{
    FAKE_SHARDS = 3, /* s1, s2, s3 own the accounts a…, b…, c… */
};

/* What a call answers: rows (NULL: none), or an error. */
typedef struct FakeReply
{
    ErrorCode code;
    const PgRows *rows;
} FakeReply;

typedef struct FakeCalls
{
    Shard *shards[FAKE_SHARDS];
    FakeReply by_account;            /* to call_account */
    FakeReply by_shard[FAKE_SHARDS]; /* to call_shard */
    size_t count;
    Statement last_statement;
    char last_account[ACCOUNT_ID_MAX + 1];
    /* Called with every call, before it is answered; may change the replies. NULL: nothing. */
    void (*asked)(struct FakeCalls *calls, Statement statement);
    /* What the shard at this place answers to call_shard, by statement. NULL: by_shard says it. */
    FakeReply (*reply)(size_t place, Statement statement);
} FakeCalls;

/* Around every test, with the shards: no rows for any call. */
FakeCalls *fake_calls_start(Loop *loop);
void fake_calls_stop(void);

#endif
