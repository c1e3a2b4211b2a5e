/*
 * The list of accounts by prefix. See handler.h.
 *
 * Every shard is asked for its first accounts behind the cursor, one more than the page holds, and
 * their answers are merged as they come in: of all that was seen, only the first limit + 1 are
 * kept. So a page is exact, in the order of the ids' bytes over all shards, whatever is created
 * meanwhile: what stood behind the cursor when the page was read is on it or behind its own cursor.
 * A list with a hole would be worse than none: if a shard does not answer, nothing is shown.
 */
#include "api/handler.h"

#include "api/account_document.h"
#include "api/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ITEM_BYTES_MAX = 64 * 1024,
};

typedef struct Item
{
    char id[ACCOUNT_ID_MAX + 1];
    char *json; /* owned */
} Item;

/* A page that is being read; outlives its request's answer if a shard fails. */
typedef struct Page
{
    Api *api;
    HttpRequest *request; /* NULL once answered */
    size_t outstanding;
    char prefix[ACCOUNT_ID_MAX + 1];
    char after[ACCOUNT_ID_MAX + 1];
    size_t limit;
    Item *items; /* ascending; at most limit + 1 */
    size_t count;
} Page;

/* One shard that is asked. */
typedef struct Ask
{
    Page *page;
    const Shard *shard;
} Ask;

static void page_free(Page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->items[i].json);
    free(page->items);
    free(page);
}

/* ---- merging -------------------------------------------------------------------------------- */

static void make_item(Item *ret_item, const Ask *ask, const PgRows *rows, size_t row)
{
    JsonWriter *writer = json_writer_new(ITEM_BYTES_MAX);
    AccountPlace place = {
        .keyspace = pg_text(rows, row, ACCOUNT_KEYSPACE),
        .partition = pg_int4(rows, row, ACCOUNT_PARTITION),
        .shard = shard_name(ask->shard),
    };
    account_document_write(writer, rows, row, &place);
    snprintf(ret_item->id, sizeof ret_item->id, "%s", pg_text(rows, row, ACCOUNT_ID));
    ret_item->json = json_writer_take(writer, NULL);
    ASSERT(ret_item->json != NULL); /* metadata is bounded, and all else is small */
}

/* Both sequences ascend. An account that moved between two reads is seen twice and kept once. */
static void merge(const Ask *ask, const PgRows *rows)
{
    Page *page = ask->page;
    size_t row_count = pg_row_count(rows);
    Item *merged = base_calloc(page->limit + 1, sizeof *merged);
    size_t count = 0;
    size_t old = 0;
    size_t row = 0;
    while (count <= page->limit && (old < page->count || row < row_count))
    {
        int order = old == page->count ? 1 : -1;
        if (old < page->count && row < row_count)
            order = strcmp(page->items[old].id, pg_text(rows, row, ACCOUNT_ID));
        if (order <= 0)
            merged[count++] = page->items[old++];
        else
            make_item(&merged[count++], ask, rows, row);
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

static void answer(Page *page)
{
    char cursor[CURSOR_MAX + 1];
    bool more = page->count > page->limit;
    size_t count = more ? page->limit : page->count;
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (size_t i = 0; i < count; i++)
        json_put_raw(writer, NULL, page->items[i].json);
    json_end_array(writer);
    if (more)
        cursor_write_account(page->items[count - 1].id, cursor);
    json_put_string(writer, "next_cursor", more ? cursor : NULL);
    json_end_object(writer);
    answer_json(page->request, 200, writer, &(HttpReply){0});
}

static void on_rows(void *context, const CallResult *result)
{
    Ask *ask = context;
    Page *page = ask->page;
    page->outstanding--;
    if (page->request != NULL && result->code != ERROR_NONE)
    {
        problem_send(page->request, result->code, result->detail);
        page->request = NULL;
    }
    else if (page->request != NULL)
        merge(ask, result->rows);
    if (page->request != NULL && page->outstanding == 0)
        answer(page);
    if (page->outstanding == 0)
        page_free(page);
    free(ask);
}

/* ---- questions ------------------------------------------------------------------------------ */

static void fill(void *context, PgParams *params)
{
    const Page *page = ((const Ask *)context)->page;
    pg_params_text(params, page->prefix);
    pg_params_text(params, page->after);
    pg_params_int4(params, (int32_t)page->limit + 1);
}

static void ask_all(Page *page)
{
    Api *api = page->api;
    page->outstanding = directory_shard_count(api->directory);
    for (size_t i = 0; i < directory_shard_count(api->directory); i++)
    {
        Ask *ask = base_calloc(1, sizeof *ask);
        Shard *shard = directory_shard(api->directory, i);
        *ask = (Ask){page, shard};
        call_shard(api->caller, shard, &(Call){STATEMENT_ACCOUNT_LIST, fill, on_rows, ask});
    }
}

/* What can stand at the beginning of an id: nothing, an id, or the two names that are no ids. */
static bool read_prefix(const HttpRequest *request, char ret_prefix[ACCOUNT_ID_MAX + 1],
                        Fault *fault)
{
    const char *prefix = query_value(request, "prefix");
    if (prefix == NULL)
        prefix = "";
    if (prefix[0] != '\0' && strcmp(prefix, ".") != 0 && strcmp(prefix, "..") != 0 &&
        !route_account_id_is_valid(prefix))
        return fault_set(fault, ERROR_PARAMETER_INVALID, NULL, "no account id begins like prefix");
    snprintf(ret_prefix, ACCOUNT_ID_MAX + 1, "%s", prefix);
    return true;
}

/* A cursor belongs to the prefix that it was answered under. */
static bool read_cursor(const HttpRequest *request, const char *prefix,
                        char ret_after[ACCOUNT_ID_MAX + 1], Fault *fault)
{
    const char *cursor = query_value(request, "cursor");
    ret_after[0] = '\0';
    if (cursor == NULL)
        return true;
    if (!cursor_read_account(cursor, ret_after, fault))
        return false;
    if (strncmp(ret_after, prefix, strlen(prefix)) != 0)
        return fault_set(fault, ERROR_CURSOR_INVALID, NULL, "the cursor is of another prefix");
    return true;
}

void accounts_list(Api *api, HttpRequest *request)
{
    Fault fault;
    int limit;
    Page *page = base_calloc(1, sizeof *page);
    page->api = api;
    page->request = request;
    bool sound = fields_limit(query_value(request, "limit"), &limit, &fault) &&
                 read_prefix(request, page->prefix, &fault) &&
                 read_cursor(request, page->prefix, page->after, &fault);
    if (sound && directory_shard_count(api->directory) > 0)
    {
        page->limit = (size_t)limit;
        ask_all(page);
        return;
    }
    page_free(page);
    if (sound)
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
    else
        problem_send_fault(request, &fault);
}
