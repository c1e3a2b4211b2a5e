/*
 * The path and query of a request, every part percent-encoded: what a person types as an id or a
 * value never becomes a path, a parameter or a header of its own.
 */
#ifndef GIROCTL_ADDRESS_H
#define GIROCTL_ADDRESS_H

#include "base/base.h"

#include <stdbool.h>

enum
{
    ADDRESS_MAX = 8 * 1024,
};

typedef struct Address
{
    char text[ADDRESS_MAX]; /* "/v1/accounts/a%2Fb?limit=10" */
    size_t length;
    bool has_query;
    bool is_full; /* something did not fit: not to be used */
} Address;

/* `path` is our own text and taken as it is. */
void address_begin(Address *address, const char *path);
void address_segment(Address *address, const char *segment); /* "/" and the encoded segment */
void address_path(Address *address, const char *path);       /* more text of our own */
/* NULL as value: left out. */
void address_query(Address *address, const char *name, const char *value);

#endif
