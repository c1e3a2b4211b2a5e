/*
 * See loop.h. A turn is one uv_run in "once" mode, then the posted tasks, then the phases, then the
 * deferred frees.
 *
 * libuv closes handles in a later iteration; therefore timers and polls live on the heap and are
 * freed by their close callbacks, never by their owners. An unused async handle keeps uv_run from
 * returning at once when nothing else is watched.
 */
#include "loop/loop.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum
{
    PHASES_MAX = 8,
    SIGNALS_MAX = 8,
    ADDRESSES_MAX = 8,
};

typedef struct Phase
{
    void (*run)(void *context);
    void *context;
} Phase;

typedef struct SignalWatch
{
    uv_signal_t handle;
    void (*handler)(void *context, int number);
    void *context;
} SignalWatch;

typedef struct Resolution
{
    uv_getaddrinfo_t request;
    LoopResolved done;
    void *context;
    LIST_ENTRY(Resolution) link;
} Resolution;

struct Loop
{
    uv_loop_t uv;
    uv_async_t anchor;
    uv_timer_t until;
    bool stopped;
    bool awake;   /* the next turn must not wait */
    bool polling; /* inside uv_run */
    Phase phases[PHASES_MAX];
    size_t phase_count;
    SignalWatch signals[SIGNALS_MAX];
    size_t signal_count;
    TAILQ_HEAD(, LoopTask) tasks;
    LIST_HEAD(, Resolution) resolutions;
    void **garbage;
    size_t garbage_count;
    size_t garbage_room;
};

struct LoopTimer
{
    uv_timer_t handle;
    void (*fire)(void *context);
    void *context;
};

struct LoopPoll
{
    uv_poll_t handle;
    void (*ready)(void *context, unsigned events);
    void *context;
    unsigned wanted;
    bool freed;
};

static void ignore_async(uv_async_t *handle)
{
    (void)handle;
}

Loop *loop_new(void)
{
    Loop *loop = base_calloc(1, sizeof *loop);
    ASSERT(uv_loop_init(&loop->uv) == 0);
    ASSERT(uv_async_init(&loop->uv, &loop->anchor, ignore_async) == 0);
    ASSERT(uv_timer_init(&loop->uv, &loop->until) == 0);
    TAILQ_INIT(&loop->tasks);
    LIST_INIT(&loop->resolutions);
    return loop;
}

static void free_garbage(Loop *loop)
{
    for (size_t i = 0; i < loop->garbage_count; i++)
        free(loop->garbage[i]);
    loop->garbage_count = 0;
}

void loop_free(Loop *loop)
{
    if (loop == NULL)
        return;
    ASSERT(TAILQ_EMPTY(&loop->tasks));
    uv_close((uv_handle_t *)&loop->anchor, NULL);
    uv_close((uv_handle_t *)&loop->until, NULL);
    for (size_t i = 0; i < loop->signal_count; i++)
        uv_close((uv_handle_t *)&loop->signals[i].handle, NULL);
    Resolution *resolution;
    LIST_FOREACH (resolution, &loop->resolutions, link)
        uv_cancel((uv_req_t *)&resolution->request);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    ASSERT(uv_loop_close(&loop->uv) == 0);
    free_garbage(loop);
    free(loop->garbage);
    free(loop);
}

uint64_t loop_now_ms(const Loop *loop)
{
    return uv_now(&loop->uv);
}

void loop_add_phase(Loop *loop, void (*phase)(void *context), void *context)
{
    ASSERT(loop->phase_count < PHASES_MAX);
    loop->phases[loop->phase_count++] = (Phase){phase, context};
}

/* Inside uv_run, timers come before the wait for the kernel, which uv_stop then cuts short. */
void loop_wake(Loop *loop)
{
    loop->awake = true;
    if (loop->polling)
        uv_stop(&loop->uv);
}

