/*
 * The opaque cursors of lists: where a page ends, so that the next one begins behind it. The first
 * letter names the list, so that a cursor of one list is refused by the others.
 */
#ifndef GIRO_CURSOR_H
#define GIRO_CURSOR_H

#include "api/problem.h"
#include "base/limits.h"

enum
{
    CURSOR_MAX = 1 + 2 * ACCOUNT_ID_MAX,
};

/* Entries of the account with this id: the oldest seq already seen. Another account's cursor is
 * refused. */
void cursor_write_seq(const char *id, int64_t seq, char ret_cursor[CURSOR_MAX + 1]);
bool cursor_read_seq(const char *cursor, const char *id, int64_t *ret_seq,
                     Fault *fault) ATTR_MUST_USE;

/* Accounts: the last id already seen. */
void cursor_write_account(const char *id, char ret_cursor[CURSOR_MAX + 1]);
bool cursor_read_account(const char *cursor, char ret_id[ACCOUNT_ID_MAX + 1],
                         Fault *fault) ATTR_MUST_USE;

/* Transfers, newest first: where the order has come to. */
typedef struct TransferKey
{
    int64_t created_at_us;
    uint8_t id[16];
} TransferKey;
void cursor_write_transfer(const TransferKey *key, char ret_cursor[CURSOR_MAX + 1]);
bool cursor_read_transfer(const char *cursor, TransferKey *ret_key, Fault *fault) ATTR_MUST_USE;

/* Partitions: the last number already seen. */
void cursor_write_partition(int64_t number, char ret_cursor[CURSOR_MAX + 1]);
bool cursor_read_partition(const char *cursor, int64_t *ret_number, Fault *fault) ATTR_MUST_USE;

#endif
