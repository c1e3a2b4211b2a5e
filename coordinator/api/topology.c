/*
 * What the cluster consists of: GET /v1/shards, /v1/partitions and /v1/directory. See handler.h.
 *
 * Shards are asked, all at once, what they say of themselves; one that does not answer is listed
 * all the same, with the reason. Partitions and directory are those of the copy that this
 * coordinator works by.
 */
#include "api/handler.h"

#include "api/cursor.h"
#include "api/intake_document.h"

#include <stdlib.h>
#include <string.h>

/* ---- shards --------------------------------------------------------------------------------- */

/* Columns of shard_report. */
enum
{
    REPORT_CLOCK,
    REPORT_ROLE,
    REPORT_SERVER_VERSION,
    REPORT_DATABASE,
    REPORT_TIMELINE,
    REPORT_EPOCH,
    REPORT_FENCED,
    REPORT_FENCED_AT,
    REPORT_SESSIONS,
    REPORT_SESSIONS_MAX,
    REPORT_PREPARED,
    REPORT_PREPARED_MAX,
    REPORT_STANDBYS,
    REPORT_LAG_BYTES,
    REPORT_LAG_MS,
    REPORT_SETTINGS,
};

enum
{
    REPORT_BYTES_MAX = 16 * 1024,
};

/* One shard that is asked. */
typedef struct Ask
{
    struct Survey *survey;
    Shard *shard;
    int64_t asked_at_us;
    char *json; /* its item; owned */
} Ask;

/* Answered when the last shard has answered, or has not. */
typedef struct Survey
{
    HttpRequest *request;
    size_t outstanding;
    size_t count;
    Ask asks[];
} Survey;

static void put_integer(JsonWriter *writer, const char *name, const PgRows *rows, size_t column)
{
    if (rows == NULL || pg_is_null(rows, 0, column))
        json_put_null(writer, name);
    else
        json_put_integer(writer, name, pg_int8(rows, 0, column));
}

static const char *text_of(const PgRows *rows, size_t column)
{
    return rows != NULL ? pg_text(rows, 0, column) : NULL;
}

/* The sessions of this coordinator, and those of all on the server. */
static void write_sessions(JsonWriter *writer, const Shard *shard, const PgRows *rows)
{
    ShardCounts counts = shard_counts(shard);
    json_begin_object(writer, "sessions");
    json_put_integer(writer, "open", counts.sessions_open);
    json_put_integer(writer, "busy", counts.sessions_busy);
    json_put_integer(writer, "waiting", counts.waiting);
    put_integer(writer, "server_used", rows, REPORT_SESSIONS);
    if (rows != NULL)
        json_put_integer(writer, "server_max", pg_int4(rows, 0, REPORT_SESSIONS_MAX));
    else
        json_put_null(writer, "server_max");
    json_end_object(writer);
}

static void write_prepared(JsonWriter *writer, const PgRows *rows)
{
    if (rows == NULL)
    {
        json_put_null(writer, "prepared");
        return;
    }
    json_begin_object(writer, "prepared");
    json_put_integer(writer, "used", pg_int8(rows, 0, REPORT_PREPARED));
    json_put_integer(writer, "max", pg_int4(rows, 0, REPORT_PREPARED_MAX));
    json_end_object(writer);
}

static void write_replication(JsonWriter *writer, const PgRows *rows)
{
    if (rows == NULL)
    {
        json_put_null(writer, "replication");
        return;
    }
    json_begin_object(writer, "replication");
    json_put_integer(writer, "standbys", pg_int4(rows, 0, REPORT_STANDBYS));
    put_integer(writer, "lag_bytes", rows, REPORT_LAG_BYTES);
    put_integer(writer, "lag_ms", rows, REPORT_LAG_MS);
    json_end_object(writer);
}

/* The server read its clock at some moment between question and answer: the skew is exact to half
 * of that time. */
