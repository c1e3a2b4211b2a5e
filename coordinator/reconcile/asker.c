/* See asker.h. */
#include "reconcile/asker.h"

#include <stdio.h>
#include <stdlib.h>

enum
{
    AGAIN_MS = 500,
    WHY_MAX = 160,
    ERRORS_MAX = 3,
};

typedef struct Waiting
{
    STAILQ_ENTRY(Waiting) link;
    Ask ask;
} Waiting;

/* One shard. */
typedef struct Gate
{
    Asker *asker;
    Shard *shard;
    STAILQ_HEAD(, Waiting) queue; /* the first one is being asked */
    bool calling;
    bool given_up;
    char why[WHY_MAX];
    LoopTimer *timer; /* a rest, a pause before another try, or the news that it is given up */
    uint64_t called_at_ms;
    uint64_t failing_since_ms; /* 0 = it is not */
    int errors;                /* of the shard itself, one after another */
} Gate;

struct Asker
{
    AskerOptions options;
    bool stopped;
    Gate **gates;
    size_t gate_count;
};

static void next(void *context);

Asker *asker_new(const AskerOptions *options)
{
    Asker *asker = base_calloc(1, sizeof *asker);
    asker->options = *options;
    return asker;
}

void asker_free(Asker *asker)
{
    if (asker == NULL)
        return;
    for (size_t i = 0; i < asker->gate_count; i++)
    {
        ASSERT(STAILQ_EMPTY(&asker->gates[i]->queue));
        loop_timer_free(asker->gates[i]->timer);
        free(asker->gates[i]);
    }
    free(asker->gates);
    free(asker);
}

static Gate *gate_of(Asker *asker, Shard *shard)
{
    for (size_t i = 0; i < asker->gate_count; i++)
    {
        if (asker->gates[i]->shard == shard)
            return asker->gates[i];
    }
    Gate *gate = base_calloc(1, sizeof *gate);
    gate->asker = asker;
    gate->shard = shard;
    STAILQ_INIT(&gate->queue);
    gate->timer = loop_timer_new(asker->options.loop, next, gate);
    size_t size = (asker->gate_count + 1) * sizeof(Gate *);
    asker->gates = base_realloc(asker->gates, size);
    asker->gates[asker->gate_count++] = gate;
    return gate;
}

static void wake(Gate *gate, uint64_t after_ms)
{
    if (!gate->calling && !loop_timer_running(gate->timer))
        loop_timer_start(gate->timer, after_ms);
}

/* Answers the first of the queue. It may ask again at once, and be freed by its owner. */
static void answer(Gate *gate, const PgRows *rows)
{
    Waiting *waiting = STAILQ_FIRST(&gate->queue);
    Ask ask = waiting->ask;
    STAILQ_REMOVE_HEAD(&gate->queue, link);
    free(waiting);
    ask.done(ask.context, rows, rows == NULL ? gate->why : NULL);
}

static void give_up(Gate *gate, const char *why)
{
    gate->given_up = true;
    snprintf(gate->why, sizeof gate->why, "%s", why);
}

/* A shard that fails at the statement itself will hardly do better later. */
static void on_failure(Gate *gate, ErrorCode code, const char *why)
{
    uint64_t now = loop_now_ms(gate->asker->options.loop);
    if (gate->failing_since_ms == 0)
        gate->failing_since_ms = gate->called_at_ms;
    gate->errors += code == ERROR_SHARD_ERROR ? 1 : 0;
    if (now - gate->failing_since_ms >= gate->asker->options.patience_ms ||
        gate->errors == ERRORS_MAX || gate->asker->stopped)
        give_up(gate, gate->asker->stopped ? "the pass was stopped" : why);
    wake(gate, gate->given_up ? 0 : AGAIN_MS);
}

static void fill(void *context, PgParams *params)
{
    const Gate *gate = context;
    const Ask *ask = &STAILQ_FIRST(&gate->queue)->ask;
    if (ask->fill != NULL)
        ask->fill(ask->context, params);
}

static void on_answer(void *context, const CallResult *result)
{
    Gate *gate = context;
    const Asker *asker = gate->asker;
    uint64_t took_ms = loop_now_ms(asker->options.loop) - gate->called_at_ms;
    gate->calling = false;
    if (result->code != ERROR_NONE)
    {
        on_failure(gate, result->code, result->detail);
        return;
    }
    uint64_t rest_ms = took_ms < ASKER_REST_MAX_MS ? took_ms : ASKER_REST_MAX_MS;
    gate->failing_since_ms = 0;
    gate->errors = 0;
    wake(gate, asker->options.rests && !asker->stopped ? rest_ms : 0);
    answer(gate, result->rows);
}

static void next(void *context)
{
    Gate *gate = context;
    if (gate->asker->stopped && !gate->given_up)
        give_up(gate, "the pass was stopped");
    if (STAILQ_EMPTY(&gate->queue) || gate->calling)
        return;
    if (gate->given_up)
    {
        wake(gate, 0);
        answer(gate, NULL);
        return;
    }
    const Ask *ask = &STAILQ_FIRST(&gate->queue)->ask;
    gate->calling = true;
    gate->called_at_ms = loop_now_ms(gate->asker->options.loop);
    call_shard(gate->asker->options.caller, gate->shard,
               &(Call){ask->statement, fill, on_answer, gate});
}

void asker_ask(Asker *asker, Shard *shard, const Ask *ask)
{
    Gate *gate = gate_of(asker, shard);
    Waiting *waiting = base_calloc(1, sizeof *waiting);
    waiting->ask = *ask;
    STAILQ_INSERT_TAIL(&gate->queue, waiting, link);
    wake(gate, 0);
}

void asker_stop(Asker *asker)
{
    asker->stopped = true;
    for (size_t i = 0; i < asker->gate_count; i++)
        loop_timer_start(asker->gates[i]->timer, 0);
}
