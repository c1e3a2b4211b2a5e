/* See log.h. */
#include "base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum
{
    LINE_MAX_BYTES = 1024,
    ESCAPED_MAX = 6, /* what one byte becomes at most: \u001f */
    STAMP_MAX = 48,
    SECOND_US = 1000 * 1000,
};

static const char *const level_names[LOG_LEVEL_COUNT] = {"error", "warn", "info", "debug"};
static const char *const format_names[LOG_FORMAT_COUNT] = {"text", "json"};

/* Process-wide, as stderr is: the settings, written once at start, and the budget of lines that
 * clients cause. */
static struct
{
    LogLevel level;
    LogFormat format;
    uint64_t second;   /* that the budget is for */
    unsigned admitted; /* in it */
    uint64_t omitted;  /* of all time */
    uint64_t told;     /* of these */
} process = {.level = LOG_INFO};

/* ---- settings -------------------------------------------------------------------------------- */

static bool find(const char *name, const char *const *names, int count, int *ret_found)
{
    for (int i = 0; i < count; i++)
    {
        if (strcmp(name, names[i]) == 0)
        {
            *ret_found = i;
            return true;
        }
    }
    return false;
}

bool log_level_parse(const char *name, LogLevel *ret_level)
{
    int found;
    if (!find(name, level_names, LOG_LEVEL_COUNT, &found))
        return false;
    *ret_level = (LogLevel)found;
    return true;
}

bool log_format_parse(const char *name, LogFormat *ret_format)
{
    int found;
    if (!find(name, format_names, LOG_FORMAT_COUNT, &found))
        return false;
    *ret_format = (LogFormat)found;
    return true;
}

void log_set_level(LogLevel level)
{
    process.level = level;
}

void log_set_format(LogFormat format)
{
    process.format = format;
}

bool log_enabled(LogLevel level)
{
    return level <= process.level;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* How many bytes the well-formed UTF-8 sequence at `at` has; 0 if it is none. */
static size_t sequence_length(const char *at)
{
    unsigned char lead = (unsigned char)*at;
    unsigned char second = (unsigned char)(lead != '\0' ? at[1] : '\0');
    size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    bool no_character = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
    if (lead > 0xF4 || overlong || no_character)
        return 0;
    for (size_t i = 1; i < length; i++)
    {
        if (((unsigned char)at[i] & 0xC0) != 0x80)
            return 0;
    }
    return length;
}

/* Appends the text as the inside of a JSON string, as much of it as there is room for. */
static size_t escape(char *out, size_t room, const char *text, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + ESCAPED_MAX < room;)
    {
        size_t bytes = sequence_length(text + i);
        unsigned char byte = (unsigned char)text[i];
        if (bytes == 0)
            used += (size_t)snprintf(out + used, room - used, "\\ufffd");
        else if (byte == '"' || byte == '\\')
            used += (size_t)snprintf(out + used, room - used, "\\%c", byte);
        else if (byte < ' ')
            used += (size_t)snprintf(out + used, room - used, "\\u%04x", byte);
        else
        {
            memcpy(out + used, text + i, bytes);
            used += bytes;
        }
        i += bytes > 0 ? bytes : 1;
    }
    out[used] = '\0';
    return used;
}

static void replace_controls(char *line)
{
    for (; *line != '\0'; line++)
    {
        if ((unsigned char)*line < ' ' || *line == 0x7F)
            *line = ' ';
    }
}

static void format_stamp(char ret_stamp[STAMP_MAX])
{
    struct timespec now;
    struct tm parts;
    char second[24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(ret_stamp, STAMP_MAX, "%s.%06ldZ", second, now.tv_nsec / 1000);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_name(const char *name, size_t length)
{
    static const char *const taken[] = {"time", "level", "message"};
    for (size_t i = 0; i < ARRAY_LENGTH(taken); i++)
    {
        if (strlen(taken[i]) == length && strncmp(name, taken[i], length) == 0)
            return false;
    }
    return length > 0 && strspn(name, "abcdefghijklmnopqrstuvwxyz_") == length;
}

/* Appends the pairs name=value among the words before the first colon that ends a word. */
static void append_fields(char *out, size_t room, const char *message)
{
    size_t used = 0;
    out[0] = '\0';
    while (*message != '\0')
    {
        size_t word = strcspn(message, " ");
        size_t name = strcspn(message, "= ");
        if (message[name] == '=' && is_name(message, name))
        {
            if (used + name + (word - name) * ESCAPED_MAX + sizeof ",\"\":\"\"" > room)
                return;
            used += (size_t)snprintf(out + used, room - used, ",\"%.*s\":\"", (int)name, message);
            used += escape(out + used, room - used, message + name + 1, word - name - 1);
            used += (size_t)snprintf(out + used, room - used, "\"");
        }
        if (word > 0 && message[word - 1] == ':')
            return;
        message += word + strspn(message + word, " ");
    }
}

/* `object` is NULL, or the members of the line follow the message. One write each, so that lines of
 * several processes never mix. */
static void write_line(LogLevel level, const char *message, const char *object)
{
    char stamp[STAMP_MAX];
    char text[LINE_MAX_BYTES * ESCAPED_MAX];
    char fields[LINE_MAX_BYTES * ESCAPED_MAX];
    const char *name = level_names[level];
    format_stamp(stamp);
    if (process.format == LOG_TEXT)
    {
        fprintf(stderr, "%s %s %s%s%s\n", stamp, name, message, object != NULL ? " " : "",
                object != NULL ? object : "");
        return;
    }
    escape(text, sizeof text, message, strlen(message));
    if (object != NULL)
    {
        fprintf(stderr, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"%s\",%s\n", stamp, name,
                text, object + 1);
        return;
    }
    append_fields(fields, sizeof fields, message);
    fprintf(stderr, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"%s\"%s}\n", stamp, name, text,
            fields);
}

/* Before the next line, whichever it is. */
static void tell_omitted(void)
{
    if (process.omitted == process.told || base_now_us() / SECOND_US == process.second)
        return;
    char line[LINE_MAX_BYTES];
    snprintf(line, sizeof line, "omitted=%" PRIu64 " lines, for there were more than %d a second",
             process.omitted - process.told, LOG_ADMITTED_PER_S);
    process.told = process.omitted;
    write_line(LOG_WARN, line, NULL);
}

void log_line(LogLevel level, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    replace_controls(line);
    tell_omitted();
    write_line(level, line, NULL);
}

void log_document(LogLevel level, const char *message, const char *object)
{
    ASSERT(object[0] == '{' && object[1] != '}');
    if (!log_enabled(level))
        return;
    tell_omitted();
    write_line(level, message, object);
}

bool log_admits(LogLevel level)
{
    if (!log_enabled(level))
        return false;
    uint64_t second = base_now_us() / SECOND_US;
    if (second != process.second)
    {
        tell_omitted();
        process.second = second;
        process.admitted = 0;
    }
    if (process.admitted < LOG_ADMITTED_PER_S)
    {
        process.admitted++;
        return true;
    }
    process.omitted++;
    return false;
}

uint64_t log_omitted(void)
{
    return process.omitted;
}
