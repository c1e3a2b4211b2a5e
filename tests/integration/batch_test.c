/*
 * Batches of transfers on real shards: 5,000 items of every kind, replays, twins and rivals inside
 * one batch, limits, clients that leave, and what it all costs in memory.
 */
#include "bank.h"
#include "books.h"
#include "check.h"
#include "fixture.h"
#include "processes.h"

#include "api/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    SHARDS = 3,
    PER_SHARD = 8,
    PERIOD = 100, /* of the mixture */
    BATCHES_AT_ONCE = 8,
    REPEATS = 60,
    TIMEOUT_MS = 120000,
    GROWTH_KB_MAX = 96 * 1024,
};

static Cluster *cluster;
static Client *client;
static AccountName accounts[SHARDS][PER_SHARD];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = SHARDS}, &cluster, &client);
    for (int shard = 0; shard < SHARDS; shard++)
        bank_open_many(client, shard + 1, 1000000, accounts[shard], PER_SHARD);
    return 0;
}

/* ---- batches -------------------------------------------------------------------------------- */

/* Writes item `index` of the batch `name`. */
typedef void (*WriteItem)(FILE *file, const char *name, size_t index);

static char *make_batch(const char *name, size_t count, WriteItem write)
{
    char *body = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&body, &size);
    fputs("{\"transfers\":[", file);
    for (size_t i = 0; i < count; i++)
    {
        if (i > 0)
            fputc(',', file);
        write(file, name, i);
    }
    fputs("]}", file);
    fclose(file);
    return body;
}

static void write_transfer(FILE *file, const char *name, size_t key, long amount)
{
    const char *debit = accounts[key % SHARDS][key / 9 % PER_SHARD];
    const char *credit = accounts[key / 3 % SHARDS][(key / 9 + 1) % PER_SHARD];
    fprintf(file,
            "{\"idempotency_key\":\"%s-%zu\",\"debit_account\":\"%s\",\"credit_account\":\"%s\","
            "\"amount\":%ld,\"currency\":\"EUR\",\"mode\":\"%s\"}",
            name, key, debit, credit, amount, key / 9 % 2 == 0 ? "2pc" : "saga");
}

static void write_plain(FILE *file, const char *name, size_t index)
{
    write_transfer(file, name, index, 1);
}

static bool is_twin(size_t index)
{
    return index % PERIOD == 50;
}

static bool is_rival(size_t index)
{
    return index % PERIOD == 70;
}

static bool is_bad(size_t index)
{
    return index % PERIOD == 90;
}

static bool is_too_dear(size_t index)
{
    return index % PERIOD == 30;
}

/* Of each hundred: a twin and a rival of the item before, an amount of 0, a debit beyond the
 * account's balance, and 96 that are posted. */
static void write_mixed(FILE *file, const char *name, size_t index)
{
    if (is_twin(index))
        write_transfer(file, name, index - 1, 1);
    else if (is_rival(index))
        write_transfer(file, name, index - 1, 2);
    else if (is_bad(index))
        write_transfer(file, name, index, 0);
    else
        write_transfer(file, name, index, is_too_dear(index) ? 100000000 : 1);
}

static void post(const char *body, Response *ret_response)
{
    const char *headers[] = {"Prefer: wait=30", NULL};
    Request request = {
        .path = "/v1/transfers/batch", .body = body, .headers = headers, .timeout_ms = TIMEOUT_MS};
    client_call(client, &request, ret_response);
}

/* ---- results -------------------------------------------------------------------------------- */

static const Json *result_at(const Response *response, size_t index)
{
    const Json *results = response_value(response, "results");
    check(results != NULL && index < json_array_length(results), "no result %zu: %.300s", index,
          response->body);
    const Json *result = json_array_at(results, index);
    assert_int_equal(json_as_integer(json_field(result, "index")), index);
    return result;
}

static int status_of(const Json *result)
{
    return (int)json_as_integer(json_field(result, "status"));
}

static const char *text_of(const Json *result, const char *part, const char *name)
{
    const Json *value = json_field(json_field(result, part), name);
    return json_as_string(value);
}

