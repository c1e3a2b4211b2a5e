/*
 * The list of transfers over all shards: its order, its pages while others write, what is found by
 * what it is asked for, and what it is when a shard does not answer.
 */
#include "fixture.h"
#include "sql.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    SHARDS = 3,
    EQUALS = 10000, /* transfers with one created_at */
    PAGE = 7,
    PAGES_MAX = EQUALS,
    ID_BYTES = 37,
    QUERY_MAX = 512,
    RARE_HISTORY = 25000, /* more than two walks of one page */
    AWAIT_TRIES = 300,
    AWAIT_US = 100000,
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    return 0;
}

static void list(const char *query, Response *ret_response)
{
    char path[QUERY_MAX + 32];
    snprintf(path, sizeof path, "/v1/transfers?%s", query);
    client_call(client, &(Request){.path = path}, ret_response);
}

static size_t item_count(const Response *response)
{
    return json_array_length(response_value(response, "items"));
}

static const char *item(const Response *response, size_t i, const char *field)
{
    char path[64];
    snprintf(path, sizeof path, "items.%zu.%s", i, field);
    return response_string(response, path);
}

/* ---- walking -------------------------------------------------------------------------------- */

typedef struct Walk
{
    const char *query;
    int limit;
    size_t pages;
    size_t count;
    char (*ids)[ID_BYTES]; /* in the order of the list; NULL: not wanted */
    size_t ids_max;
} Walk;

/* Times are of one length, and so are ids: both are ordered as their texts are. */
static void check_order(char last[64], const Response *response, size_t i)
{
    char key[64 + ID_BYTES];
    snprintf(key, sizeof key, "%s %s", item(response, i, "created_at"), item(response, i, "id"));
    check(last[0] == '\0' || strcmp(key, last) < 0, "%s after %s", key, last);
    snprintf(last, 64 + ID_BYTES, "%s", key);
}

/* Reads the list to its end; every item follows the one before it. */
static void walk_list(Walk *walk)
{
    char cursor[256] = "";
    char last[64 + ID_BYTES] = "";
    do
    {
        char query[QUERY_MAX];
        Response response;
        snprintf(query, sizeof query, "%s&limit=%d%s%s", walk->query, walk->limit,
                 cursor[0] != '\0' ? "&cursor=" : "", cursor);
        list(query, &response);
        response_expect(&response, 200, NULL);
        size_t count = item_count(&response);
        check(count <= (size_t)walk->limit, "a page of %zu", count);
        for (size_t i = 0; i < count; i++)
        {
            check_order(last, &response, i);
            if (walk->ids != NULL && walk->count + i < walk->ids_max)
                snprintf(walk->ids[walk->count + i], ID_BYTES, "%s", item(&response, i, "id"));
        }
        snprintf(cursor, sizeof cursor, "%s", response_string(&response, "next_cursor"));
        response_done(&response);
        walk->count += count;
        walk->pages++;
        check(walk->pages <= PAGES_MAX, "the list of %s does not end", walk->query);
    } while (cursor[0] != '\0');
}

static size_t count_list(const char *query)
{
    Walk walk = {.query = query, .limit = 1000};
    walk_list(&walk);
    return walk.count;
}

/* ---- transfers that were never paid --------------------------------------------------------- */

