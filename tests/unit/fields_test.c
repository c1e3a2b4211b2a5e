/* Bodies, headers and query values, judged to the letter of the API. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "api/fields.h"

#include <stdio.h>
#include <string.h>

typedef bool Reader(const Json *body, Arena *arena, Fault *fault);

static bool read_transfer(const Json *body, Arena *arena, Fault *fault)
{
    TransferRequest transfer;
    return fields_transfer(body, arena, &transfer, fault);
}

static bool read_account(const Json *body, Arena *arena, Fault *fault)
{
    AccountBody account;
    return fields_account(body, arena, &account, fault);
}

static bool read_patch(const Json *body, Arena *arena, Fault *fault)
{
    PatchBody patch;
    (void)arena;
    return fields_patch(body, &patch, fault);
}

static bool read_failpoint(const Json *body, Arena *arena, Fault *fault)
{
    FailpointBody failpoint;
    (void)arena;
    return fields_failpoint(body, &failpoint, fault);
}

static bool read_batch(const Json *body, Arena *arena, Fault *fault)
{
    const Json *items;
    (void)arena;
    return fields_batch(body, &items, fault);
}

/* Also that the key is the one without quotes. */
static bool read_item(const Json *body, Arena *arena, Fault *fault)
{
    TransferRequest transfer;
    if (!fields_batch_item(body, arena, &transfer, fault))
        return false;
    assert_string_equal(transfer.idempotency_key, "k1");
    return true;
}

/* "ok", or the code and the pointer of the fault. */
static void judge(Reader *reader, const char *text, char *ret_verdict, size_t size)
{
    Error error;
    Fault fault;
    Arena *arena = arena_new(64 * 1024);
    Json *body = json_parse(text, strlen(text), &error);
    if (body == NULL)
        fail_msg("%s: %s", text, error.text);
    if (reader(body, arena, &fault))
        snprintf(ret_verdict, size, "ok");
    else
    {
        assert_true(strlen(fault.detail) > 0);
        snprintf(ret_verdict, size, "%s %s", error_row(fault.code)->name, fault.pointer);
    }
    json_free(body);
    arena_free(arena);
}

typedef struct BodyCase
{
    const char *text;
    const char *verdict;
} BodyCase;

static void expect(Reader *reader, const BodyCase *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        char verdict[256];
        judge(reader, cases[i].text, verdict, sizeof verdict);
        if (strcmp(verdict, cases[i].verdict) != 0)
            fail_msg("%s: %s, not %s", cases[i].text, verdict, cases[i].verdict);
    }
}

#define T "\"debit_account\":\"a\",\"credit_account\":\"b\",\"currency\":\"EUR\""
#define A "{" T ",\"amount\":"

static void amounts_are_exact(void **state)
{
    static const BodyCase cases[] = {
        {A "1}", "ok"},
        {A "9007199254740991}", "ok"},
        {A "9007199254740992}", "amount-invalid /amount"},
        {A "9223372036854775807}", "amount-invalid /amount"},
        {A "9223372036854775808}", "amount-invalid /amount"},
        {A "123456789012345678901234567890}", "amount-invalid /amount"},
        {A "0}", "amount-invalid /amount"},
        {A "-0}", "amount-invalid /amount"},
        {A "-1}", "amount-invalid /amount"},
        {A "-9223372036854775808}", "amount-invalid /amount"},
        {A "1.0}", "amount-invalid /amount"},
        {A "0.5}", "amount-invalid /amount"},
        {A "1e3}", "amount-invalid /amount"},
        {A "1E0}", "amount-invalid /amount"},
        {A "1e400}", "amount-invalid /amount"},
        {A "\"1\"}", "amount-invalid /amount"},
        {A "\"\"}", "amount-invalid /amount"},
        {A "null}", "amount-invalid /amount"},
        {A "true}", "amount-invalid /amount"},
        {A "[1]}", "amount-invalid /amount"},
        {A "{}}", "amount-invalid /amount"},
        {"{" T "}", "body-invalid /amount"},
    };
    (void)state;
    expect(read_transfer, cases, ARRAY_LENGTH(cases));
}

