/*
 * Word to the supervisor that started the process (systemd's notify protocol): ready, stopping, and
 * alive. A datagram to the socket that NOTIFY_SOCKET names; without that variable, nothing.
 *
 * Telling never waits and never fails: a supervisor that cannot be reached is not this process'
 * trouble.
 */
#ifndef GIRO_SUPERVISOR_H
#define GIRO_SUPERVISOR_H

#include <stdint.h>

/* One or more lines NAME=value: READY=1, STOPPING=1, WATCHDOG=1. */
void supervisor_tell(const char *state);

/* How often the supervisor wants to hear WATCHDOG=1, with time to spare; 0: it does not. */
uint64_t supervisor_watchdog_ms(void);

#endif
