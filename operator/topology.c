/*
 * Where things are: `shard list`, `partition list`, `prepared list`.
 */
#include "commands.h"
#include "context.h"
#include "list.h"

static const Column prepared_rows[] = {
    {"SHARD", "shard", COLUMN_TEXT},
    {"CLASS", "class", COLUMN_STATE},
    {"AGE", "age_ms", COLUMN_AGE},
    {"VERDICT", "verdict", COLUMN_TEXT},
    {"HOME", "home", COLUMN_TEXT},
    {"COORDINATOR", "coordinator", COLUMN_TEXT},
    {"OWNER", "owner", COLUMN_TEXT},
    {"GID", "gid", COLUMN_LONG},
    {"", "prepared_at", COLUMN_WIDE},
    {"", "database", COLUMN_WIDE},
    {"", "batch_id", COLUMN_WIDE},
    {"", "remote", COLUMN_WIDE},
    {"", "coordinator_is_present", COLUMN_WIDE},
};
static const Columns prepared_columns = {prepared_rows, ARRAY_LENGTH(prepared_rows)};

ExitCode run_prepared_list(Context *context)
{
    List list = {
        .path = "/v1/prepared",
        .parameters =
            {
                {"limit", context_value(context, OPTION_LIMIT)},
                {"partial", context_has(context, OPTION_PARTIAL) ? "true" : NULL},
            },
        .is_whole = true,
    };
    return list_show(context, &list, &prepared_columns);
}

static const Column shard_rows[] = {
    {"SHARD", "name", COLUMN_TEXT},
    {"USABLE", "usable", COLUMN_TEXT},
    {"ROLE", "role", COLUMN_TEXT},
    {"VERSION", "server_version", COLUMN_TEXT},
    {"SESSIONS", "sessions.server_used", COLUMN_NUMBER},
    {"OF", "sessions.server_max", COLUMN_NUMBER},
    {"PREPARED", "prepared.used", COLUMN_NUMBER},
    {"OF", "prepared.max", COLUMN_NUMBER},
    {"STANDBYS", "replication.standbys", COLUMN_NUMBER},
    {"LAG", "replication.lag_ms", COLUMN_AGE},
    {"CLOCK", "clock_skew_ms", COLUMN_AGE},
    {"TROUBLE", "trouble", COLUMN_LONG},
    {"", "ordinal", COLUMN_WIDE},
    {"", "reachable", COLUMN_WIDE},
    {"", "fenced", COLUMN_WIDE},
    {"", "fenced_reason", COLUMN_WIDE},
    {"", "database", COLUMN_WIDE},
    {"", "timeline", COLUMN_WIDE},
    {"", "epoch", COLUMN_WIDE},
    {"", "sessions.open", COLUMN_WIDE},
    {"", "sessions.busy", COLUMN_WIDE},
    {"", "sessions.waiting", COLUMN_WIDE},
    {"", "replication.lag_bytes", COLUMN_WIDE},
    {"", "settings", COLUMN_WIDE},
};
static const Columns shard_columns = {shard_rows, ARRAY_LENGTH(shard_rows)};

static const Column partition_rows[] = {
    {"PARTITION", "partition", COLUMN_NUMBER},
    {"KEYSPACE", "keyspace", COLUMN_TEXT},
    {"KIND", "kind", COLUMN_TEXT},
    {"SHARD", "shard", COLUMN_TEXT},
    {"EPOCH", "epoch", COLUMN_NUMBER},
    {"FROM", "lo", COLUMN_TEXT},
    {"UP TO", "hi", COLUMN_TEXT},
};
static const Columns partition_columns = {partition_rows, ARRAY_LENGTH(partition_rows)};

ExitCode run_shard_list(Context *context)
{
    List list = {.path = "/v1/shards", .is_whole = true};
    return list_show(context, &list, &shard_columns);
}

ExitCode run_partition_list(Context *context)
{
    List list = {.path = "/v1/partitions"};
    return list_show(context, &list, &partition_columns);
}
