/*
 * The list of an account's entries over the API, on real shards: what an entry shows, and that
 * pages neither repeat nor miss one while new entries are being written.
 */
#include "fixture.h"

#include "api/cursor.h"
#include "shard/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    CURSOR_TEXT_MAX = 64,
};

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){0}, &cluster, &client);
    return 0;
}

/* `query` is "" or starts with '?'. */
static void list(const char *account, const char *query, Response *ret_response)
{
    char path[512];
    snprintf(path, sizeof path, "/v1/accounts/%s/entries%s", account, query);
    client_call(client, &(Request){.path = path}, ret_response);
}

static size_t item_count(const Response *response)
{
    return json_array_length(response_value(response, "items"));
}

static int64_t item_integer(const Response *response, size_t item, const char *field)
{
    char path[64];
    snprintf(path, sizeof path, "items.%zu.%s", item, field);
    return response_integer(response, path);
}

/* Copies the cursor of the next page; false after the last one. */
static bool next_cursor(const Response *response, char ret_cursor[CURSOR_TEXT_MAX])
{
    const Json *cursor = response_value(response, "next_cursor");
    assert_non_null(cursor);
    if (json_kind(cursor) == JSON_KIND_NULL)
        return false;
    snprintf(ret_cursor, CURSOR_TEXT_MAX, "%s", json_as_string(cursor));
    return true;
}

/* Pays 1 that many times, all at once. */
static void pay_often(const char *debit, const char *credit, size_t count)
{
    Request *requests = calloc(count, sizeof *requests);
    Response *responses = calloc(count, sizeof *responses);
    char(*keys)[32] = calloc(count, sizeof *keys);
    char *body = bank_body(&(Payment){debit, credit, 1, NULL});
    for (size_t i = 0; i < count; i++)
    {
        snprintf(keys[i], sizeof keys[i], "%s", bank_key());
        requests[i] = (Request){.path = "/v1/transfers", .body = body, .key = keys[i]};
    }
    client_call_all(client, requests, count, responses);
    for (size_t i = 0; i < count; i++)
        response_expect(&responses[i], 201, NULL);
    responses_done(responses, count);
    free(body);
    free(keys);
    free(responses);
    free(requests);
}

/* ---- what an entry shows -------------------------------------------------------------------- */

static void entries_show_both_sides_of_a_transfer_newest_first(void **state)
{
    static const char *const fields[] = {"seq",          "transfer_id", "amount", "balance",
                                         "counterparty", "reference",   "at"};
    AccountName a;
    AccountName b;
    char body[400];
    char id[UUID_TEXT_MAX + 1];
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    snprintf(body, sizeof body,
             "{\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"amount\":30,"
             "\"currency\":\"EUR\",\"reference\":\"order 17\"}",
             a, b);
    client_call(client, &(Request){.path = "/v1/transfers", .body = body, .key = bank_key()},
                &response);
    response_expect(&response, 201, NULL);
    snprintf(id, sizeof id, "%s", response_string(&response, "id"));
    response_done(&response);
    list(a, "", &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(item_count(&response), 2);
    assert_int_equal(json_field_count(response_value(&response, "items.0")), ARRAY_LENGTH(fields));
    assert_null(
        json_field_unknown(response_value(&response, "items.0"), fields, ARRAY_LENGTH(fields)));
    assert_int_equal(item_integer(&response, 0, "seq"), 2);
    assert_string_equal(response_string(&response, "items.0.transfer_id"), id);
    assert_int_equal(item_integer(&response, 0, "amount"), -30);
    assert_int_equal(item_integer(&response, 0, "balance"), 70);
    assert_string_equal(response_string(&response, "items.0.counterparty"), b);
    assert_string_equal(response_string(&response, "items.0.reference"), "order 17");
    assert_int_equal(strlen(response_string(&response, "items.0.at")), 27);
    assert_int_equal(item_integer(&response, 1, "seq"), 1);
    assert_int_equal(json_kind(response_value(&response, "items.1.reference")), JSON_KIND_NULL);
    assert_int_equal(json_kind(response_value(&response, "next_cursor")), JSON_KIND_NULL);
    response_done(&response);
    list(b, "", &response);
    assert_int_equal(item_count(&response), 1);
    assert_int_equal(item_integer(&response, 0, "amount"), 30);
    assert_int_equal(item_integer(&response, 0, "balance"), 30);
    assert_string_equal(response_string(&response, "items.0.counterparty"), a);
    assert_string_equal(response_string(&response, "items.0.transfer_id"), id);
    response_done(&response);
}

static void refused_and_repeated_transfers_leave_no_entry(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 1, 10, a);
    bank_open(client, 2, 0, b);
    bank_expect(client, &(Payment){a, b, 11, bank_key()}, 422, "insufficient-funds", NULL);
    const char *key = bank_key();
    bank_expect(client, &(Payment){a, b, 4, key}, 201, NULL, NULL);
    bank_expect(client, &(Payment){a, b, 4, key}, 200, NULL, NULL);
    list(a, "", &response);
    assert_int_equal(item_count(&response), 2);
    response_done(&response);
    list(b, "", &response);
    assert_int_equal(item_count(&response), 1);
    response_done(&response);
}

