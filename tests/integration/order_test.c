/*
 * The orderings of two-phase commit, read from the Postgres logs: PREPARE has completed before the
 * home's COMMIT is sent, COMMIT PREPARED is sent after that COMMIT has completed, and no client is
 * told before.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum
{
    ROUNDS = 20,
    TIME_LENGTH = 23, /* "2026-01-31 12:00:00.000" */
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
    for (int shard = 1; shard <= 2; shard++)
    {
        sql_run(cluster_dsn(cluster, shard), "alter system set log_statement = 'all'");
        sql_run(cluster_dsn(cluster, shard), "alter system set log_duration = on");
        sql_run(cluster_dsn(cluster, shard), "select pg_reload_conf()");
    }
    sleep(1);
    return 0;
}

static char *read_from(const char *path, long *offset)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long end = ftell(file);
    char *text = calloc(1, (size_t)(end - *offset) + 1);
    fseek(file, *offset, SEEK_SET);
    assert_int_equal(fread(text, 1, (size_t)(end - *offset), file), end - *offset);
    fclose(file);
    *offset = end;
    return text;
}

typedef char Time[TIME_LENGTH + 1];

/* When a statement was received, and when the same backend had done it. */
static void find(const char *log, const char *statement, Time ret_sent, Time ret_done)
{
    char pid[16];
    char duration[64];
    const char *at = strstr(log, statement);
    check(at != NULL, "the log does not speak of %s", statement);
    const char *line = at;
    while (line > log && line[-1] != '\n')
        line--;
    snprintf(ret_sent, sizeof(Time), "%s", line);
    assert_int_equal(sscanf(line + TIME_LENGTH, " %*s %15s", pid), 1);
    snprintf(duration, sizeof duration, " %s LOG:  duration:", pid);
    const char *done = strstr(at, duration);
    check(done != NULL, "%s has no duration", statement);
    while (done > log && done[-1] != '\n')
        done--;
    snprintf(ret_done, sizeof(Time), "%s", done);
}

static void now(Time ret_now)
{
    struct timespec time;
    struct tm parts;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &time);
    gmtime_r(&time.tv_sec, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%d %H:%M:%S", &parts);
    snprintf(ret_now, sizeof(Time), "%.19s.%03u", seconds,
             (unsigned)(time.tv_nsec / 1000000) % 1000);
}

static void check_order(const char *home_log, const char *remote_log, const Time answered)
{
    Time prepare_sent;
    Time prepared;
    Time batch_sent;
    Time batch_done;
    Time commit_sent;
    Time committed;
    Time apply_sent;
    Time applied;
    find(remote_log, "PREPARE TRANSACTION 'giro:", prepare_sent, prepared);
    find(home_log, "giro.apply(", batch_sent, batch_done);
    find(home_log, ": COMMIT\n", commit_sent, committed);
    find(remote_log, "COMMIT PREPARED 'giro:", apply_sent, applied);
    check(strcmp(prepared, commit_sent) <= 0, "decided at %s, prepared at %s", commit_sent,
          prepared);
    check(strcmp(batch_done, commit_sent) <= 0, "the batch row came after the COMMIT");
    check(strcmp(committed, apply_sent) <= 0, "applied at %s, decided at %s", apply_sent,
          committed);
    check(strcmp(committed, answered) <= 0, "answered at %s, decided at %s", answered, committed);
}

static void prepare_decide_apply_answer_in_this_order(void **state)
{
    long offsets[3] = {0};
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
    {
        AccountName a;
        AccountName b;
        Time answered;
        int home = 1 + round % 2;
        bank_open(client, home, 10, a);
        bank_open(client, 3 - home, 0, b);
        for (int shard = 1; shard <= 2; shard++)
            free(read_from(cluster_postgres_log(cluster, shard), &offsets[shard]));
        bank_expect(client, &(Payment){a, b, 1, bank_key()}, 201, NULL, NULL);
        now(answered);
        usleep(20000);
        char *home_log = read_from(cluster_postgres_log(cluster, home), &offsets[home]);
        char *remote_log = read_from(cluster_postgres_log(cluster, 3 - home), &offsets[3 - home]);
        check_order(home_log, remote_log, answered);
        free(home_log);
        free(remote_log);
    }
}

/* With a pause at each hinge the times differ by more than the log's resolution. */
static void each_step_waits_for_the_answer_of_the_one_before(void **state)
{
    static const char *const hinges[] = {"2pc.prepare.remote.after", "2pc.decide.home.after"};
    AccountName a;
    AccountName b;
    Time answered;
    Time sent;
    Time prepared;
    Time committed;
    long offsets[3] = {0};
    (void)state;
    bank_open(client, 1, 10, a);
    bank_open(client, 2, 0, b);
    for (size_t i = 0; i < ARRAY_LENGTH(hinges); i++)
        fixture_arm(hinges[i], "pause", 200);
    for (int shard = 1; shard <= 2; shard++)
        free(read_from(cluster_postgres_log(cluster, shard), &offsets[shard]));
    bank_expect(client, &(Payment){a, b, 1, bank_key()}, 201, NULL, NULL);
    now(answered);
    usleep(20000);
    char *home_log = read_from(cluster_postgres_log(cluster, 1), &offsets[1]);
    char *remote_log = read_from(cluster_postgres_log(cluster, 2), &offsets[2]);
    check_order(home_log, remote_log, answered);
    find(remote_log, "PREPARE TRANSACTION 'giro:", sent, prepared);
    find(home_log, ": COMMIT\n", sent, committed);
    check(strcmp(prepared, sent) < 0, "decided at %s, prepared at %s", sent, prepared);
    find(remote_log, "COMMIT PREPARED 'giro:", sent, prepared);
    check(strcmp(committed, sent) < 0, "applied at %s, decided at %s", sent, committed);
    free(home_log);
    free(remote_log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(prepare_decide_apply_answer_in_this_order),
        with_books(each_step_waits_for_the_answer_of_the_one_before),
    };
    return cmocka_run_group_tests_name("order", tests, start, fixture_stop);
}
