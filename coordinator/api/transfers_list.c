/*
 * The list of transfers over all shards, newest first. See handler.h.
 *
 * Every shard is asked for its transfers before the cursor, one more than the page holds, and the
 * answers are merged in the order of (created_at, id), of which the last limit + 1 are kept. A
 * shard that looked for something in a long history says up to where it has come: what is older
 * than the newest such place is left to the next page, whose cursor that place is. So a page is
 * exact as far as it goes, and may be shorter than the limit, or empty, with a next one.
 *
 * Keys never change and every page is strictly before the one that came ahead of it: nothing is
 * repeated, and what was committed when the first page was asked for is on exactly one. What
 * commits meanwhile has the time at which its transaction began, so that it may come to stand
 * behind the reader's back: it is missed then, as if it had come later. A shard that does not
 * answer leaves no list, unless an incomplete one is asked for.
 */
#include "api/handler.h"

#include "api/transfer_document.h"
#include "api/transfers_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ITEM_BYTES_MAX = 64 * 1024,
    WALK_TRANSFERS = 10000, /* of a history in which something is looked for, per page and shard */
    COLUMN_ID = 0,
    COLUMN_STATE = 2,
    COLUMN_CREATED_AT = 16,
};

typedef struct Item
{
    TransferKey key;
    char *json; /* owned */
} Item;

/* One shard that is asked. */
typedef struct Ask
{
    struct Page *page;
    const Shard *shard;
} Ask;

/* A page that is being read. The request is answered when all shards have answered. */
typedef struct Page
{
    Api *api;
    HttpRequest *request;
    TransfersQuery query;
    size_t limit;
    size_t outstanding;
    Item *items; /* newest first; at most limit + 1 */
    size_t count;
    bool is_cut; /* nothing is missing up to, and including, `cut`; but behind it */
    TransferKey cut;
    ErrorCode failure; /* of a shard that did not answer; ERROR_NONE: all did */
    char detail[FAULT_DETAIL_MAX + 1];
    const Shard **missing;
    size_t missing_count;
    Ask asks[];
} Page;

static void page_free(Page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->items[i].json);
    free(page->items);
    free(page->missing);
    free(page);
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Below zero: a comes first, since it is newer. */
static int compare(const TransferKey *a, const TransferKey *b)
{
    if (a->created_at_us != b->created_at_us)
        return a->created_at_us > b->created_at_us ? -1 : 1;
    return -memcmp(a->id, b->id, sizeof a->id);
}

static TransferKey row_key(const PgRows *rows, size_t row)
{
    TransferKey key = {.created_at_us = pg_timestamp_us(rows, row, COLUMN_CREATED_AT)};
    memcpy(key.id, pg_uuid(rows, row, COLUMN_ID), sizeof key.id);
    return key;
}

static Item make_item(const Page *page, const PgRows *rows, size_t row)
{
    TransferRecord record;
    JsonWriter *writer = json_writer_new(ITEM_BYTES_MAX);
    transfer_record_read_whole(&record, rows, row, page->api->directory);
    transfer_document_write(writer, NULL, &record);
    Item item = {.key = row_key(rows, row), .json = json_writer_take(writer, NULL)};
    ASSERT(item.json != NULL); /* metadata is bounded, and all else is small */
    return item;
}

/* A last row without a state says how far the shard has looked. */
static size_t take_cut(Page *page, const PgRows *rows)
{
    size_t count = pg_row_count(rows);
    if (count == 0 || !pg_is_null(rows, count - 1, COLUMN_STATE))
        return count;
    TransferKey cut = row_key(rows, count - 1);
    if (!page->is_cut || compare(&cut, &page->cut) < 0)
        page->cut = cut;
    page->is_cut = true;
    return count - 1;
}

