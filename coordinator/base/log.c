/* See log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const names[LOG_LEVEL_COUNT] = {"error", "warn", "info", "debug"};

/* The one process-wide setting: written once at start, read everywhere. */
static LogLevel threshold = LOG_INFO;

bool log_level_parse(const char *name, LogLevel *ret_level)
{
    for (int level = 0; level < LOG_LEVEL_COUNT; level++)
    {
        if (strcmp(name, names[level]) == 0)
        {
            *ret_level = (LogLevel)level;
            return true;
        }
    }
    return false;
}

void log_set_level(LogLevel level)
{
    threshold = level;
}

bool log_enabled(LogLevel level)
{
    return level <= threshold;
}

void log_line(LogLevel level, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    struct timespec now;
    struct tm parts;
    char stamp[32];
    char line[1024];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);

    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s.%06ldZ %s %s\n", stamp, now.tv_nsec / 1000, names[level], line);
}
