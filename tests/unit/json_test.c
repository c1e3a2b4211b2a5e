/* What the reader takes and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "json/json.h"

#include <stdlib.h>
#include <string.h>

static Json *parse(const char *text)
{
    Error error;
    Json *document = json_parse(text, strlen(text), &error);
    if (document == NULL)
        fail_msg("%s: %s", text, error.text);
    return document;
}

static void refuse(const char *text, size_t length)
{
    Error error = {0};
    Json *document = json_parse(text, length, &error);
    if (document != NULL)
        fail_msg("accepted: %s", text);
    assert_int_equal(error.code, ERROR_JSON_INVALID);
    assert_true(strlen(error.text) > 0);
}

/* An array of `count` times the value. */
static char *array_of(const char *value, size_t count)
{
    size_t length = strlen(value);
    char *text = malloc(count * (length + 1) + 2);
    char *at = text;
    *at++ = '[';
    for (size_t i = 0; i < count; i++)
    {
        memcpy(at, value, length);
        at[length] = ',';
        at += length + 1;
    }
    memcpy(at - 1, "]", 2);
    return text;
}

static void bounds_the_number_of_values(void **state)
{
    static const struct
    {
        const char *value;
        size_t count;
        bool good;
    } cases[] = {
        {"{}", JSON_CONTAINERS_MAX - 1, true}, /* and the array around them */
        {"{}", JSON_CONTAINERS_MAX, false},
        {"1", JSON_VALUES_MAX, true},
        {"1", JSON_VALUES_MAX + 1, false},
        {"\"{[,,,,\"", JSON_VALUES_MAX / 4, true}, /* in strings they are text */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Error error;
        char *text = array_of(cases[i].value, cases[i].count);
        Json *document = json_parse(text, strlen(text), &error);
        assert_int_equal(document != NULL, cases[i].good);
        if (document != NULL)
            assert_int_equal(json_array_length(document), cases[i].count);
        else
            assert_int_equal(error.code, ERROR_JSON_INVALID);
        json_free(document);
        free(text);
    }
}

static void refuses_what_is_no_json(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1} x",
        "{\"a\":1}{\"a\":1}",
        "nul",
        "NaN",
        "Infinity",
        "-",
        "-x",
        "+1",
        "01",
        "-01",
        "00",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x10",
        "1.5.5",
        "--1.5",
        "1-2.5",
        "-1-1.5",
        "1+2.5",
        "1e5-1.5",
        "1.5e5e5",
        "1.5-",
        "01.5",
        "1-99999999999999999999",
        "-99999999999999999999-1",
        "[--1.5]",
        "{\"a\":1-2.5}",
        "1.5true",
        "true1.5",
        "\"a\"1.5",
        "1.5x",
        "1.55x",
        "1.55 5",
        "99999999999999999999x",
        "{\"a\":99999999999999999999\"b\":1}",
        "[1.25 true]",
        "[1.25true]",
        "\"a",
        "\"\\x\"",
        "\"\n\"",
        "\"\\u12\"",
        "\"\\u0000\"",
        "{\"\\u0000\":1}",
        "\"\\ud800\"",
        "\"\\udc00x\"",
        "\"\xff\"",
        "\"\xc0\xaf\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\xef\xbb\xbf{}",
        "/* c */ {}",
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"x\":{\"b\":1,\"b\":2}}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        refuse(texts[i], strlen(texts[i]));
    refuse("{\"a\":1}\0", 8);
    refuse("{\"a\":\"x\0y\"}", 11);
    refuse("\0", 1);
}

