/* See uri.h. */
#include "http/uri.h"

#include <string.h>

/* The decoded copy, NULL if an escape is malformed or stands for NUL. */
static const char *decode(Arena *arena, const char *text, size_t length, bool form)
{
    char *decoded = arena_take(arena, length + 1);
    size_t used = 0;
    for (size_t i = 0; i < length; i++)
    {
        if (text[i] == '+' && form)
            decoded[used++] = ' ';
        else if (text[i] != '%')
            decoded[used++] = text[i];
        else
        {
            int high = i + 2 < length ? base_hex_value(text[i + 1]) : -1;
            int low = high >= 0 ? base_hex_value(text[i + 2]) : -1;
            if (low < 0 || high * 16 + low == 0)
                return NULL;
            decoded[used++] = (char)(high * 16 + low);
            i += 2;
        }
    }
    decoded[used] = '\0';
    return decoded;
}

static bool parse_path(const char *path, size_t length, Arena *arena, Uri *uri, Error *error)
{
    if (length == 0 || path[0] != '/')
        return error_set(error, ERROR_ROUTE_NOT_FOUND, "the target is no absolute path");
    const char *end = path + length;
    for (const char *at = path; at < end;)
    {
        const char *start = at + 1;
        at = memchr(start, '/', (size_t)(end - start));
        if (at == NULL)
            at = end;
        if (uri->segment_count == URI_SEGMENTS_MAX)
            return error_set(error, ERROR_ROUTE_NOT_FOUND, "the path has too many segments");
        const char *segment = decode(arena, start, (size_t)(at - start), false);
        if (segment == NULL)
            return error_set(error, ERROR_PARAMETER_INVALID, "the path has a malformed escape");
        uri->segments[uri->segment_count++] = segment;
    }
    return true;
}

static bool is_given(const Uri *uri, const char *name)
{
    for (size_t i = 0; i < uri->parameter_count; i++)
    {
        if (strcmp(uri->parameters[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool add_parameter(const char *text, size_t length, Arena *arena, Uri *uri, Error *error)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals != NULL ? (size_t)(equals - text) : length;
    const char *name = decode(arena, text, name_length, true);
    const char *value = "";
    if (equals != NULL)
        value = decode(arena, equals + 1, length - name_length - 1, true);
    if (name == NULL || value == NULL)
        return error_set(error, ERROR_PARAMETER_INVALID, "the query has a malformed escape");
    if (is_given(uri, name))
        return error_set(error, ERROR_PARAMETER_INVALID, "a query parameter is given twice");
    if (uri->parameter_count == URI_PARAMETERS_MAX)
        return error_set(error, ERROR_PARAMETER_INVALID, "there are too many query parameters");
    uri->parameters[uri->parameter_count++] = (UriParameter){name, value};
    return true;
}

static bool parse_query(const char *query, Arena *arena, Uri *uri, Error *error)
{
    for (const char *at = query; *at != '\0';)
    {
        size_t length = strcspn(at, "&");
        if (length > 0 && !add_parameter(at, length, arena, uri, error))
            return false;
        at += length;
        if (*at == '&')
            at++;
    }
    return true;
}

bool uri_parse(const char *target, Arena *arena, Uri *ret_uri, Error *error)
{
    Uri uri = {0};
    size_t path_length = strcspn(target, "?#");
    if (!parse_path(target, path_length, arena, &uri, error))
        return false;
    if (target[path_length] == '?' && !parse_query(target + path_length + 1, arena, &uri, error))
        return false;
    *ret_uri = uri;
    return true;
}
