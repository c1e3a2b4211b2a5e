/*
 * Processes by pid and by working directory: what is needed to stop, kill and await daemons that
 * are not children of the test.
 */
#ifndef GIRO_TESTS_PROCESSES_H
#define GIRO_TESTS_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

/* A zombie counts as ended. */
bool process_is_alive(pid_t pid);
bool process_await_end(pid_t pid, int timeout_ms);

/* Every living process that works in this directory. */
typedef void (*ProcessVisitor)(void *context, pid_t pid);
void processes_visit_in(const char *directory, ProcessVisitor visit, void *context);

/* Signals every living process that works in this directory; returns how many there were. */
int processes_signal_in(const char *directory, int signal_number);

void processes_pause_ms(int ms);

#endif
