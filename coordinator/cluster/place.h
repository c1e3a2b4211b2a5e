/*
 * A value of a JSON document together with its JSON pointer, so that a check is one line and its
 * message says where: "/shards/1/name: must be 1 to 40 of [a-z0-9-]".
 *
 * Places are small values that live on the stack; they borrow the document and the caller's Error.
 * A check that fails fills the Error with ERROR_CONFIG and returns false.
 */
#ifndef GIRO_PLACE_H
#define GIRO_PLACE_H

#include "json/json.h"

enum
{
    PLACE_POINTER_MAX = 160, /* longer pointers are cut */
};

typedef struct Place
{
    const Json *value; /* NULL where there is none */
    Error *error;
    char pointer[PLACE_POINTER_MAX];
} Place;

/* Says what is wrong with the value; returns false. */
bool place_complain(const Place *place, const char *format, ...) ATTR_PRINTF(2, 3);

/* The place of a field; its value is NULL if there is none. The object must be one. */
Place place_field(const Place *object, const char *name);
Place place_element(const Place *array, size_t index);

/* Is the value there, and of this kind? `what` is for people: "a string". */
bool place_check_kind(const Place *place, JsonKind kind, const char *what) ATTR_MUST_USE;
/* Is it an object with no other fields than these? */
bool place_check_fields(const Place *object, const char *const *names, size_t count) ATTR_MUST_USE;

/* A copy on the heap of a string of at most max bytes. */
bool place_take_string(const Place *place, size_t max, char **ret_text) ATTR_MUST_USE;
/* The same for a name that may become part of a GID: 1 to 40 of [a-z0-9-]. */
bool place_take_name(const Place *place, char **ret_name) ATTR_MUST_USE;
/* An integer from 1 to max. */
bool place_take_number(const Place *place, int64_t max, int64_t *ret_number) ATTR_MUST_USE;
/* The length of an array, from 1 to max. */
bool place_take_count(const Place *array, size_t max, size_t *ret_count) ATTR_MUST_USE;

#endif
