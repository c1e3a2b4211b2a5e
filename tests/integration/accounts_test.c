/*
 * The account contract of the API, on real shards: what is created, found and shown, and what is
 * refused. Changes are in changes_test.c, the list of entries is in entries_test.c.
 */
#include "fixture.h"
#include "sql.h"

#include <stdio.h>
#include <string.h>

static Cluster *cluster;
static Client *client;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){0}, &cluster, &client);
    return 0;
}

static void create(const char *body, Response *ret_response)
{
    client_call(client, &(Request){.path = "/v1/accounts", .body = body}, ret_response);
}

static void expect_create(const char *body, int status, const char *code)
{
    Response response;
    create(body, &response);
    check(response.status == status, "%s: %d %s", body, response.status, response.body);
    response_expect(&response, status, code);
    response_done(&response);
}

/* `segment` is put into the path as it is. */
static void get(const char *segment, Response *ret_response)
{
    char path[512];
    snprintf(path, sizeof path, "/v1/accounts/%s", segment);
    client_call(client, &(Request){.path = path}, ret_response);
}

static void expect_get(const char *segment, int status, const char *code)
{
    Response response;
    get(segment, &response);
    check(response.status == status, "%s: %d %s", segment, response.status, response.body);
    response_expect(&response, status, code);
    response_done(&response);
}

static bool is_null(const Response *response, const char *path)
{
    const Json *value = response_value(response, path);
    return value != NULL && json_kind(value) == JSON_KIND_NULL;
}

/* ---- create --------------------------------------------------------------------------------- */

static void a_new_account_is_201_and_the_same_again_200(void **state)
{
    static const char body[] = "{\"id\":\"twice\",\"currency\":\"EUR\",\"metadata\":{\"a\":\"b\"}}";
    Response response;
    char location[128];
    (void)state;
    create(body, &response);
    response_expect(&response, 201, NULL);
    assert_true(response_header(&response, "Location", location, sizeof location));
    assert_string_equal(location, "/v1/accounts/twice");
    assert_int_equal(response_integer(&response, "balance"), 0);
    assert_int_equal(response_integer(&response, "floor"), 0);
    response_done(&response);
    create("{\"currency\":\"EUR\",\"id\":\"twice\"}", &response);
    response_expect(&response, 200, NULL);
    assert_false(response_header(&response, "Location", location, sizeof location));
    assert_string_equal(response_string(&response, "metadata.a"), "b");
    response_done(&response);
}

