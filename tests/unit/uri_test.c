/* Targets taken apart: segments first, escapes afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "http/uri.h"

#include <stdio.h>
#include <string.h>

/* The parts joined: segments as [x], parameters as name=value; — or the code's name. */
static void render(const char *target, char *ret_text, size_t size)
{
    Error error;
    Uri uri;
    int used = 0;
    Arena *arena = arena_new(64 * 1024);
    ret_text[0] = '\0';
    if (!uri_parse(target, arena, &uri, &error))
        snprintf(ret_text, size, "%s", error_row(error.code)->name);
    else
    {
        for (size_t i = 0; i < uri.segment_count; i++)
            used += snprintf(ret_text + used, size - (size_t)used, "[%s]", uri.segments[i]);
        for (size_t i = 0; i < uri.parameter_count; i++)
            used += snprintf(ret_text + used, size - (size_t)used, "%s=%s;", uri.parameters[i].name,
                             uri.parameters[i].value);
    }
    arena_free(arena);
}

static void takes_targets_apart(void **state)
{
    static const struct
    {
        const char *target;
        const char *parts;
    } cases[] = {
        {"/", "[]"},
        {"/v1/accounts", "[v1][accounts]"},
        {"/v1/accounts/", "[v1][accounts][]"},
        {"//a", "[][a]"},
        {"/a%2Fb/c", "[a/b][c]"},
        {"/a%2fb", "[a/b]"},
        {"/a+b", "[a+b]"},
        {"/a%20b%C3%A9", "[a b\xc3\xa9]"},
        {"/%2e%2e/x", "[..][x]"},
        {"/%25%32%46", "[%2F]"},
        {"/a?", "[a]"},
        {"/a?&&", "[a]"},
        {"/a?x", "[a]x=;"},
        {"/a?x=", "[a]x=;"},
        {"/a?x=1&y=2", "[a]x=1;y=2;"},
        {"/a?x=a=b", "[a]x=a=b;"},
        {"/a?x=1+2%2B3", "[a]x=1 2+3;"},
        {"/a?%78=1", "[a]x=1;"},
        {"/a?x=%26%3D/?", "[a]x=&=/?;"},
        {"/a?=1", "[a]=1;"},
        {"", "route-not-found"},
        {"a", "route-not-found"},
        {"*", "route-not-found"},
        {"?x=1", "route-not-found"},
        {"http://h/a", "route-not-found"},
        {"/1/2/3/4/5/6/7/8/9/a/b/c/d", "route-not-found"},
        {"/%", "parameter-invalid"},
        {"/%1", "parameter-invalid"},
        {"/%1/a", "parameter-invalid"},
        {"/%g1", "parameter-invalid"},
        {"/%1g", "parameter-invalid"},
        {"/%00", "parameter-invalid"},
        {"/a?%=1", "parameter-invalid"},
        {"/a?x=%1", "parameter-invalid"},
        {"/a?x=%00", "parameter-invalid"},
        {"/a?x=1&x=2", "parameter-invalid"},
        {"/a?x=1&%78=2", "parameter-invalid"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char text[512];
        render(cases[i].target, text, sizeof text);
        if (strcmp(text, cases[i].parts) != 0)
            fail_msg("%s gives %s", cases[i].target, text);
    }
}

static void the_number_of_parameters_is_bounded(void **state)
{
    char target[1024] = "/a?";
    char text[1024];
    (void)state;
    for (int i = 0; i <= URI_PARAMETERS_MAX; i++)
    {
        size_t used = strlen(target);
        snprintf(target + used, sizeof target - used, "p%d=1&", i);
        render(target, text, sizeof text);
        assert_int_equal(strcmp(text, "parameter-invalid") == 0, i == URI_PARAMETERS_MAX);
    }
}

static void an_arena_gives_zeroed_aligned_pieces_of_any_size(void **state)
{
    (void)state;
    Arena *arena = arena_new(1024 * 1024);
    for (size_t size = 0; size < 5000; size = size * 2 + 1)
    {
        unsigned char *piece = arena_take(arena, size);
        assert_int_equal((uintptr_t)piece % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(piece[i], 0);
        memset(piece, 0xAA, size);
    }
    assert_string_equal(arena_copy(arena, "abc", 2), "ab");
    arena_free(arena);
    arena_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_targets_apart),
        cmocka_unit_test(the_number_of_parameters_is_bounded),
        cmocka_unit_test(an_arena_gives_zeroed_aligned_pieces_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
