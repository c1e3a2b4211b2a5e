/*
 * What is read out of a request's headers: its trace.
 */
#include "http/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

/* The trace id of a request with up to two such headers. */
static const char *trace_of(const char *first, const char *second)
{
    static HttpRequest request;
    memset(&request, 0, sizeof request);
    request_add_header(&request, "Host", "h");
    if (first != NULL)
        request_add_header(&request, "Traceparent", first);
    if (second != NULL)
        request_add_header(&request, "traceparent", second);
    request_read_trace(&request);
    return http_trace_id(&request);
}

static void a_traceparent_gives_its_trace_id(void **state)
{
    (void)state;
    assert_string_equal(trace_of("00-" TRACE "-" PARENT "-01", NULL), TRACE);
    assert_string_equal(trace_of("00-" TRACE "-" PARENT "-00", NULL), TRACE);
    assert_string_equal(trace_of(NULL, NULL), "");
}

static void a_later_version_may_say_more(void **state)
{
    (void)state;
    assert_string_equal(trace_of("01-" TRACE "-" PARENT "-01", NULL), TRACE);
    assert_string_equal(trace_of("cc-" TRACE "-" PARENT "-01-more", NULL), TRACE);
}

static void one_that_is_not_well_formed_is_as_good_as_none(void **state)
{
    static const char *const wrong[] = {
        "",
        "00",
        "00-" TRACE "-" PARENT,
        "00-" TRACE "-" PARENT "-1",
        "00-" TRACE "-" PARENT "-0g",
        "00-" TRACE "-" PARENT "-01-more",
        "00-" TRACE "-" PARENT "-011",
        "01-" TRACE "-" PARENT "-011",
        "ff-" TRACE "-" PARENT "-01",
        "0-0" TRACE "-" PARENT "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-" TRACE "0" PARENT "-01",
        "00_" TRACE "_" PARENT "_01",
        "00-4bf92f3577b34da6a3ce929d0e0e47-6-" PARENT "-01",
        " 00-" TRACE "-" PARENT "-01",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
    {
        if (trace_of(wrong[i], NULL)[0] != '\0')
            fail_msg("%s", wrong[i]);
    }
}

static void two_of_them_are_none(void **state)
{
    (void)state;
    assert_string_equal(trace_of("00-" TRACE "-" PARENT "-01", "00-" TRACE "-" PARENT "-01"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_traceparent_gives_its_trace_id),
        cmocka_unit_test(a_later_version_may_say_more),
        cmocka_unit_test(one_that_is_not_well_formed_is_as_good_as_none),
        cmocka_unit_test(two_of_them_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
