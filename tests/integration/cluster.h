/*
 * A whole cluster for a test program: real Postgres servers and girods, started by docker/up.sh on
 * free ports with a directory of its own, and torn down always.
 *
 * A guardian process waits for the end of the test program, however it ends (also by SIGKILL), then
 * runs docker/down.sh and removes the directory. GIRO_TEST_KEEP=1 in the environment keeps the
 * directory, logs and all; its name is printed.
 *
 * Databases have numbers: 0 is the directory, 1 … n are the shards. Coordinators are 1 … n.
 */
#ifndef GIRO_TESTS_CLUSTER_H
#define GIRO_TESTS_CLUSTER_H

#include "proxy.h"

#include <signal.h>
#include <sys/types.h>

enum
{
    CLUSTER_SHARDS_MAX = 8,
    CLUSTER_COORDINATORS_MAX = 4,
};

typedef struct Cluster Cluster;

typedef struct ClusterOptions
{
    int shards;                    /* 0 = 3 */
    int coordinators;              /* 0 = 1 */
    bool proxied;                  /* a proxy stands between the coordinators and each shard */
    const char *girod_flags;       /* NULL = "--enable-failpoints"; more flags for `girod serve` */
    const char *postgres_settings; /* NULL for none; more lines of postgresql.conf */
} ClusterOptions;

/* Prints what went wrong and exits the program if the cluster does not come up: without one no test
 * can run. To be called from main or a group set-up, with no other threads. */
Cluster *cluster_new(const ClusterOptions *options);
/* Stops all and removes the directory. Accepts NULL. */
void cluster_free(Cluster *cluster);
/* From now on the directory stays, for a look at logs and data, when the cluster has been stopped.
 */
void cluster_keep(const Cluster *cluster);

int cluster_shard_count(const Cluster *cluster);
int cluster_coordinator_count(const Cluster *cluster);
const char *cluster_directory(const Cluster *cluster); /* its GIRO_DIR */
/* A line of $GIRO_DIR/env; ends the test if there is none. Lent until the next cluster_up. */
const char *cluster_env(const Cluster *cluster, const char *name);

const char *cluster_url(const Cluster *cluster, int coordinator);
const char *cluster_dsn(const Cluster *cluster, int database);       /* the owner's */
const char *cluster_coord_dsn(const Cluster *cluster, int database); /* the coordinators' */
const char *cluster_postgres_log(const Cluster *cluster, int database);
const char *cluster_girod_log(const Cluster *cluster, int coordinator);
const char *cluster_postgres_data(const Cluster *cluster, int database);
int cluster_girod_pid(const Cluster *cluster, int coordinator);
Proxy *cluster_proxy(const Cluster *cluster, int shard); /* options.proxied only */

/* ---- breaking things ------------------------------------------------------------------------ */

/* SIGKILL is waited for; SIGSTOP and SIGCONT are immediate; SIGTERM is sent and not waited for. */
void cluster_signal_girod(const Cluster *cluster, int coordinator, int signal_number);
/* All processes of the server: SIGSTOP, SIGCONT, or SIGKILL, which is waited for. */
void cluster_signal_postgres(const Cluster *cluster, int database, int signal_number);
/* Has the coordinator ended? Waits up to timeout_ms for it. */
bool cluster_await_girod_end(const Cluster *cluster, int coordinator, int timeout_ms);
/* Starts what is missing and returns when all coordinators are ready. */
void cluster_up(Cluster *cluster);
/* Starts the Postgres servers that are missing, and leaves the coordinators as they are. */
void cluster_start_postgres(const Cluster *cluster);
/* Starts one part alone and waits for nothing. What is lent from `cluster_env` stays valid. */
void cluster_begin_postgres(Cluster *cluster, int database);
void cluster_begin_girod(Cluster *cluster, int coordinator);
/* Waits for what was begun, if it was: Postgres accepts connections then, girod's process is there.
 * Before it the part must not be killed again. */
void cluster_await_postgres_begun(Cluster *cluster, int database);
void cluster_await_girod_begun(Cluster *cluster, int coordinator);
/* Waits, at most timeout_ms, until the coordinator says that it is ready. */
bool cluster_await_girod_ready(const Cluster *cluster, int coordinator, int timeout_ms);

/* ---- for tests of the set-up itself --------------------------------------------------------- */

/* Runs a shell command with GIRO_DIR and the lines of env as variables. Returns its exit status;
 * up to size - 1 bytes of its output, both streams, are put into ret_output (may be NULL). */
int cluster_shell(const Cluster *cluster, const char *command, char *ret_output, size_t size);

#endif