static void transfers_have_their_shape(void **state)
{
    static const BodyCase cases[] = {
        {"[]", "body-invalid "},
        {"null", "body-invalid "},
        {"1", "body-invalid "},
        {"\"x\"", "body-invalid "},
        {"{}", "body-invalid /debit_account"},
        {"{" T ",\"amount\":1,\"extra\":1}", "body-invalid /extra"},
        {"{" T ",\"amount\":1,\"a/b~c\":1}", "body-invalid /a~1b~0c"},
        {"{" T ",\"amount\":1,\"Amount\":1}", "body-invalid /Amount"},
        {"{\"debit_account\":1,\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         "body-invalid /debit_account"},
        {"{\"debit_account\":null,\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         "body-invalid /debit_account"},
        {"{\"debit_account\":\"a\",\"amount\":1,\"currency\":\"EUR\"}",
         "body-invalid /credit_account"},
        {"{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":1}",
         "body-invalid /currency"},
        {"{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":\"x\",\"currency\":1}",
         "body-invalid /currency"},
        {"{\"debit_account\":\"\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         "account-id-invalid /debit_account"},
        {"{\"debit_account\":\"a\",\"credit_account\":\"b c\",\"amount\":1,\"currency\":\"EUR\"}",
         "account-id-invalid /credit_account"},
        {"{\"debit_account\":\"..\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         "account-id-invalid /debit_account"},
        {"{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"eur\"}",
         "currency-invalid /currency"},
        {"{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EU\"}",
         "currency-invalid /currency"},
        /* the same account twice is the judge's business */
        {"{\"debit_account\":\"a\",\"credit_account\":\"a\",\"amount\":1,\"currency\":\"EUR\"}",
         "ok"},
        {"{" T ",\"amount\":1,\"mode\":\"auto\"}", "ok"},
        {"{" T ",\"amount\":1,\"mode\":\"2pc\"}", "ok"},
        {"{" T ",\"amount\":1,\"mode\":\"saga\"}", "ok"},
        {"{" T ",\"amount\":1,\"mode\":null}", "ok"},
        {"{" T ",\"amount\":1,\"mode\":\"local\"}", "body-invalid /mode"},
        {"{" T ",\"amount\":1,\"mode\":\"2PC\"}", "body-invalid /mode"},
        {"{" T ",\"amount\":1,\"mode\":2}", "body-invalid /mode"},
        {"{" T ",\"amount\":1,\"reference\":\"\xc3\xa9\"}", "ok"},
        {"{" T ",\"amount\":1,\"reference\":null}", "ok"},
        {"{" T ",\"amount\":1,\"reference\":7}", "body-invalid /reference"},
        {"{" T ",\"amount\":1,\"deadline_ms\":1}", "ok"},
        {"{" T ",\"amount\":1,\"deadline_ms\":0}", "body-invalid /deadline_ms"},
        {"{" T ",\"amount\":1,\"deadline_ms\":1.5}", "body-invalid /deadline_ms"},
        {"{" T ",\"amount\":1,\"deadline_ms\":\"1\"}", "body-invalid /deadline_ms"},
        {"{" T ",\"amount\":1,\"metadata\":{}}", "ok"},
        {"{" T ",\"amount\":1,\"metadata\":{\"a\":\"b\"}}", "ok"},
        {"{" T ",\"amount\":1,\"metadata\":null}", "ok"},
        {"{" T ",\"amount\":1,\"metadata\":[]}", "body-invalid /metadata"},
        {"{" T ",\"amount\":1,\"metadata\":{\"a\":1}}", "body-invalid /metadata"},
        {"{" T ",\"amount\":1,\"metadata\":{\"a\":null}}", "body-invalid /metadata"},
        {"{" T ",\"amount\":1,\"metadata\":{\"a\":{}}}", "body-invalid /metadata"},
    };
    (void)state;
    expect(read_transfer, cases, ARRAY_LENGTH(cases));
}

static void shape_is_judged_before_values(void **state)
{
    static const BodyCase cases[] = {
        {A "0,\"zzz\":1}", "body-invalid /zzz"},
        {A "0,\"mode\":\"x\"}", "body-invalid /mode"},
        {"{\"amount\":0,\"currency\":\"\",\"debit_account\":\"\"}", "body-invalid /credit_account"},
    };
    (void)state;
    expect(read_transfer, cases, ARRAY_LENGTH(cases));
}

static void long_fields_are_refused(void **state)
{
    static const struct
    {
        const char *format;
        size_t length;
        const char *verdict;
    } cases[] = {
        {"{" T ",\"amount\":1,\"reference\":\"%s\"}", 128, "ok"},
        {"{" T ",\"amount\":1,\"reference\":\"%s\"}", 129, "body-invalid /reference"},
        {"{" T ",\"amount\":1,\"metadata\":{\"a\":\"%s\"}}", 4096 - 8, "ok"},
        {"{" T ",\"amount\":1,\"metadata\":{\"a\":\"%s\"}}", 4096 - 7, "body-invalid /metadata"},
        {"{\"debit_account\":\"%s\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         96, "ok"},
        {"{\"debit_account\":\"%s\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         97, "account-id-invalid /debit_account"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char filler[5000];
        char text[6000];
        char verdict[256];
        memset(filler, 'x', cases[i].length);
        filler[cases[i].length] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, cases[i].format, filler);
#pragma GCC diagnostic pop
        judge(read_transfer, text, verdict, sizeof verdict);
        assert_string_equal(verdict, cases[i].verdict);
    }
}

static void reads_all_of_a_transfer(void **state)
{
    static const char text[] = "{" T ",\"amount\":25,\"mode\":\"2pc\",\"reference\":\"r\","
                               "\"metadata\":{\"z\":\"1\",\"a\":\"2\"},\"deadline_ms\":900}";
    Error error;
    Fault fault;
    TransferRequest body;
    (void)state;
    Arena *arena = arena_new(64 * 1024);
    Json *document = json_parse(text, strlen(text), &error);
    assert_true(fields_transfer(document, arena, &body, &fault));
    assert_string_equal(body.debit_account, "a");
    assert_string_equal(body.credit_account, "b");
    assert_string_equal(body.currency, "EUR");
    assert_int_equal(body.amount, 25);
    assert_int_equal(body.mode, MODE_2PC);
    assert_string_equal(body.reference, "r");
    assert_string_equal(body.metadata, "{\"a\":\"2\",\"z\":\"1\"}");
    assert_int_equal(body.deadline_ms, 900);
    json_free(document);
    arena_free(arena);
}

static void items_of_a_batch_have_the_fields_of_a_transfer_and_a_key(void **state)
{
#define ITEM "{" T ",\"amount\":1,\"idempotency_key\":"
    static const BodyCase cases[] = {
        {ITEM "\"k1\"}", "ok"},
        {ITEM "\"\\\"k1\\\"\"}", "ok"},
        {ITEM "\"k1\",\"mode\":\"saga\",\"deadline_ms\":9,\"metadata\":{\"a\":\"b\"}}", "ok"},
        {"{" T ",\"amount\":1}", "idempotency-key-missing /idempotency_key"},
        {ITEM "null}", "idempotency-key-missing /idempotency_key"},
        {ITEM "1}", "body-invalid /idempotency_key"},
        {ITEM "\"\"}", "idempotency-key-invalid /idempotency_key"},
        {ITEM "\"a b\"}", "idempotency-key-invalid /idempotency_key"},
        {ITEM "\" k1\"}", "idempotency-key-invalid /idempotency_key"},
        {ITEM "\"\u00e9\"}", "idempotency-key-invalid /idempotency_key"},
        {ITEM "\"k1\",\"x/y\":1}", "body-invalid /x~1y"},
        {"{" T ",\"idempotency_key\":\"k1\"}", "body-invalid /amount"},
        {"{" T ",\"idempotency_key\":\"k1\",\"amount\":0}", "amount-invalid /amount"},
        {"[]", "body-invalid "},
        {"null", "body-invalid "},
    };
    static const BodyCase single[] = {{ITEM "\"k1\"}", "body-invalid /idempotency_key"}};
    (void)state;
    expect(read_item, cases, ARRAY_LENGTH(cases));
    expect(read_transfer, single, ARRAY_LENGTH(single));
}

static void a_batch_has_one_to_5000_items(void **state)
{
    static const BodyCase cases[] = {
        {"{\"transfers\":[1]}", "ok"},
        {"{\"transfers\":[]}", "body-invalid /transfers"},
        {"{\"transfers\":{}}", "body-invalid /transfers"},
        {"{\"transfers\":null}", "body-invalid /transfers"},
        {"{\"transfers\":[1],\"wait\":1}", "body-invalid /wait"},
        {"{}", "body-invalid /transfers"},
        {"[]", "body-invalid "},
    };
    (void)state;
    expect(read_batch, cases, ARRAY_LENGTH(cases));
}

static void accounts_have_their_shape(void **state)
{
    static const BodyCase cases[] = {
        {"{\"id\":\"a\",\"currency\":\"EUR\"}", "ok"},
        {"{\"id\":\"a:b@c-d_e.f\",\"currency\":\"POINTS12\"}", "ok"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"floor\":0}", "ok"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"floor\":null}", "ok"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"floor\":-9007199254740991}", "ok"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"floor\":-9007199254740992}", "body-invalid /floor"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"floor\":1}", "body-invalid /floor"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"floor\":-1.0}", "body-invalid /floor"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"floor\":\"0\"}", "body-invalid /floor"},
        {"{\"id\":\"a\",\"currency\":\"EUR\",\"balance\":5}", "body-invalid /balance"},
        {"{\"id\":\"a\"}", "body-invalid /currency"},
        {"{\"currency\":\"EUR\"}", "body-invalid /id"},
        {"{\"id\":\"a/b\",\"currency\":\"EUR\"}", "account-id-invalid /id"},
        {"{\"id\":\".\",\"currency\":\"EUR\"}", "account-id-invalid /id"},
        {"{\"id\":\"\xc3\xa9\",\"currency\":\"EUR\"}", "account-id-invalid /id"},
        {"{\"id\":\"a\",\"currency\":\"EURO56789\"}", "currency-invalid /currency"},
        {"{\"id\":\"a\",\"currency\":\"\"}", "currency-invalid /currency"},
    };
    (void)state;
    expect(read_account, cases, ARRAY_LENGTH(cases));
}

static void patches_need_a_reason_and_a_change(void **state)
{
    static const BodyCase cases[] = {
        {"{\"reason\":\"0123456789\",\"status\":\"frozen\"}", "ok"},
        {"{\"reason\":\"0123456789\",\"floor\":null}", "ok"},
        {"{\"reason\":\"0123456789\",\"floor\":-5,\"status\":\"open\"}", "ok"},
        {"{\"reason\":\"012345678\",\"status\":\"frozen\"}", "body-invalid /reason"},
        /* nine characters in eighteen bytes */
        {"{\"reason\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\","
         "\"status\":\"frozen\"}",
         "body-invalid /reason"},
        {"{\"status\":\"frozen\"}", "body-invalid /reason"},
        {"{\"reason\":null,\"status\":\"frozen\"}", "body-invalid /reason"},
        {"{\"reason\":\"0123456789\"}", "body-invalid "},
        {"{\"reason\":\"0123456789\",\"status\":null}", "body-invalid "},
        {"{\"reason\":\"0123456789\",\"status\":\"Frozen\"}", "body-invalid /status"},
        {"{\"reason\":\"0123456789\",\"status\":1}", "body-invalid /status"},
        {"{\"reason\":\"0123456789\",\"currency\":\"EUR\"}", "body-invalid /currency"},
    };
    (void)state;
    expect(read_patch, cases, ARRAY_LENGTH(cases));
}

static void failpoints_have_their_shape(void **state)
{
    static const BodyCase cases[] = {
        {"{\"action\":\"crash\"}", "ok"},
        {"{\"action\":\"pause\",\"ms\":100,\"count\":3}", "ok"},
        {"{}", "body-invalid /action"},
        {"{\"action\":\"pause\",\"ms\":-1}", "body-invalid /ms"},
        {"{\"action\":\"pause\",\"count\":0}", "body-invalid /count"},
        {"{\"action\":\"pause\",\"skip\":-1}", "body-invalid /skip"},
        {"{\"action\":\"pause\",\"seconds\":1}", "body-invalid /seconds"},
        {"{\"action\":\"stop\",\"account\":\"alice\"}", "ok"},
        {"{\"action\":\"stop\",\"account\":\"a b\"}", "body-invalid /account"},
    };
    (void)state;
    expect(read_failpoint, cases, ARRAY_LENGTH(cases));
}

static void keys_lose_their_quotes_and_nothing_else(void **state)
{
    static const struct
    {
        const char *header;
        const char *key; /* NULL: refused */
    } cases[] = {
        {"k", "k"},      {"\"k\"", "k"},     {"  k\t", "k"}, {"a-b_c:d/e,f;g", "a-b_c:d/e,f;g"},
        {"\"", "\""},    {"\"k", "\"k"},     {"k\"", "k\""}, {"\"\"k\"\"", "\"k\""},
        {"", NULL},      {"   ", NULL},      {"\"\"", NULL}, {"a b", NULL},
        {"a, a", NULL},  {"\" k\"", NULL},   {"a\tb", NULL}, {"a\x01", NULL},
        {"a\x7f", NULL}, {"\xc3\xa9", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Fault fault;
        char key[IDEMPOTENCY_KEY_MAX + 1];
        bool good = fields_key(cases[i].header, key, &fault);
        if (good != (cases[i].key != NULL))
            fail_msg("<%s>", cases[i].header);
        if (good)
            assert_string_equal(key, cases[i].key);
        else
            assert_int_equal(fault.code, ERROR_IDEMPOTENCY_KEY_INVALID);
    }
}

static void keys_are_bounded(void **state)
{
    char header[300];
    char key[IDEMPOTENCY_KEY_MAX + 1];
    Fault fault;
    (void)state;
    memset(header, 'k', sizeof header);
    header[256] = '\0';
    assert_false(fields_key(header, key, &fault));
    header[255] = '\0';
    assert_true(fields_key(header, key, &fault));
    assert_int_equal(strlen(key), 255);
    header[0] = '"';
    header[256] = '"';
    header[255] = 'k';
    header[257] = '\0';
    assert_true(fields_key(header, key, &fault));
    assert_false(fields_key(NULL, key, &fault));
    assert_int_equal(fault.code, ERROR_IDEMPOTENCY_KEY_MISSING);
}

static void preferences_are_read_where_they_are_understood(void **state)
{
    static const struct
    {
        const char *header;
        int wait_s; /* -1: refused */
        bool async;
    } cases[] = {
        {"", 5, false},
        {"wait=1", 1, false},
        {"Wait=30", 30, false},
        {"wait=31", 30, false},
        {"wait=999999999", 30, false},
        {"wait=0", 0, false},
        {"wait = 7 ; x=y", 7, false},
        {"respond-async", 5, true},
        {"respond-async, wait=10", 10, true},
        {"return=minimal,,RESPOND-ASYNC", 5, true},
        {"waiting=x, respond-asynchronously", 5, false},
        {"wait", -1, false},
        {"wait=", -1, false},
        {"wait=x", -1, false},
        {"wait=-1", -1, false},
        {"wait=1.5", -1, false},
        {"wait=\"5\"", -1, false},
        {"wait=9999999999", -1, false},
        {"wait, wait=5", -1, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Fault fault;
        Preferences preferences = {.wait_s = WAIT_S_DEFAULT};
        bool good = fields_prefer(cases[i].header, &preferences, &fault);
        if (good != (cases[i].wait_s >= 0))
            fail_msg("<%s>", cases[i].header);
        if (!good)
            continue;
        assert_int_equal(preferences.wait_s, cases[i].wait_s);
        assert_int_equal(preferences.respond_async, cases[i].async);
    }
}

static void media_types_are_compared_without_parameters_but_charset(void **state)
{
    static const char *const good[] = {"application/json",
                                       "Application/JSON",
                                       "application/json; charset=utf-8",
                                       " application/json ;x",
                                       "application/json;charset=\"UTF-8\" ; version=1",
                                       "application/json; Charset=UTF-8;"};
    static const char *const bad[] = {"",
                                      "text/plain",
                                      "application/jsonx",
                                      "application",
                                      "application/json, text/plain",
                                      "application/merge-patch+json",
                                      "application/json; charset=iso-8859-1",
                                      "application/json; a=b ; charset=\"utf-16\"",
                                      "application/json; charset=utf-8; charset=latin1",
                                      "application/json; charset="};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
        assert_true(fields_is_json(good[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_false(fields_is_json(bad[i]));
    assert_false(fields_is_json(NULL));
}

static void limits_are_bounded(void **state)
{
    static const char *const bad[] = {"",    "0",  "1001", "-1",        "+1",
                                      "1.0", " 1", "1e2",  "9999999999"};
    Fault fault;
    int limit;
    (void)state;
    assert_true(fields_limit(NULL, &limit, &fault));
    assert_int_equal(limit, 100);
    assert_true(fields_limit("1000", &limit, &fault));
    assert_int_equal(limit, 1000);
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
    {
        assert_false(fields_limit(bad[i], &limit, &fault));
        assert_int_equal(fault.code, ERROR_PARAMETER_INVALID);
    }
}

static void a_reconciliation_is_full_or_not(void **state)
{
    static const char *const bad[] = {"[]", "{\"full\":null}", "{\"full\":1}",
                                      "{\"full\":true,\"shard\":\"a\"}"};
    Error error;
    Fault fault;
    bool full = false;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
    {
        Json *body = json_parse(bad[i], strlen(bad[i]), &error);
        if (fields_reconciliation(body, &full, &fault))
            fail_msg("%s", bad[i]);
        json_free(body);
    }
    Json *body = json_parse("{\"full\":true}", strlen("{\"full\":true}"), &error);
    assert_true(fields_reconciliation(body, &full, &fault));
    assert_true(full);
    json_free(body);
    body = json_parse("{}", strlen("{}"), &error);
    assert_true(fields_reconciliation(body, &full, &fault));
    assert_false(full);
    json_free(body);
}

static void an_action_needs_a_reason(void **state)
{
    static const char *const bad[] = {"[]",
                                      "{}",
                                      "{\"reason\":null}",
                                      "{\"reason\":1}",
                                      "{\"reason\":\"123456789\"}",
                                      "{\"reason\":\"1234567890\",\"outcome\":\"posted\"}"};
    Error error;
    Fault fault;
    const char *reason = NULL;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
    {
        Json *body = json_parse(bad[i], strlen(bad[i]), &error);
        assert_non_null(body);
        if (fields_action(body, &reason, &fault))
            fail_msg("%s", bad[i]);
        assert_int_equal(fault.code, ERROR_BODY_INVALID);
        json_free(body);
    }
    static const char good[] = "{\"reason\":\"ten \u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\"}";
    Json *body = json_parse(good, strlen(good), &error);
    assert_true(fields_action(body, &reason, &fault));
    assert_string_equal(reason, "ten \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
    json_free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_exact),
        cmocka_unit_test(transfers_have_their_shape),
        cmocka_unit_test(shape_is_judged_before_values),
        cmocka_unit_test(long_fields_are_refused),
        cmocka_unit_test(reads_all_of_a_transfer),
        cmocka_unit_test(items_of_a_batch_have_the_fields_of_a_transfer_and_a_key),
        cmocka_unit_test(a_batch_has_one_to_5000_items),
        cmocka_unit_test(accounts_have_their_shape),
        cmocka_unit_test(patches_need_a_reason_and_a_change),
        cmocka_unit_test(failpoints_have_their_shape),
        cmocka_unit_test(keys_lose_their_quotes_and_nothing_else),
        cmocka_unit_test(keys_are_bounded),
        cmocka_unit_test(preferences_are_read_where_they_are_understood),
        cmocka_unit_test(media_types_are_compared_without_parameters_but_charset),
        cmocka_unit_test(limits_are_bounded),
        cmocka_unit_test(a_reconciliation_is_full_or_not),
        cmocka_unit_test(an_action_needs_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