static void an_account_without_entries_has_an_empty_list(void **state)
{
    AccountName a;
    Response response;
    (void)state;
    bank_open(client, 3, 0, a);
    list(a, "", &response);
    response_expect(&response, 200, NULL);
    assert_string_equal(response.body, "{\"items\":[],\"next_cursor\":null}");
    response_done(&response);
    list("nobody-at-all", "", &response);
    response_expect(&response, 404, "account-not-found");
    response_done(&response);
    list("a%2Fb", "", &response);
    response_expect(&response, 422, "account-id-invalid");
    response_done(&response);
}

/* ---- pages ---------------------------------------------------------------------------------- */

static void a_page_has_100_entries_unless_a_limit_is_given(void **state)
{
    static const struct
    {
        const char *query;
        size_t items;
        bool more;
    } cases[] = {
        {"", 100, true},
        {"?limit=1", 1, true},
        {"?limit=129", 129, true},
        {"?limit=130", 130, false},
        {"?limit=1000", 130, false},
    };
    AccountName a;
    AccountName b;
    (void)state;
    bank_open(client, 1, 0, a);
    bank_open(client, 2, 130, b);
    pay_often(b, a, 130);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Response response;
        char cursor[CURSOR_TEXT_MAX];
        list(a, cases[i].query, &response);
        response_expect(&response, 200, NULL);
        assert_int_equal(item_count(&response), cases[i].items);
        assert_int_equal(next_cursor(&response, cursor), cases[i].more);
        for (size_t item = 0; item < cases[i].items; item++)
        {
            assert_int_equal(item_integer(&response, item, "seq"), 130 - item);
            assert_int_equal(item_integer(&response, item, "balance"), 130 - item);
        }
        response_done(&response);
    }
}

/* Reads all pages while 20 new entries arrive at the same time as each page is asked for. */
static void pages_neither_repeat_nor_miss_while_entries_are_written(void **state)
{
    enum
    {
        BEFORE = 150,
        DURING = 20,
        LIMIT = 7,
    };
    AccountName a;
    AccountName b;
    char query[256];
    char cursor[CURSOR_TEXT_MAX];
    int64_t expected = 0;
    size_t pages = 0;
    bool more = true;
    (void)state;
    bank_open(client, 1, 0, a);
    bank_open(client, 2, 10000, b);
    pay_often(b, a, BEFORE);
    char *body = bank_body(&(Payment){b, a, 1, NULL});
    snprintf(query, sizeof query, "/v1/accounts/%s/entries?limit=%d", a, LIMIT);
    while (more)
    {
        Request requests[DURING + 1];
        Response responses[DURING + 1];
        char keys[DURING][32];
        for (size_t i = 0; i < DURING; i++)
        {
            snprintf(keys[i], sizeof keys[i], "%s", bank_key());
            requests[i] = (Request){.path = "/v1/transfers", .body = body, .key = keys[i]};
        }
        requests[DURING] = (Request){.path = query};
        client_call_all(client, requests, DURING + 1, responses);
        for (size_t i = 0; i < DURING; i++)
            response_expect(&responses[i], 201, NULL);
        const Response *page = &responses[DURING];
        response_expect(page, 200, NULL);
        for (size_t item = 0; item < item_count(page); item++)
        {
            int64_t seq = item_integer(page, item, "seq");
            if (expected == 0)
                expected = seq; /* the newest one when the first page was read */
            check(seq == expected, "seq %d follows instead of %d", (int)seq, (int)expected);
            assert_int_equal(item_integer(page, item, "balance"), seq);
            expected--;
        }
        more = next_cursor(page, cursor);
        snprintf(query, sizeof query, "/v1/accounts/%s/entries?limit=%d&cursor=%s", a, LIMIT,
                 cursor);
        responses_done(responses, DURING + 1);
        pages++;
    }
    free(body);
    assert_int_equal(expected, 0);
    check(pages >= BEFORE / LIMIT, "only %zu pages", pages);
    assert_int_equal(bank_balance(client, a), BEFORE + (int64_t)pages * DURING);
}

