/*
 * The loop: order inside a turn, tasks, timers, polls on real pipes, resolution, deferred frees.
 */
#include "loop/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Trace
{
    Loop *loop;
    char text[64];
    bool done;
    LoopTask task;
    LoopTimer *timer;
    LoopPoll *poll;
    int fd;
} Trace;

static void note(Trace *trace, const char *what)
{
    strncat(trace->text, what, sizeof trace->text - strlen(trace->text) - 1);
}

static void on_timer(void *context)
{
    note(context, "timer ");
    loop_post(((Trace *)context)->loop, &((Trace *)context)->task);
}

static void on_task(void *context)
{
    note(context, "task ");
}

static void on_phase(void *context)
{
    Trace *trace = context;
    if (strstr(trace->text, "task") == NULL)
        return;
    note(trace, "phase ");
    trace->done = true;
}

static int setup(void **state)
{
    Trace *trace = calloc(1, sizeof *trace);
    trace->loop = loop_new();
    trace->task = (LoopTask){.run = on_task, .context = trace};
    *state = trace;
    return 0;
}

static int teardown(void **state)
{
    Trace *trace = *state;
    loop_timer_free(trace->timer);
    loop_poll_free(trace->poll);
    loop_free(trace->loop);
    free(trace);
    return 0;
}

static void runs_timers_then_tasks_then_phases(void **state)
{
    Trace *trace = *state;
    loop_add_phase(trace->loop, on_phase, trace);
    trace->timer = loop_timer_new(trace->loop, on_timer, trace);
    loop_timer_start(trace->timer, 1);
    assert_true(loop_timer_running(trace->timer));
    assert_true(loop_run_until(trace->loop, &trace->done, 1000));
    assert_string_equal(trace->text, "timer task phase ");
    assert_false(loop_timer_running(trace->timer));
}

static void repost(void *context)
{
    Trace *trace = context;
    note(trace, "t");
    if (strlen(trace->text) < 3)
        loop_post(trace->loop, &trace->task);
    else
        trace->done = true;
}

static void turn_mark(void *context)
{
    note(context, "|");
}

static void runs_a_task_posted_by_a_task_in_the_next_turn(void **state)
{
    Trace *trace = *state;
    trace->task.run = repost;
    loop_add_phase(trace->loop, turn_mark, trace);
    loop_post(trace->loop, &trace->task);
    loop_post(trace->loop, &trace->task);
    assert_true(loop_run_until(trace->loop, &trace->done, 1000));
    assert_string_equal(trace->text, "t|t|");
}

/* A timer fires before the loop waits for the kernel; the wait must not hold the task back. */
static void does_not_wait_between_a_timer_and_its_task(void **state)
{
    Trace *trace = *state;
    loop_add_phase(trace->loop, on_phase, trace);
    trace->timer = loop_timer_new(trace->loop, on_timer, trace);
    loop_timer_start(trace->timer, 0);
    uint64_t begin_ms = loop_now_ms(trace->loop);
    assert_true(loop_run_until(trace->loop, &trace->done, 1000));
    assert_in_range(loop_now_ms(trace->loop) - begin_ms, 0, 500);
}

static void does_not_run_a_task_that_was_taken_back(void **state)
{
    Trace *trace = *state;
    loop_post(trace->loop, &trace->task);
    loop_unpost(trace->loop, &trace->task);
    loop_unpost(trace->loop, &trace->task);
    assert_false(loop_run_until(trace->loop, &trace->done, 10));
    assert_string_equal(trace->text, "");
}

static void stops_and_moves_timers(void **state)
{
    Trace *trace = *state;
    trace->timer = loop_timer_new(trace->loop, on_timer, trace);
    loop_timer_start(trace->timer, 1);
    loop_timer_stop(trace->timer);
    assert_false(loop_run_until(trace->loop, &trace->done, 10));
    assert_string_equal(trace->text, "");
    loop_timer_start(trace->timer, 10000);
    loop_timer_start(trace->timer, 1);
    assert_false(loop_run_until(trace->loop, &trace->done, 20));
    assert_string_equal(trace->text, "timer task ");
}