static void write_skew(JsonWriter *writer, const Ask *ask, const PgRows *rows)
{
    if (rows == NULL)
    {
        json_put_null(writer, "clock_skew_ms");
        return;
    }
    int64_t middle_us = ask->asked_at_us + (base_wall_clock_us() - ask->asked_at_us) / 2;
    json_put_integer(writer, "clock_skew_ms",
                     (pg_timestamp_us(rows, 0, REPORT_CLOCK) - middle_us) / 1000);
}

/* rows is NULL for a shard that did not answer. */
static void write_shard(JsonWriter *writer, const Ask *ask, const CallResult *result)
{
    const PgRows *rows = result->code == ERROR_NONE ? result->rows : NULL;
    const Shard *shard = ask->shard;
    const char *trouble = shard_trouble(shard);
    const char *detail = rows == NULL ? result->detail : NULL;
    json_begin_object(writer, NULL);
    json_put_string(writer, "name", shard_name(shard));
    json_put_integer(writer, "ordinal", shard_ordinal(shard));
    json_put_bool(writer, "reachable", rows != NULL);
    json_put_bool(writer, "usable", shard_is_usable(shard));
    json_put_bool(writer, "fenced", shard_is_fenced(shard));
    json_put_string(writer, "trouble", trouble[0] != '\0' ? trouble : detail);
    json_put_string(writer, "role", text_of(rows, REPORT_ROLE));
    json_put_string(writer, "server_version", text_of(rows, REPORT_SERVER_VERSION));
    json_put_string(writer, "database", text_of(rows, REPORT_DATABASE));
    json_put_string(writer, "timeline", text_of(rows, REPORT_TIMELINE));
    put_integer(writer, "epoch", rows, REPORT_EPOCH);
    json_put_string(writer, "fenced_reason", text_of(rows, REPORT_FENCED));
    write_skew(writer, ask, rows);
    write_sessions(writer, shard, rows);
    write_prepared(writer, rows);
    write_replication(writer, rows);
    json_put_raw(writer, "settings", text_of(rows, REPORT_SETTINGS));
    json_end_object(writer);
}

static void answer_survey(Survey *survey)
{
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (size_t i = 0; i < survey->count; i++)
        json_put_raw(writer, NULL, survey->asks[i].json);
    json_end_array(writer);
    json_put_null(writer, "next_cursor");
    json_end_object(writer);
    answer_json(survey->request, 200, writer, &(HttpReply){0});
}

static void on_report(void *context, const CallResult *result)
{
    Ask *ask = context;
    Survey *survey = ask->survey;
    JsonWriter *writer = json_writer_new(REPORT_BYTES_MAX);
    write_shard(writer, ask, result);
    ask->json = json_writer_take(writer, NULL);
    survey->outstanding--;
    if (survey->outstanding > 0)
        return;
    answer_survey(survey);
    for (size_t i = 0; i < survey->count; i++)
        free(survey->asks[i].json);
    free(survey);
}

void shards_list(Api *api, HttpRequest *request)
{
    size_t count = directory_shard_count(api->directory);
    if (count == 0)
    {
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
        return;
    }
    Survey *survey = base_calloc(1, sizeof *survey + count * sizeof survey->asks[0]);
    survey->request = request;
    survey->count = count;
    survey->outstanding = count;
    for (size_t i = 0; i < count; i++)
    {
        Ask *ask = &survey->asks[i];
        Shard *shard = directory_shard(api->directory, i);
        *ask = (Ask){.survey = survey, .shard = shard, .asked_at_us = base_wall_clock_us()};
        call_shard(api->caller, shard, &(Call){STATEMENT_SHARD_REPORT, NULL, on_report, ask});
    }
}

/* ---- partitions ----------------------------------------------------------------------------- */

static void put_route(JsonWriter *writer, const char *name, const Route *route)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * ROUTE_MAX + 1];
    for (size_t i = 0; i < route->length; i++)
    {
        text[2 * i] = digits[route->bytes[i] >> 4];
        text[2 * i + 1] = digits[route->bytes[i] & 15];
    }
    text[2 * (size_t)route->length] = '\0';
    json_put_string(writer, name, text);
}

