/* Cursors read back, and nothing else does. */
#include "api/cursor.h"
#include "shard/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void seqs_read_back_for_their_account_and_others_are_refused(void **state)
{
    static const int64_t seqs[] = {1, 2, 255, 9007199254740991, INT64_MAX};
    static const char *const bad_seqs[] = {
        "", "0", "01", "X", "-1", " 1", "A", "1 ", "f000000000000000", "10000000000000000"};
    static const char *const others[] = {"", "e", "e1", "1", "f1", "ea", "a616c696365"};
    char cursor[CURSOR_MAX + 1];
    Fault fault;
    int64_t seq;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(seqs); i++)
    {
        cursor_write_seq("alice", seqs[i], cursor);
        assert_true(cursor_read_seq(cursor, "alice", &seq, &fault));
        assert_true(seq == seqs[i]);
        assert_false(cursor_read_seq(cursor, "bob", &seq, &fault));
        assert_int_equal(fault.code, ERROR_CURSOR_INVALID);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad_seqs); i++)
    {
        cursor_write_seq("alice", 1, cursor);
        size_t before = strlen(cursor) - 1;
        snprintf(cursor + before, sizeof cursor - before, "%s", bad_seqs[i]);
        if (cursor_read_seq(cursor, "alice", &seq, &fault))
            fail_msg("<%s>", cursor);
        assert_int_equal(fault.code, ERROR_CURSOR_INVALID);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_false(cursor_read_seq(others[i], "alice", &seq, &fault));
}

static void accounts_read_back_and_others_are_refused(void **state)
{
    char longest[ACCOUNT_ID_MAX + 1];
    char too_long[CURSOR_MAX + 3];
    memset(longest, 'z', ACCOUNT_ID_MAX);
    longest[ACCOUNT_ID_MAX] = '\0';
    memset(too_long, '6', sizeof too_long);
    too_long[0] = 'a';
    too_long[CURSOR_MAX + 2] = '\0';
    const char *const ids[] = {"a", "t:alice@x", "A-Z_0.9", longest};
    const char *const bad[] = {"",    "a",   "a6",    "a616", "A61", "a6G", "a 61",
                               "e61", "a00", "a6100", "a2e",  "a20", "aff", too_long};
    Fault fault;
    char id[ACCOUNT_ID_MAX + 1];
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
    {
        char cursor[CURSOR_MAX + 1];
        cursor_write_account(ids[i], cursor);
        assert_true(cursor_read_account(cursor, id, &fault));
        assert_string_equal(id, ids[i]);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
    {
        if (cursor_read_account(bad[i], id, &fault))
            fail_msg("<%s>", bad[i]);
        assert_int_equal(fault.code, ERROR_CURSOR_INVALID);
    }
}

static void transfers_read_back_and_others_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "t",
        "t0006a0b1c2d3e4f500112233445566778899aabbccddeef",
        "t0006a0b1c2d3e4f500112233445566778899aabbccddeeff0",
        "T0006a0b1c2d3e4f500112233445566778899aabbccddeeff",
        "a0006a0b1c2d3e4f500112233445566778899aabbccddeeff",
        "t0006a0b1c2d3e4f500112233445566778899aabbccddeefG",
        "t7fffffffffffffff00112233445566778899aabbccddeeff",
        "tffffffffffffffff00112233445566778899aabbccddeeff",
    };
    TransferKey key = {.created_at_us = 1798761600123456, .id = {0, 17, 34, 255, 254, 128, 1}};
    TransferKey read;
    char cursor[CURSOR_MAX + 1];
    Fault fault;
    (void)state;
    cursor_write_transfer(&key, cursor);
    assert_true(cursor_read_transfer(cursor, &read, &fault));
    assert_int_equal(read.created_at_us, key.created_at_us);
    assert_memory_equal(read.id, key.id, sizeof key.id);
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
    {
        if (cursor_read_transfer(bad[i], &read, &fault))
            fail_msg("<%s>", bad[i]);
        assert_int_equal(fault.code, ERROR_CURSOR_INVALID);
    }
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seqs_read_back_for_their_account_and_others_are_refused),
        cmocka_unit_test(accounts_read_back_and_others_are_refused),
        cmocka_unit_test(transfers_read_back_and_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
