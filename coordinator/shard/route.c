/* See route.h. */
#include "shard/route.h"

#include <sodium.h>
#include <string.h>

enum
{
    HASH_ROUTE_LENGTH = 8,
    UUID_HASH_AT = 4, /* the bytes before are those of the debit account's hash */
};

static const char *const kind_names[KEYSPACE_KIND_COUNT] = {"hash", "range", "compound"};

const char *keyspace_kind_name(KeyspaceKind kind)
{
    ASSERT(kind >= 0 && kind < KEYSPACE_KIND_COUNT);
    return kind_names[kind];
}

bool keyspace_kind_parse(const char *name, KeyspaceKind *ret_kind)
{
    for (int kind = 0; kind < KEYSPACE_KIND_COUNT; kind++)
    {
        if (strcmp(name, kind_names[kind]) == 0)
        {
            *ret_kind = (KeyspaceKind)kind;
            return true;
        }
    }
    return false;
}

void route_library_init(void)
{
    ASSERT(sodium_init() >= 0);
}

static void put(Route *route, const void *bytes, size_t length)
{
    ASSERT(route->length + length <= ROUTE_MAX);
    memcpy(route->bytes + route->length, bytes, length);
    route->length = (uint8_t)(route->length + length);
}

static void put_hash(Route *route, const char *account_id)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const uint8_t *)account_id, strlen(account_id));
    put(route, hash, HASH_ROUTE_LENGTH);
}

void route_make(KeyspaceKind kind, size_t prefix_length, const char *account_id, Route *ret_route)
{
    Route route = {.length = 0};
    switch (kind)
    {
    case KEYSPACE_HASH:
        put_hash(&route, account_id);
        break;
    case KEYSPACE_RANGE:
        put(&route, account_id, strlen(account_id));
        break;
    case KEYSPACE_COMPOUND:
        put(&route, account_id, prefix_length + strcspn(account_id + prefix_length, ":"));
        put(&route, "", 1);
        put_hash(&route, account_id);
        break;
    case KEYSPACE_KIND_COUNT:
        ASSERT(false);
    }
    *ret_route = route;
}

int route_compare(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length)
{
    size_t common = a_length < b_length ? a_length : b_length;
    int order = common > 0 ? memcmp(a, b, common) : 0;
    if (order != 0)
        return order;
    return (a_length > b_length) - (a_length < b_length);
}

/* Is the text min … max long and of these characters only? */
static bool consists_of(const char *text, size_t min, size_t max, const char *allowed)
{
    size_t length = strnlen(text, max + 1);
    return length >= min && length <= max && strspn(text, allowed) == length;
}

#define DIGITS "0123456789"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool route_account_id_is_valid(const char *id)
{
    return consists_of(id, 1, ACCOUNT_ID_MAX, DIGITS LOWER UPPER "._:@-") && strcmp(id, ".") != 0 &&
           strcmp(id, "..") != 0;
}

bool route_currency_is_valid(const char *currency)
{
    return consists_of(currency, 3, CURRENCY_MAX, DIGITS UPPER);
}

bool route_name_is_valid(const char *name)
{
    return consists_of(name, 1, NAME_MAX_LENGTH, DIGITS LOWER "-");
}

static void set_uuid_version(uint8_t id[16], uint8_t version)
{
    id[6] = (uint8_t)((id[6] & 0x0f) | (version << 4));
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}

void transfer_id_make(const char *debit_account, const char *idempotency_key, uint8_t ret_id[16])
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    size_t account_length = strlen(debit_account);
    crypto_hash_sha256(hash, (const uint8_t *)debit_account, account_length);
    memcpy(ret_id, hash, UUID_HASH_AT);

    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const uint8_t *)debit_account, account_length + 1);
    crypto_hash_sha256_update(&state, (const uint8_t *)idempotency_key, strlen(idempotency_key));
    crypto_hash_sha256_final(&state, hash);
    memcpy(ret_id + UUID_HASH_AT, hash, 16 - UUID_HASH_AT);
    set_uuid_version(ret_id, 8);
}

void uuid_random(uint8_t ret_id[16])
{
    randombytes_buf(ret_id, 16);
    set_uuid_version(ret_id, 4);
}

void random_bytes(void *ret_bytes, size_t length)
{
    randombytes_buf(ret_bytes, length);
}

/* Where the dashes of a UUID stand, before these bytes. */
static bool dash_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uuid_format(const uint8_t id[16], char ret_text[UUID_TEXT_MAX + 1])
{
    static const char digits[] = "0123456789abcdef";
    char *at = ret_text;
    for (size_t i = 0; i < 16; i++)
    {
        if (dash_before(i))
            *at++ = '-';
        *at++ = digits[id[i] >> 4];
        *at++ = digits[id[i] & 0x0f];
    }
    *at = '\0';
}

bool uuid_parse(const char *text, uint8_t ret_id[16])
{
    uint8_t id[16];
    if (strnlen(text, UUID_TEXT_MAX + 1) != UUID_TEXT_MAX)
        return false;
    for (size_t i = 0; i < 16; i++)
    {
        if (dash_before(i) && *text++ != '-')
            return false;
        int high = base_hex_value(*text++);
        int low = base_hex_value(*text++);
        if (high < 0 || low < 0)
            return false;
        id[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(ret_id, id, sizeof id);
    return true;
}
