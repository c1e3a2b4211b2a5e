/*
 * Strict JSON in (jansson.h is included by json.c alone); the way out is json_writer.h.
 *
 * In: UTF-8 only, no duplicate keys, no NUL (\u0000 too), nothing after the value, nesting ≤ 16.
 * The number of values is bounded as well, since a parsed one takes many times the bytes of its
 * text. A number that is no 64-bit integer is only known to be one: its value is not kept, since no
 * money is ever read from it. So the caller can say what is wrong with the field rather than that
 * the whole body is no JSON, and no floating point is computed anywhere.
 *
 * No function here may have a name that jansson exports (json_string, json_object_get, …): the
 * program's symbol would take the place of the library's inside the library.
 */
#ifndef GIRO_JSON_H
#define GIRO_JSON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum
{
    JSON_DEPTH_MAX = 16,
    JSON_CONTAINERS_MAX = 64 * 1024, /* objects and arrays */
    JSON_VALUES_MAX = 256 * 1024,
};

/* A parsed document or, borrowed from it, one of its values. */
typedef struct Json Json;

typedef enum JsonKind
{
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_INTEGER, /* fits int64_t and was written without fraction or exponent */
    JSON_KIND_NUMBER,  /* any other number */
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT,
} JsonKind;

/* Parses a whole document. On failure returns NULL with ERROR_JSON_INVALID. Free with json_free. */
Json *json_parse(const char *bytes, size_t length, Error *error) ATTR_MUST_USE;
void json_free(Json *document); /* accepts NULL; only for what json_parse returned */

JsonKind json_kind(const Json *value);
/* The value; aborts when it is of another kind. */
bool json_as_bool(const Json *value);
int64_t json_as_integer(const Json *value);
const char *json_as_string(const Json *value); /* NUL-terminated; lent */

size_t json_array_length(const Json *array);
const Json *json_array_at(const Json *array, size_t index); /* aborts past the end */

const Json *json_field(const Json *object, const char *name); /* NULL if absent */
size_t json_field_count(const Json *object);
/* Iterates in the order of the document: *position starts at NULL and is private; false at the
 * end. */
bool json_field_next(const Json *object, void **position, const char **ret_name,
                     const Json **ret_value);
/* Finds a field that is in none of the `count` names; NULL if all are known. */
const char *json_field_unknown(const Json *object, const char *const *names, size_t count);

/* The value as compact JSON with sorted keys; heap, free() it. For metadata on its way to jsonb.
 * Not for values that hold a JSON_KIND_NUMBER. */
char *json_dump(const Json *value) ATTR_MUST_USE;
/* The same for people: fields in the order of the document, on lines of their own if `indented`. */
char *json_format(const Json *value, bool indented) ATTR_MUST_USE;

#endif
