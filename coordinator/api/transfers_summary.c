/*
 * How many transfers there are, and how old the oldest is: GET /v1/transfers/summary. See
 * handler.h.
 *
 * What is unfinished is counted exactly; of what is finished only the newest of each home, since a
 * count of a whole history would read it. Homes are disjoint, so the shards' counts stand side by
 * side. A shard that does not answer leaves no summary, unless an incomplete one is asked for.
 */
#include "api/handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns of transfers_summary. */
enum
{
    SUMMARY_KIND,
    SUMMARY_STATE,
    SUMMARY_MODE,
    SUMMARY_REMOTE,
    SUMMARY_CURRENCY,
    SUMMARY_COUNT,
    SUMMARY_ATTENTION,
    SUMMARY_AMOUNT,
    SUMMARY_OLDEST_AT,
    SUMMARY_OLDEST_MS,
};

enum
{
    WALK_TRANSFERS = 10000, /* of the newest, per shard */
    KIND_COUNT = 2,
};

static const char *const kinds[KIND_COUNT] = {"unfinished", "recent"};

/* One shard that is asked. */
typedef struct Ask
{
    struct Summary *summary;
    const Shard *shard;
    bool is_missing;
} Ask;

/* Answered when the last shard has answered, or has not. */
typedef struct Summary
{
    HttpRequest *request;
    bool partial;
    size_t outstanding;
    JsonWriter *lists[KIND_COUNT];
    ErrorCode failure;
    char detail[FAULT_DETAIL_MAX + 1];
    size_t count;
    Ask asks[];
} Summary;

static void write_row(JsonWriter *writer, const Shard *home, const PgRows *rows, size_t row)
{
    json_begin_object(writer, NULL);
    json_put_string(writer, "state", pg_text(rows, row, SUMMARY_STATE));
    json_put_string(writer, "mode", pg_text(rows, row, SUMMARY_MODE));
    json_put_string(writer, "debit_shard", shard_name(home));
    json_put_string(writer, "credit_shard", pg_text(rows, row, SUMMARY_REMOTE));
    json_put_string(writer, "currency", pg_text(rows, row, SUMMARY_CURRENCY));
    json_put_integer(writer, "count", pg_int8(rows, row, SUMMARY_COUNT));
    json_put_integer(writer, "needs_attention", pg_int8(rows, row, SUMMARY_ATTENTION));
    json_put_integer(writer, "amount", pg_int8(rows, row, SUMMARY_AMOUNT));
    json_put_timestamp(writer, "oldest_at", pg_timestamp_us(rows, row, SUMMARY_OLDEST_AT));
    json_put_integer(writer, "oldest_age_ms", pg_int8(rows, row, SUMMARY_OLDEST_MS));
    json_end_object(writer);
}

static void take(const Ask *ask, const PgRows *rows)
{
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        size_t kind = strcmp(pg_text(rows, row, SUMMARY_KIND), kinds[0]) == 0 ? 0 : 1;
        write_row(ask->summary->lists[kind], ask->shard, rows, row);
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

static void write_missing(JsonWriter *writer, const Summary *summary)
{
    json_put_bool(writer, "incomplete", true);
    json_begin_array(writer, "missing_shards");
    for (size_t i = 0; i < summary->count; i++)
    {
        if (summary->asks[i].is_missing)
            json_put_string(writer, NULL, shard_name(summary->asks[i].shard));
    }
    json_end_array(writer);
}

static void answer(Summary *summary)
{
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
    {
        json_end_array(summary->lists[kind]);
        json_put_raw(writer, kinds[kind], json_writer_text(summary->lists[kind], NULL));
    }
    json_put_integer(writer, "recent_per_shard", WALK_TRANSFERS);
    if (summary->failure != ERROR_NONE)
        write_missing(writer, summary);
    json_end_object(writer);
    answer_json(summary->request, 200, writer, &(HttpReply){0});
}

static void finish(Summary *summary)
{
    if (summary->failure != ERROR_NONE && !summary->partial)
        problem_send(summary->request, summary->failure, summary->detail);
    else
        answer(summary);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        json_writer_free(summary->lists[kind]);
    free(summary);
}

static void on_rows(void *context, const CallResult *result)
{
    Ask *ask = context;
    Summary *summary = ask->summary;
    if (result->code == ERROR_NONE)
        take(ask, result->rows);
    else
    {
        ask->is_missing = true;
        summary->failure = result->code;
        snprintf(summary->detail, sizeof summary->detail, "%s", result->detail);
    }
    summary->outstanding--;
    if (summary->outstanding == 0)
        finish(summary);
}

/* ---- questions ------------------------------------------------------------------------------ */

static void fill(void *context, PgParams *params)
{
    (void)context;
    pg_params_int4(params, WALK_TRANSFERS);
}

static Summary *summary_new(HttpRequest *request, size_t count)
{
    Summary *summary = base_calloc(1, sizeof *summary + count * sizeof summary->asks[0]);
    summary->request = request;
    summary->count = count;
    summary->outstanding = count;
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
    {
        summary->lists[kind] = answer_writer();
        json_begin_array(summary->lists[kind], NULL);
    }
    return summary;
}

void transfers_summary(Api *api, HttpRequest *request)
{
    bool partial;
    size_t count = directory_shard_count(api->directory);
    if (!query_flag(request, "partial", &partial))
        return;
    if (count == 0)
    {
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
        return;
    }
    Summary *summary = summary_new(request, count);
    summary->partial = partial;
    for (size_t i = 0; i < count; i++)
    {
        Shard *shard = directory_shard(api->directory, i);
        summary->asks[i] = (Ask){.summary = summary, .shard = shard};
        call_shard(api->caller, shard,
                   &(Call){STATEMENT_TRANSFERS_SUMMARY, fill, on_rows, &summary->asks[i]});
    }
}
