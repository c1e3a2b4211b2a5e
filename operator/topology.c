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
