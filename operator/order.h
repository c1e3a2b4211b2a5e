/*
 * Parts of orders that several commands share: metadata, floors, and how long to wait.
 */
#ifndef GIROCTL_ORDER_H
#define GIROCTL_ORDER_H

#include "context.h"
#include "json/json_writer.h"

enum
{
    ORDER_PREFER_MAX = 32,
};

/* All return false, with a line on stderr, if what was given cannot be meant. */

/* The field "metadata" of --metadata name=text …; nothing if there is none. */
bool order_put_metadata(const Context *context, JsonWriter *writer) ATTR_MUST_USE;
/* The field "floor": a number, or null for "none". */
bool order_put_floor(const char *text, JsonWriter *writer) ATTR_MUST_USE;
/* The value of the Prefer header for --wait; "" if it was not given. */
bool order_prefer(const Context *context, char ret_prefer[ORDER_PREFER_MAX]) ATTR_MUST_USE;

/* The value of --older-than. */
bool order_age(const char *text, int64_t *ret_ms) ATTR_MUST_USE;

#endif
