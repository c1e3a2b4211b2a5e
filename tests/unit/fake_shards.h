/*
 * Directory, shards, calls and rows without a database: the test sets what the next calls answer.
 * Every shard answers with the same rows or error, in a later turn, unless it is marked down.
 */
#ifndef GIRO_FAKE_SHARDS_H
#define GIRO_FAKE_SHARDS_H

#include "shard/call.h"

enum
{
    FAKE_SHARDS = 3,
    FAKE_COLUMNS_MAX = 20,
};

/* A value of a row: text serves for text and (as 36 characters) uuid, number for all others. */
typedef struct FakeCell
{
    bool null;
    const char *text;
    int64_t number;
} FakeCell;

typedef struct FakeRow
{
    FakeCell cells[FAKE_COLUMNS_MAX];
} FakeRow;

typedef struct FakeShards
{
    bool loaded;
    bool usable[FAKE_SHARDS];
    ErrorCode code;                    /* what call_account answers */
    ErrorCode shard_code[FAKE_SHARDS]; /* what call_shard answers, per shard */
    size_t shard_rows[FAKE_SHARDS];    /* how many of the rows that shard has */
    const FakeRow *rows;
    size_t row_count;
    size_t calls;
    Statement last_statement;
    char last_account[ACCOUNT_ID_MAX + 1];
} FakeShards;

/* Everything loaded and usable, no rows. */
FakeShards *fake_shards_reset(Loop *loop);
void fake_shards_done(void);

#endif