static void write_partition(JsonWriter *writer, const DirectoryPartition *partition)
{
    json_begin_object(writer, NULL);
    json_put_integer(writer, "partition", partition->id);
    json_put_string(writer, "keyspace", partition->keyspace);
    json_put_string(writer, "kind", keyspace_kind_name(partition->kind));
    put_route(writer, "lo", partition->lo);
    if (partition->hi != NULL)
        put_route(writer, "hi", partition->hi);
    else
        json_put_null(writer, "hi");
    json_put_string(writer, "shard", shard_name(partition->shard));
    json_put_integer(writer, "epoch", partition->epoch);
    json_end_object(writer);
}

static int by_id(const void *left, const void *right)
{
    const DirectoryPartition *a = left;
    const DirectoryPartition *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Those behind the cursor, ascending by id; free() them. */
static DirectoryPartition *collect(const Directory *directory, int64_t after, size_t *ret_count)
{
    size_t all = directory_partition_count(directory);
    DirectoryPartition *partitions = base_calloc(all + 1, sizeof *partitions);
    size_t count = 0;
    for (size_t i = 0; i < all; i++)
    {
        directory_partition(directory, i, &partitions[count]);
        count += partitions[count].id > after;
    }
    qsort(partitions, count, sizeof *partitions, by_id);
    *ret_count = count;
    return partitions;
}

static void answer_partitions(const Api *api, HttpRequest *request, size_t limit, int64_t after)
{
    char cursor[CURSOR_MAX + 1];
    size_t count;
    DirectoryPartition *partitions = collect(api->directory, after, &count);
    bool more = count > limit;
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (size_t i = 0; i < count && i < limit; i++)
        write_partition(writer, &partitions[i]);
    json_end_array(writer);
    if (more)
        cursor_write_partition(partitions[limit - 1].id, cursor);
    json_put_string(writer, "next_cursor", more ? cursor : NULL);
    json_put_integer(writer, "version", directory_version(api->directory));
    json_end_object(writer);
    free(partitions);
    answer_json(request, 200, writer, &(HttpReply){0});
}

void partitions_list(Api *api, HttpRequest *request)
{
    Fault fault;
    int limit;
    int64_t after = -1;
    const char *cursor = query_value(request, "cursor");
    if (!fields_limit(query_value(request, "limit"), &limit, &fault) ||
        (cursor != NULL && !cursor_read_partition(cursor, &after, &fault)))
        problem_send_fault(request, &fault);
    else if (!directory_is_loaded(api->directory))
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
    else
        answer_partitions(api, request, (size_t)limit, after);
}

/* ---- the directory -------------------------------------------------------------------------- */

static void write_keyspaces(JsonWriter *writer, const Directory *directory)
{
    json_begin_array(writer, "keyspaces");
    for (size_t i = 0; i < directory_keyspace_count(directory); i++)
    {
        DirectoryKeyspace keyspace;
        directory_keyspace(directory, i, &keyspace);
        json_begin_object(writer, NULL);
        json_put_string(writer, "prefix", keyspace.prefix);
        json_put_string(writer, "kind", keyspace_kind_name(keyspace.kind));
        json_put_string(writer, "default_mode", mode_name(keyspace.default_mode));
        json_put_integer(writer, "partitions", (int64_t)keyspace.partition_count);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void directory_get(Api *api, HttpRequest *request)
{
    const Directory *directory = api->directory;
    if (!directory_is_loaded(directory))
    {
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
        return;
    }
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_put_string(writer, "cluster", directory_cluster(directory));
    json_put_integer(writer, "version", directory_version(directory));
    json_put_bool(writer, "reachable", directory_is_reachable(directory));
    json_put_integer(writer, "shards", (int64_t)directory_shard_count(directory));
    json_put_integer(writer, "partitions", (int64_t)directory_partition_count(directory));
    write_keyspaces(writer, directory);
    json_begin_object(writer, "intake");
    intake_document_write(writer, api->options.intake);
    json_end_object(writer);
    json_end_object(writer);
    answer_json(request, 200, writer, &(HttpReply){0});
}
