/*
 * Coordinators of a test's own, beside those of the cluster: child processes under chosen names,
 * on free ports, with fault points. As their parent, a test knows exactly whether one has stopped,
 * or has been ended by a signal. They end with the test program, however that ends.
 */
#ifndef GIRO_TESTS_GIROD_H
#define GIRO_TESTS_GIROD_H

#include "client.h"
#include "cluster.h"

typedef struct Girod Girod;

/* Starts one under this instance name and does not wait until it is ready. */
Girod *girod_new(const Cluster *cluster, const char *instance);
void girod_free(Girod *girod); /* by SIGKILL; accepts NULL */
/* Starts one that has ended again: the same name, the same port. */
void girod_start(Girod *girod);

/* False after a generous time, or if it has ended. */
bool girod_await_ready(Girod *girod);
/* Waits for the event; false after timeout_ms. */
bool girod_await_killed(Girod *girod, int timeout_ms); /* it has ended, by SIGKILL */
bool girod_await_stopped(Girod *girod, int timeout_ms);
/* Waits until its log, since its last start, has this text. */
bool girod_await_words(const Girod *girod, const char *words, int timeout_ms);

void girod_signal(const Girod *girod, int signal_number);

const char *girod_instance(const Girod *girod);
Client *girod_client(const Girod *girod);

#endif
