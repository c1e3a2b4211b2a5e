/*
 * See json.h.
 *
 * The text is looked over once before jansson reads it: for its nesting and the number of its
 * values, which jansson bounds loosely or not at all, and for numbers that it would refuse
 * (integers beyond 64 bits, reals beyond double). Every number that is no 64-bit integer is
 * overwritten in place by a short real and blanks. That cannot make a wrong document right: only a
 * number that fills a whole run of characters of numbers is overwritten, and where the run ends the
 * token has ended anyway. ("--1.5" is such a run, and no number: it is left to jansson to refuse.)
 */
#include "json/json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum
{
    REAL_LENGTH = 3, /* of "0.5": every number that is no 64-bit integer is at least as long */
};

static const json_t *jansson(const Json *value)
{
    return (const json_t *)(const void *)value;
}

static const Json *ours(const json_t *value)
{
    return (const Json *)(const void *)value;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* The end of the number that starts at `at` by the grammar of JSON, NULL if it is none.
 * *ret_integer tells whether it has neither fraction nor exponent. */
static const char *number_end(const char *at, bool *ret_integer)
{
    bool integer = true;
    if (*at == '-')
        at++;
    if (!is_digit(*at))
        return NULL;
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (*at == '.')
    {
        integer = false;
        if (!is_digit(*++at))
            return NULL;
        at = skip_digits(at);
    }
    if (*at == 'e' || *at == 'E')
    {
        integer = false;
        at++;
        if (*at == '+' || *at == '-')
            at++;
        if (!is_digit(*at))
            return NULL;
        at = skip_digits(at);
    }
    *ret_integer = integer;
    return at;
}

static bool fits_int64(const char *number)
{
    errno = 0;
    (void)strtoll(number, NULL, 10);
    return errno == 0;
}

/* Settles the run of characters of numbers at `at` and returns its end. */
static char *settle_number(char *at)
{
    bool integer;
    char *end = at + strspn(at, "+-.0123456789Ee");
    if (number_end(at, &integer) != end)
        return end; /* jansson will say what is wrong */
    if (integer && fits_int64(at))
        return end;
    memset(at, ' ', (size_t)(end - at));
    ASSERT(end - at >= REAL_LENGTH);
    memcpy(at, "0.5", REAL_LENGTH);
    return end;
}

static char *skip_string(char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
    {
        if (*at == '\\' && at + 1 < end)
            at++;
    }
    return at < end ? at + 1 : at;
}

/* What the text holds, strings left out. */
typedef struct Census
{
    int depth;
    int deepest;
    size_t containers;
    size_t commas;
} Census;

static void count_byte(Census *census, char byte)
{
    if (byte == '{' || byte == '[')
    {
        census->containers++;
        census->depth++;
        if (census->depth > census->deepest)
            census->deepest = census->depth;
    }
    else if (byte == '}' || byte == ']')
        census->depth--;
    else if (byte == ',')
        census->commas++;
}

/* `text` is NUL-terminated at `length`. */
static Census look_over(char *text, size_t length)
{
    const char *end = text + length;
    Census census = {0};
    for (char *at = text; at < end;)
    {
        if (*at == '"')
            at = skip_string(at, end);
        else if (*at == '-' || is_digit(*at))
            at = settle_number(at);
        else
            count_byte(&census, *at++);
    }
    return census;
}

/* Every value but the first of its container stands behind a comma. */
static bool check_size(const Census *census, Error *error)
{
    if (census->deepest > JSON_DEPTH_MAX)
        return error_set(error, ERROR_JSON_INVALID, "nested deeper than %d", JSON_DEPTH_MAX);
    if (census->containers > JSON_CONTAINERS_MAX)
        return error_set(error, ERROR_JSON_INVALID, "more than %d objects and arrays",
                         JSON_CONTAINERS_MAX);
    if (census->containers + census->commas > JSON_VALUES_MAX)
        return error_set(error, ERROR_JSON_INVALID, "more than %d values", JSON_VALUES_MAX);
    return true;
}

Json *json_parse(const char *bytes, size_t length, Error *error)
{
    char *text = base_malloc(length + 1);
    if (length > 0)
        memcpy(text, bytes, length);
    text[length] = '\0';
    Census census = look_over(text, length);
    if (!check_size(&census, error))
    {
        free(text);
        return NULL;
    }
    json_error_t why;
    json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    free(text);
    if (document == NULL)
    {
        bool nul = json_error_code(&why) == json_error_null_character;
        error_set(error, ERROR_JSON_INVALID, "line %d, column %d: %.160s", why.line, why.column,
                  nul ? "a NUL character" : why.text);
    }
    return (Json *)(void *)document;
}

void json_free(Json *document)
{
    json_decref((json_t *)(void *)document);
}

JsonKind json_kind(const Json *value)
{
    switch (json_typeof(jansson(value)))
    {
    case JSON_OBJECT:
        return JSON_KIND_OBJECT;
    case JSON_ARRAY:
        return JSON_KIND_ARRAY;
    case JSON_STRING:
        return JSON_KIND_STRING;
    case JSON_INTEGER:
        return JSON_KIND_INTEGER;
    case JSON_REAL:
        return JSON_KIND_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return JSON_KIND_BOOL;
    case JSON_NULL:
        break;
    }
    return JSON_KIND_NULL;
}

bool json_as_bool(const Json *value)
{
    ASSERT(json_kind(value) == JSON_KIND_BOOL);
    return json_is_true(jansson(value));
}

int64_t json_as_integer(const Json *value)
{
    ASSERT(json_kind(value) == JSON_KIND_INTEGER);
    return json_integer_value(jansson(value));
}

const char *json_as_string(const Json *value)
{
    ASSERT(json_kind(value) == JSON_KIND_STRING);
    return json_string_value(jansson(value));
}

size_t json_array_length(const Json *array)
{
    ASSERT(json_kind(array) == JSON_KIND_ARRAY);
    return json_array_size(jansson(array));
}

const Json *json_array_at(const Json *array, size_t index)
{
    ASSERT(index < json_array_length(array));
    return ours(json_array_get(jansson(array), index));
}

const Json *json_field(const Json *object, const char *name)
{
    ASSERT(json_kind(object) == JSON_KIND_OBJECT);
    return ours(json_object_get(jansson(object), name));
}

size_t json_field_count(const Json *object)
{
    ASSERT(json_kind(object) == JSON_KIND_OBJECT);
    return json_object_size(jansson(object));
}

bool json_field_next(const Json *object, void **position, const char **ret_name,
                     const Json **ret_value)
{
    ASSERT(json_kind(object) == JSON_KIND_OBJECT);
    /* jansson's iterators take a mutable object; nothing is changed through them. */
    json_t *fields = (json_t *)jansson(object);
    void *at =
        *position == NULL ? json_object_iter(fields) : json_object_iter_next(fields, *position);
    if (at == NULL)
        return false;
    *position = at;
    *ret_name = json_object_iter_key(at);
    *ret_value = ours(json_object_iter_value(at));
    return true;
}

const char *json_field_unknown(const Json *object, const char *const *names, size_t count)
{
    void *position = NULL;
    const char *name;
    const Json *value;
    while (json_field_next(object, &position, &name, &value))
    {
        size_t i = 0;
        while (i < count && strcmp(names[i], name) != 0)
            i++;
        if (i == count)
            return name;
    }
    return NULL;
}

char *json_dump(const Json *value)
{
    char *text = json_dumps(jansson(value), JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    ASSERT(text != NULL);
    return text;
}

char *json_format(const Json *value, bool indented)
{
    char *text =
        json_dumps(jansson(value), JSON_ENCODE_ANY | (indented ? JSON_INDENT(2) : JSON_COMPACT));
    ASSERT(text != NULL);
    return text;
}