/* Both sequences have the newest first. A transfer that moved between two reads is kept once. */
static void merge(Page *page, const PgRows *rows)
{
    size_t row_count = take_cut(page, rows);
    Item *merged = base_calloc(page->limit + 1, sizeof *merged);
    size_t count = 0;
    size_t old = 0;
    size_t row = 0;
    while (count <= page->limit && (old < page->count || row < row_count))
    {
        int order = old == page->count ? 1 : -1;
        if (old < page->count && row < row_count)
        {
            TransferKey key = row_key(rows, row);
            order = compare(&page->items[old].key, &key);
        }
        merged[count++] = order <= 0 ? page->items[old++] : make_item(page, rows, row);
        if (order >= 0)
            row++;
    }
    while (old < page->count)
        free(page->items[old++].json);
    free(page->items);
    page->items = merged;
    page->count = count;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* How many items are shown, and where the next page begins; false if there is none. */
static bool find_end(const Page *page, size_t *ret_count, TransferKey *ret_end)
{
    size_t count = page->count;
    while (page->is_cut && count > 0 && compare(&page->items[count - 1].key, &page->cut) > 0)
        count--;
    bool is_full = count > page->limit;
    *ret_count = is_full ? page->limit : count;
    if (is_full)
        *ret_end = page->items[page->limit - 1].key;
    else
        *ret_end = page->cut;
    return is_full || page->is_cut;
}

static void write_missing(JsonWriter *writer, const Page *page)
{
    json_put_bool(writer, "incomplete", true);
    json_begin_array(writer, "missing_shards");
    for (size_t i = 0; i < page->missing_count; i++)
        json_put_string(writer, NULL, shard_name(page->missing[i]));
    json_end_array(writer);
}

static void answer(Page *page)
{
    char cursor[CURSOR_MAX + 1];
    size_t count;
    TransferKey end;
    bool more = find_end(page, &count, &end);
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (size_t i = 0; i < count; i++)
        json_put_raw(writer, NULL, page->items[i].json);
    json_end_array(writer);
    if (more)
        cursor_write_transfer(&end, cursor);
    json_put_string(writer, "next_cursor", more ? cursor : NULL);
    if (page->missing_count > 0)
        write_missing(writer, page);
    json_end_object(writer);
    answer_json(page->request, 200, writer, &(HttpReply){0});
}

static void note_missing(Page *page, const Shard *shard, const CallResult *result)
{
    page->failure = result->code;
    snprintf(page->detail, sizeof page->detail, "%s", result->detail);
    page->missing[page->missing_count++] = shard;
}

static void on_rows(void *context, const CallResult *result)
{
    const Ask *ask = context;
    Page *page = ask->page;
    page->outstanding--;
    if (result->code != ERROR_NONE)
        note_missing(page, ask->shard, result);
    else
        merge(page, result->rows);
    if (page->outstanding > 0)
        return;
    if (page->failure != ERROR_NONE && !page->query.partial)
        problem_send(page->request, page->failure, page->detail);
    else
        answer(page);
    page_free(page);
}

/* ---- questions ------------------------------------------------------------------------------ */

static void fill(void *context, PgParams *params)
{
    const Page *page = ((const Ask *)context)->page;
    const TransfersQuery *query = &page->query;
    if (query->has_cursor)
    {
        pg_params_timestamp_us(params, query->before.created_at_us);
        pg_params_uuid(params, query->before.id);
    }
    else
    {
        pg_params_null(params);
        pg_params_null(params);
    }
    pg_params_int8(params, query->older_ms);
    pg_params_int4(params, (int32_t)page->limit + 1);
    pg_params_int4(params, WALK_TRANSFERS);
    pg_params_text(params, query->state);
    pg_params_text(params, query->mode);
    pg_params_text(params, query->shard);
    pg_params_text(params, query->account);
    pg_params_text(params, query->reference);
    if (query->attention != NULL)
        pg_params_bool(params, *query->attention);
    else
        pg_params_null(params);
    pg_params_bool(params, query->unfinished);
}

static void ask_all(Api *api, HttpRequest *request, const TransfersQuery *query)
{
    size_t count = directory_shard_count(api->directory);
    Page *page = base_calloc(1, sizeof *page + count * sizeof page->asks[0]);
    page->api = api;
    page->request = request;
    page->query = *query;
    page->limit = (size_t)query->limit;
    page->outstanding = count;
    page->missing = base_calloc(count, sizeof(Shard *));
    for (size_t i = 0; i < count; i++)
    {
        Shard *shard = directory_shard(api->directory, i);
        page->asks[i] = (Ask){page, shard};
        call_shard(api->caller, shard,
                   &(Call){STATEMENT_TRANSFERS_LIST, fill, on_rows, &page->asks[i]});
    }
}

/* With a key it is the transfer of that key, and nothing else is asked for. */
void transfers_list(Api *api, HttpRequest *request)
{
    Fault fault;
    TransfersQuery query;
    if (query_value(request, "idempotency_key") != NULL ||
        query_value(request, "debit_account") != NULL)
        transfers_find(api, request);
    else if (directory_shard_count(api->directory) == 0)
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
    else if (!transfers_query_read(api, request, &query, &fault))
        problem_send_fault(request, &fault);
    else
        ask_all(api, request, &query);
}
