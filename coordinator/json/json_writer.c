/* See json_writer.h. */
#include "json/json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    FIRST_BYTES = 512,
    INTEGER_TEXT_MAX = 24,
};

struct JsonWriter
{
    char *text;
    size_t length;
    size_t size;
    size_t max_bytes;
    bool overflowed;
    int depth;
    char closing[JSON_WRITER_DEPTH_MAX]; /* the bracket that ends each open level */
    bool begun[JSON_WRITER_DEPTH_MAX];   /* has the level a value already? */
    bool finished;
};

JsonWriter *json_writer_new(size_t max_bytes)
{
    JsonWriter *writer = base_calloc(1, sizeof *writer);
    writer->max_bytes = max_bytes;
    writer->size = max_bytes < FIRST_BYTES ? max_bytes : FIRST_BYTES;
    writer->text = base_malloc(writer->size + 1);
    return writer;
}

void json_writer_free(JsonWriter *writer)
{
    if (writer == NULL)
        return;
    free(writer->text);
    free(writer);
}

static bool reserve(JsonWriter *writer, size_t count)
{
    if (writer->overflowed || count > writer->max_bytes - writer->length)
    {
        writer->overflowed = true;
        return false;
    }
    if (count > writer->size - writer->length)
    {
        size_t size = writer->size * 2;
        if (size < writer->length + count)
            size = writer->length + count;
        writer->size = size < writer->max_bytes ? size : writer->max_bytes;
        writer->text = base_realloc(writer->text, writer->size + 1);
    }
    return true;
}

static void append(JsonWriter *writer, const char *bytes, size_t count)
{
    if (!reserve(writer, count))
        return;
    memcpy(writer->text + writer->length, bytes, count);
    writer->length += count;
}

static void append_text(JsonWriter *writer, const char *text)
{
    append(writer, text, strlen(text));
}

/* The length of the well-formed UTF-8 sequence that starts here, 0 if there is none. */
static size_t utf8_length(const unsigned char *at)
{
    unsigned char lowest = 0x80;
    unsigned char highest = 0xBF;
    size_t length;
    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xC2 && at[0] <= 0xDF)
        length = 2;
    else if (at[0] >= 0xE0 && at[0] <= 0xEF)
        length = 3;
    else if (at[0] >= 0xF0 && at[0] <= 0xF4)
        length = 4;
    else
        return 0;
    if (at[0] == 0xE0)
        lowest = 0xA0; /* no overlong forms */
    else if (at[0] == 0xED)
        highest = 0x9F; /* no surrogates */
    else if (at[0] == 0xF0)
        lowest = 0x90;
    else if (at[0] == 0xF4)
        highest = 0x8F; /* nothing beyond U+10FFFF */
    if (at[1] < lowest || at[1] > highest)
        return 0;
    for (size_t i = 2; i < length; i++)
    {
        if (at[i] < 0x80 || at[i] > 0xBF)
            return 0;
    }
    return length;
}

