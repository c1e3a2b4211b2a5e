/*
 * One line per event on stderr: `2026-01-31T12:00:00.000000Z info batch=7f… prepare -> decide`.
 * The level is set once at start. Log a failure once, where it is handled.
 */
#ifndef GIRO_LOG_H
#define GIRO_LOG_H

#include "base/base.h"

#include <stdbool.h>

typedef enum LogLevel
{
    LOG_ERROR, /* a person has to act */
    LOG_WARN,  /* something failed and is being handled */
    LOG_INFO,  /* start, stop, shards coming and going */
    LOG_DEBUG, /* every stage of every batch */
    LOG_LEVEL_COUNT,
} LogLevel;

/* The level with this name ("error", "warn", "info", "debug"); false if there is none. */
bool log_level_parse(const char *name, LogLevel *ret_level) ATTR_MUST_USE;
void log_set_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, const char *format, ...) ATTR_PRINTF(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) (log_enabled(LOG_DEBUG) ? log_line(LOG_DEBUG, __VA_ARGS__) : (void)0)

#endif
