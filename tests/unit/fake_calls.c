/* See fake_calls.h. */
#include "fake_calls.h"

#include <stdio.h>
#include <string.h>

enum
{
    WAITING_MAX = 16,
    PARAMETER_BYTES = 8192,
};

typedef struct Waiting
{
    Call call;
    const FakeReply *reply; /* NULL: own */
    FakeReply own;
    bool routed;
    Location location;
} Waiting;

static struct
{
    FakeCalls calls;
    LoopTimer *timer;
    Waiting waiting[WAITING_MAX];
    size_t waiting_count;
} fake;

static void answer(const Waiting *waiting)
{
    const FakeReply *reply = waiting->reply != NULL ? waiting->reply : &waiting->own;
    ErrorCode code = reply->code;
    CallResult result = {
        .code = code,
        .detail = code == ERROR_NONE ? "" : "a reason",
        .rows = code == ERROR_NONE ? reply->rows : NULL,
        .location = waiting->routed ? &waiting->location : NULL,
    };
    waiting->call.done(waiting->call.context, &result);
}

static void answer_all(void *context)
{
    Waiting now[WAITING_MAX];
    size_t count = fake.waiting_count;
    (void)context;
    memcpy(now, fake.waiting, sizeof now);
    fake.waiting_count = 0;
    for (size_t i = 0; i < count; i++)
        answer(&now[i]);
}

FakeCalls *fake_calls_start(Loop *loop)
{
    memset(&fake, 0, sizeof fake);
    fake_shards_start(loop);
    for (int i = 0; i < FAKE_SHARDS; i++)
    {
        char name[] = {'s', (char)('1' + i), '\0'};
        fake.calls.shards[i] = fake_shard(name, i + 1, (char)('a' + i));
    }
    fake.timer = loop_timer_new(loop, answer_all, NULL);
    return &fake.calls;
}

void fake_calls_stop(void)
{
    loop_timer_free(fake.timer);
    fake_shards_stop();
}

/* ---- call.h ---------------------------------------------------------------------------------- */

Caller *caller_new(Loop *loop, Directory *directory, const CallerOptions *options)
{
    (void)loop;
    (void)directory;
    (void)options;
    return NULL;
}

void caller_free(Caller *caller)
{
    (void)caller;
}

size_t caller_count(const Caller *caller)
{
    (void)caller;
    return fake.waiting_count;
}

static Waiting *add_call(const Call *call, const FakeReply *reply)
{
    ASSERT(fake.waiting_count < WAITING_MAX);
    if (call->fill != NULL)
    {
        PgParams *params = pg_params_new(PARAMETER_BYTES);
        call->fill(call->context, params);
        pg_params_free(params);
    }
    Waiting *waiting = &fake.waiting[fake.waiting_count++];
    *waiting = (Waiting){.call = *call, .reply = reply};
    fake.calls.count++;
    fake.calls.last_statement = call->statement;
    if (fake.calls.asked != NULL)
        fake.calls.asked(&fake.calls, call->statement);
    loop_timer_start(fake.timer, 0);
    return waiting;
}

void call_account(Caller *caller, const char *account_id, const Call *call)
{
    (void)caller;
    snprintf(fake.calls.last_account, sizeof fake.calls.last_account, "%s", account_id);
    Waiting *waiting = add_call(call, &fake.calls.by_account);
    waiting->routed = directory_locate(NULL, account_id, &waiting->location);
}

void call_shard(Caller *caller, Shard *shard, const Call *call)
{
    (void)caller;
    size_t place = (size_t)shard_ordinal(shard) - 1;
    if (fake.calls.reply == NULL)
        (void)add_call(call, &fake.calls.by_shard[place]);
    else
        add_call(call, NULL)->own = fake.calls.reply(place, call->statement);
}
