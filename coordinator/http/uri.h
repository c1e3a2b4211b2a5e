/*
 * A request target taken apart: path segments and query parameters.
 *
 * Segments are split first and percent-decoded afterwards, so that an encoded slash stays inside
 * its segment. The query is read as a form is written: `name=value` joined by `&`, a plus sign is a
 * blank. Pure; knows no sockets.
 */
#ifndef GIRO_URI_H
#define GIRO_URI_H

#include "base/error.h"
#include "http/arena.h"

#include <stdbool.h>

enum
{
    URI_SEGMENTS_MAX = 12,
    URI_PARAMETERS_MAX = 32,
};

typedef struct UriParameter
{
    const char *name;
    const char *value; /* "" if there is no '=' */
} UriParameter;

typedef struct Uri
{
    size_t segment_count;
    const char *segments[URI_SEGMENTS_MAX];
    size_t parameter_count;
    UriParameter parameters[URI_PARAMETERS_MAX];
} Uri;

/* Strings are taken from the arena. False with ERROR_ROUTE_NOT_FOUND if the target is no absolute
 * path or has too many segments, ERROR_PARAMETER_INVALID for a malformed or forbidden escape (%00),
 * too many parameters, or a name given twice. */
bool uri_parse(const char *target, Arena *arena, Uri *ret_uri, Error *error) ATTR_MUST_USE;

#endif