/* Refused ones leave no trace in the books. Their ids begin with the shard's number. */
static void insert_refused(int shard, int count, const char *created_at, const char *reference)
{
    sql_run(cluster_dsn(cluster, shard),
            "insert into giro.transfers (id, home, remote, debit_account, debit_route,"
            " credit_account, credit_route, idempotency_key, amount, currency, mode, state,"
            " refusal, batch, reference, created_at, decided_at)"
            " select gen_random_uuid(), 'shard-%d', 'shard-%d', 'nobody', '\\x01', 'nobody',"
            " '\\x01', gen_random_uuid()::text, 1, 'EUR', 'local', 'refused', 'same-account',"
            " gen_random_uuid(), '%s', '%s', now() from generate_series(1, %d)",
            shard, shard, reference, created_at, count);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The ids of all shards that have this reference, descending. */
static size_t read_ids(const char *reference, char (*ret_ids)[ID_BYTES], size_t max)
{
    size_t count = 0;
    for (int shard = 1; shard <= SHARDS; shard++)
    {
        SqlRows *rows = sql_rows(cluster_dsn(cluster, shard),
                                 "select id from giro.transfers where reference = '%s'", reference);
        for (size_t i = 0; i < sql_row_count(rows); i++, count++)
        {
            check(count < max, "too many transfers");
            snprintf(ret_ids[count], ID_BYTES, "%s", sql_field(rows, i, 0));
        }
        sql_rows_free(rows);
    }
    qsort(ret_ids, count, ID_BYTES, compare_ids);
    for (size_t i = 0; i < count / 2; i++)
    {
        char other[ID_BYTES];
        memcpy(other, ret_ids[i], ID_BYTES);
        memcpy(ret_ids[i], ret_ids[count - 1 - i], ID_BYTES);
        memcpy(ret_ids[count - 1 - i], other, ID_BYTES);
    }
    return count;
}

typedef struct Writer
{
    atomic_bool stop;
    atomic_int written;
} Writer;

/* Newer transfers, which no page of the walk may show, and older ones, which come behind it. */
static void *write_on(void *context)
{
    Writer *writer = context;
    while (!atomic_load(&writer->stop))
    {
        for (int shard = 1; shard <= SHARDS; shard++)
        {
            insert_refused(shard, 3, "2026-05-05 10:00:01Z", "later");
            insert_refused(shard, 2, "2026-05-05 09:59:59Z", "later");
        }
        atomic_fetch_add(&writer->written, 1);
    }
    return NULL;
}

static void equal_times_are_listed_once_and_in_order_while_others_write(void **state)
{
    char(*wanted)[ID_BYTES] = base_calloc(EQUALS, ID_BYTES);
    char(*listed)[ID_BYTES] = base_calloc(EQUALS, ID_BYTES);
    Writer writer = {0};
    pthread_t thread;
    (void)state;
    insert_refused(1, EQUALS / 2, "2026-05-05 10:00:00Z", "equal");
    insert_refused(2, EQUALS / 3, "2026-05-05 10:00:00Z", "equal");
    insert_refused(3, EQUALS - EQUALS / 2 - EQUALS / 3, "2026-05-05 10:00:00Z", "equal");
    assert_int_equal(read_ids("equal", wanted, EQUALS), EQUALS);

    assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
    Walk walk = {.query = "reference=equal", .limit = PAGE, .ids = listed, .ids_max = EQUALS};
    walk_list(&walk);
    atomic_store(&writer.stop, true);
    pthread_join(thread, NULL);

    assert_int_equal(walk.count, EQUALS);
    check(atomic_load(&writer.written) > 10, "hardly anything was written meanwhile");
    for (size_t i = 0; i < EQUALS; i++)
        assert_string_equal(listed[i], wanted[i]);
    free(wanted);
    free(listed);
}

/* Without a filter, pages are full and the writers' rows are on them. */
static void what_stood_at_the_start_is_missed_by_no_walk(void **state)
{
    Writer writer = {0};
    pthread_t thread;
    (void)state;
    size_t before = count_list("mode=local");
    assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
    for (int round = 0; round < 3; round++)
    {
        Walk walk = {.query = "partial=false", .limit = 70};
        walk_list(&walk);
        check(walk.count >= before, "%zu of %zu", walk.count, before);
    }
    atomic_store(&writer.stop, true);
    pthread_join(thread, NULL);
}

static void something_rare_is_found_by_walks_that_end(void **state)
{
    Walk walk = {.query = "reference=needle", .limit = 100};
    (void)state;
    insert_refused(1, 1, "2026-01-01 00:00:00Z", "needle");
    insert_refused(2, 1, "2026-03-03 00:00:00Z", "needle");
    insert_refused(1, RARE_HISTORY, "2026-02-02 00:00:00Z", "hay");
    walk_list(&walk);
    assert_int_equal(walk.count, 2);
    check(walk.pages >= 3, "%zu pages", walk.pages);
}

/* ---- real transfers ------------------------------------------------------------------------- */

typedef struct World
{
    AccountName payer; /* on shard 1 */
    AccountName near;  /* there too */
    AccountName far;   /* on shard 2 */
    char posted[ID_BYTES];
    char refused[ID_BYTES];
    char local[ID_BYTES];
} World;

static void make_world(World *world)
{
    Response response;
    bank_open(client, 1, 100, world->payer);
    bank_open(client, 1, 0, world->near);
    bank_open(client, 2, 0, world->far);
    bank_expect(client,
                &(Payment){world->payer, world->far, 5, bank_key(), "\"reference\":\"Größe 1\""},
                201, NULL, world->posted);
    bank_expect(client, &(Payment){world->payer, world->near, 6, bank_key(), NULL}, 201, NULL,
                world->local);
    bank_pay(client, &(Payment){world->payer, world->far, 1000, bank_key(), NULL}, &response);
    response_expect(&response, 422, "insufficient-funds");
    snprintf(world->refused, sizeof world->refused, "%s",
             response_string(&response, "transfer_id"));
    response_done(&response);
}

/* The ids that a list shows, by their places in `names`: "posted local". */
static void expect_list(const World *world, const char *query, const char *wanted)
{
    char full[QUERY_MAX];
    char found[256] = "";
    Response response;
    snprintf(full, sizeof full, "account=%s&%s", world->payer, query);
    list(full, &response);
    response_expect(&response, 200, NULL);
    for (size_t i = 0; i < item_count(&response); i++)
    {
        const char *id = item(&response, i, "id");
        const char *name = strcmp(id, world->posted) == 0    ? "posted "
                           : strcmp(id, world->refused) == 0 ? "refused "
                           : strcmp(id, world->local) == 0   ? "local "
                                                             : "";
        strncat(found, name, sizeof found - strlen(found) - 1);
    }
    check(strcmp(found, wanted) == 0, "%s: %s", query, found);
    response_done(&response);
}

static void a_list_has_what_it_is_asked_for(void **state)
{
    World world;
    Response one;
    Response page;
    (void)state;
    make_world(&world);
    expect_list(&world, "limit=10", "refused local posted ");
    expect_list(&world, "state=posted", "local posted ");
    expect_list(&world, "state=refused", "refused ");
    expect_list(&world, "state=pending", "");
    expect_list(&world, "mode=local", "local ");
    expect_list(&world, "shard=shard-1", "refused local posted ");
    expect_list(&world, "shard=shard-2", "refused posted ");
    expect_list(&world, "shard=shard-3", "");
    expect_list(&world, "reference=Gr%C3%B6%C3%9Fe%201", "posted ");
    expect_list(&world, "reference=", "");
    expect_list(&world, "needs_attention=false", "refused local posted ");
    expect_list(&world, "needs_attention", "");
    expect_list(&world, "older_than=1d", "");
    expect_list(&world, "older_than=0s&state=refused&shard=shard-2", "refused ");

    char path[128];
    char query[QUERY_MAX];
    snprintf(path, sizeof path, "/v1/transfers/%s", world.refused);
    snprintf(query, sizeof query, "account=%s&state=refused", world.payer);
    client_call(client, &(Request){.path = path}, &one);
    list(query, &page);
    check(strncmp(page.body, "{\"items\":[", 10) == 0 &&
              strncmp(page.body + 10, one.body, one.length) == 0,
          "%s is not an item of %s", one.body, page.body);
    response_done(&one);
    response_done(&page);
}

static void bad_parameters_are_named(void **state)
{
    static const struct
    {
        const char *query;
        const char *code;
    } cases[] = {
        {"limit=0", "parameter-invalid"},
        {"limit=1001", "parameter-invalid"},
        {"state=open", "parameter-invalid"},
        {"state=", "parameter-invalid"},
        {"mode=auto", "parameter-invalid"},
        {"shard=shard-9", "parameter-invalid"},
        {"account=a%20b", "parameter-invalid"},
        {"needs_attention=maybe", "parameter-invalid"},
        {"unfinished=2", "parameter-invalid"},
        {"older_than=30", "parameter-invalid"},
        {"older_than=s", "parameter-invalid"},
        {"older_than=-1s", "parameter-invalid"},
        {"older_than=99999d", "parameter-invalid"},
        {"older_than=9999999999999999999s", "parameter-invalid"},
        {"idempotency_key=k", "parameter-invalid"},
        {"idempotency_key=k&debit_account=a&limit=1", "parameter-invalid"},
        {"color=red", "parameter-invalid"},
        {"cursor=x", "cursor-invalid"},
        {"cursor=", "cursor-invalid"},
        {"cursor=a61", "cursor-invalid"},
        {"cursor=tffffffffffffffff00000000000080008000000000000000", "cursor-invalid"},
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

/* ---- a shard that is away ------------------------------------------------------------------- */

/* Waits until the list of what is unfinished has as many items. */
static void await_unfinished(size_t count)
{
    size_t seen = SIZE_MAX;
    for (int i = 0; i < AWAIT_TRIES && seen != count; i++)
    {
        Response response;
        list("unfinished&partial", &response);
        response_expect(&response, 200, NULL);
        seen = item_count(&response);
        response_done(&response);
        if (seen != count)
            usleep(AWAIT_US);
    }
    check(seen == count, "%zu are unfinished", seen);
}

/* While shard 2 is away the list names what waits for it, and nothing else. */
static void what_waits_for_a_shard_is_listed_until_it_is_back(void **state)
{
    AccountName payer;
    AccountName payee;
    AccountName other;
    char saga[ID_BYTES];
    Response response;
    (void)state;
    bank_open(client, 1, 100, payer);
    bank_open(client, 2, 0, payee);
    bank_open(client, 3, 0, other);
    await_unfinished(0);
    fixture_arm("saga.credit.remote.before", "pause", 1500);
    bank_pay_with(client, &(Payment){payer, payee, 5, bank_key(), "\"mode\":\"saga\""},
                  "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    snprintf(saga, sizeof saga, "%s", response_string(&response, "id"));
    assert_string_equal(response_string(&response, "waits_for"), "shard-2");
    response_done(&response);
    cluster_signal_postgres(cluster, 2, SIGKILL);
    bank_expect(client, &(Payment){payer, other, 5, bank_key(), NULL}, 201, NULL, NULL);

    list("state=pending", &response);
    response_expect(&response, 503, "shard-unavailable");
    assert_non_null(strstr(response_string(&response, "detail"), "shard-2"));
    response_done(&response);
    await_unfinished(1);
    list("unfinished&partial", &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(item(&response, 0, "id"), saga);
    assert_string_equal(item(&response, 0, "waits_for"), "shard-2");
    assert_true(item(&response, 0, "next_attempt_at")[0] != '\0');
    assert_string_equal(response_string(&response, "missing_shards.0"), "shard-2");
    check(json_kind(response_value(&response, "incomplete")) == JSON_KIND_BOOL, "no incomplete");
    response_done(&response);

    cluster_start_postgres(cluster);
    cluster_up(cluster);
    await_unfinished(0);
    list("state=pending", &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response.body, "{\"items\":[],\"next_cursor\":null}");
    response_done(&response);
    bank_await_balance(client, payee, 5);
}

/* The decision stands, and its leg is held up on the way to the other shard. */
static void a_decided_leg_that_is_not_seen_yet_is_unfinished(void **state)
{
    AccountName payer;
    AccountName payee;
    char id[ID_BYTES];
    Response response;
    (void)state;
    bank_open(client, 1, 100, payer);
    bank_open(client, 2, 0, payee);
    await_unfinished(0);
    fixture_arm("2pc.apply.remote.before", "pause", 3000);
    bank_expect(client, &(Payment){payer, payee, 5, bank_key(), "\"mode\":\"2pc\""}, 201, NULL, id);
    list("unfinished", &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(item_count(&response), 1);
    assert_string_equal(item(&response, 0, "id"), id);
    assert_string_equal(item(&response, 0, "state"), "posted");
    assert_string_equal(item(&response, 0, "waits_for"), "shard-2");
    response_done(&response);
    await_unfinished(0);
    bank_await_balance(client, payee, 5);
}

static void a_summary_counts_what_is_unfinished_and_recent(void **state)
{
    AccountName payer;
    AccountName payee;
    Response response;
    (void)state;
    bank_open(client, 1, 100, payer);
    bank_open(client, 2, 0, payee);
    await_unfinished(0);
    fixture_arm("saga.credit.remote.before", "pause", 3000);
    bank_pay_with(client, &(Payment){payer, payee, 5, bank_key(), "\"mode\":\"saga\""},
                  "Prefer: respond-async", &response);
    response_expect(&response, 202, NULL);
    response_done(&response);
    client_call(client, &(Request){.path = "/v1/transfers/summary"}, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(json_array_length(response_value(&response, "unfinished")), 1);
    assert_string_equal(response_string(&response, "unfinished.0.state"), "pending");
    assert_string_equal(response_string(&response, "unfinished.0.debit_shard"), "shard-1");
    assert_string_equal(response_string(&response, "unfinished.0.credit_shard"), "shard-2");
    assert_int_equal(response_integer(&response, "unfinished.0.count"), 1);
    assert_int_equal(response_integer(&response, "unfinished.0.amount"), 5);
    assert_true(json_array_length(response_value(&response, "recent")) > 3);
    response_done(&response);
    bank_await_balance(client, payee, 5);
    await_unfinished(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(equal_times_are_listed_once_and_in_order_while_others_write),
        with_books(what_stood_at_the_start_is_missed_by_no_walk),
        with_books(something_rare_is_found_by_walks_that_end),
        with_books(a_list_has_what_it_is_asked_for),
        with_books(bad_parameters_are_named),
        with_books(what_waits_for_a_shard_is_listed_until_it_is_back),
        with_books(a_decided_leg_that_is_not_seen_yet_is_unfinished),
        with_books(a_summary_counts_what_is_unfinished_and_recent),
    };
    return cmocka_run_group_tests_name("transfers_list", tests, start, fixture_stop);
}
