/* See list.h. */
#include "list.h"

#include "field.h"
#include "say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list on its way. */
typedef struct Reading
{
    const Context *context;
    const List *list;
    int64_t left; /* how many items are still wanted */
    char *cursor; /* of the next page; NULL: the first one */
    Answer page;  /* the last one */
} Reading;

static void make_path(const Reading *reading, Address *ret_address)
{
    const ListParameter *parameter = reading->list->parameters;
    char limit[24];
    address_begin(ret_address, reading->list->path);
    for (; parameter->name != NULL; parameter++)
        address_query(ret_address, parameter->name, parameter->value);
    if (reading->list->is_whole)
        return;
    int64_t count = reading->left < LIST_PAGE_MAX ? reading->left : LIST_PAGE_MAX;
    snprintf(limit, sizeof limit, "%" PRId64, count);
    address_query(ret_address, "limit", limit);
    address_query(ret_address, "cursor", reading->cursor);
}

static ExitCode read_page(Reading *reading)
{
    Address address;
    make_path(reading, &address);
    if (address.is_full)
    {
        say("that is too long for a request");
        return EXIT_CODE_USAGE;
    }
    answer_done(&reading->page);
    context_get(reading->context, address.text, &reading->page);
    ExitCode code = answer_report(&reading->page);
    const Json *items = field_at(reading->page.document, "items");
    if (code == EXIT_CODE_DONE && (items == NULL || json_kind(items) != JSON_KIND_ARRAY))
    {
        say("the answer is no list");
        code = EXIT_CODE_UNAVAILABLE;
    }
    return code;
}

/* Is there another page, and is it wanted? A cursor that does not move would never end. */
static bool go_on(Reading *reading)
{
    const char *next = field_string(reading->page.document, "next_cursor");
    bool moves = reading->cursor == NULL || strcmp(reading->cursor, next) != 0;
    if (next[0] == '\0' || reading->left <= 0 || !moves || reading->list->is_whole)
        return false;
    free(reading->cursor);
    reading->cursor = base_strdup(next);
    return true;
}

static void reading_done(Reading *reading)
{
    answer_done(&reading->page);
    free(reading->cursor);
}

char *list_missing_shards(const Json *page)
{
    size_t count = field_count(page, "missing_shards");
    if (count == 0)
        return NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ASSERT(out != NULL);
    for (size_t i = 0; i < count; i++)
    {
        char *name = field_text(json_array_at(field_at(page, "missing_shards"), i));
        fprintf(out, "%s%s", i > 0 ? ", " : "", name);
        free(name);
    }
    ASSERT(fclose(out) == 0);
    return text;
}

ExitCode list_each(const Context *context, const List *list, ListVisitor visit, void *closure,
                   Answer *ret_page)
{
    Reading reading = {.context = context, .list = list, .left = INT64_MAX};
    ExitCode code;
    bool more = true;
    do
    {
        code = read_page(&reading);
        const Json *items = field_at(reading.page.document, "items");
        for (size_t i = 0; code == EXIT_CODE_DONE && more && i < json_array_length(items); i++)
            more = visit(closure, json_array_at(items, i));
    } while (code == EXIT_CODE_DONE && more && go_on(&reading));
    if (ret_page != NULL)
    {
        *ret_page = reading.page;
        reading.page = (Answer){0};
    }
    reading_done(&reading);
    return code;
}

/* ---- showing -------------------------------------------------------------------------------- */

static bool wanted_count(const Context *context, int64_t *ret_count)
{
    const char *limit = context_value(context, OPTION_LIMIT);
    *ret_count = context_has(context, OPTION_ALL) ? INT64_MAX : LIST_LIMIT_DEFAULT;
    if (limit == NULL)
        return true;
    if (context_has(context, OPTION_ALL))
        say("--limit or --all, not both");
    else if (!arguments_integer(limit, ret_count) || *ret_count < 1)
        say("--limit takes a number from 1 on, not \"%.40s\"", limit);
    else
        return true;
    return false;
}

static void show_items(Reading *reading)
{
    const Output *output = reading->context->output;
    const Json *items = field_at(reading->page.document, "items");
    for (size_t i = 0; i < json_array_length(items) && !output_is_closed(output); i++)
        output_item(reading->context->output, json_array_at(items, i));
    reading->left -= (int64_t)json_array_length(items);
}

static void tell_rest(const Reading *reading)
{
    char *missing = list_missing_shards(reading->page.document);
    if (missing != NULL)
        say("incomplete: %s did not answer", missing);
    free(missing);
    bool more = field_string(reading->page.document, "next_cursor")[0] != '\0';
    if (more && !reading->list->is_whole && output_form(reading->context->output) == OUTPUT_TABLE)
        say("there are more: --all, or --limit N");
    if (field_bool(reading->page.document, "truncated"))
        say("a shard has more than --limit");
}

ExitCode list_show(const Context *context, const List *list, const Columns *columns)
{
    Reading reading = {.context = context, .list = list};
    if (!wanted_count(context, &reading.left))
        return EXIT_CODE_USAGE;
    ExitCode code = read_page(&reading);
    if (code == EXIT_CODE_DONE)
    {
        output_begin_list(context->output, columns);
        show_items(&reading);
        while (!output_is_closed(context->output) && go_on(&reading))
        {
            code = read_page(&reading);
            if (code != EXIT_CODE_DONE)
                break;
            show_items(&reading);
        }
        output_end_list(context->output, code == EXIT_CODE_DONE ? reading.page.document : NULL);
        if (code == EXIT_CODE_DONE)
            tell_rest(&reading);
    }
    reading_done(&reading);
    return code;
}
