/*
 * Where servers are and what time it is there: several hosts in a DSN, the first of which hangs or
 * is a standby; a girod whose time zone is not that of its databases.
 */
#include "books.h"
#include "fixture.h"
#include "processes.h"
#include "sql.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    HOME = 1,
    REMOTE = 2,
    STANDBY_PORT = 6, /* beyond that of the directory: a port of the cluster's that nobody uses */
    PAUSE_MS = 100,
    EVENT_MS = 60000,
};

static Cluster *cluster;
static Client *client;
static char original_dsn[256]; /* of the remote shard, as the directory has it */

static int start(void **state)
{
    (void)state;
    setenv("TZ", "CST-8", 1); /* girod inherits it; the servers are told to live in UTC */
    fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
    snprintf(original_dsn, sizeof original_dsn, "%s", cluster_coord_dsn(cluster, REMOTE));
    return 0;
}

/* ---- the way to the remote shard ------------------------------------------------------------- */

static void set_dsn(const char *dsn)
{
    sql_run(cluster_dsn(cluster, 0),
            "update giro_directory.shards set dsn = '%s' "
            "where name = 'shard-2'",
            dsn);
}

static int real_port(void)
{
    return atoi(strstr(original_dsn, "port=") + strlen("port="));
}

/* The remote shard is the second host now, behind 127.0.0.1:port. */
static void put_before(int port)
{
    char dsn[512];
    snprintf(dsn, sizeof dsn, "host=127.0.0.1,127.0.0.1 port=%d,%d %s", port, real_port(),
             strstr(original_dsn, "dbname="));
    set_dsn(dsn);
}

static void end_sessions(void)
{
    sql_run(cluster_dsn(cluster, REMOTE), "select pg_terminate_backend(pid) from pg_stat_activity "
                                          "where usename = 'giro_coordinator'");
}

static bool is_usable(void)
{
    Response response;
    client_call(client, &(Request){.path = "/readyz?verbose"}, &response);
    const Json *usable = response_value(&response, "shards.1.usable");
    bool found = usable != NULL && json_as_bool(usable);
    response_done(&response);
    return found;
}

/* Waits until girod has found it, and pays over it. */
static void check_money_moves(void)
{
    AccountName a;
    AccountName b;
    for (int waited = 0; !is_usable(); waited += PAUSE_MS)
    {
        check(waited < EVENT_MS, "the shard is not found");
        processes_pause_ms(PAUSE_MS);
    }
    bank_open(client, HOME, 10, a);
    bank_open(client, HOME, 0, b);
    char far[ACCOUNT_ID_MAX + 1];
    bank_world(client, REMOTE, far);
    bank_pay_finally(client, &(Payment){a, far, 4, bank_key()});
    bank_pay_finally(client, &(Payment){far, b, 3, bank_key()});
    assert_int_equal(bank_balance(client, a), 6);
    bank_await_balance(client, b, 3);
}