static void on_readable(void *context, unsigned events)
{
    Trace *trace = context;
    char byte;
    assert_true(events & LOOP_READABLE);
    ssize_t got = read(trace->fd, &byte, 1);
    note(trace, got == 1 ? "byte " : "end ");
    if (got == 0)
    {
        loop_poll_free(trace->poll);
        trace->poll = NULL;
        trace->done = true;
    }
}

static void watches_a_descriptor_until_it_ends(void **state)
{
    Trace *trace = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    trace->fd = ends[0];
    trace->poll = loop_poll_new(trace->loop, ends[0], on_readable, trace);
    loop_poll_set(trace->poll, LOOP_READABLE);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    close(ends[1]);
    assert_true(loop_run_until(trace->loop, &trace->done, 1000));
    assert_string_equal(trace->text, "byte byte end ");
    close(ends[0]);
}

static void on_broken(void *context, unsigned events)
{
    Trace *trace = context;
    assert_true(events & LOOP_WRITABLE);
    note(trace, "e");
    trace->done = strlen(trace->text) == 2;
}

/* A pipe without a reader reports an error on the writing end. */
static void reports_an_error_again_until_the_owner_frees_the_poll(void **state)
{
    Trace *trace = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    trace->poll = loop_poll_new(trace->loop, ends[1], on_broken, trace);
    loop_poll_set(trace->poll, LOOP_WRITABLE);
    assert_true(loop_run_until(trace->loop, &trace->done, 1000));
    loop_poll_free(trace->poll);
    trace->poll = NULL;
    close(ends[1]);
}

static void on_signal(void *context, int number)
{
    Trace *trace = context;
    assert_int_equal(number, SIGUSR1);
    loop_stop(trace->loop);
    note(trace, "signal ");
}

static void runs_until_a_signal_stops_it(void **state)
{
    Trace *trace = *state;
    loop_on_signal(trace->loop, SIGUSR1, on_signal, trace);
    raise(SIGUSR1);
    loop_run(trace->loop);
    assert_string_equal(trace->text, "signal ");
}

static void on_resolved(void *context, const char *const *addresses, int count)
{
    Trace *trace = context;
    note(trace, count > 0 ? addresses[0] : "none");
    trace->done = true;
}

static void resolves_a_numeric_address_to_itself(void **state)
{
    Trace *trace = *state;
    loop_resolve(trace->loop, "127.0.0.1", on_resolved, trace);
    assert_string_equal(trace->text, "");
    assert_true(loop_run_until(trace->loop, &trace->done, 5000));
    assert_string_equal(trace->text, "127.0.0.1");
}

static void answers_an_unknown_name_with_no_addresses(void **state)
{
    Trace *trace = *state;
    loop_resolve(trace->loop, "no_such_host.invalid", on_resolved, trace);
    assert_true(loop_run_until(trace->loop, &trace->done, 30000));
    assert_string_equal(trace->text, "none");
}

static void answers_a_resolution_that_is_under_way_when_it_is_freed(void **state)
{
    Trace *trace = *state;
    loop_resolve(trace->loop, "127.0.0.1", on_resolved, trace);
    loop_free(trace->loop);
    assert_true(trace->done);
    trace->loop = NULL;
}

static void frees_deferred_memory_after_the_turn(void **state)
{
    Trace *trace = *state;
    for (int i = 0; i < 200; i++)
        loop_defer_free(trace->loop, malloc(16));
    assert_false(loop_run_until(trace->loop, &trace->done, 1));
    loop_defer_free(trace->loop, malloc(16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(runs_timers_then_tasks_then_phases),
        TEST(runs_a_task_posted_by_a_task_in_the_next_turn),
        TEST(does_not_wait_between_a_timer_and_its_task),
        TEST(does_not_run_a_task_that_was_taken_back),
        TEST(stops_and_moves_timers),
        TEST(watches_a_descriptor_until_it_ends),
        TEST(reports_an_error_again_until_the_owner_frees_the_poll),
        TEST(runs_until_a_signal_stops_it),
        TEST(resolves_a_numeric_address_to_itself),
        TEST(answers_an_unknown_name_with_no_addresses),
        TEST(answers_a_resolution_that_is_under_way_when_it_is_freed),
        TEST(frees_deferred_memory_after_the_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