static void a_page_reads_the_same_again(void **state)
{
    AccountName a;
    AccountName b;
    char cursor[CURSOR_TEXT_MAX];
    char query[128];
    char *first = NULL;
    (void)state;
    bank_open(client, 1, 0, a);
    bank_open(client, 2, 100, b);
    pay_often(b, a, 10);
    Response response;
    list(a, "?limit=3", &response);
    assert_true(next_cursor(&response, cursor));
    response_done(&response);
    snprintf(query, sizeof query, "?cursor=%s&limit=3", cursor);
    for (int i = 0; i < 3; i++)
    {
        list(a, query, &response);
        response_expect(&response, 200, NULL);
        if (first == NULL)
            first = strdup(response.body);
        assert_string_equal(response.body, first);
        response_done(&response);
        pay_often(b, a, 5);
    }
    free(first);
}

/* ---- wrong requests ------------------------------------------------------------------------- */

static void wrong_parameters_and_cursors_are_400(void **state)
{
    static const struct
    {
        const char *query;
        const char *code;
    } cases[] = {
        {"?limit=0", "parameter-invalid"},
        {"?limit=1001", "parameter-invalid"},
        {"?limit=-1", "parameter-invalid"},
        {"?limit=", "parameter-invalid"},
        {"?limit=ten", "parameter-invalid"},
        {"?limit=1.0", "parameter-invalid"},
        {"?limit=+1", "parameter-invalid"},
        {"?limit=1%00", "parameter-invalid"},
        {"?limit=99999999999999999999", "parameter-invalid"},
        {"?limit=1&limit=1", "parameter-invalid"},
        {"?offset=1", "parameter-invalid"},
        {"?Limit=1", "parameter-invalid"},
        {"?limit=1&x", "parameter-invalid"},
        {"?cursor=", "cursor-invalid"},
        {"?cursor=5", "cursor-invalid"},
        {"?cursor=e", "cursor-invalid"},
        {"?cursor=e0", "cursor-invalid"},
        {"?cursor=eG", "cursor-invalid"},
        {"?cursor=e-1", "cursor-invalid"},
        {"?cursor=E5", "cursor-invalid"},
        {"?cursor=effffffffffffffff", "cursor-invalid"},
        {"?cursor=e11111111111111111", "cursor-invalid"},
        {"?cursor=e5%20", "cursor-invalid"},
        {"?cursor=%27%20or%20true--", "cursor-invalid"},
    };
    AccountName a;
    (void)state;
    bank_open(client, 1, 5, a);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Response response;
        list(a, cases[i].query, &response);
        check(response.status == 400, "%s: %d %s", cases[i].query, response.status, response.body);
        response_expect(&response, 400, cases[i].code);
        response_done(&response);
    }
}

/* With a cursor that the API need not have given. */
static void list_behind(const char *account, int64_t seq, Response *ret_response)
{
    char cursor[CURSOR_MAX + 1];
    char query[CURSOR_MAX + 16];
    cursor_write_seq(account, seq, cursor);
    snprintf(query, sizeof query, "?cursor=%s", cursor);
    list(account, query, ret_response);
}

static void a_cursor_of_another_account_is_400(void **state)
{
    AccountName a;
    AccountName b;
    char query[CURSOR_MAX + 16];
    Response response;
    (void)state;
    bank_open(client, 1, 5, a);
    bank_open(client, 1, 5, b);
    bank_expect(client, &(Payment){a, b, 1, bank_key()}, 201, NULL, NULL);
    list(a, "?limit=1", &response);
    response_expect(&response, 200, NULL);
    snprintf(query, sizeof query, "?cursor=%s", response_string(&response, "next_cursor"));
    response_done(&response);
    list(b, query, &response);
    response_expect(&response, 400, "cursor-invalid");
    response_done(&response);
    list(a, query, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(item_count(&response), 1);
    response_done(&response);
}

/* A cursor beyond either end is one of this list all the same. */
static void a_cursor_beyond_the_ends_is_harmless(void **state)
{
    AccountName a;
    Response response;
    (void)state;
    bank_open(client, 1, 5, a);
    list_behind(a, 1, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(item_count(&response), 0);
    assert_int_equal(json_kind(response_value(&response, "next_cursor")), JSON_KIND_NULL);
    response_done(&response);
    list_behind(a, INT64_MAX, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(item_count(&response), 1);
    response_done(&response);
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        with_books(entries_show_both_sides_of_a_transfer_newest_first),
        with_books(refused_and_repeated_transfers_leave_no_entry),
        with_books(an_account_without_entries_has_an_empty_list),
        with_books(a_page_has_100_entries_unless_a_limit_is_given),
        with_books(pages_neither_repeat_nor_miss_while_entries_are_written),
        with_books(a_page_reads_the_same_again),
        with_books(wrong_parameters_and_cursors_are_400),
        with_books(a_cursor_of_another_account_is_400),
        with_books(a_cursor_beyond_the_ends_is_harmless),
    };
    return cmocka_run_group_tests_name("entries", tests, start, fixture_stop);
}