static int put_right(void **state)
{
    set_dsn(original_dsn);
    sql_run(cluster_dsn(cluster, REMOTE), "drop trigger if exists meddler on giro.entries");
    cluster_shell(cluster,
                  "d=$GIRO_DIR/standby; [ ! -d $d ] || "
                  "setpriv --reuid=$(stat -c %u $d) --clear-groups "
                  "/usr/lib/postgresql/15/bin/pg_ctl stop -D $d -m immediate; rm -rf $d",
                  NULL, 0);
    return fixture_check_books(state);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Takes connections and never says a word. */
static int hanging_listener(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void a_first_host_that_hangs_is_passed_over(void **state)
{
    int port;
    int fd = hanging_listener(&port);
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    (void)state;
    put_before(port);
    for (int waited = 0; poll(&asked, 1, PAUSE_MS) == 0; waited += PAUSE_MS)
    {
        check(waited < EVENT_MS, "nobody tries the first host");
        end_sessions();
    }
    check_money_moves();
    close(fd);
}

/* Of the remote shard, running beside it; the number of its log lines about connections shows
 * whether it was tried. */
static void start_standby(int port)
{
    char command[1024];
    char output[8192];
    snprintf(command, sizeof command,
             "bin=/usr/lib/postgresql/15/bin; d=$GIRO_DIR/standby; rm -rf $d && "
             "$bin/pg_basebackup -d \"$GIRO_SHARD_2_DSN\" -D $d -X stream -c fast -R && "
             "printf 'port = %d\\nlog_connections = on\\n' >> $d/postgresql.conf && "
             "chown -R --reference=$GIRO_SHARD_2_PGDATA $d && "
             "cd $d && setpriv --reuid=$(stat -c %%u $d) --regid=$(stat -c %%g $d) --clear-groups "
             "$bin/pg_ctl start -w -D $d -l $d/log < /dev/null > /dev/null 2>&1",
             port);
    check(cluster_shell(cluster, command, output, sizeof output) == 0, "no standby: %s", output);
}

static bool standby_was_tried(void)
{
    return cluster_shell(cluster,
                         "grep -q 'connection authorized: user=giro_coordinator' "
                         "$GIRO_DIR/standby/log",
                         NULL, 0) == 0;
}

static void a_first_host_that_is_a_standby_is_passed_over(void **state)
{
    int port = real_port() - REMOTE + STANDBY_PORT;
    (void)state;
    start_standby(port);
    put_before(port);
    for (int waited = 0; !standby_was_tried(); waited += PAUSE_MS)
    {
        check(waited < EVENT_MS, "nobody tries the standby");
        end_sessions();
        processes_pause_ms(PAUSE_MS);
    }
    check_money_moves();
}

/* ---- time ------------------------------------------------------------------------------------ */

/* It is eight hours later here: a due time made of one clock and compared with another would never
 * come, or have passed always. */
static void retries_keep_their_pauses_whatever_the_time_zone(void **state)
{
    AccountName a;
    AccountName b;
    char id[UUID_TEXT_MAX + 1];
    int64_t attempts = 0;
    Response response;
    (void)state;
    bank_open(client, HOME, 10, a);
    bank_open(client, REMOTE, 0, b);
    sql_run(cluster_dsn(cluster, REMOTE),
            "create or replace function public.meddle() returns trigger language plpgsql as "
            "$$ begin raise exception 'meddled'; end $$; "
            "create trigger meddler before insert on giro.entries for each row "
            "when (new.account = '%s') execute function public.meddle()",
            b);
    Payment payment = {a, b, 4, bank_key(), "\"mode\":\"saga\""};
    bank_pay_with(client, &payment, "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    for (int waited = 0; attempts < 3; waited += PAUSE_MS)
    {
        check(waited < EVENT_MS, "it is tried %lld times only", (long long)attempts);
        processes_pause_ms(PAUSE_MS);
        attempts = sql_integer(cluster_dsn(cluster, HOME),
                               "select attempts from giro.transfers where id = '%s'", id);
    }
    /* 1 s, 1 s and 2 s have gone by, and not many more attempts were made. */
    assert_true(attempts <= 5);
    assert_int_equal(sql_integer(cluster_dsn(cluster, HOME),
                                 "select count(*) from giro.transfers where id = '%s' "
                                 "and clock_timestamp() - created_at >= interval '3.9 s' "
                                 "and next_attempt_at < clock_timestamp() + interval '40 s'",
                                 id),
                     1);
    sql_run(cluster_dsn(cluster, REMOTE), "drop trigger meddler on giro.entries");
    bank_await_balance(client, b, 4);
}

#define putting_right(test) cmocka_unit_test_teardown(test, put_right)

int main(void)
{
    const struct CMUnitTest tests[] = {
        putting_right(a_first_host_that_hangs_is_passed_over),
        putting_right(a_first_host_that_is_a_standby_is_passed_over),
        putting_right(retries_keep_their_pauses_whatever_the_time_zone),
    };
    return cmocka_run_group_tests_name("hosts", tests, start, fixture_stop);
}
