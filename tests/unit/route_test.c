/*
 * Routes and identifiers. The expected hashes are those of sha256sum. The vectors are files that
 * tests/sql/shard/vectors_test.sql reads too; they are found from the top folder, where make runs.
 */
#include "shard/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum
{
    VECTOR_LINE_MAX = 1024,
    VECTOR_FIELDS_MAX = 4,
    VECTORS_MIN = 10, /* a file that was cut is no success */
};

/* printf alice | sha256sum, first 8 bytes */
static const uint8_t hash_of_alice[8] = {0x2b, 0xd8, 0x06, 0xc9, 0x7f, 0x0e, 0x00, 0xaf};

static void a_hash_route_is_the_start_of_the_sha256(void **state)
{
    (void)state;
    Route route;
    route_make(KEYSPACE_HASH, 0, "alice", &route);
    assert_int_equal(route.length, 8);
    assert_memory_equal(route.bytes, hash_of_alice, 8);
}

static void a_range_route_is_the_id(void **state)
{
    (void)state;
    Route route;
    route_make(KEYSPACE_RANGE, 0, "alice", &route);
    assert_int_equal(route.length, 5);
    assert_memory_equal(route.bytes, "alice", 5);
}

static void a_compound_route_keeps_a_tenant_together(void **state)
{
    (void)state;
    Route first;
    Route second;
    route_make(KEYSPACE_COMPOUND, 0, "acme:alice", &first);
    route_make(KEYSPACE_COMPOUND, 0, "acme:bob", &second);
    assert_int_equal(first.length, 4 + 1 + 8);
    assert_memory_equal(first.bytes, "acme\0", 5);
    assert_memory_equal(second.bytes, "acme\0", 5);
    assert_memory_not_equal(first.bytes + 5, second.bytes + 5, 8);
    route_make(KEYSPACE_COMPOUND, 0, "alice", &first);
    assert_memory_equal(first.bytes, "alice\0", 6);
    assert_memory_equal(first.bytes + 6, hash_of_alice, 8);
}

static void the_prefix_of_a_compound_keyspace_is_no_tenant(void **state)
{
    (void)state;
    Route acme;
    Route other;
    route_make(KEYSPACE_COMPOUND, 2, "t:acme:cash", &acme);
    route_make(KEYSPACE_COMPOUND, 2, "t:other:cash", &other);
    assert_memory_equal(acme.bytes, "t:acme\0", 7);
    assert_memory_equal(other.bytes, "t:other\0", 8);
    route_make(KEYSPACE_COMPOUND, 2, "t:", &acme);
    assert_int_equal(acme.length, 2 + 1 + 8);
    assert_memory_equal(acme.bytes, "t:\0", 3);
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Calls `check` with the fields of each line but the first; returns how many there were. */
static int each_vector(const char *path, void (*check)(char *const *fields))
{
    char line[VECTOR_LINE_MAX];
    int count = -1;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        fail_msg("%s cannot be opened; run the test from the top folder", path);
    for (; file != NULL && fgets(line, sizeof line, file) != NULL; count++)
    {
        char *fields[VECTOR_FIELDS_MAX] = {NULL};
        char *rest = line;
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < VECTOR_FIELDS_MAX && rest != NULL; i++)
            fields[i] = strsep(&rest, ",");
        if (count >= 0)
            check(fields);
    }
    fclose(file);
    return count;
}

/* kind, prefix, id, route */
static void check_route(char *const *fields)
{
    KeyspaceKind kind = KEYSPACE_HASH;
    Route route;
    char hex[2 * ROUTE_MAX + 1] = "";
    assert_true(keyspace_kind_parse(fields[0], &kind));
    assert_true(route_account_id_is_valid(fields[2]));
    route_make(kind, strlen(fields[1]), fields[2], &route);
    for (size_t i = 0; i < route.length; i++)
        snprintf(hex + 2 * i, 3, "%02x", route.bytes[i]);
    assert_string_equal(hex, fields[3]);
}

static void routes_are_those_of_the_vectors(void **state)
{
    (void)state;
    assert_true(each_vector("tests/vectors/routes.csv", check_route) > VECTORS_MIN);
}

/* debit_account, idempotency_key, id */
static void check_transfer_id(char *const *fields)
{
    uint8_t id[16];
    char text[UUID_TEXT_MAX + 1];
    transfer_id_make(fields[0], fields[1], id);
    uuid_format(id, text);
    assert_string_equal(text, fields[2]);
}

static void transfer_ids_are_those_of_the_vectors(void **state)
{
    (void)state;
    assert_true(each_vector("tests/vectors/transfers.csv", check_transfer_id) >= VECTORS_MIN);
}

static void the_longest_ids_fit(void **state)
{
    (void)state;
    char id[ACCOUNT_ID_MAX + 1];
    Route route;
    memset(id, 'x', ACCOUNT_ID_MAX);
    id[ACCOUNT_ID_MAX] = '\0';
    assert_true(route_account_id_is_valid(id));
    for (int kind = 0; kind < KEYSPACE_KIND_COUNT; kind++)
        route_make((KeyspaceKind)kind, 0, id, &route);
    assert_int_equal(route.length, ACCOUNT_ID_MAX + 1 + 8);
}

static int compare(const char *a, const char *b)
{
    return route_compare((const uint8_t *)a, strlen(a), (const uint8_t *)b, strlen(b));
}

