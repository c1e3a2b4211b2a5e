/* See cursor.h. All are their letter and hexadecimal digits. */
#include "api/cursor.h"

#include "shard/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ENTRIES_PREFIX = 1 + 8,
    TIME_DIGITS = 16,
    UUID_DIGITS = 32,
};

static const char digits[] = "0123456789abcdef";
static const int64_t timestamp_max_us = INT64_C(253402300799999999); /* the year 9999 */

static bool refuse(Fault *fault)
{
    return fault_set(fault, ERROR_CURSOR_INVALID, NULL, "the cursor is not one of this list");
}

/* Two digits per byte, of which there are as many as the caller has checked. */
static void read_bytes(const char *text, uint8_t *ret_bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        size_t high = (size_t)(strchr(digits, text[2 * i]) - digits);
        size_t low = (size_t)(strchr(digits, text[2 * i + 1]) - digits);
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
}

/* The letter, and a hash of the id that tells accounts apart. */
static void write_entries_prefix(const char *id, char ret_prefix[ENTRIES_PREFIX + 1])
{
    Route route;
    route_make(KEYSPACE_HASH, 0, id, &route);
    snprintf(ret_prefix, ENTRIES_PREFIX + 1, "e%02x%02x%02x%02x", route.bytes[0], route.bytes[1],
             route.bytes[2], route.bytes[3]);
}

void cursor_write_seq(const char *id, int64_t seq, char ret_cursor[CURSOR_MAX + 1])
{
    char prefix[ENTRIES_PREFIX + 1];
    write_entries_prefix(id, prefix);
    snprintf(ret_cursor, CURSOR_MAX + 1, "%s%" PRIx64, prefix, (uint64_t)seq);
}

/* A number without leading zeros. */
static bool read_number(const char *number, int64_t *ret_number, Fault *fault)
{
    size_t length = strlen(number);
    uint64_t seq = 0;
    bool sound =
        length >= 1 && length <= 16 && number[0] != '0' && strspn(number, digits) == length;
    if (sound)
        seq = strtoull(number, NULL, 16);
    if (!sound || seq > INT64_MAX)
        return refuse(fault);
    *ret_number = (int64_t)seq;
    return true;
}

bool cursor_read_seq(const char *cursor, const char *id, int64_t *ret_seq, Fault *fault)
{
    char prefix[ENTRIES_PREFIX + 1];
    write_entries_prefix(id, prefix);
    if (strncmp(cursor, prefix, ENTRIES_PREFIX) != 0)
        return refuse(fault);
    return read_number(cursor + ENTRIES_PREFIX, ret_seq, fault);
}

void cursor_write_account(const char *id, char ret_cursor[CURSOR_MAX + 1])
{
    char *at = ret_cursor;
    ASSERT(strlen(id) <= ACCOUNT_ID_MAX);
    *at++ = 'a';
    for (; *id != '\0'; id++)
    {
        unsigned char byte = (unsigned char)*id;
        *at++ = digits[byte >> 4];
        *at++ = digits[byte & 15];
    }
    *at = '\0';
}

bool cursor_read_account(const char *cursor, char ret_id[ACCOUNT_ID_MAX + 1], Fault *fault)
{
    char id[ACCOUNT_ID_MAX + 1];
    size_t length = strlen(cursor);
    if (length < 3 || length > CURSOR_MAX || length % 2 == 0 || cursor[0] != 'a' ||
        strspn(cursor + 1, digits) != length - 1)
        return refuse(fault);
    read_bytes(cursor + 1, (uint8_t *)id, length / 2);
    id[length / 2] = '\0';
    if (strlen(id) != length / 2 || !route_account_id_is_valid(id))
        return refuse(fault);
    memcpy(ret_id, id, length / 2 + 1);
    return true;
}

void cursor_write_transfer(const TransferKey *key, char ret_cursor[CURSOR_MAX + 1])
{
    char *at = ret_cursor;
    at += snprintf(at, CURSOR_MAX + 1, "t%016" PRIx64, (uint64_t)key->created_at_us);
    for (size_t i = 0; i < sizeof key->id; i++)
    {
        *at++ = digits[key->id[i] >> 4];
        *at++ = digits[key->id[i] & 15];
    }
    *at = '\0';
}

bool cursor_read_transfer(const char *cursor, TransferKey *ret_key, Fault *fault)
{
    uint8_t time[TIME_DIGITS / 2];
    uint64_t us = 0;
    if (strlen(cursor) != 1 + TIME_DIGITS + UUID_DIGITS || cursor[0] != 't' ||
        strspn(cursor + 1, digits) != TIME_DIGITS + UUID_DIGITS)
        return refuse(fault);
    read_bytes(cursor + 1, time, sizeof time);
    for (size_t i = 0; i < sizeof time; i++)
        us = us << 8 | time[i];
    if (us > (uint64_t)timestamp_max_us)
        return refuse(fault);
    ret_key->created_at_us = (int64_t)us;
    read_bytes(cursor + 1 + TIME_DIGITS, ret_key->id, sizeof ret_key->id);
    return true;
}

void cursor_write_partition(int64_t number, char ret_cursor[CURSOR_MAX + 1])
{
    snprintf(ret_cursor, CURSOR_MAX + 1, "p%" PRIx64, (uint64_t)number);
}

bool cursor_read_partition(const char *cursor, int64_t *ret_number, Fault *fault)
{
    return cursor[0] == 'p' ? read_number(cursor + 1, ret_number, fault) : refuse(fault);
}
