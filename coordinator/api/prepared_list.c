/*
 * GET /v1/prepared: the prepared transactions of all shards, each with its class. See handler.h and
 * protocol/prepared.h.
 *
 * If a shard does not answer there is no list, unless an incomplete one is asked for: that names
 * what is missing, and the legs whose home does not answer are in doubt.
 */
#include "api/handler.h"

#include "protocol/prepared.h"

/* Lives in the request's arena. */
typedef struct PreparedCall
{
    HttpRequest *request;
    bool partial;
} PreparedCall;

/* What the GID of a leg of ours says; the home has a word on it, or has not. */
static void write_leg(JsonWriter *writer, const PreparedItem *item)
{
    char batch[UUID_TEXT_MAX + 1];
    uuid_format(item->parts.batch, batch);
    json_put_string(writer, "verdict", item->verdict);
    json_put_string(writer, "coordinator", item->parts.instance);
    json_put_bool(writer, "coordinator_is_present", item->is_present);
    json_put_string(writer, "batch_id", batch);
    json_put_string(writer, "home", item->parts.home);
    json_put_string(writer, "remote", item->parts.remote);
}

static void write_item(JsonWriter *writer, const PreparedItem *item)
{
    json_begin_object(writer, NULL);
    json_put_string(writer, "shard", shard_name(item->shard));
    json_put_string(writer, "gid", item->gid);
    json_put_string(writer, "class", prepared_class_name(item->class));
    json_put_timestamp(writer, "prepared_at", item->prepared_at_us);
    json_put_integer(writer, "age_ms", item->age_ms);
    json_put_string(writer, "owner", item->owner);
    json_put_string(writer, "database", item->database);
    if (item->class != PREPARED_FOREIGN)
        write_leg(writer, item);
    json_end_object(writer);
}

static void write_missing(JsonWriter *writer, const PreparedSurvey *survey)
{
    json_put_bool(writer, "incomplete", true);
    json_begin_array(writer, "missing_shards");
    for (size_t i = 0; i < survey->missing_count; i++)
        json_put_string(writer, NULL, shard_name(survey->missing[i]));
    json_end_array(writer);
}

static void on_survey(void *context, const PreparedSurvey *survey)
{
    PreparedCall *call = context;
    if (survey->code != ERROR_NONE && !call->partial)
    {
        problem_send(call->request, survey->code, survey->detail);
        return;
    }
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (size_t i = 0; i < survey->count; i++)
        write_item(writer, &survey->items[i]);
    json_end_array(writer);
    json_put_null(writer, "next_cursor");
    json_put_bool(writer, "truncated", survey->truncated);
    if (survey->code != ERROR_NONE)
        write_missing(writer, survey);
    json_end_object(writer);
    answer_json(call->request, 200, writer, &(HttpReply){0});
}

void prepared_get(Api *api, HttpRequest *request)
{
    Fault fault;
    int limit;
    bool partial;
    if (!query_flag(request, "partial", &partial))
        return;
    if (!fields_limit(query_value(request, "limit"), &limit, &fault))
    {
        problem_send_fault(request, &fault);
        return;
    }
    if (directory_shard_count(api->directory) == 0)
    {
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
        return;
    }
    PreparedCall *call = arena_take(http_arena(request), sizeof *call);
    *call = (PreparedCall){request, partial};
    prepared_survey(api->caller, api->directory, limit, on_survey, call);
}
