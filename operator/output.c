/* See output.h. */
#include "output.h"

#include "field.h"
#include "say.h"
#include "table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    NAME_BYTES_MAX = 256, /* of a field inside a field: "route.shard" */
    NESTING_MAX = 4,
};

struct Output
{
    OutputForm form;
    const Columns *columns; /* of the list that is being written */
    Table *table;           /* the same */
    size_t item_count;      /* the same */
    bool is_closed;
    bool failed;
};

Output *output_new(OutputForm form)
{
    Output *output = base_calloc(1, sizeof *output);
    output->form = form;
    signal(SIGPIPE, SIG_IGN); /* what was written to nobody is noticed when it is written */
    return output;
}

/* Nobody reads on: quiet. Anything else, a full disk, is a failure. */
static void notice_trouble(Output *output)
{
    if (!ferror(stdout) || output->is_closed)
        return;
    output->is_closed = true;
    output->failed = errno != EPIPE;
    if (output->failed)
        say("cannot write the output: %s", strerror(errno));
}

void output_flush(Output *output)
{
    errno = 0;
    if (fflush(stdout) != 0)
        notice_trouble(output);
}

bool output_free(Output *output)
{
    if (output == NULL)
        return true;
    output_flush(output);
    bool good = !output->failed;
    table_free(output->table);
    free(output);
    return good;
}

bool output_form_by_name(const char *name, OutputForm *ret_form)
{
    static const char *const names[OUTPUT_FORM_COUNT] = {"table", "json", "jsonl", "csv"};
    for (OutputForm form = OUTPUT_TABLE; form < OUTPUT_FORM_COUNT; form++)
    {
        if (strcmp(names[form], name) == 0)
        {
            *ret_form = form;
            return true;
        }
    }
    return false;
}

OutputForm output_form(const Output *output)
{
    return output->form;
}

bool output_is_closed(const Output *output)
{
    return output->is_closed;
}

static void put(const Output *output, const char *text)
{
    if (!output->is_closed)
        fputs(text, stdout);
}

static void put_json(const Output *output, const Json *value, bool indented)
{
    char *text = json_format(value, indented);
    put(output, text);
    free(text);
}

/* ---- csv ------------------------------------------------------------------------------------ */

static void put_csv_cell(const Output *output, const char *text, bool first)
{
    put(output, first ? "" : ",");
    bool plain = strpbrk(text, ",\"\r\n") == NULL && text[0] != ' ';
    if (plain)
    {
        put(output, text);
        return;
    }
    put(output, "\"");
    for (; *text != '\0'; text++)
    {
        char piece[3] = {*text, *text == '"' ? '"' : '\0', '\0'};
        put(output, piece);
    }
    put(output, "\"");
}

static void put_csv_value(const Output *output, const Json *value, bool first)
{
    char *text = field_text(value);
    put_csv_cell(output, text, first);
    free(text);
}

static void put_csv_heading(const Output *output, const Columns *columns)
{
    for (size_t i = 0; i < columns->count; i++)
        put_csv_cell(output, columns->rows[i].path, i == 0);
    put(output, "\n");
}

static void put_csv_item(const Output *output, const Json *item)
{
    const Columns *columns = output->columns;
    for (size_t i = 0; i < columns->count; i++)
        put_csv_value(output, field_at(item, columns->rows[i].path), i == 0);
    put(output, "\n");
}

/* ---- records -------------------------------------------------------------------------------- */

/* Visits the fields, those of objects inside under "outer.inner". */
typedef struct Walk
{
    const Output *output;
    void (*visit)(struct Walk *walk, const char *name, const Json *value);
    Table *table;
    size_t count;
} Walk;