static void expect_result(const Response *response, size_t index, int status, const char *code)
{
    const Json *result = result_at(response, index);
    const char *found = code != NULL && json_field(result, "problem") != NULL
                            ? text_of(result, "problem", "code")
                            : NULL;
    if (status_of(result) == status && (code == NULL || (found && strcmp(found, code) == 0)))
        return;
    char *text = json_dump(result);
    print_error("not %d %s: %s\n", status, code != NULL ? code : "", text);
    free(text);
    fail();
}

/* The answer to a mixed batch; `posted` is 201, or 200 for a replay. */
static void expect_mixed(const Response *response, size_t count, int posted)
{
    response_expect(response, 200, NULL);
    assert_int_equal(json_array_length(response_value(response, "results")), count);
    for (size_t i = 0; i < count; i++)
    {
        if (is_bad(i))
            expect_result(response, i, 422, "amount-invalid");
        else if (is_rival(i))
            expect_result(response, i, 422, "idempotency-key-reused");
        else if (is_too_dear(i))
            expect_result(response, i, 422, "insufficient-funds");
        else
            expect_result(response, i, posted, NULL);
        bool replayed = json_as_bool(json_field(result_at(response, i), "replayed"));
        bool has_record = !is_bad(i) && !is_rival(i);
        assert_int_equal(replayed, has_record && posted == 200);
    }
}

static const char *id_at(const Response *response, size_t index)
{
    const Json *result = result_at(response, index);
    return json_field(result, "transfer") != NULL ? text_of(result, "transfer", "id") : "";
}

static void expect_same_ids(const Response *first, const Response *second, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(id_at(first, i), id_at(second, i));
}

/* ---- what holds ----------------------------------------------------------------------------- */

static void five_thousand_of_all_kinds_are_posted_once_and_replayed_with_their_ids(void **state)
{
    Response first;
    Response second;
    int64_t before = books_transfer_count(cluster);
    char *body = make_batch("mixed", BATCH_ITEMS_MAX, write_mixed);
    (void)state;
    post(body, &first);
    expect_mixed(&first, BATCH_ITEMS_MAX, 201);
    for (size_t i = 0; i < BATCH_ITEMS_MAX; i++)
    {
        if (is_twin(i))
            assert_string_equal(id_at(&first, i), id_at(&first, i - 1));
    }
    int64_t recorded = BATCH_ITEMS_MAX / PERIOD * (PERIOD - 3);
    assert_int_equal(books_transfer_count(cluster), before + recorded);
    post(body, &second);
    expect_mixed(&second, BATCH_ITEMS_MAX, 200);
    expect_same_ids(&first, &second, BATCH_ITEMS_MAX);
    assert_int_equal(books_transfer_count(cluster), before + recorded);
    print_message("5,000 mixed items: %.2f s, again: %.2f s; bodies of %zu and %zu bytes\n",
                  first.seconds, second.seconds, strlen(body), first.length);
    response_done(&first);
    response_done(&second);
    free(body);
}

/* A rival that comes first in the batch is the one that counts. */
static void write_rivals(FILE *file, const char *name, size_t index)
{
    write_transfer(file, name, 1, (long)index + 1);
}

static void of_rivals_in_one_batch_the_first_is_posted(void **state)
{
    Response response;
    char *body = make_batch("rivals", 20, write_rivals);
    (void)state;
    post(body, &response);
    response_expect(&response, 200, NULL);
    expect_result(&response, 0, 201, NULL);
    for (size_t i = 1; i < 20; i++)
    {
        expect_result(&response, i, 422, "idempotency-key-reused");
        assert_string_equal(text_of(result_at(&response, i), "problem", "transfer_id"),
                            id_at(&response, 0));
    }
    response_done(&response);
    free(body);
}

static void write_same(FILE *file, const char *name, size_t index)
{
    (void)index;
    write_transfer(file, name, 2, 1);
}

