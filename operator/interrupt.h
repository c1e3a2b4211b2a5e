/*
 * Ctrl-C and SIGTERM as something that a wait notices, instead of something that ends the process
 * anywhere: an order that is under way must be able to say what is known of it.
 *
 * The signals are blocked for the whole process and read from a descriptor, so there is no handler
 * and no global. Whoever waits (for an answer, a pause, the keyboard) waits for it as well.
 */
#ifndef GIROCTL_INTERRUPT_H
#define GIROCTL_INTERRUPT_H

#include "base/base.h"

#include <stdbool.h>

typedef struct Interrupt Interrupt;

Interrupt *interrupt_new(void);
void interrupt_free(Interrupt *interrupt); /* accepts NULL */

/* Readable once a signal has come; it stays so. */
int interrupt_fd(const Interrupt *interrupt);
bool interrupt_came(const Interrupt *interrupt);
/* Waits for so long; true, at once, when a signal has come. */
bool interrupt_wait(const Interrupt *interrupt, int milliseconds);
/* Waits for input on a descriptor; false when a signal came first. */
bool interrupt_await_input(const Interrupt *interrupt, int fd);

#endif
