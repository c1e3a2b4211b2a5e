/* Whatever goes in, valid JSON comes out, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "json/json.h"
#include "json/json_writer.h"

#include <stdlib.h>
#include <string.h>

static void writes_every_kind(void **state)
{
    (void)state;
    JsonWriter *writer = json_writer_new(4096);
    json_begin_object(writer, NULL);
    json_put_string(writer, "s", "a");
    json_put_string(writer, "n", NULL);
    json_put_integer(writer, "i", INT64_MIN);
    json_put_bool(writer, "b", true);
    json_put_null(writer, "z");
    json_put_raw(writer, "r", "{\"k\": 1}");
    json_put_raw(writer, "q", NULL);
    json_put_timestamp(writer, "t", 1);
    json_put_timestamp(writer, "u", 0);
    json_begin_array(writer, "a");
    json_put_integer(writer, NULL, 1);
    json_begin_object(writer, NULL);
    json_end_object(writer);
    json_begin_array(writer, NULL);
    json_end_array(writer);
    json_end_array(writer);
    json_end_object(writer);
    size_t length;
    const char *text = json_writer_text(writer, &length);
    assert_string_equal(text, "{\"s\":\"a\",\"n\":null,\"i\":-9223372036854775808,\"b\":true,"
                              "\"z\":null,\"r\":{\"k\": 1},\"q\":null,"
                              "\"t\":\"1970-01-01T00:00:00.000001Z\",\"u\":null,"
                              "\"a\":[1,{},[]]}");
    assert_int_equal(length, strlen(text));
    json_writer_free(writer);
    json_writer_free(NULL);
}

static void escapes_strings_so_that_they_read_back(void **state)
{
    static const struct
    {
        const char *in;
        const char *out;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\"\\/\b\f\n\r\t\x01\x1f\x7f", "\"\\/\b\f\n\r\t\x01\x1f\x7f"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xb0", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xb0"},
        {"a\xff z", "a\xef\xbf\xbd z"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Error error;
        size_t length;
        JsonWriter *writer = json_writer_new(4096);
        json_put_string(writer, NULL, cases[i].in);
        const char *text = json_writer_text(writer, &length);
        Json *document = json_parse(text, length, &error);
        if (document == NULL)
            fail_msg("%s: %s", text, error.text);
        assert_string_equal(json_as_string(document), cases[i].out);
        json_free(document);
        json_writer_free(writer);
    }
}

static void an_overflow_gives_no_text(void **state)
{
    (void)state;
    for (size_t max = 0; max <= 12; max++)
    {
        JsonWriter *writer = json_writer_new(max);
        json_begin_array(writer, NULL);
        json_put_string(writer, NULL, "12345678");
        json_end_array(writer);
        if (max < 12)
            assert_null(json_writer_text(writer, NULL));
        else
            assert_string_equal(json_writer_text(writer, NULL), "[\"12345678\"]");
        json_writer_free(writer);
    }
}

static void grows_to_its_maximum(void **state)
{
    enum
    {
        COUNT = 10000,
    };
    size_t length;
    (void)state;
    JsonWriter *writer = json_writer_new(COUNT * 2 + 1);
    json_begin_array(writer, NULL);
    for (int i = 0; i < COUNT; i++)
        json_put_integer(writer, NULL, i % 10);
    json_end_array(writer);
    assert_non_null(json_writer_text(writer, &length));
    assert_int_equal(length, COUNT * 2 + 1);
    json_writer_free(writer);
}

static void its_text_can_be_taken(void **state)
{
    size_t length;
    (void)state;
    JsonWriter *writer = json_writer_new(12);
    json_put_string(writer, NULL, "12345678");
    char *text = json_writer_take(writer, &length);
    assert_string_equal(text, "\"12345678\"");
    assert_int_equal(length, 10);
    free(text);
    writer = json_writer_new(9);
    json_put_string(writer, NULL, "12345678");
    assert_null(json_writer_take(writer, NULL));
}

static void formats_times(void **state)
{
    static const struct
    {
        int64_t value_us;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {1769860800123456, "2026-01-31T12:00:00.123456Z"},
        {1709164800000000, "2024-02-29T00:00:00.000000Z"},
        {INT64_MAX, "9999-12-31T23:59:59.000000Z"},
        {INT64_MIN, "0001-01-01T00:00:00.000000Z"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char text[JSON_TIMESTAMP_MAX + 1];
        json_format_timestamp(cases[i].value_us, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_every_kind),
        cmocka_unit_test(escapes_strings_so_that_they_read_back),
        cmocka_unit_test(an_overflow_gives_no_text),
        cmocka_unit_test(grows_to_its_maximum),
        cmocka_unit_test(its_text_can_be_taken),
        cmocka_unit_test(formats_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