static void five_thousand_twins_are_one_transfer(void **state)
{
    Response response;
    int64_t before = books_transfer_count(cluster);
    char *body = make_batch("twins", BATCH_ITEMS_MAX, write_same);
    (void)state;
    post(body, &response);
    response_expect(&response, 200, NULL);
    for (size_t i = 0; i < BATCH_ITEMS_MAX; i++)
    {
        expect_result(&response, i, 201, NULL);
        assert_string_equal(id_at(&response, i), id_at(&response, 0));
    }
    assert_int_equal(books_transfer_count(cluster), before + 1);
    response_done(&response);
    free(body);
}

static void a_key_is_the_same_alone_and_in_a_batch(void **state)
{
    Response response;
    char *body = make_batch("alone", 1, write_plain);
    Payment payment = {
        .debit = accounts[0][0], .credit = accounts[0][1], .amount = 1, .key = "\"alone-0\""};
    (void)state;
    bank_expect(client, &payment, 201, NULL, NULL);
    post(body, &response);
    expect_result(&response, 0, 200, NULL);
    response_done(&response);
    free(body);
}

static void what_is_too_large_happens_not_at_all(void **state)
{
    Response response;
    int64_t before = books_transfer_count(cluster);
    char *body = make_batch("many", BATCH_ITEMS_MAX + 1, write_plain);
    (void)state;
    post(body, &response);
    response_expect(&response, 400, "body-invalid");
    response_done(&response);
    free(body);

    body = make_batch("fat", 10, write_plain);
    size_t length = strlen(body);
    body = realloc(body, BATCH_BODY_BYTES_MAX + 2);
    memset(body + length, ' ', BATCH_BODY_BYTES_MAX + 1 - length);
    body[BATCH_BODY_BYTES_MAX + 1] = '\0';
    post(body, &response);
    response_expect(&response, 413, "body-too-large");
    response_done(&response);
    assert_int_equal(books_transfer_count(cluster), before);
    body[BATCH_BODY_BYTES_MAX] = '\0';
    post(body, &response);
    response_expect(&response, 200, NULL);
    expect_result(&response, 9, 201, NULL);
    response_done(&response);
    free(body);
}

/* Sends this many bytes of the request and leaves. */
static void post_and_leave(const char *body, size_t bytes)
{
    char head[256];
    int fd = client_connect(client);
    int length = snprintf(head, sizeof head,
                          "POST /v1/transfers/batch HTTP/1.1\r\nHost: h\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                          strlen(body));
    assert_true(client_send(fd, head, (size_t)length) && client_send(fd, body, bytes));
    close(fd);
}

static void a_batch_whose_client_leaves_is_done_all_the_same(void **state)
{
    Response response;
    int64_t before = books_transfer_count(cluster);
    char *body = make_batch("left", 2000, write_plain);
    (void)state;
    post_and_leave(body, strlen(body) - 1); /* never complete: nothing happens */
    post_and_leave(body, strlen(body));
    for (int i = 0; books_transfer_count(cluster) < before + 2000; i++)
    {
        check(i < REPEATS, "only %lld transfers after a while",
              (long long)(books_transfer_count(cluster) - before));
        processes_pause_ms(250);
    }
    post(body, &response);
    response_expect(&response, 200, NULL);
    for (size_t i = 0; i < 2000; i++)
        expect_result(&response, i, 200, NULL);
    response_done(&response);
    free(body);
}

/* ---- many at once --------------------------------------------------------------------------- */

/* A value of girod's /proc/<pid>/status in kB. */
static long girod_memory_kb(const char *name)
{
    char path[64];
    char line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%s/status", cluster_env(cluster, "GIRO_PID"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
    {
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name) + 1, NULL, 10);
    }
    fclose(file);
    return value;
}

typedef struct Counts
{
    size_t posted;
    size_t replayed;
    size_t overloaded;
    size_t later; /* other answers that permit a repeat */
} Counts;

