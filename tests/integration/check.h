/*
 * cmocka for integration tests, with the headers that it wants before it, and a check that says
 * why it failed. All functions must be called from the thread of the test.
 */
#ifndef GIRO_TESTS_CHECK_H
#define GIRO_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define check(condition, ...)                                                                      \
    do                                                                                             \
    {                                                                                              \
        if (!(condition))                                                                          \
        {                                                                                          \
            print_error("%s:%d: ", __FILE__, __LINE__);                                            \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

#endif