static void compares_as_bytea_does(void **state)
{
    (void)state;
    assert_int_equal(compare("", ""), 0);
    assert_true(compare("", "a") < 0);
    assert_true(compare("a", "ab") < 0);
    assert_true(compare("b", "ab") > 0);
    assert_true(compare("\xff", "a") > 0);
    assert_int_equal(compare("ab", "ab"), 0);
}

static void knows_valid_account_ids(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "A-z0.9_:@", "...", "a..", "world:shard-1"};
    static const char *const bad[] = {"", ".", "..", "a b", "a/b", "\xc3\xa4", "a\n", "a%"};
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
        assert_true(route_account_id_is_valid(good[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_false(route_account_id_is_valid(bad[i]));
    char id[ACCOUNT_ID_MAX + 2];
    memset(id, 'x', sizeof id);
    id[ACCOUNT_ID_MAX + 1] = '\0';
    assert_false(route_account_id_is_valid(id));
}

static void knows_valid_currencies_and_names(void **state)
{
    (void)state;
    assert_true(route_currency_is_valid("EUR"));
    assert_true(route_currency_is_valid("USDC2024"));
    assert_false(route_currency_is_valid("EU"));
    assert_false(route_currency_is_valid("eur"));
    assert_false(route_currency_is_valid("USDC20245"));
    assert_true(route_name_is_valid("shard-1"));
    assert_false(route_name_is_valid(""));
    assert_false(route_name_is_valid("Shard"));
    assert_false(route_name_is_valid("a:b"));
    assert_false(route_name_is_valid("abcdefghijabcdefghijabcdefghijabcdefghij1"));
}

static void a_transfer_id_starts_with_the_hash_of_its_debit_account(void **state)
{
    (void)state;
    uint8_t id[16];
    uint8_t again[16];
    uint8_t other[16];
    char text[UUID_TEXT_MAX + 1];
    transfer_id_make("alice", "key-1", id);
    transfer_id_make("alice", "key-1", again);
    transfer_id_make("alice", "key-2", other);
    assert_memory_equal(id, hash_of_alice, 4);
    assert_memory_equal(other, hash_of_alice, 4);
    assert_memory_equal(id, again, 16);
    assert_memory_not_equal(id, other, 16);
    uuid_format(id, text);
    /* printf 'alice\0key-1' | sha256sum, first 12 bytes, version and variant set */
    assert_string_equal(text, "2bd806c9-9ed9-8eec-9bc5-df91f0a9d2f7");
}

static void the_end_of_an_account_is_not_the_start_of_a_key(void **state)
{
    (void)state;
    uint8_t one[16];
    uint8_t two[16];
    transfer_id_make("ab", "c", one);
    transfer_id_make("a", "bc", two);
    assert_memory_not_equal(one + 4, two + 4, 12);
}

static void formats_and_parses_uuids(void **state)
{
    (void)state;
    uint8_t id[16];
    char text[UUID_TEXT_MAX + 1];
    static const char *const bad[] = {
        "",
        "01020304-0506-4708-890a-0b0c0d0e0f1",
        "01020304-0506-4708-890a-0b0c0d0e0f100",
        "01020304-0506-4708-890a-0b0c0d0e0fxx",
        "0102030405060-4708-890a-0b0c0d0e0f10",
        "010203040-506-4708-890a-0b0c0d0e0f10",
    };
    assert_true(uuid_parse("01020304-0506-4708-890A-0b0c0d0e0f10", id));
    uuid_format(id, text);
    assert_string_equal(text, "01020304-0506-4708-890a-0b0c0d0e0f10");
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_false(uuid_parse(bad[i], id));
}

static void random_uuids_are_of_version_4_and_differ(void **state)
{
    (void)state;
    uint8_t one[16];
    uint8_t two[16];
    uuid_random(one);
    uuid_random(two);
    assert_memory_not_equal(one, two, 16);
    assert_int_equal(one[6] >> 4, 4);
    assert_int_equal(one[8] >> 6, 2);
}

static void keyspace_kinds_have_names(void **state)
{
    (void)state;
    KeyspaceKind kind = KEYSPACE_HASH;
    assert_string_equal(keyspace_kind_name(KEYSPACE_COMPOUND), "compound");
    assert_true(keyspace_kind_parse("range", &kind));
    assert_int_equal(kind, KEYSPACE_RANGE);
    assert_false(keyspace_kind_parse("list", &kind));
}

static int setup(void **state)
{
    (void)state;
    route_library_init();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hash_route_is_the_start_of_the_sha256),
        cmocka_unit_test(a_range_route_is_the_id),
        cmocka_unit_test(a_compound_route_keeps_a_tenant_together),
        cmocka_unit_test(the_prefix_of_a_compound_keyspace_is_no_tenant),
        cmocka_unit_test(routes_are_those_of_the_vectors),
        cmocka_unit_test(transfer_ids_are_those_of_the_vectors),
        cmocka_unit_test(the_longest_ids_fit),
        cmocka_unit_test(compares_as_bytea_does),
        cmocka_unit_test(knows_valid_account_ids),
        cmocka_unit_test(knows_valid_currencies_and_names),
        cmocka_unit_test(a_transfer_id_starts_with_the_hash_of_its_debit_account),
        cmocka_unit_test(the_end_of_an_account_is_not_the_start_of_a_key),
        cmocka_unit_test(formats_and_parses_uuids),
        cmocka_unit_test(random_uuids_are_of_version_4_and_differ),
        cmocka_unit_test(keyspace_kinds_have_names),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
