/* See address.h. */
#include "address.h"

#include <stdio.h>
#include <string.h>

static void put(Address *address, const char *text)
{
    size_t length = strlen(text);
    if (length >= sizeof address->text - address->length)
    {
        address->is_full = true;
        return;
    }
    memcpy(address->text + address->length, text, length + 1);
    address->length += length;
}

/* The unreserved characters of RFC 3986, and of the others those that account ids have. */
static bool is_plain(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || (byte != '\0' && strchr("-._~:@", byte) != NULL);
}

static void put_encoded(Address *address, const char *text)
{
    for (; *text != '\0'; text++)
    {
        char piece[4] = {*text, '\0'};
        if (!is_plain(*text))
            snprintf(piece, sizeof piece, "%%%02X", (unsigned)(unsigned char)*text);
        put(address, piece);
    }
}

void address_begin(Address *address, const char *path)
{
    address->text[0] = '\0';
    address->length = 0;
    address->has_query = false;
    address->is_full = false;
    put(address, path);
}

void address_segment(Address *address, const char *segment)
{
    put(address, "/");
    put_encoded(address, segment);
}

void address_path(Address *address, const char *path)
{
    put(address, path);
}

void address_query(Address *address, const char *name, const char *value)
{
    if (value == NULL)
        return;
    put(address, address->has_query ? "&" : "?");
    address->has_query = true;
    put(address, name);
    put(address, "=");
    put_encoded(address, value);
}
