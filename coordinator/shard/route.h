/*
 * Account ids, routes and transfer ids: pure functions, and the only place that knows how they are
 * made (libsodium's sodium.h is included by route.c alone, for SHA-256 and random bytes).
 *
 *   hash      route = first 8 bytes of SHA-256(id)
 *   range     route = the id
 *   compound  route = tenant, a zero byte, first 8 bytes of SHA-256(id); the tenant is the id up to
 *             the first ':' behind the keyspace's prefix
 *
 * So a tenant's accounts are one contiguous range of routes. The prefix does not count: with "t:"
 * the tenant of "t:acme:cash" is "t:acme", as "t" would be that of all.
 *
 *   transfer id = UUIDv8: bytes 0–3 of SHA-256(debit account), then 12 bytes of
 *                 SHA-256(debit account, 0x00, idempotency key), version and variant bits set.
 */
#ifndef GIRO_ROUTE_H
#define GIRO_ROUTE_H

#include "base/base.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

enum
{
    ROUTE_MAX = 112, /* the longest: 96-byte tenant, zero byte, 8 bytes of hash */
    UUID_TEXT_MAX = 36,
};

typedef enum KeyspaceKind
{
    KEYSPACE_HASH,
    KEYSPACE_RANGE,
    KEYSPACE_COMPOUND,
    KEYSPACE_KIND_COUNT,
} KeyspaceKind;
const char *keyspace_kind_name(KeyspaceKind kind);
bool keyspace_kind_parse(const char *name, KeyspaceKind *ret_kind) ATTR_MUST_USE;

typedef struct Route
{
    uint8_t bytes[ROUTE_MAX];
    uint8_t length;
} Route;

/* Must be called once before any other function here; aborts if libsodium cannot start. */
void route_library_init(void);

/* The id starts with its keyspace's prefix, which has this length. */
void route_make(KeyspaceKind kind, size_t prefix_length, const char *account_id, Route *ret_route);
/* memcmp order, a prefix sorts first: as bytea in Postgres. */
int route_compare(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length);

bool route_account_id_is_valid(const char *id); /* 1–96 of [A-Za-z0-9._:@-], not "." or ".." */
bool route_currency_is_valid(const char *currency); /* 3–8 of [A-Z0-9] */
bool route_name_is_valid(const char *name);         /* 1–40 of [a-z0-9-] */

void transfer_id_make(const char *debit_account, const char *idempotency_key, uint8_t ret_id[16]);
void uuid_random(uint8_t ret_id[16]); /* version 4 */
void random_bytes(void *ret_bytes, size_t length);
/* Lower case with dashes, NUL-terminated. */
void uuid_format(const uint8_t id[16], char ret_text[UUID_TEXT_MAX + 1]);
bool uuid_parse(const char *text, uint8_t ret_id[16]) ATTR_MUST_USE;

#endif
