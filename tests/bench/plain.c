/* See plain.h. */
#include "plain.h"

#include "check.h"
#include "clock.h"
#include "flow.h"
#include "sql.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    OUTPUT_MAX = 8192,
    CONNECTIONS_MAX = 64,
    STATEMENT_MAX = 256,
};

static double number_after(const char *output, const char *words)
{
    const char *at = strstr(output, words);
    check(at != NULL, "pgbench does not say \"%s\": %s", words, output);
    return strtod(at + strlen(words), NULL);
}

PlainResult plain_pgbench(const PgbenchOptions *options)
{
    char command[512];
    char output[OUTPUT_MAX];
    snprintf(command, sizeof command,
             "${GIRO_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}/pgbench -n -M %s -c %d -j 2 -T %d "
             "-D accounts=%zu -f tests/bench/%s \"$GIRO_SHARD_1_DSN\"",
             options->protocol, options->clients, (int)ceil(options->seconds),
             world_options(options->world)->accounts, options->script);
    int status = cluster_shell(world_cluster(options->world), command, output, sizeof output);
    check(status == 0 && number_after(output, "number of failed transactions: ") == 0,
          "pgbench fails: %s", output);
    return (PlainResult){
        .transfers_per_s = number_after(output, "\ntps = "),
        .transfers = number_after(output, "number of transactions actually processed: "),
    };
}

/* ---- over libpq ------------------------------------------------------------------------------ */

ATTR_PRINTF(2, 3)
static void run(SqlSession *session, const char *format, ...)
{
    char statement[STATEMENT_MAX];
    char state[6];
    char tag[40];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(statement, sizeof statement, format, arguments);
    va_end(arguments);
    sql_session_run(session, statement, NULL, state, tag);
    if (state[0] != '\0')
    {
        fprintf(stderr, "bench: %s: SQLSTATE %s\n", statement, state);
        exit(1);
    }
}

static SqlSession *open_session(const World *world, int shard)
{
    SqlSession *session = sql_session_new(cluster_dsn(world_cluster(world), shard));
    check(session != NULL, "cannot connect to shard %d", shard);
    return session;
}

static void change_balance(SqlSession *session, size_t account, int amount)
{
    run(session, "UPDATE plain.accounts SET balance = balance + %d WHERE id = %zu", amount,
        account);
}

static void insert_transfer(SqlSession *session, int64_t id, size_t debit, size_t credit)
{
    run(session,
        "INSERT INTO plain.transfers (id, debit, credit, amount) VALUES (%" PRId64 ", %zu, %zu, 1)",
        id, debit, credit);
}

static int64_t random_id(Dice *dice)
{
    return (int64_t)dice_below(dice, INT64_MAX) + 1;
}

/* ---- two-phase commit ------------------------------------------------------------------------ */

typedef struct Worker
{
    pthread_t thread;
    SqlSession *sessions[2]; /* of shards 1 and 2 */
    size_t accounts;
    Dice dice;
    atomic_bool *stop;
    uint64_t done;
} Worker;

static void transfer_two_phase(Worker *worker)
{
    int64_t id = random_id(&worker->dice);
    int home = (int)dice_below(&worker->dice, 2);
    size_t accounts[2] = {1 + dice_below(&worker->dice, worker->accounts),
                          1 + dice_below(&worker->dice, worker->accounts)};
    for (int i = 0; i < 2; i++)
    {
        run(worker->sessions[i], "BEGIN");
        change_balance(worker->sessions[i], accounts[i], i == home ? -1 : 1);
        if (i == home)
            insert_transfer(worker->sessions[i], id, accounts[home], accounts[1 - home]);
        run(worker->sessions[i],
            "INSERT INTO plain.entries (account, transfer, amount) VALUES (%zu, %" PRId64 ", %d)",
            accounts[i], id, i == home ? -1 : 1);
    }
    for (int i = 0; i < 2; i++)
        run(worker->sessions[i], "PREPARE TRANSACTION 'plain-%" PRId64 "'", id);
    for (int i = 0; i < 2; i++)
        run(worker->sessions[i], "COMMIT PREPARED 'plain-%" PRId64 "'", id);
    worker->done++;
}

static void *work(void *context)
{
    Worker *worker = context;
    while (!atomic_load(worker->stop))
        transfer_two_phase(worker);
    return NULL;
}

PlainResult plain_two_phase(const World *world, int connections, double seconds)
{
    Worker workers[CONNECTIONS_MAX];
    atomic_bool stop = false;
    uint64_t done = 0;
    check(connections <= CONNECTIONS_MAX, "too many connections");
    for (int i = 0; i < connections; i++)
    {
        workers[i] = (Worker){.sessions = {open_session(world, 1), open_session(world, 2)},
                              .accounts = world_options(world)->accounts,
                              .dice = dice_new(),
                              .stop = &stop};
    }
    double start = clock_now();
    for (int i = 0; i < connections; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    clock_pause(seconds);
    atomic_store(&stop, true);
    for (int i = 0; i < connections; i++)
    {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
    }
    double took = clock_now() - start;
    for (int i = 0; i < connections; i++)
    {
        sql_session_free(workers[i].sessions[0]);
        sql_session_free(workers[i].sessions[1]);
    }
    return (PlainResult){.transfers_per_s = (double)done / took, .transfers = (double)done};
}

/* ---- one local transfer at a time ------------------------------------------------------------ */

void plain_alone(const World *world, double seconds, Histogram *ret_latency)
{
    SqlSession *session = open_session(world, 1);
    size_t half = world_options(world)->accounts / 2;
    Dice dice = dice_new();
    double until = clock_now() + seconds;
    memset(ret_latency, 0, sizeof *ret_latency);
    while (clock_now() < until)
    {
        int64_t id = random_id(&dice);
        size_t debit = 1 + dice_below(&dice, half);
        size_t credit = 1 + half + dice_below(&dice, half);
        double start = clock_now();
        run(session, "BEGIN");
        change_balance(session, debit, -1);
        change_balance(session, credit, 1);
        insert_transfer(session, id, debit, credit);
        run(session,
            "INSERT INTO plain.entries (account, transfer, amount) VALUES (%zu, %" PRId64 ", -1),"
            " (%zu, %" PRId64 ", 1)",
            debit, id, credit, id);
        run(session, "COMMIT");
        histogram_add(ret_latency, (uint64_t)((clock_now() - start) * 1e6));
    }
    sql_session_free(session);
}
