/*
 * Reading documents: values by dotted path ("refusal.code", "route.shard"), and a value as the text
 * of a cell. What is absent, null or of another kind than asked for is never an error here: an
 * older or newer server may well have other fields.
 */
#ifndef GIROCTL_FIELD_H
#define GIROCTL_FIELD_H

#include "json/json.h"

enum
{
    FIELD_PATH_MAX = 128,
};

/* NULL if there is none. `document` may be NULL. Lent. */
const Json *field_at(const Json *document, const char *path);
/* "", 0 and false if it is not there or of another kind. Lent. */
const char *field_string(const Json *document, const char *path);
int64_t field_integer(const Json *document, const char *path);
bool field_bool(const Json *document, const char *path);
bool field_is(const Json *document, const char *path, const char *word);
/* An array's length; 0 if it is none. */
size_t field_count(const Json *document, const char *path);

/* A value as text: strings as they are, NULL and null as "", objects and arrays as JSON; heap. */
char *field_text(const Json *value) ATTR_MUST_USE;

#endif
