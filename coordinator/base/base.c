/* See base.h. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void base_assertion_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s: assertion failed: %s (%s:%d)\n", program_invocation_short_name, condition,
            file, line);
    abort();
}

int base_hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

uint64_t base_now_us(void)
{
    struct timespec now;
    ASSERT(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int64_t base_wall_clock_us(void)
{
    struct timespec now;
    ASSERT(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *checked(void *memory)
{
    if (memory == NULL)
    {
        fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
        abort();
    }
    return memory;
}

void *base_malloc(size_t size)
{
    return checked(malloc(size > 0 ? size : 1));
}

void *base_calloc(size_t count, size_t size)
{
    return checked(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *base_realloc(void *memory, size_t size)
{
    return checked(realloc(memory, size > 0 ? size : 1));
}

char *base_strdup(const char *text)
{
    return checked(strdup(text));
}
