/*
 * Values and where they stand, see place.h.
 */
#include "cluster/place.h"

#include "shard/route.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool place_complain(const Place *place, const char *format, ...)
{
    char text[sizeof(((Error *)0)->text)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return error_set(place->error, ERROR_CONFIG, "%s: %s",
                     place->pointer[0] == '\0' ? "the document" : place->pointer, text);
}

/* The place of a field; its value is NULL if there is none. */
Place place_field(const Place *object, const char *name)
{
    Place place = {.value = json_field(object->value, name), .error = object->error};
    snprintf(place.pointer, sizeof(place.pointer), "%.120s/%.38s", object->pointer, name);
    return place;
}

Place place_element(const Place *array, size_t index)
{
    Place place = {.value = json_array_at(array->value, index), .error = array->error};
    snprintf(place.pointer, sizeof(place.pointer), "%.120s/%zu", array->pointer, index);
    return place;
}

bool place_check_kind(const Place *place, JsonKind kind, const char *what)
{
    if (place->value == NULL)
    {
        return place_complain(place, "is missing, %s is needed", what);
    }
    return json_kind(place->value) == kind || place_complain(place, "must be %s", what);
}

bool place_check_fields(const Place *object, const char *const *names, size_t count)
{
    if (!place_check_kind(object, JSON_KIND_OBJECT, "an object"))
    {
        return false;
    }
    const char *unknown = json_field_unknown(object->value, names, count);
    if (unknown == NULL)
    {
        return true;
    }
    Place place = place_field(object, unknown);
    return place_complain(&place, "is not a known field");
}

/* A copy of a string; NULL is left where it is absent and may be. */
bool place_take_string(const Place *place, size_t max, char **ret_text)
{
    if (!place_check_kind(place, JSON_KIND_STRING, "a string"))
    {
        return false;
    }
    const char *text = json_as_string(place->value);
    if (strlen(text) > max)
    {
        return place_complain(place, "is longer than %zu bytes", max);
    }
    *ret_text = base_strdup(text);
    return true;
}

bool place_take_name(const Place *place, char **ret_name)
{
    if (!place_check_kind(place, JSON_KIND_STRING, "a string"))
    {
        return false;
    }
    return route_name_is_valid(json_as_string(place->value))
               ? place_take_string(place, NAME_MAX_LENGTH, ret_name)
               : place_complain(place, "must be 1 to 40 of [a-z0-9-]");
}

bool place_take_number(const Place *place, int64_t max, int64_t *ret_number)
{
    if (!place_check_kind(place, JSON_KIND_INTEGER, "an integer"))
    {
        return false;
    }
    int64_t number = json_as_integer(place->value);
    if (number < 1 || number > max)
    {
        return place_complain(place, "must be from 1 to %lld", (long long)max);
    }
    *ret_number = number;
    return true;
}

/* The number of elements of an array, 1 … max. */
bool place_take_count(const Place *array, size_t max, size_t *ret_count)
{
    if (!place_check_kind(array, JSON_KIND_ARRAY, "an array"))
    {
        return false;
    }
    size_t count = json_array_length(array->value);
    if (count < 1 || count > max)
    {
        return place_complain(array, "must have 1 to %zu elements", max);
    }
    *ret_count = count;
    return true;
}
