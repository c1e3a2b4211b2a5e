/*
 * The event loop: one thread, one libuv loop (uv.h is included by loop.c alone).
 *
 * A turn has phases, in this order: wait for the kernel, run the callbacks of sockets and timers
 * (which only record what happened), run the posted tasks (which hand the records on), then call
 * each registered phase function. Phases do the work: step the batches, resume HTTP clients, flush,
 * free. Nothing that a turn may still see is freed inside a callback; loop_defer_free frees it
 * after the last phase.
 *
 * Time is read once per turn. All functions must be called from the loop's thread; none blocks
 * except loop_run.
 */
#ifndef GIRO_LOOP_H
#define GIRO_LOOP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

typedef struct Loop Loop;
typedef struct LoopTimer LoopTimer;
typedef struct LoopPoll LoopPoll;

typedef enum LoopEvents
{
    LOOP_READABLE = 1,
    LOOP_WRITABLE = 2,
} LoopEvents;

Loop *loop_new(void);
/* Every timer and poll of the loop must have been freed. Name resolutions that have begun are
 * waited for; their callbacks run. Accepts NULL. */
void loop_free(Loop *loop);

/* Milliseconds of a monotonic clock, as of the start of this turn. */
uint64_t loop_now_ms(const Loop *loop);

/* Registers a function to be called once per turn after the sockets, in the order of registration
 * (at most 8). It must leave nothing undone that no socket or timer will wake: call loop_wake
 * otherwise. */
void loop_add_phase(Loop *loop, void (*phase)(void *context), void *context);

/* Makes the next turn start without waiting. */
void loop_wake(Loop *loop);

/* A piece of work that a callback leaves for later in the same turn. Embedded in its owner. Posted
 * tasks run once, in the order of posting, after the sockets and timers and before the phases; what
 * a task or a phase posts runs in the next turn, which then starts without waiting. */
typedef struct LoopTask
{
    void (*run)(void *context);
    void *context;
    /* private to loop.c */
    TAILQ_ENTRY(LoopTask) link;
    bool posted;
} LoopTask;

/* Without effect when the task is posted already. */
void loop_post(Loop *loop, LoopTask *task);
/* Takes a posted task back; without effect otherwise. Must precede freeing the owner. */
void loop_unpost(Loop *loop, LoopTask *task);

/* Runs turns until loop_stop. */
void loop_run(Loop *loop);
/* Runs turns until *flag is true or timeout_ms have passed; returns *flag. At least one turn is run
 * unless *flag is true already; with 0 it is just one, which does not wait. For set-up commands,
 * which use the same non-blocking layers as the service. */
bool loop_run_until(Loop *loop, const bool *flag, uint64_t timeout_ms);
void loop_stop(Loop *loop);

/* free(memory) after the last phase of this turn. */
void loop_defer_free(Loop *loop, void *memory);

/* One-shot timers. start on a running timer moves it. The callback runs at most once per start. */
LoopTimer *loop_timer_new(Loop *loop, void (*fire)(void *context), void *context);
void loop_timer_start(LoopTimer *timer, uint64_t after_ms);
void loop_timer_stop(LoopTimer *timer);
bool loop_timer_running(const LoopTimer *timer);
/* Accepts NULL. */
void loop_timer_free(LoopTimer *timer);

/* Watches a descriptor that the caller owns. `events` passed to ready also has the bits set on
 * error, so that the owner's next read or write reports it. Freeing does not close the descriptor;
 * free before closing it. */
LoopPoll *loop_poll_new(Loop *loop, int fd, void (*ready)(void *context, unsigned events),
                        void *context);
void loop_poll_set(LoopPoll *poll, unsigned events);
/* Accepts NULL. */
void loop_poll_free(LoopPoll *poll);

/* Calls handler on the signal until the loop is freed. */
void loop_on_signal(Loop *loop, int number, void (*handler)(void *context, int number),
                    void *context);

/* Resolves a host name off the loop (libuv's thread pool). Calls done exactly once, in a later
 * turn, with up to 8 numeric addresses, or count 0. Cannot be cancelled: the context must outlive
 * it. */
typedef void (*LoopResolved)(void *context, const char *const *addresses, int count);
void loop_resolve(Loop *loop, const char *host, LoopResolved done, void *context);

#endif
