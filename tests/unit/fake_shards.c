/* See fake_shards.h. */
#include "fake_shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    CALLS_MAX = 16,
};

struct Shard
{
    int position;
};

struct PgRows
{
    const FakeRow *rows;
    size_t count;
};

typedef struct FakeCall
{
    Call call;
    int shard; /* -1: by account */
} FakeCall;

static const char *const shard_names[FAKE_SHARDS] = {"s1", "s2", "s3"};
static Shard shards[FAKE_SHARDS] = {{0}, {1}, {2}};
static FakeShards fake;
static LoopTimer *timer;
static FakeCall waiting[CALLS_MAX];
static size_t waiting_count;

static void answer(const FakeCall *call)
{
    Location location = {.shard = &shards[1], .partition = 42, .epoch = 1, .keyspace = ""};
    bool routed = call->shard < 0;
    size_t count = routed ? fake.row_count : fake.shard_rows[call->shard];
    PgRows rows = {fake.rows, count};
    ErrorCode code = routed ? fake.code : fake.shard_code[call->shard];
    CallResult result = {
        .code = code,
        .detail = code == ERROR_NONE ? "" : "a reason",
        .rows = code == ERROR_NONE ? &rows : NULL,
        .location = routed ? &location : NULL,
    };
    call->call.done(call->call.context, &result);
}

static void answer_all(void *context)
{
    FakeCall now[CALLS_MAX];
    size_t count = waiting_count;
    (void)context;
    memcpy(now, waiting, sizeof now);
    waiting_count = 0;
    for (size_t i = 0; i < count; i++)
        answer(&now[i]);
}

FakeShards *fake_shards_reset(Loop *loop)
{
    memset(&fake, 0, sizeof fake);
    fake.loaded = true;
    for (size_t i = 0; i < FAKE_SHARDS; i++)
        fake.usable[i] = true;
    timer = loop_timer_new(loop, answer_all, NULL);
    waiting_count = 0;
    return &fake;
}

void fake_shards_done(void)
{
    loop_timer_free(timer);
}

/* ---- calls ---------------------------------------------------------------------------------- */

Caller *caller_new(Loop *loop, Directory *directory, const CallerOptions *options)
{
    (void)loop;
    (void)directory;
    (void)options;
    return NULL;
}

void caller_free(Caller *caller)
{
    (void)caller;
}

size_t caller_count(const Caller *caller)
{
    (void)caller;
    return waiting_count;
}

static void add_call(const Call *call, int shard)
{
    ASSERT(waiting_count < CALLS_MAX);
    if (call->fill != NULL)
    {
        PgParams *params = pg_params_new(8192);
        call->fill(call->context, params);
        pg_params_free(params);
    }
    waiting[waiting_count++] = (FakeCall){*call, shard};
    fake.calls++;
    fake.last_statement = call->statement;
    loop_timer_start(timer, 0);
}

void call_account(Caller *caller, const char *account_id, const Call *call)
{
    (void)caller;
    snprintf(fake.last_account, sizeof fake.last_account, "%s", account_id);
    add_call(call, -1);
}

void call_shard(Caller *caller, Shard *shard, const Call *call)
{
    (void)caller;
    add_call(call, shard->position);
}

/* ---- directory and shards ------------------------------------------------------------------- */

static const char *const mode_names[MODE_COUNT] = {"auto", "local", "2pc", "saga"};

const char *mode_name(TransferMode mode)
{
    return mode_names[mode];
}

bool mode_parse(const char *name, TransferMode *ret_mode)
{
    for (int mode = 0; mode < MODE_COUNT; mode++)
    {
        if (strcmp(name, mode_names[mode]) == 0)
        {
            *ret_mode = (TransferMode)mode;
            return true;
        }
    }
    return false;
}

bool directory_is_loaded(const Directory *directory)
{
    (void)directory;
    return fake.loaded;
}

bool directory_is_reachable(const Directory *directory)
{
    (void)directory;
    return fake.loaded;
}

int64_t directory_version(const Directory *directory)
{
    (void)directory;
    return 9;
}

const char *directory_cluster(const Directory *directory)
{
    (void)directory;
    return "test";
}

bool directory_locate(const Directory *directory, const char *account_id, Location *ret_location)
{
    (void)directory;
    if (!fake.loaded)
        return false;
    *ret_location = (Location){.shard = &shards[strlen(account_id) % FAKE_SHARDS], .keyspace = ""};
    return true;
}

size_t directory_shard_count(const Directory *directory)
{
    (void)directory;
    return fake.loaded ? FAKE_SHARDS : 0;
}

Shard *directory_shard(const Directory *directory, size_t position)
{
    (void)directory;
    return &shards[position];
}

size_t directory_candidates(const Directory *directory, const uint8_t transfer_id[16],
                            Shard **ret_shards, size_t max)
{
    (void)directory;
    (void)transfer_id;
    size_t count = 0;
    while (fake.loaded && count < FAKE_SHARDS && count < max)
    {
        ret_shards[count] = &shards[count];
        count++;
    }
    return count;
}

const char *shard_name(const Shard *shard)
{
    return shard_names[shard->position];
}

int shard_ordinal(const Shard *shard)
{
    return shard->position + 1;
}

bool shard_is_usable(const Shard *shard)
{
    return fake.usable[shard->position];
}

const char *shard_trouble(const Shard *shard)
{
    return fake.usable[shard->position] ? "" : "connection refused";
}

ShardCounts shard_counts(const Shard *shard)
{
    (void)shard;
    return (ShardCounts){.sessions_open = 4, .sessions_busy = 1};
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const FakeCell *cell(const PgRows *rows, size_t row, size_t column)
{
    ASSERT(row < rows->count && column < FAKE_COLUMNS_MAX);
    return &rows->rows[row].cells[column];
}

size_t pg_row_count(const PgRows *rows)
{
    return rows != NULL ? rows->count : 0;
}

bool pg_is_null(const PgRows *rows, size_t row, size_t column)
{
    return cell(rows, row, column)->null;
}

int32_t pg_int4(const PgRows *rows, size_t row, size_t column)
{
    return (int32_t)cell(rows, row, column)->number;
}

int64_t pg_int8(const PgRows *rows, size_t row, size_t column)
{
    ASSERT(!pg_is_null(rows, row, column));
    return cell(rows, row, column)->number;
}

int64_t pg_timestamp_us(const PgRows *rows, size_t row, size_t column)
{
    return pg_int8(rows, row, column);
}

const uint8_t *pg_uuid(const PgRows *rows, size_t row, size_t column)
{
    static uint8_t id[16];
    ASSERT(uuid_parse(cell(rows, row, column)->text, id));
    return id;
}

const char *pg_text(const PgRows *rows, size_t row, size_t column)
{
    const FakeCell *value = cell(rows, row, column);
    return value->null ? NULL : value->text;
}
