/*
 * Parameters as bytes. That the server understands them is shown in pg_test.c.
 */
#include "pg/pg_params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static int setup(void **state)
{
    *state = pg_params_new(256);
    return 0;
}

static int teardown(void **state)
{
    pg_params_free(*state);
    return 0;
}

static void assert_param(const PgParams *params, int index, const char *bytes, int length)
{
    assert_int_equal(params->lengths[index], length);
    assert_memory_equal(params->bytes + params->offsets[index], bytes, (size_t)length);
}

static void writes_single_values(void **state)
{
    PgParams *params = *state;
    pg_params_bool(params, true);
    pg_params_int4(params, -2);
    pg_params_int8(params, 258);
    pg_params_text(params, "ab");
    pg_params_text(params, "");
    pg_params_null(params);
    pg_params_text(params, NULL);
    pg_params_timestamp_us(params, INT64_C(946684800000001));
    assert_int_equal(params->count, 8);
    assert_param(params, 0, "\1", 1);
    assert_param(params, 1, "\xff\xff\xff\xfe", 4);
    assert_param(params, 2, "\0\0\0\0\0\0\1\2", 8);
    assert_param(params, 3, "ab", 2);
    assert_param(params, 4, "", 0);
    assert_int_equal(params->lengths[5], PG_PARAMS_NULL);
    assert_int_equal(params->lengths[6], PG_PARAMS_NULL);
    assert_param(params, 7, "\0\0\0\0\0\0\0\1", 8);
    assert_false(params->overflow);
}

static void writes_arrays_with_nulls(void **state)
{
    PgParams *params = *state;
    pg_params_array(params, PG_ELEMENT_TEXT, 2);
    pg_params_add_text(params, "a");
    pg_params_add_text(params, NULL);
    assert_param(params, 0,
                 "\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\2\0\0\0\1"
                 "\0\0\0\1a\xff\xff\xff\xff",
                 29);
}

static void writes_empty_arrays_without_dimensions(void **state)
{
    PgParams *params = *state;
    pg_params_array(params, PG_ELEMENT_INT8, 0);
    pg_params_int4(params, 1);
    assert_param(params, 0, "\0\0\0\0\0\0\0\0\0\0\0\x14", 12);
    assert_param(params, 1, "\0\0\0\1", 4);
}

static void is_empty_after_a_reset(void **state)
{
    PgParams *params = *state;
    pg_params_text(params, "abc");
    pg_params_reset(params);
    assert_int_equal(params->count, 0);
    pg_params_text(params, "x");
    assert_param(params, 0, "x", 1);
}

static void remembers_too_many_bytes(void **state)
{
    PgParams *params = *state;
    char text[258];
    memset(text, 'x', 257);
    text[257] = '\0';
    pg_params_text(params, text);
    assert_true(params->overflow);
    pg_params_text(params, "y");
    assert_true(params->overflow);
    pg_params_reset(params);
    assert_false(params->overflow);
    text[256] = '\0';
    pg_params_text(params, text);
    assert_false(params->overflow);
    assert_int_equal(params->lengths[0], 256);
}

static void remembers_too_many_bytes_in_an_array(void **state)
{
    PgParams *params = *state;
    pg_params_array(params, PG_ELEMENT_INT8, 100);
    for (int i = 0; i < 100; i++)
        pg_params_add_int8(params, i);
    assert_true(params->overflow);
    pg_params_reset(params);
    pg_params_array(params, PG_ELEMENT_INT4, 60);
    for (int i = 0; i < 60; i++)
        pg_params_add_null(params);
    assert_true(params->overflow);
}

static void remembers_too_many_parameters(void **state)
{
    PgParams *params = *state;
    for (int i = 0; i < PG_PARAMETER_MAX; i++)
        pg_params_bool(params, false);
    assert_false(params->overflow);
    pg_params_array(params, PG_ELEMENT_INT4, 0);
    assert_true(params->overflow);
    assert_int_equal(params->count, PG_PARAMETER_MAX);
}

static void grows_to_its_limit(void **state)
{
    (void)state;
    PgParams *params = pg_params_new(100000);
    pg_params_array(params, PG_ELEMENT_INT8, 5000);
    for (int i = 0; i < 5000; i++)
        pg_params_add_int8(params, i);
    assert_false(params->overflow);
    assert_int_equal(params->lengths[0], 20 + 5000 * 12);
    pg_params_free(params);
    pg_params_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(writes_single_values),
        TEST(writes_arrays_with_nulls),
        TEST(writes_empty_arrays_without_dimensions),
        TEST(is_empty_after_a_reset),
        TEST(remembers_too_many_bytes),
        TEST(remembers_too_many_bytes_in_an_array),
        TEST(remembers_too_many_parameters),
        TEST(grows_to_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
