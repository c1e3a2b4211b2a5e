/*
 * Writes one JSON document into a buffer that grows up to a stated maximum.
 *
 * The text is always valid JSON and valid UTF-8, whatever is put in: strings are escaped, and bytes
 * that are no UTF-8 become U+FFFD. What does not fit is dropped and remembered; an overflowed
 * writer gives no text. Nesting that does not match is a bug and aborts.
 *
 * `name` is the field's name inside an object and must be NULL elsewhere. Names are plain ASCII
 * that needs no escaping.
 */
#ifndef GIRO_JSON_WRITER_H
#define GIRO_JSON_WRITER_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct JsonWriter JsonWriter;

enum
{
    JSON_WRITER_DEPTH_MAX = 32,
    JSON_TIMESTAMP_MAX = 27, /* "2026-01-31T12:00:00.000000Z" */
};

JsonWriter *json_writer_new(size_t max_bytes);
void json_writer_free(JsonWriter *writer); /* accepts NULL */

void json_begin_object(JsonWriter *writer, const char *name);
void json_end_object(JsonWriter *writer);
void json_begin_array(JsonWriter *writer, const char *name);
void json_end_array(JsonWriter *writer);

void json_put_null(JsonWriter *writer, const char *name);
void json_put_bool(JsonWriter *writer, const char *name, bool value);
void json_put_integer(JsonWriter *writer, const char *name, int64_t value);
void json_put_string(JsonWriter *writer, const char *name, const char *value); /* NULL: null */
/* Microseconds since the Unix epoch as RFC 3339, UTC; 0 is written as null. */
void json_put_timestamp(JsonWriter *writer, const char *name, int64_t value_us);
/* Text that is JSON already (from jsonb); NULL is written as null. */
void json_put_raw(JsonWriter *writer, const char *name, const char *json);

/* The finished document, NUL-terminated, lent until the writer is freed; NULL after an overflow.
 * ret_length may be NULL. */
const char *json_writer_text(const JsonWriter *writer, size_t *ret_length);

/* Ends and frees the writer; its text is the caller's to free() then. NULL after an overflow.
 * ret_length may be NULL. */
char *json_writer_take(JsonWriter *writer, size_t *ret_length) ATTR_MUST_USE;

/* Writes the timestamp alone, without quotes, NUL-terminated. Years 0001 … 9999 only; others are
 * clamped. */
void json_format_timestamp(int64_t value_us, char ret_text[JSON_TIMESTAMP_MAX + 1]);

#endif
