/*
 * The few macros and functions that every module may use.
 *
 * ASSERT is compiled in always: a broken invariant is a bug, and a coordinator that has one must
 * stop rather than move money. The protocols survive a crash at any line; they do not survive a
 * wrong guess.
 */
#ifndef GIRO_BASE_H
#define GIRO_BASE_H

#include <stddef.h>
#include <stdint.h>

#define ASSERT(condition)                                                                          \
    ((condition) ? (void)0 : base_assertion_failed(#condition, __FILE__, __LINE__))

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define container_of(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define ATTR_PRINTF(template, first) __attribute__((format(printf, template, first)))
#define ATTR_NORETURN                __attribute__((noreturn))
#define ATTR_MUST_USE                __attribute__((warn_unused_result))

/* Prints the condition and its place on stderr and aborts. */
void base_assertion_failed(const char *condition, const char *file, int line) ATTR_NORETURN;

/* The value of a hexadecimal digit of either case; -1 if it is none. */
int base_hex_value(char digit);

/* Microseconds of a monotonic clock, now: for measuring only. What is decided by time goes by the
 * loop's clock, which stands still during a turn. */
uint64_t base_now_us(void);

/* Microseconds since 1970 by the machine's clock: for people to read, never to decide by. */
int64_t base_wall_clock_us(void);

/* malloc, calloc, realloc and strdup that abort the process when memory is exhausted. Sizes are
 * bounded by their callers; running out of memory is an operating limit that a restart settles. */
void *base_malloc(size_t size) ATTR_MUST_USE;
void *base_calloc(size_t count, size_t size) ATTR_MUST_USE;
void *base_realloc(void *memory, size_t size) ATTR_MUST_USE;
char *base_strdup(const char *text) ATTR_MUST_USE;

#endif