void loop_post(Loop *loop, LoopTask *task)
{
    if (task->posted)
        return;
    task->posted = true;
    TAILQ_INSERT_TAIL(&loop->tasks, task, link);
    loop_wake(loop);
}

void loop_unpost(Loop *loop, LoopTask *task)
{
    if (!task->posted)
        return;
    task->posted = false;
    TAILQ_REMOVE(&loop->tasks, task, link);
}

/* A task may unpost another one of this turn; what is posted meanwhile stays behind the mark. */
static void run_tasks(Loop *loop)
{
    LoopTask mark = {.posted = true};
    TAILQ_INSERT_TAIL(&loop->tasks, &mark, link);
    for (LoopTask *task; (task = TAILQ_FIRST(&loop->tasks)) != &mark;)
    {
        TAILQ_REMOVE(&loop->tasks, task, link);
        task->posted = false;
        task->run(task->context);
    }
    TAILQ_REMOVE(&loop->tasks, &mark, link);
}

static void run_turn(Loop *loop)
{
    loop->polling = true;
    uv_run(&loop->uv, loop->awake ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    loop->polling = false;
    loop->awake = false;
    run_tasks(loop);
    for (size_t i = 0; i < loop->phase_count; i++)
        loop->phases[i].run(loop->phases[i].context);
    free_garbage(loop);
}

void loop_run(Loop *loop)
{
    uv_update_time(&loop->uv);
    loop->stopped = false;
    while (!loop->stopped)
        run_turn(loop);
}

static void ignore_timer(uv_timer_t *handle)
{
    (void)handle;
}

bool loop_run_until(Loop *loop, const bool *flag, uint64_t timeout_ms)
{
    uv_update_time(&loop->uv);
    uint64_t end_ms = uv_now(&loop->uv) + timeout_ms;
    uv_timer_start(&loop->until, ignore_timer, timeout_ms, 0);
    if (!*flag)
        run_turn(loop);
    while (!*flag && uv_now(&loop->uv) < end_ms)
        run_turn(loop);
    uv_timer_stop(&loop->until);
    return *flag;
}

void loop_stop(Loop *loop)
{
    loop->stopped = true;
    loop_wake(loop);
}

void loop_defer_free(Loop *loop, void *memory)
{
    if (loop->garbage_count == loop->garbage_room)
    {
        loop->garbage_room = loop->garbage_room > 0 ? loop->garbage_room * 2 : 64;
        loop->garbage = base_realloc(loop->garbage, loop->garbage_room * sizeof *loop->garbage);
    }
    loop->garbage[loop->garbage_count++] = memory;
    loop_wake(loop);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void timer_fired(uv_timer_t *handle)
{
    LoopTimer *timer = container_of(handle, LoopTimer, handle);
    timer->fire(timer->context);
}

static void timer_closed(uv_handle_t *handle)
{
    free(container_of(handle, LoopTimer, handle));
}

LoopTimer *loop_timer_new(Loop *loop, void (*fire)(void *context), void *context)
{
    LoopTimer *timer = base_calloc(1, sizeof *timer);
    ASSERT(uv_timer_init(&loop->uv, &timer->handle) == 0);
    timer->fire = fire;
    timer->context = context;
    return timer;
}

void loop_timer_start(LoopTimer *timer, uint64_t after_ms)
{
    ASSERT(uv_timer_start(&timer->handle, timer_fired, after_ms, 0) == 0);
}

void loop_timer_stop(LoopTimer *timer)
{
    uv_timer_stop(&timer->handle);
}

bool loop_timer_running(const LoopTimer *timer)
{
    return uv_is_active((const uv_handle_t *)&timer->handle) != 0;
}

void loop_timer_free(LoopTimer *timer)
{
    if (timer != NULL)
        uv_close((uv_handle_t *)&timer->handle, timer_closed);
}

/* ---- polls ----------------------------------------------------------------------------------- */

static void poll_ready(uv_poll_t *handle, int status, int events);

static void poll_arm(LoopPoll *poll)
{
    int events = ((poll->wanted & LOOP_READABLE) ? UV_READABLE : 0) |
                 ((poll->wanted & LOOP_WRITABLE) ? UV_WRITABLE : 0);
    if (events != 0)
        ASSERT(uv_poll_start(&poll->handle, events, poll_ready) == 0);
    else
        uv_poll_stop(&poll->handle);
}

/* libuv stops a handle that reports an error. It is armed again, since data may precede the error:
 * the owner reads the data now and the error in the next turn. */
static void poll_ready(uv_poll_t *handle, int status, int events)
{
    LoopPoll *poll = container_of(handle, LoopPoll, handle);
    unsigned seen = ((events & UV_READABLE) ? (unsigned)LOOP_READABLE : 0U) |
                    ((events & UV_WRITABLE) ? (unsigned)LOOP_WRITABLE : 0U);
    if (status < 0)
        seen = LOOP_READABLE | LOOP_WRITABLE;
    poll->ready(poll->context, seen);
    if (status < 0 && !poll->freed)
        poll_arm(poll);
}

static void poll_closed(uv_handle_t *handle)
{
    free(container_of(handle, LoopPoll, handle));
}

LoopPoll *loop_poll_new(Loop *loop, int fd, void (*ready)(void *context, unsigned events),
                        void *context)
{
    LoopPoll *poll = base_calloc(1, sizeof *poll);
    ASSERT(uv_poll_init(&loop->uv, &poll->handle, fd) == 0);
    poll->ready = ready;
    poll->context = context;
    return poll;
}

void loop_poll_set(LoopPoll *poll, unsigned events)
{
    ASSERT(!poll->freed);
    if (poll->wanted == events)
        return;
    poll->wanted = events;
    poll_arm(poll);
}

void loop_poll_free(LoopPoll *poll)
{
    if (poll == NULL)
        return;
    poll->freed = true;
    uv_close((uv_handle_t *)&poll->handle, poll_closed);
}

/* ---- signals and names ----------------------------------------------------------------------- */

static void signal_came(uv_signal_t *handle, int number)
{
    SignalWatch *watch = container_of(handle, SignalWatch, handle);
    watch->handler(watch->context, number);
}

void loop_on_signal(Loop *loop, int number, void (*handler)(void *context, int number),
                    void *context)
{
    ASSERT(loop->signal_count < SIGNALS_MAX);
    SignalWatch *watch = &loop->signals[loop->signal_count++];
    watch->handler = handler;
    watch->context = context;
    ASSERT(uv_signal_init(&loop->uv, &watch->handle) == 0);
    ASSERT(uv_signal_start(&watch->handle, signal_came, number) == 0);
}

static void name_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    Resolution *resolution = container_of(request, Resolution, request);
    char texts[ADDRESSES_MAX][NI_MAXHOST];
    const char *addresses[ADDRESSES_MAX];
    int count = 0;
    for (struct addrinfo *info = status == 0 ? list : NULL; info != NULL && count < ADDRESSES_MAX;
         info = info->ai_next)
    {
        if (getnameinfo(info->ai_addr, info->ai_addrlen, texts[count], sizeof texts[count], NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        addresses[count] = texts[count];
        count++;
    }
    uv_freeaddrinfo(list);
    LIST_REMOVE(resolution, link);
    resolution->done(resolution->context, addresses, count);
    free(resolution);
}

void loop_resolve(Loop *loop, const char *host, LoopResolved done, void *context)
{
    Resolution *resolution = base_calloc(1, sizeof *resolution);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    resolution->done = done;
    resolution->context = context;
    LIST_INSERT_HEAD(&loop->resolutions, resolution, link);
    ASSERT(uv_getaddrinfo(&loop->uv, &resolution->request, name_resolved, host, NULL, &hints) == 0);
}
