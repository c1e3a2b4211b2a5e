/* What the process says of itself: alive, ready, version, description, problems. See handler.h. */
#include "api/handler.h"

#include "cluster/embedded.h"

#include <string.h>

static const char openapi_path[] = "coordinator/api/openapi.json";

void health_live(Api *api, HttpRequest *request)
{
    (void)api;
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_put_string(writer, "status", "alive");
    json_end_object(writer);
    answer_json(request, 200, writer, &(HttpReply){0});
}

/* Why this coordinator cannot serve, ERROR_NONE if it can. One usable shard is enough: transfers
 * between others fail by themselves. */
static ErrorCode find_trouble(const Api *api)
{
    if (api->draining)
        return ERROR_DRAINING;
    if (!directory_is_loaded(api->directory) || !intake_is_loaded(api->options.intake))
        return ERROR_DIRECTORY_UNAVAILABLE;
    for (size_t i = 0; i < directory_shard_count(api->directory); i++)
    {
        if (shard_is_usable(directory_shard(api->directory, i)))
            return ERROR_NONE;
    }
    return ERROR_SHARD_UNAVAILABLE;
}

static void write_shard(JsonWriter *writer, const Shard *shard)
{
    ShardCounts counts = shard_counts(shard);
    const char *trouble = shard_trouble(shard);
    json_begin_object(writer, NULL);
    json_put_string(writer, "name", shard_name(shard));
    json_put_integer(writer, "ordinal", shard_ordinal(shard));
    json_put_bool(writer, "usable", shard_is_usable(shard));
    json_put_string(writer, "trouble", trouble[0] != '\0' ? trouble : NULL);
    json_put_integer(writer, "sessions_open", counts.sessions_open);
    json_put_integer(writer, "sessions_busy", counts.sessions_busy);
    json_put_integer(writer, "waiting", counts.waiting);
    json_end_object(writer);
}

/* What is paused, for anybody to hear: no accounts and no reasons. */
static void write_intake(JsonWriter *writer, const Intake *intake)
{
    int64_t accounts = 0;
    json_begin_object(writer, "intake");
    json_begin_array(writer, "paused");
    for (size_t i = 0; i < intake_count(intake); i++)
    {
        const char *scope = intake_scope(intake, i)->scope;
        bool is_account = strncmp(scope, "account:", strlen("account:")) == 0;
        accounts += is_account;
        if (!is_account)
            json_put_string(writer, NULL, scope);
    }
    json_end_array(writer);
    json_put_integer(writer, "paused_accounts", accounts);
    json_end_object(writer);
}

static void write_details(JsonWriter *writer, const Api *api)
{
    const Directory *directory = api->directory;
    BatcherCounts counts = batcher_counts(api->batcher);
    json_begin_object(writer, "directory");
    json_put_string(writer, "cluster", directory_cluster(directory));
    json_put_bool(writer, "loaded", directory_is_loaded(directory));
    json_put_bool(writer, "reachable", directory_is_reachable(directory));
    json_put_integer(writer, "version", directory_version(directory));
    json_end_object(writer);
    json_begin_array(writer, "shards");
    for (size_t i = 0; i < directory_shard_count(directory); i++)
        write_shard(writer, directory_shard(directory, i));
    json_end_array(writer);
    write_intake(writer, api->options.intake);
    json_put_integer(writer, "transfers_in_flight", (int64_t)counts.transfers);
    json_put_integer(writer, "batches_in_flight", (int64_t)counts.batches);
}

void health_ready(Api *api, HttpRequest *request)
{
    bool verbose;
    ErrorCode trouble = find_trouble(api);
    if (!query_flag(request, "verbose", &verbose))
        return;
    if (!verbose && trouble != ERROR_NONE)
    {
        problem_send(request, trouble, NULL);
        return;
    }
    HttpReply reply = {0};
    char retry_after[PROBLEM_RETRY_AFTER_MAX];
    if (trouble != ERROR_NONE)
        problem_retry_header(&reply, trouble, retry_after);
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_put_string(writer, "status", trouble == ERROR_NONE ? "ready" : error_row(trouble)->name);
    if (verbose)
        write_details(writer, api);
    json_end_object(writer);
    answer_json(request, trouble == ERROR_NONE ? 200 : 503, writer, &reply);
}

void health_version(Api *api, HttpRequest *request)
{
    (void)api;
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_put_string(writer, "name", "girod");
    json_put_string(writer, "version", GIRO_VERSION);
    json_end_object(writer);
    answer_json(request, 200, writer, &(HttpReply){0});
}

void health_openapi(Api *api, HttpRequest *request)
{
    (void)api;
    for (const EmbeddedFile *file = embedded_files(); file->path != NULL; file++)
    {
        if (strcmp(file->path, openapi_path) != 0)
            continue;
        HttpReply reply = {
            .status = 200,
            .content_type = "application/json",
            .body = file->text,
            .body_length = strlen(file->text),
        };
        http_reply(request, &reply);
        return;
    }
    problem_send(request, ERROR_INTERNAL, "the description is not in this binary");
}

static bool is_for_clients(ErrorCode code)
{
    return code != ERROR_NONE && code != ERROR_CONFIG && code != ERROR_SETUP;
}

static void write_meaning(JsonWriter *writer, ErrorCode code)
{
    const ErrorRow *row = error_row(code);
    json_begin_object(writer, NULL);
    json_put_string(writer, "code", row->name);
    json_put_string(writer, "title", row->title);
    json_put_string(writer, "advice", row->advice);
    json_put_integer(writer, "status", row->status);
    json_put_bool(writer, "refusal", error_is_refusal(code));
    json_put_bool(writer, "retryable", row->retryable);
    if (row->retryable)
        json_put_integer(writer, "retry_after_ms", row->retry_after_ms);
    json_put_string(writer, "effect", row->effect == ERROR_EFFECT_NONE ? "none" : "unknown");
    json_end_object(writer);
}

void health_problems(Api *api, HttpRequest *request)
{
    (void)api;
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (int code = 0; code < ERROR_COUNT; code++)
    {
        if (is_for_clients((ErrorCode)code))
            write_meaning(writer, (ErrorCode)code);
    }
    json_end_array(writer);
    json_put_null(writer, "next_cursor");
    json_end_object(writer);
    answer_json(request, 200, writer, &(HttpReply){0});
}

/* One code may have two meanings: account-not-found is a refusal too. */
void health_problem(Api *api, HttpRequest *request)
{
    const char *name = path_segment(request, 1);
    bool found = false;
    (void)api;
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_put_string(writer, "code", name);
    json_begin_array(writer, "meanings");
    for (int code = 0; code < ERROR_COUNT; code++)
    {
        if (!is_for_clients((ErrorCode)code) || strcmp(error_row((ErrorCode)code)->name, name) != 0)
            continue;
        write_meaning(writer, (ErrorCode)code);
        found = true;
    }
    json_end_array(writer);
    json_end_object(writer);
    if (found)
    {
        answer_json(request, 200, writer, &(HttpReply){0});
        return;
    }
    json_writer_free(writer);
    problem_send(request, ERROR_ROUTE_NOT_FOUND, "there is no such problem code");
}