static void tells_integers_from_other_numbers(void **state)
{
    static const struct
    {
        const char *text;
        JsonKind kind;
        int64_t value;
    } cases[] = {
        {"0", JSON_KIND_INTEGER, 0},
        {"-0", JSON_KIND_INTEGER, 0},
        {"1", JSON_KIND_INTEGER, 1},
        {" 12 ", JSON_KIND_INTEGER, 12},
        {"-7", JSON_KIND_INTEGER, -7},
        {"9007199254740993", JSON_KIND_INTEGER, 9007199254740993},
        {"9223372036854775807", JSON_KIND_INTEGER, INT64_MAX},
        {"-9223372036854775808", JSON_KIND_INTEGER, INT64_MIN},
        {"9223372036854775808", JSON_KIND_NUMBER, 0},
        {"-9223372036854775809", JSON_KIND_NUMBER, 0},
        {"18446744073709551617", JSON_KIND_NUMBER, 0},
        {"100000000000000000000000000000000000000000", JSON_KIND_NUMBER, 0},
        {"1.0", JSON_KIND_NUMBER, 0},
        {"1.5", JSON_KIND_NUMBER, 0},
        {"1e3", JSON_KIND_NUMBER, 0},
        {"1E3", JSON_KIND_NUMBER, 0},
        {"-1e-3", JSON_KIND_NUMBER, 0},
        {"0e0", JSON_KIND_NUMBER, 0},
        {"-0.0E+00", JSON_KIND_NUMBER, 0},
        {"1e400", JSON_KIND_NUMBER, 0},
        {"-1.7976931348623157e+309", JSON_KIND_NUMBER, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Json *document = parse(cases[i].text);
        if (json_kind(document) != cases[i].kind)
            fail_msg("%s is of kind %d", cases[i].text, json_kind(document));
        if (cases[i].kind == JSON_KIND_INTEGER)
            assert_true(json_as_integer(document) == cases[i].value);
        json_free(document);
    }
}

static void numbers_inside_strings_are_left_alone(void **state)
{
    (void)state;
    Json *document = parse("{\"1e400\":\"1e400 99999999999999999999 \\\" 1e3 \\\\\",\"b\":1e400}");
    assert_string_equal(json_as_string(json_field(document, "1e400")),
                        "1e400 99999999999999999999 \" 1e3 \\");
    assert_int_equal(json_kind(json_field(document, "b")), JSON_KIND_NUMBER);
    json_free(document);
}

static void nesting_is_bounded(void **state)
{
    char text[2 * (JSON_DEPTH_MAX + 1) + 1];
    (void)state;
    for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++)
    {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        text[2 * depth] = '\0';
        if (depth <= JSON_DEPTH_MAX)
            json_free(parse(text));
        else
            refuse(text, 2 * depth);
    }
    json_free(parse("[\"[[[[[[[[[[[[[[[[[[[[[[\"]"));
}

static void gives_the_fields_in_their_order(void **state)
{
    static const char *const names[] = {"z", "a", "m"};
    void *position = NULL;
    const char *name;
    const Json *value;
    size_t count = 0;
    (void)state;
    Json *document = parse("{\"z\":true,\"a\":null,\"m\":[1,\"x\"]}");
    while (json_field_next(document, &position, &name, &value))
        assert_string_equal(name, names[count++]);
    assert_int_equal(count, 3);
    assert_int_equal(json_field_count(document), 3);
    assert_true(json_as_bool(json_field(document, "z")));
    assert_int_equal(json_kind(json_field(document, "a")), JSON_KIND_NULL);
    assert_null(json_field(document, "none"));
    const Json *array = json_field(document, "m");
    assert_int_equal(json_array_length(array), 2);
    assert_string_equal(json_as_string(json_array_at(array, 1)), "x");
    assert_string_equal(json_field_unknown(document, names, 2), "m");
    assert_null(json_field_unknown(document, names, 3));
    json_free(document);
    json_free(NULL);
}

static void dumps_compact_and_sorted(void **state)
{
    (void)state;
    Json *document = parse("{ \"b\" : \"\xc3\xa9\\n\", \"a\" : \"x\\\"\" }");
    char *text = json_dump(document);
    assert_string_equal(text, "{\"a\":\"x\\\"\",\"b\":\"\xc3\xa9\\n\"}");
    free(text);
    json_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_no_json),
        cmocka_unit_test(bounds_the_number_of_values),
        cmocka_unit_test(tells_integers_from_other_numbers),
        cmocka_unit_test(numbers_inside_strings_are_left_alone),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(gives_the_fields_in_their_order),
        cmocka_unit_test(dumps_compact_and_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
