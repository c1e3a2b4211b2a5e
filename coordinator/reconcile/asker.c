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

/* What one shard is to be asked. */
typedef struct Queue
{
    Asker *asker;
    Shard *shard;
    STAILQ_HEAD(, Waiting) asks; /* the first one is being asked */
    bool calling;
    bool given_up;
    char why[WHY_MAX];
    LoopTimer *timer; /* a rest, a pause before another try, or the news that it is given up */
    uint64_t called_at_ms;
    uint64_t failing_since_ms; /* 0 = it is not */
    int errors;                /* of the shard itself, one after another */
} Queue;

struct Asker
{
    AskerOptions options;
    bool stopped;
    Queue **queues;
    size_t queue_count;
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
    for (size_t i = 0; i < asker->queue_count; i++)
    {
        ASSERT(STAILQ_EMPTY(&asker->queues[i]->asks));
        loop_timer_free(asker->queues[i]->timer);
        free(asker->queues[i]);
    }
    free(asker->queues);
    free(asker);
}

static Queue *queue_of(Asker *asker, Shard *shard)
{
    for (size_t i = 0; i < asker->queue_count; i++)
    {
        if (asker->queues[i]->shard == shard)
            return asker->queues[i];
    }
    Queue *queue = base_calloc(1, sizeof *queue);
    queue->asker = asker;
    queue->shard = shard;
    STAILQ_INIT(&queue->asks);
    queue->timer = loop_timer_new(asker->options.loop, next, queue);
    size_t size = (asker->queue_count + 1) * sizeof(Queue *);
    asker->queues = base_realloc(asker->queues, size);
    asker->queues[asker->queue_count++] = queue;
    return queue;
}

static void wake(Queue *queue, uint64_t after_ms)
{
    if (!queue->calling && !loop_timer_running(queue->timer))
        loop_timer_start(queue->timer, after_ms);
}

/* Answers the first. It may ask again at once, and be freed by its owner. */
static void answer(Queue *queue, const PgRows *rows)
{
    Waiting *waiting = STAILQ_FIRST(&queue->asks);
    Ask ask = waiting->ask;
    STAILQ_REMOVE_HEAD(&queue->asks, link);
    free(waiting);
    ask.done(ask.context, rows, rows == NULL ? queue->why : NULL);
}

static void give_up(Queue *queue, const char *why)
{
    queue->given_up = true;
    snprintf(queue->why, sizeof queue->why, "%s", why);
}

/* A shard that fails at the statement itself will hardly do better later. */
static void on_failure(Queue *queue, ErrorCode code, const char *why)
{
    uint64_t now = loop_now_ms(queue->asker->options.loop);
    if (queue->failing_since_ms == 0)
        queue->failing_since_ms = queue->called_at_ms;
    queue->errors += code == ERROR_SHARD_ERROR ? 1 : 0;
    if (now - queue->failing_since_ms >= queue->asker->options.patience_ms ||
        queue->errors == ERRORS_MAX || queue->asker->stopped)
        give_up(queue, queue->asker->stopped ? "the pass was stopped" : why);
    wake(queue, queue->given_up ? 0 : AGAIN_MS);
}

static void fill(void *context, PgParams *params)
{
    const Queue *queue = context;
    const Ask *ask = &STAILQ_FIRST(&queue->asks)->ask;
    if (ask->fill != NULL)
        ask->fill(ask->context, params);
}

static void on_answer(void *context, const CallResult *result)
{
    Queue *queue = context;
    const Asker *asker = queue->asker;
    uint64_t took_ms = loop_now_ms(asker->options.loop) - queue->called_at_ms;
    queue->calling = false;
    if (result->code != ERROR_NONE)
    {
        on_failure(queue, result->code, result->detail);
        return;
    }
    uint64_t rest_ms = took_ms < ASKER_REST_MAX_MS ? took_ms : ASKER_REST_MAX_MS;
    queue->failing_since_ms = 0;
    queue->errors = 0;
    wake(queue, asker->options.rests && !asker->stopped ? rest_ms : 0);
    answer(queue, result->rows);
}

static void next(void *context)
{
    Queue *queue = context;
    if (queue->asker->stopped && !queue->given_up)
        give_up(queue, "the pass was stopped");
    if (STAILQ_EMPTY(&queue->asks) || queue->calling)
        return;
    if (queue->given_up)
    {
        wake(queue, 0);
        answer(queue, NULL);
        return;
    }
    const Ask *ask = &STAILQ_FIRST(&queue->asks)->ask;
    queue->calling = true;
    queue->called_at_ms = loop_now_ms(queue->asker->options.loop);
    call_shard(queue->asker->options.caller, queue->shard,
               &(Call){ask->statement, fill, on_answer, queue});
}

void asker_ask(Asker *asker, Shard *shard, const Ask *ask)
{
    Queue *queue = queue_of(asker, shard);
    Waiting *waiting = base_calloc(1, sizeof *waiting);
    waiting->ask = *ask;
    STAILQ_INSERT_TAIL(&queue->asks, waiting, link);
    wake(queue, 0);
}

void asker_stop(Asker *asker)
{
    asker->stopped = true;
    for (size_t i = 0; i < asker->queue_count; i++)
        loop_timer_start(asker->queues[i]->timer, 0);
}
