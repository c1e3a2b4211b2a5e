/* See field.h. */
#include "field.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_kind(const Json *value, JsonKind kind)
{
    return value != NULL && json_kind(value) == kind;
}

const Json *field_at(const Json *document, const char *path)
{
    char name[FIELD_PATH_MAX];
    while (*path != '\0' && is_kind(document, JSON_KIND_OBJECT))
    {
        size_t length = strcspn(path, ".");
        ASSERT(length < sizeof name);
        memcpy(name, path, length);
        name[length] = '\0';
        document = json_field(document, name);
        path += length;
        if (*path == '.')
            path++;
    }
    return *path == '\0' ? document : NULL;
}

const char *field_string(const Json *document, const char *path)
{
    const Json *value = field_at(document, path);
    return is_kind(value, JSON_KIND_STRING) ? json_as_string(value) : "";
}

int64_t field_integer(const Json *document, const char *path)
{
    const Json *value = field_at(document, path);
    return is_kind(value, JSON_KIND_INTEGER) ? json_as_integer(value) : 0;
}

bool field_bool(const Json *document, const char *path)
{
    const Json *value = field_at(document, path);
    return is_kind(value, JSON_KIND_BOOL) && json_as_bool(value);
}

bool field_is(const Json *document, const char *path, const char *word)
{
    return strcmp(field_string(document, path), word) == 0;
}

size_t field_count(const Json *document, const char *path)
{
    const Json *value = field_at(document, path);
    return is_kind(value, JSON_KIND_ARRAY) ? json_array_length(value) : 0;
}

static char *integer_text(int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return base_strdup(text);
}

char *field_text(const Json *value)
{
    if (value == NULL || json_kind(value) == JSON_KIND_NULL)
        return base_strdup("");
    if (json_kind(value) == JSON_KIND_STRING)
        return base_strdup(json_as_string(value));
    if (json_kind(value) == JSON_KIND_INTEGER)
        return integer_text(json_as_integer(value));
    return json_format(value, false);
}