static void an_account_that_exists_is_answered_with_its_state_now(void **state)
{
    AccountName a;
    AccountName b;
    char body[256];
    Response response;
    (void)state;
    bank_open(client, 1, 100, a);
    bank_open(client, 2, 0, b);
    bank_expect(client, &(Payment){a, b, 30, bank_key()}, 201, NULL, NULL);
    snprintf(body, sizeof body, "{\"id\":\"%s\",\"currency\":\"EUR\",\"floor\":0}", a);
    create(body, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(response_integer(&response, "balance"), 70);
    assert_int_equal(response_integer(&response, "version"), 2);
    response_done(&response);
}

static void another_currency_or_floor_is_409(void **state)
{
    (void)state;
    expect_create("{\"id\":\"owned\",\"currency\":\"EUR\",\"floor\":-10}", 201, NULL);
    expect_create("{\"id\":\"owned\",\"currency\":\"EUR\",\"floor\":-10}", 200, NULL);
    expect_create("{\"id\":\"owned\",\"currency\":\"EUR\"}", 200, NULL);
    expect_create("{\"id\":\"owned\",\"currency\":\"EUR\",\"floor\":0}", 409, "account-exists");
    expect_create("{\"id\":\"owned\",\"currency\":\"EUR\",\"floor\":null}", 409, "account-exists");
    expect_create("{\"id\":\"owned\",\"currency\":\"USD\"}", 409, "account-exists");
    expect_create("{\"id\":\"boundless\",\"currency\":\"EUR\",\"floor\":null}", 201, NULL);
    expect_create("{\"id\":\"boundless\",\"currency\":\"EUR\",\"floor\":null}", 200, NULL);
    expect_create("{\"id\":\"boundless\",\"currency\":\"EUR\",\"floor\":0}", 409, "account-exists");
}

static void a_floor_is_null_or_an_integer_up_to_0(void **state)
{
    static const char *const wrong[] = {"1",  "-1.0",  "-1e3", "\"0\"",
                                        "[]", "false", "0.0",  "-9007199254740992"};
    Response response;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
    {
        char body[128];
        snprintf(body, sizeof body, "{\"id\":\"floored\",\"currency\":\"EUR\",\"floor\":%s}",
                 wrong[i]);
        expect_create(body, 400, "body-invalid");
    }
    expect_get("floored", 404, "account-not-found");
    create("{\"id\":\"deep\",\"currency\":\"EUR\",\"floor\":-9007199254740991}", &response);
    response_expect(&response, 201, NULL);
    assert_int_equal(response_integer(&response, "floor"), INT64_C(-9007199254740991));
    response_done(&response);
    create("{\"id\":\"bottomless\",\"currency\":\"EUR\",\"floor\":null}", &response);
    response_expect(&response, 201, NULL);
    assert_true(is_null(&response, "floor"));
    response_done(&response);
}

/* The balance may go down to the floor and not one unit further. */
static void a_floor_is_kept_to_the_unit(void **state)
{
    AccountName sink;
    (void)state;
    bank_open(client, 2, 0, sink);
    expect_create("{\"id\":\"overdraft\",\"currency\":\"EUR\",\"floor\":-10}", 201, NULL);
    bank_expect(client, &(Payment){"overdraft", sink, 11, bank_key()}, 422, "insufficient-funds",
                NULL);
    bank_expect(client, &(Payment){"overdraft", sink, 10, bank_key()}, 201, NULL, NULL);
    bank_expect(client, &(Payment){"overdraft", sink, 1, bank_key()}, 422, "insufficient-funds",
                NULL);
    assert_int_equal(bank_balance(client, "overdraft"), -10);
}

static void ids_have_1_to_96_of_their_letters(void **state)
{
    static const char longest[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@-"
        "abcdefghijklmnopqrstuvwxyz.._";
    static const char *const right[] = {"x", "...", ".a", ":", "@", "-", "_", longest};
    static const char *const wrong[] = {"",    ".",      "..",         "a b",   "a/b", "a%b", "a+b",
                                        "a,b", "a\\\\b", "caf\\u00e9", "a\\nb", "~",   "a?b"};
    char body[256];
    (void)state;
    assert_int_equal(strlen(longest), ACCOUNT_ID_MAX);
    for (size_t i = 0; i < ARRAY_LENGTH(right); i++)
    {
        snprintf(body, sizeof body, "{\"id\":\"%s\",\"currency\":\"EUR\"}", right[i]);
        expect_create(body, 201, NULL);
        expect_get(right[i], 200, NULL);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
    {
        snprintf(body, sizeof body, "{\"id\":\"%s\",\"currency\":\"EUR\"}", wrong[i]);
        expect_create(body, 422, "account-id-invalid");
    }
    snprintf(body, sizeof body, "{\"id\":\"%sx\",\"currency\":\"EUR\"}", longest);
    expect_create(body, 422, "account-id-invalid");
}

static void currencies_have_3_to_8_of_their_letters(void **state)
{
    static const char *const right[] = {"EUR", "USDC", "X1234567", "000"};
    static const char *const wrong[] = {"",     "EU",  "EURO56789",     "eur",
                                        "EU R", "EU-", "\\u20ac\\u20ac"};
    char body[128];
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(right); i++)
    {
        snprintf(body, sizeof body, "{\"id\":\"money-%zu\",\"currency\":\"%s\"}", i, right[i]);
        expect_create(body, 201, NULL);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
    {
        snprintf(body, sizeof body, "{\"id\":\"no-money\",\"currency\":\"%s\"}", wrong[i]);
        expect_create(body, 422, "currency-invalid");
    }
    expect_get("no-money", 404, "account-not-found");
}

static void wrong_bodies_create_nothing(void **state)
{
    static const struct
    {
        const char *body;
        const char *code;
    } cases[] = {
        {"", "json-invalid"},
        {"{", "json-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\"} x", "json-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\"}{}", "json-invalid"},
        {"{\"id\":\"none\",\"id\":\"none\",\"currency\":\"EUR\"}", "json-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\",\"metadata\":{\"a\":\"b\",\"a\":\"b\"}}",
         "json-invalid"},
        {"{\"id\":\"none\\u0000\",\"currency\":\"EUR\"}", "json-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\",\"metadata\":{\"\\u0000\":\"b\"}}", "json-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\",\"metadata\":{\"a\":\"\xc3\"}}", "json-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\",\"metadata\":{\"a\":\"\\ud800\"}}", "json-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\",\"metadata\":"
         "[[[[[[[[[[[[[[[[\"deep\"]]]]]]]]]]]]]]]]}",
         "json-invalid"},
        {"[]", "body-invalid"},
        {"\"none\"", "body-invalid"},
        {"{\"id\":\"none\"}", "body-invalid"},
        {"{\"currency\":\"EUR\"}", "body-invalid"},
        {"{\"id\":7,\"currency\":\"EUR\"}", "body-invalid"},
        {"{\"id\":\"none\",\"currency\":null}", "body-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\",\"balance\":5}", "body-invalid"},
        {"{\"id\":\"none\",\"currency\":\"EUR\",\"Floor\":0}", "body-invalid"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        expect_create(cases[i].body, 400, cases[i].code);
    Response response;
    static const char with_nul[] = "{\"id\":\"none\",\"currency\":\"EUR\"}\0";
    client_call(
        client,
        &(Request){.path = "/v1/accounts", .body = with_nul, .body_length = sizeof with_nul},
        &response);
    response_expect(&response, 400, "json-invalid");
    response_done(&response);
    expect_get("none", 404, "account-not-found");
}

/* ---- metadata ------------------------------------------------------------------------------- */

/* {"k":"xxx…"} of that many bytes. */
static void post_metadata(const char *id, size_t bytes, Response *ret_response)
{
    char value[5000];
    char body[5200];
    assert_true(bytes > sizeof "{\"k\":\"\"}" && bytes < sizeof value);
    size_t length = bytes - (sizeof "{\"k\":\"\"}" - 1);
    memset(value, 'x', length);
    value[length] = '\0';
    snprintf(body, sizeof body, "{\"id\":\"%s\",\"currency\":\"EUR\",\"metadata\":{\"k\":\"%s\"}}",
             id, value);
    create(body, ret_response);
}

static void metadata_has_up_to_4_kib(void **state)
{
    Response response;
    (void)state;
    post_metadata("full", 4096, &response);
    response_expect(&response, 201, NULL);
    response_done(&response);
    get("full", &response);
    assert_int_equal(strlen(response_string(&response, "metadata.k")), 4096 - 8);
    response_done(&response);
    post_metadata("overfull", 4097, &response);
    response_expect(&response, 400, "body-invalid");
    assert_string_equal(response_string(&response, "errors.0.pointer"), "/metadata");
    response_done(&response);
    expect_get("overfull", 404, "account-not-found");
}

static void metadata_is_an_object_of_strings(void **state)
{
    static const char *const wrong[] = {"[]",        "\"a\"",        "1",
                                        "{\"a\":1}", "{\"a\":null}", "{\"a\":{\"b\":\"c\"}}"};
    char body[200];
    Response response;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
    {
        snprintf(body, sizeof body, "{\"id\":\"labels\",\"currency\":\"EUR\",\"metadata\":%s}",
                 wrong[i]);
        expect_create(body, 400, "body-invalid");
    }
    create("{\"id\":\"labels\",\"currency\":\"EUR\",\"metadata\":{\"\":\"\","
           "\"caf\\u00e9\":\"\\\"\\\\\\n\\ud83d\\ude00\",\"z\":\"1\"}}",
           &response);
    response_expect(&response, 201, NULL);
    assert_string_equal(response_string(&response, "metadata.caf\xc3\xa9"),
                        "\"\\\n\xf0\x9f\x98\x80");
    assert_string_equal(response_string(&response, "metadata.z"), "1");
    assert_int_equal(json_field_count(response_value(&response, "metadata")), 3);
    response_done(&response);
}

/* ---- many at once --------------------------------------------------------------------------- */

static void concurrent_twins_create_one_account(void **state)
{
    enum
    {
        TWINS = 40
    };
    static const char *const bodies[] = {"{\"id\":\"raced\",\"currency\":\"EUR\"}",
                                         "{\"id\":\"raced\",\"currency\":\"USD\"}"};
    Request requests[TWINS];
    Response responses[TWINS];
    int created = 0;
    (void)state;
    for (int i = 0; i < TWINS; i++)
        requests[i] = (Request){.path = "/v1/accounts", .body = bodies[i % 2]};
    client_call_all(client, requests, TWINS, responses);
    Response now;
    get("raced", &now);
    int winner = strcmp(response_string(&now, "currency"), "EUR") == 0 ? 0 : 1;
    for (int i = 0; i < TWINS; i++)
    {
        created += responses[i].status == 201;
        if (i % 2 != winner)
            response_expect(&responses[i], 409, "account-exists");
        else if (responses[i].status != 201)
            response_expect(&responses[i], 200, NULL);
    }
    response_done(&now);
    responses_done(responses, TWINS);
    assert_int_equal(created, 1);
}

/* ---- get ------------------------------------------------------------------------------------ */

static void an_account_shows_these_fields(void **state)
{
    static const char *const fields[] = {"id",       "currency",  "balance",    "floor",
                                         "status",   "version",   "in_transit", "route",
                                         "metadata", "created_at"};
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    bank_open(client, 3, 100, a);
    bank_open(client, 1, 0, b);
    bank_expect(client, &(Payment){a, b, 1, bank_key()}, 201, NULL, NULL);
    get(a, &response);
    response_expect(&response, 200, NULL);
    assert_null(json_field_unknown(response.json, fields, ARRAY_LENGTH(fields)));
    assert_int_equal(json_field_count(response.json), ARRAY_LENGTH(fields));
    assert_string_equal(response_string(&response, "id"), a);
    assert_string_equal(response_string(&response, "currency"), "EUR");
    assert_string_equal(response_string(&response, "status"), "open");
    assert_int_equal(response_integer(&response, "balance"), 99);
    assert_int_equal(response_integer(&response, "version"), 2);
    assert_int_equal(response_integer(&response, "in_transit"), 0);
    assert_int_equal(json_field_count(response_value(&response, "route")), 3);
    assert_string_equal(response_string(&response, "route.keyspace"), "");
    assert_string_equal(response_string(&response, "route.shard"), "shard-3");
    assert_int_equal(json_field_count(response_value(&response, "metadata")), 0);
    /* 2026-01-31T12:00:00.000000Z */
    const char *at = response_string(&response, "created_at");
    check(strlen(at) == 27 && at[10] == 'T' && at[19] == '.' && at[26] == 'Z', "%s", at);
    assert_true(sql_is(cluster_dsn(cluster, 0), "shard-3",
                       "select shard from giro_directory.read_partitions() where partition = %d",
                       (int)response_integer(&response, "route.partition")));
    response_done(&response);
    expect_get("nobody-at-all", 404, "account-not-found");
}

/* Segments are split first, then decoded: what is escaped never splits a path. */
static void paths_are_split_before_they_are_decoded(void **state)
{
    static const char *const same[] = {"tenant:anna@example.org", "tenant%3Aanna%40example.org",
                                       "%74enant:anna%40example%2Eorg",
                                       "tenant%3aanna@example.org"};
    static const char *const invalid[] = {"tenant:anna@example.org%2Fentries",
                                          "tenant:anna@example.org%2fentries",
                                          "%2E",
                                          "%2e%2E",
                                          ".",
                                          "..",
                                          "a%20b",
                                          "a+b",
                                          "%FF"};
    static const char *const malformed[] = {"a%2", "a%", "a%zz", "a%00"};
    (void)state;
    expect_create("{\"id\":\"tenant:anna@example.org\",\"currency\":\"EUR\"}", 201, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(same); i++)
    {
        Response response;
        get(same[i], &response);
        response_expect(&response, 200, NULL);
        assert_string_equal(response_string(&response, "id"), same[0]);
        response_done(&response);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(invalid); i++)
        expect_get(invalid[i], 422, "account-id-invalid");
    for (size_t i = 0; i < ARRAY_LENGTH(malformed); i++)
        expect_get(malformed[i], 400, "parameter-invalid");
    expect_get("tenant:anna@example.org/entries", 200, NULL);
    expect_get("tenant:anna@example.org%2Fentries", 422, "account-id-invalid");
    expect_get("", 404, "route-not-found");
    expect_get("a/b", 404, "route-not-found");
    expect_get("tenant:anna@example.org?balance=1", 400, "parameter-invalid");
    char decoded[3 * ACCOUNT_ID_MAX + 4] = "";
    for (int i = 0; i <= ACCOUNT_ID_MAX; i++)
        memcpy(decoded + (size_t)i * 3, "%41", 4);
    expect_get(decoded, 422, "account-id-invalid");
    decoded[(size_t)ACCOUNT_ID_MAX * 3] = '\0';
    expect_get(decoded, 404, "account-not-found");
}

/* ---- list ------------------------------------------------------------------------------------ */

/* Over all shards, in the order of the ids, whatever is created between the pages. */
static void accounts_of_a_prefix_are_listed_in_pages(void **state)
{
    enum
    {
        ACCOUNTS = 40
    };
    char body[128];
    char cursor[256] = "";
    char last[ACCOUNT_ID_MAX + 1] = "";
    size_t found = 0;
    bool more = true;
    (void)state;
    for (int i = 0; i < ACCOUNTS; i++)
    {
        snprintf(body, sizeof body, "{\"id\":\"listed:%02d\",\"currency\":\"EUR\"}", i);
        expect_create(body, 201, NULL);
    }
    for (int page = 0; more; page++)
    {
        char path[512];
        Response response;
        snprintf(path, sizeof path, "/v1/accounts?prefix=listed%%3A&limit=7%s%s",
                 cursor[0] != '\0' ? "&cursor=" : "", cursor);
        client_call(client, &(Request){.path = path}, &response);
        response_expect(&response, 200, NULL);
        size_t count = json_array_length(response_value(&response, "items"));
        assert_true(count <= 7);
        for (size_t i = 0; i < count; i++)
        {
            snprintf(path, sizeof path, "items.%zu.id", i);
            const char *id = response_string(&response, path);
            check(strcmp(last, id) < 0, "%s follows %s", id, last);
            snprintf(last, sizeof last, "%s", id);
            found += strlen(id) == strlen("listed:00");
        }
        more = !is_null(&response, "next_cursor");
        snprintf(cursor, sizeof cursor, "%s", response_string(&response, "next_cursor"));
        response_done(&response);
        snprintf(body, sizeof body, "{\"id\":\"listed:%02d-new\",\"currency\":\"EUR\"}",
                 page % 10 * 4);
        expect_create(body, page < 10 ? 201 : 200, NULL);
    }
    assert_int_equal(found, ACCOUNTS);
}

static void wrong_lists_of_accounts_are_400(void **state)
{
    static const struct
    {
        const char *query;
        const char *code;
    } cases[] = {
        {"limit=0", "parameter-invalid"},      {"limit=1001", "parameter-invalid"},
        {"prefix=a%20b", "parameter-invalid"}, {"cursor=!", "cursor-invalid"},
        {"status=open", "parameter-invalid"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char path[128];
        Response response;
        snprintf(path, sizeof path, "/v1/accounts?%s", cases[i].query);
        client_call(client, &(Request){.path = path}, &response);
        response_expect(&response, 400, cases[i].code);
        response_done(&response);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_new_account_is_201_and_the_same_again_200),
        with_books(an_account_that_exists_is_answered_with_its_state_now),
        with_books(another_currency_or_floor_is_409),
        with_books(a_floor_is_null_or_an_integer_up_to_0),
        with_books(a_floor_is_kept_to_the_unit),
        with_books(ids_have_1_to_96_of_their_letters),
        with_books(currencies_have_3_to_8_of_their_letters),
        with_books(wrong_bodies_create_nothing),
        with_books(metadata_has_up_to_4_kib),
        with_books(metadata_is_an_object_of_strings),
        with_books(concurrent_twins_create_one_account),
        with_books(an_account_shows_these_fields),
        with_books(paths_are_split_before_they_are_decoded),
        with_books(accounts_of_a_prefix_are_listed_in_pages),
        with_books(wrong_lists_of_accounts_are_400),
    };
    return cmocka_run_group_tests_name("accounts", tests, start, fixture_stop);
}