static void append_escaped(JsonWriter *writer, unsigned char byte)
{
    char escaped[8];
    if (byte == '"' || byte == '\\')
        snprintf(escaped, sizeof escaped, "\\%c", byte);
    else if (byte == '\n')
        snprintf(escaped, sizeof escaped, "\\n");
    else
        snprintf(escaped, sizeof escaped, "\\u%04x", byte);
    append_text(writer, escaped);
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

static void append_string(JsonWriter *writer, const char *value)
{
    const unsigned char *at = (const unsigned char *)value;
    append(writer, "\"", 1);
    while (*at != '\0')
    {
        const unsigned char *run = at;
        while (is_plain(*at))
            at++;
        append(writer, (const char *)run, (size_t)(at - run));
        if (*at == '\0')
            break;
        size_t length = utf8_length(at);
        if (length == 0)
            append_text(writer, "\xEF\xBF\xBD");
        else if (length > 1)
            append(writer, (const char *)at, length);
        else
            append_escaped(writer, *at);
        at += length > 0 ? length : 1;
    }
    append(writer, "\"", 1);
}

/* Everything that stands before a value: comma and name. */
static void begin_value(JsonWriter *writer, const char *name)
{
    ASSERT(!writer->finished);
    if (writer->depth == 0)
    {
        ASSERT(name == NULL);
        writer->finished = true;
        return;
    }
    int level = writer->depth - 1;
    ASSERT((name != NULL) == (writer->closing[level] == '}'));
    if (writer->begun[level])
        append(writer, ",", 1);
    writer->begun[level] = true;
    if (name != NULL)
    {
        append(writer, "\"", 1);
        append_text(writer, name);
        append(writer, "\":", 2);
    }
}

static void begin_level(JsonWriter *writer, const char *name, const char *opening, char closing)
{
    begin_value(writer, name);
    ASSERT(writer->depth < JSON_WRITER_DEPTH_MAX);
    writer->finished = false;
    writer->closing[writer->depth] = closing;
    writer->begun[writer->depth] = false;
    writer->depth++;
    append(writer, opening, 1);
}

static void end_level(JsonWriter *writer, char closing)
{
    ASSERT(writer->depth > 0 && writer->closing[writer->depth - 1] == closing);
    writer->depth--;
    append(writer, &closing, 1);
    writer->finished = writer->depth == 0;
}

void json_begin_object(JsonWriter *writer, const char *name)
{
    begin_level(writer, name, "{", '}');
}

void json_end_object(JsonWriter *writer)
{
    end_level(writer, '}');
}

void json_begin_array(JsonWriter *writer, const char *name)
{
    begin_level(writer, name, "[", ']');
}

void json_end_array(JsonWriter *writer)
{
    end_level(writer, ']');
}

void json_put_null(JsonWriter *writer, const char *name)
{
    json_put_raw(writer, name, "null");
}

void json_put_bool(JsonWriter *writer, const char *name, bool value)
{
    json_put_raw(writer, name, value ? "true" : "false");
}

void json_put_integer(JsonWriter *writer, const char *name, int64_t value)
{
    char text[INTEGER_TEXT_MAX];
    snprintf(text, sizeof text, "%" PRId64, value);
    json_put_raw(writer, name, text);
}

void json_put_string(JsonWriter *writer, const char *name, const char *value)
{
    if (value == NULL)
    {
        json_put_null(writer, name);
        return;
    }
    begin_value(writer, name);
    append_string(writer, value);
}

void json_put_timestamp(JsonWriter *writer, const char *name, int64_t value_us)
{
    char text[JSON_TIMESTAMP_MAX + 1];
    if (value_us != 0)
        json_format_timestamp(value_us, text);
    json_put_string(writer, name, value_us != 0 ? text : NULL);
}

void json_put_raw(JsonWriter *writer, const char *name, const char *json)
{
    begin_value(writer, name);
    append_text(writer, json != NULL ? json : "null");
}

const char *json_writer_text(const JsonWriter *writer, size_t *ret_length)
{
    ASSERT(writer->finished && writer->depth == 0);
    if (writer->overflowed)
        return NULL;
    writer->text[writer->length] = '\0';
    if (ret_length != NULL)
        *ret_length = writer->length;
    return writer->text;
}

char *json_writer_take(JsonWriter *writer, size_t *ret_length)
{
    size_t length = 0;
    bool fits = json_writer_text(writer, &length) != NULL;
    char *text = NULL;
    if (fits)
    {
        text = base_realloc(writer->text, length + 1);
        writer->text = NULL;
    }
    if (fits && ret_length != NULL)
        *ret_length = length;
    json_writer_free(writer);
    return text;
}

void json_format_timestamp(int64_t value_us, char ret_text[JSON_TIMESTAMP_MAX + 1])
{
    static const int64_t first_s = -62135596800; /* 0001-01-01 */
    static const int64_t last_s = 253402300799;  /* 9999-12-31 */
    static const int64_t us_per_s = 1000000;
    int64_t seconds = value_us / us_per_s;
    int64_t micros = value_us % us_per_s;
    if (micros < 0)
    {
        micros += us_per_s;
        seconds--;
    }
    if (seconds < first_s || seconds > last_s)
    {
        seconds = seconds < first_s ? first_s : last_s;
        micros = 0;
    }
    time_t time = (time_t)seconds;
    struct tm parts;
    ASSERT(gmtime_r(&time, &parts) != NULL);
    /* The bounds above and the remainders say the ranges again for the compiler. */
    snprintf(ret_text, JSON_TIMESTAMP_MAX + 1, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ",
             (unsigned)(parts.tm_year + 1900) % 10000, (unsigned)(parts.tm_mon + 1) % 100,
             (unsigned)parts.tm_mday % 100, (unsigned)parts.tm_hour % 100,
             (unsigned)parts.tm_min % 100, (unsigned)parts.tm_sec % 100,
             (unsigned)micros % 1000000);
}