static void walk_fields(Walk *walk, const char *prefix, const Json *object, int depth)
{
    void *position = NULL;
    const char *name;
    const Json *value;
    while (json_field_next(object, &position, &name, &value))
    {
        char full[NAME_BYTES_MAX];
        snprintf(full, sizeof full, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", name);
        bool is_object = json_kind(value) == JSON_KIND_OBJECT && json_field_count(value) > 0;
        if (is_object && depth < NESTING_MAX)
            walk_fields(walk, full, value, depth + 1);
        else
            walk->visit(walk, full, value);
    }
}

static void visit_csv_name(Walk *walk, const char *name, const Json *value)
{
    (void)value;
    put_csv_cell(walk->output, name, walk->count++ == 0);
}

static void visit_csv_value(Walk *walk, const char *name, const Json *value)
{
    (void)name;
    put_csv_value(walk->output, value, walk->count++ == 0);
}

/* Lists inside a record are shown by commands that have columns for them; what is not there needs
 * no line. */
static bool is_shown(const Json *value)
{
    switch (json_kind(value))
    {
    case JSON_KIND_NULL:
        return false;
    case JSON_KIND_OBJECT:
        return json_field_count(value) > 0;
    case JSON_KIND_ARRAY:
        return json_array_length(value) > 0 &&
               json_kind(json_array_at(value, 0)) != JSON_KIND_OBJECT;
    default:
        return true;
    }
}

/* A list of words or sentences is a line for each. */
static void visit_table_field(Walk *walk, const char *name, const Json *value)
{
    if (!is_shown(value))
        return;
    if (json_kind(value) != JSON_KIND_ARRAY)
        table_field(walk->table, name, value);
    for (size_t i = 0; json_kind(value) == JSON_KIND_ARRAY && i < json_array_length(value); i++)
        table_field(walk->table, name, json_array_at(value, i));
}

static void put_csv_record(const Output *output, const Json *record)
{
    Walk names = {.output = output, .visit = visit_csv_name};
    Walk values = {.output = output, .visit = visit_csv_value};
    walk_fields(&names, "", record, 0);
    put(output, "\n");
    walk_fields(&values, "", record, 0);
    put(output, "\n");
}

static void print_record(Output *output, const Json *record)
{
    Walk walk = {.output = output, .visit = visit_table_field, .table = table_new(NULL)};
    walk_fields(&walk, "", record, 0);
    if (!output->is_closed)
        table_print(walk.table);
    table_free(walk.table);
}

void output_record(Output *output, const Json *record)
{
    switch (output->form)
    {
    case OUTPUT_JSON:
    case OUTPUT_JSONL:
        put_json(output, record, output->form == OUTPUT_JSON);
        put(output, "\n");
        break;
    case OUTPUT_CSV:
        put_csv_record(output, record);
        break;
    default:
        print_record(output, record);
        break;
    }
    output_flush(output);
}

/* ---- lists ---------------------------------------------------------------------------------- */

void output_begin_list(Output *output, const Columns *columns)
{
    ASSERT(columns->count <= OUTPUT_COLUMNS_MAX);
    output->columns = columns;
    output->item_count = 0;
    if (output->form == OUTPUT_TABLE)
        output->table = table_new(columns);
    else if (output->form == OUTPUT_CSV)
        put_csv_heading(output, columns);
    else if (output->form == OUTPUT_JSON)
        put(output, "{\"items\":[");
}

static void put_json_item(const Output *output, const Json *item)
{
    put(output, output->item_count > 0 ? ",\n" : "\n");
    put_json(output, item, false);
}

void output_item(Output *output, const Json *item)
{
    if (output->form == OUTPUT_TABLE)
    {
        table_item(output->table, item);
        if (table_length(output->table) == OUTPUT_TABLE_ROWS)
            table_print(output->table);
    }
    else if (output->form == OUTPUT_CSV)
        put_csv_item(output, item);
    else if (output->form == OUTPUT_JSON)
        put_json_item(output, item);
    else
    {
        put_json(output, item, false);
        put(output, "\n");
    }
    output->item_count++;
    if (ferror(stdout))
        notice_trouble(output);
}

/* All but the items, whose names are plain words. */
static void put_json_rest(const Output *output, const Json *page)
{
    void *position = NULL;
    const char *name;
    const Json *value;
    while (page != NULL && json_field_next(page, &position, &name, &value))
    {
        if (strcmp(name, "items") == 0)
            continue;
        put(output, ",\"");
        put(output, name);
        put(output, "\":");
        put_json(output, value, false);
    }
}

void output_end_list(Output *output, const Json *page)
{
    if (output->form == OUTPUT_TABLE)
    {
        if (!output->is_closed)
            table_print(output->table);
        table_free(output->table);
        output->table = NULL;
    }
    else if (output->form == OUTPUT_JSON)
    {
        put(output, "\n]");
        put_json_rest(output, page);
        put(output, "}\n");
    }
    output->columns = NULL;
    output_flush(output);
}

void output_text(Output *output, const char *text)
{
    if (output->form != OUTPUT_TABLE)
        return;
    char *copy = base_strdup(text);
    say_clean(copy);
    put(output, copy);
    put(output, "\n");
    free(copy);
    output_flush(output);
}