static void count_results(const Response *response, Counts *counts)
{
    response_expect(response, 200, NULL);
    for (size_t i = 0; i < BATCH_ITEMS_MAX; i++)
    {
        const Json *result = result_at(response, i);
        int status = status_of(result);
        if (status == 201)
            counts->posted++;
        else if (status == 200)
            counts->replayed++;
        else if (status == 503 && strcmp(text_of(result, "problem", "code"), "overloaded") == 0)
            counts->overloaded++;
        else if (status == 202 || status == 429 || status == 503)
            counts->later++;
        else
            expect_result(response, i, 201, NULL);
    }
}

static Counts post_all(char *const bodies[BATCHES_AT_ONCE])
{
    static const char *const headers[] = {"Prefer: wait=30", NULL};
    Request requests[BATCHES_AT_ONCE];
    Response responses[BATCHES_AT_ONCE];
    Counts counts = {0};
    for (size_t i = 0; i < BATCHES_AT_ONCE; i++)
        requests[i] = (Request){.path = "/v1/transfers/batch",
                                .body = bodies[i],
                                .headers = headers,
                                .timeout_ms = TIMEOUT_MS};
    client_call_all(client, requests, BATCHES_AT_ONCE, responses);
    for (size_t i = 0; i < BATCHES_AT_ONCE; i++)
        count_results(&responses[i], &counts);
    print_message("eight batches at once: %zu posted, %zu overloaded, %zu other in %.1f s\n",
                  counts.posted, counts.overloaded, counts.later, responses[0].seconds);
    responses_done(responses, BATCHES_AT_ONCE);
    return counts;
}

/* One batch alone, again and again, until all of it is posted. Returns how much was new. */
static size_t post_finally(const char *body)
{
    Counts counts = {0};
    size_t posted = 0;
    for (int i = 0; counts.posted + counts.replayed < BATCH_ITEMS_MAX; i++)
    {
        Response response;
        check(i < REPEATS, "%zu of a batch are posted", counts.posted + counts.replayed);
        counts = (Counts){0};
        post(body, &response);
        count_results(&response, &counts);
        posted += counts.posted;
        response_done(&response);
    }
    return posted;
}

static void eight_batches_at_once_cost_bounded_memory_and_end_posted(void **state)
{
    char *bodies[BATCHES_AT_ONCE];
    const size_t total = (size_t)BATCHES_AT_ONCE * BATCH_ITEMS_MAX;
    (void)state;
    for (size_t i = 0; i < BATCHES_AT_ONCE; i++)
    {
        char name[16];
        snprintf(name, sizeof name, "at-once-%zu", i);
        bodies[i] = make_batch(name, BATCH_ITEMS_MAX, write_plain);
    }
    int64_t before = books_transfer_count(cluster);
    long before_kb = girod_memory_kb("VmRSS");
    Counts counts = post_all(bodies);
    long peak_kb = girod_memory_kb("VmHWM");
    assert_int_equal(counts.posted + counts.overloaded + counts.later, total);
    size_t posted = counts.posted;
    for (size_t i = 0; i < BATCHES_AT_ONCE; i++)
    {
        posted += post_finally(bodies[i]);
        free(bodies[i]);
    }
    check(posted + counts.later >= total, "%zu are posted", posted);
    assert_int_equal(books_transfer_count(cluster), before + (int64_t)total);
    print_message("memory of girod: %ld kB before, %ld kB at most\n", before_kb, peak_kb);
#ifndef __SANITIZE_ADDRESS__
    assert_true(peak_kb - before_kb < GROWTH_KB_MAX);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(five_thousand_of_all_kinds_are_posted_once_and_replayed_with_their_ids),
        with_books(of_rivals_in_one_batch_the_first_is_posted),
        with_books(five_thousand_twins_are_one_transfer),
        with_books(a_key_is_the_same_alone_and_in_a_batch),
        with_books(what_is_too_large_happens_not_at_all),
        with_books(a_batch_whose_client_leaves_is_done_all_the_same),
        with_books(eight_batches_at_once_cost_bounded_memory_and_end_posted),
    };
    return cmocka_run_group_tests_name("batch", tests, start, fixture_stop);
}
