/* See rounds.h. */
#include "shard/rounds.h"

#include <stdlib.h>

enum
{
    UNLOADED_MS = 50, /* how soon a directory that has not been read yet is looked at again */
};

/* A shard, for as long as the process lives. */
typedef struct Visit
{
    Rounds *rounds;
    Shard *shard;
    bool asking;
} Visit;

struct Rounds
{
    RoundsOptions options;
    LoopTimer *timer;
    uint64_t due_at_ms; /* of the next round */
    Visit **visits;
    size_t visit_count;
    bool stopped;
};

static void schedule(Rounds *rounds, uint64_t after_ms)
{
    rounds->due_at_ms = loop_now_ms(rounds->options.loop) + after_ms;
    loop_timer_start(rounds->timer, after_ms);
}

static void hurry(void *context, Shard *shard)
{
    (void)shard;
    rounds_hurry(context, 0);
}

static Visit *visit_of(Rounds *rounds, Shard *shard)
{
    for (size_t i = 0; i < rounds->visit_count; i++)
    {
        if (rounds->visits[i]->shard == shard)
            return rounds->visits[i];
    }
    Visit *visit = base_calloc(1, sizeof *visit);
    visit->rounds = rounds;
    visit->shard = shard;
    size_t size = (rounds->visit_count + 1) * sizeof *rounds->visits;
    rounds->visits = base_realloc(rounds->visits, size);
    rounds->visits[rounds->visit_count++] = visit;
    shard_on_usable(shard, hurry, rounds);
    return visit;
}

static void fill(void *context, PgParams *params)
{
    const Visit *visit = context;
    visit->rounds->options.fill(visit->rounds->options.context, params);
}

static void answered(void *context, const CallResult *result)
{
    Visit *visit = context;
    const RoundsOptions *options = &visit->rounds->options;
    visit->asking = false;
    if (result->code == ERROR_NONE)
        options->answered(options->context, visit->shard, result->rows);
}

static void ask(Visit *visit)
{
    Call call = {visit->rounds->options.statement, fill, answered, visit};
    visit->asking = true;
    call_shard(visit->rounds->options.caller, visit->shard, &call);
}

static void ask_all(void *context)
{
    Rounds *rounds = context;
    const RoundsOptions *options = &rounds->options;
    bool loaded = directory_is_loaded(options->directory);
    bool may_ask = loaded && (options->may_ask == NULL || options->may_ask(options->context));
    size_t count = may_ask ? directory_shard_count(options->directory) : 0;
    for (size_t i = 0; i < count; i++)
    {
        Visit *visit = visit_of(rounds, directory_shard(options->directory, i));
        if (!visit->asking && shard_is_usable(visit->shard))
            ask(visit);
    }
    schedule(rounds, loaded ? options->period_ms : UNLOADED_MS);
}

Rounds *rounds_new(const RoundsOptions *options)
{
    Rounds *rounds = base_calloc(1, sizeof *rounds);
    rounds->options = *options;
    rounds->timer = loop_timer_new(options->loop, ask_all, rounds);
    schedule(rounds, 0);
    return rounds;
}

void rounds_free(Rounds *rounds)
{
    if (rounds == NULL)
        return;
    for (size_t i = 0; i < rounds->visit_count; i++)
    {
        ASSERT(!rounds->visits[i]->asking);
        free(rounds->visits[i]);
    }
    free(rounds->visits);
    loop_timer_free(rounds->timer);
    free(rounds);
}

void rounds_hurry(Rounds *rounds, uint64_t after_ms)
{
    uint64_t due_at_ms = loop_now_ms(rounds->options.loop) + after_ms;
    if (!rounds->stopped && due_at_ms < rounds->due_at_ms)
        schedule(rounds, after_ms);
}

void rounds_stop(Rounds *rounds)
{
    rounds->stopped = true;
    loop_timer_stop(rounds->timer);
}

void rounds_put_shards(const Directory *directory, bool usable, PgParams *params)
{
    size_t count = 0;
    size_t all = directory_shard_count(directory);
    for (size_t i = 0; i < all; i++)
        count += shard_is_usable(directory_shard(directory, i)) == usable ? 1 : 0;
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < all; i++)
    {
        const Shard *shard = directory_shard(directory, i);
        if (shard_is_usable(shard) == usable)
            pg_params_add_text(params, shard_name(shard));
    }
}
