/*
 * The list of accounts over all shards: order, pages, prefixes, and accounts that come meanwhile.
 */
#include "fixture.h"
#include "sql.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum
{
    LISTED = 250,
    NEW_ONES_MAX = 4000,
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 3}, &cluster, &client);
    return 0;
}

static void create(Client *by, const char *id)
{
    char body[160];
    Response response;
    snprintf(body, sizeof body, "{\"id\":\"%s\",\"currency\":\"EUR\"}", id);
    client_call(by, &(Request){.path = "/v1/accounts", .body = body}, &response);
    response_expect(&response, 201, NULL);
    response_done(&response);
}

static void list(const char *query, Response *ret_response)
{
    char path[600];
    snprintf(path, sizeof path, "/v1/accounts?%s", query);
    client_call(client, &(Request){.path = path}, ret_response);
}

static size_t item_count(const Response *response)
{
    char path[32];
    size_t count = 0;
    do
        snprintf(path, sizeof path, "items.%zu.id", count);
    while (response_value(response, path) != NULL && ++count > 0);
    return count;
}

/* Called for each id in the order of the list. */
typedef void (*Visit)(void *context, const char *id);

/* Reads the list to its end by pages; every id follows the one before it. Returns their number. */
static size_t walk(const char *prefix, int limit, Visit visit, void *context)
{
    char cursor[256] = "";
    char last[128] = "";
    size_t total = 0;
    for (;;)
    {
        char query[512];
        char path[32];
        Response response;
        snprintf(query, sizeof query, "prefix=%s&limit=%d%s%s", prefix, limit,
                 cursor[0] != '\0' ? "&cursor=" : "", cursor);
        list(query, &response);
        response_expect(&response, 200, NULL);
        size_t count = item_count(&response);
        snprintf(cursor, sizeof cursor, "%s", response_string(&response, "next_cursor"));
        check(count <= (size_t)limit && (cursor[0] == '\0' || count == (size_t)limit),
              "a page of %zu", count);
        for (size_t i = 0; i < count; i++)
        {
            snprintf(path, sizeof path, "items.%zu.id", i);
            const char *id = response_string(&response, path);
            check(strcmp(last, id) < 0, "%s after %s", id, last);
            check(strncmp(id, prefix, strlen(prefix)) == 0, "%s is not of %s", id, prefix);
            snprintf(last, sizeof last, "%s", id);
            if (visit != NULL)
                visit(context, id);
        }
        response_done(&response);
        total += count;
        if (cursor[0] == '\0')
            return total;
    }
}

static void pages_of_any_size_show_every_account_once(void **state)
{
    static const int limits[] = {1, 7, 100, 249, 250, 251, 1000};
    (void)state;
    for (int i = 0; i < LISTED; i++)
    {
        char id[32];
        snprintf(id, sizeof id, "page:%d", i);
        create(client, id);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++)
        assert_int_equal(walk("page:", limits[i], NULL, NULL), LISTED);
    assert_int_equal(walk("page:1", 10, NULL, NULL), 111);
    assert_int_equal(walk("page:24", 10, NULL, NULL), 11);
    assert_int_equal(walk("page:x", 10, NULL, NULL), 0);
    assert_true(walk("", 100, NULL, NULL) >= LISTED);
    /* All shards took part. */
    for (int shard = 1; shard <= 3; shard++)
        assert_true(sql_integer(cluster_dsn(cluster, shard),
                                "select count(*) from giro.accounts where id like 'page:%%'") > 0);
}

static void an_item_is_the_account(void **state)
{
    Response one;
    Response page;
    (void)state;
    create(client, "item:a");
    client_call(client, &(Request){.path = "/v1/accounts/item:a"}, &one);
    list("prefix=item:a", &page);
    response_expect(&page, 200, NULL);
    char wanted[2048];
    snprintf(wanted, sizeof wanted, "{\"items\":[%s],\"next_cursor\":null}", one.body);
    assert_string_equal(page.body, wanted);
    response_done(&one);
    response_done(&page);
}

/* ---- while accounts are created ------------------------------------------------------------- */

typedef struct Maker
{
    atomic_bool stop;
    atomic_int made;
} Maker;

static void *make_accounts(void *context)
{
    Maker *maker = context;
    Client *own = client_new(cluster_url(cluster, 1));
    for (int i = 0; i < NEW_ONES_MAX && !atomic_load(&maker->stop); i++)
    {
        char id[32];
        /* Scattered over the whole range, so that some come before and some behind any page. */
        snprintf(id, sizeof id, "new:%03d:%d", (int)((unsigned)i * 7919u % 1000), i);
        create(own, id);
        atomic_fetch_add(&maker->made, 1);
    }
    client_free(own);
    return NULL;
}

static void count_old(void *context, const char *id)
{
    int *count = context;
    *count += strstr(id, ":old") != NULL;
}

static void nothing_is_missed_or_repeated_while_accounts_are_created(void **state)
{
    enum
    {
        OLD = 60
    };
    Maker maker = {0};
    pthread_t thread;
    (void)state;
    for (int i = 0; i < OLD; i++)
    {
        char id[32];
        snprintf(id, sizeof id, "new:%03d:old", i * 1000 / OLD);
        create(client, id);
    }
    assert_int_equal(pthread_create(&thread, NULL, make_accounts, &maker), 0);
    for (int round = 0; round < 20; round++)
    {
        int old = 0;
        int before = atomic_load(&maker.made);
        size_t total = walk("new:", 23, count_old, &old);
        int after = atomic_load(&maker.made);
        assert_int_equal(old, OLD);
        check(total >= (size_t)before + OLD && total <= (size_t)after + OLD + 1,
              "%zu accounts, %d to %d new ones", total, before, after);
    }
    atomic_store(&maker.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(walk("new:", 1000, NULL, NULL), (size_t)atomic_load(&maker.made) + OLD);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void bad_parameters_are_named(void **state)
{
    static const struct
    {
        const char *query;
        const char *code;
    } cases[] = {
        {"limit=0", "parameter-invalid"},       {"limit=1001", "parameter-invalid"},
        {"limit=x", "parameter-invalid"},       {"prefix=a%20b", "parameter-invalid"},
        {"prefix=%C3%A4", "parameter-invalid"}, {"status=open", "parameter-invalid"},
        {"cursor=x", "cursor-invalid"},         {"cursor=", "cursor-invalid"},
        {"cursor=e1", "cursor-invalid"},        {"prefix=b&cursor=a61", "cursor-invalid"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Response response;
        list(cases[i].query, &response);
        response_expect(&response, 400, cases[i].code);
        response_done(&response);
    }
}

static void a_shard_that_does_not_answer_leaves_no_list(void **state)
{
    Response response;
    (void)state;
    cluster_signal_postgres(cluster, 2, SIGKILL);
    list("prefix=page:", &response);
    response_expect(&response, 503, "shard-unavailable");
    assert_non_null(strstr(response_string(&response, "detail"), "shard-2"));
    response_done(&response);
    cluster_start_postgres(cluster);
    cluster_up(cluster);
    list("prefix=page:&limit=1", &response);
    response_expect(&response, 200, NULL);
    response_done(&response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(pages_of_any_size_show_every_account_once),
        with_books(an_item_is_the_account),
        with_books(nothing_is_missed_or_repeated_while_accounts_are_created),
        with_books(bad_parameters_are_named),
        with_books(a_shard_that_does_not_answer_leaves_no_list),
    };
    return cmocka_run_group_tests_name("accounts_list", tests, start, fixture_stop);
}
