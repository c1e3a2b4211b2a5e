/*
 * One line per event on stderr, as text, `2026-01-31T12:00:00.000000Z info batch=7f… prepare ->
 * decide`, or as a JSON object: time, level, message, and as fields of their own what the message
 * says as name=value before its first colon.
 *
 * Level and format are set once at start. Log a failure once, where it is handled. What clients can
 * cause at will, one line per request, asks log_admits first: of such lines only so many are
 * written per second, and how many were left out is counted and told.
 *
 * A line never holds a connection string, a password or a body. Control characters are replaced, so
 * that no text from elsewhere can forge a line.
 */
#ifndef GIRO_LOG_H
#define GIRO_LOG_H

#include "base/base.h"

#include <stdbool.h>

enum
{
    LOG_ADMITTED_PER_S = 50,
};

typedef enum LogLevel
{
    LOG_ERROR, /* a person has to act */
    LOG_WARN,  /* something failed and is being handled */
    LOG_INFO,  /* start, stop, shards coming and going */
    LOG_DEBUG, /* every stage of every batch */
    LOG_LEVEL_COUNT,
} LogLevel;

typedef enum LogFormat
{
    LOG_TEXT,
    LOG_JSON,
    LOG_FORMAT_COUNT,
} LogFormat;

/* The level with this name ("error", "warn", "info", "debug"); false if there is none. */
bool log_level_parse(const char *name, LogLevel *ret_level) ATTR_MUST_USE;
/* The same of "text" and "json". */
bool log_format_parse(const char *name, LogFormat *ret_format) ATTR_MUST_USE;
void log_set_level(LogLevel level);
void log_set_format(LogFormat format);
bool log_enabled(LogLevel level);
/* Cut off at 1 KiB. */
void log_line(LogLevel level, const char *format, ...) ATTR_PRINTF(2, 3);
/* A message of a few words, followed by a JSON object, whose members become fields of the line. It
 * is written whole; as text it is appended as it is. */
void log_document(LogLevel level, const char *message, const char *object);

/* May one more line that clients cause be written within this second? A level that is not enabled
 * has none and costs nothing. */
bool log_admits(LogLevel level) ATTR_MUST_USE;
/* How many were not, since the start. */
uint64_t log_omitted(void);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) (log_enabled(LOG_DEBUG) ? log_line(LOG_DEBUG, __VA_ARGS__) : (void)0)

#endif
