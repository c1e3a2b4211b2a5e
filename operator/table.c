/* See table.h. */
#include "table.h"

#include "field.h"

#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Table
{
    struct libscols_table *scols;
    const Columns *columns; /* NULL: of a record */
    size_t length;
};

static const struct
{
    const char *word;
    const char *color;
} colors[] = {
    {"ok", "green"},       {"done", "green"},     {"posted", "green"},    {"usable", "green"},
    {"ready", "green"},    {"balanced", "green"}, {"explained", "green"}, {"warn", "yellow"},
    {"pending", "yellow"}, {"unknown", "yellow"}, {"paused", "yellow"},   {"in-doubt", "yellow"},
    {"orphan", "yellow"},  {"frozen", "yellow"},  {"denied", "yellow"},   {"fail", "red"},
    {"broken", "red"},     {"missing", "red"},    {"down", "red"},
};

static bool wants_colors(void)
{
    const char *refused = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) == 1 && (refused == NULL || refused[0] == '\0');
}

static int flags_of(ColumnKind kind)
{
    if (kind == COLUMN_NUMBER || kind == COLUMN_AGE)
        return SCOLS_FL_RIGHT;
    return kind == COLUMN_LONG ? SCOLS_FL_WRAP : 0;
}

static void add_column(Table *table, const char *title, int flags)
{
    ASSERT(scols_table_new_column(table->scols, title, 0, flags) != NULL);
}

Table *table_new(const Columns *columns)
{
    Table *table = base_calloc(1, sizeof *table);
    scols_init_debug(0);
    table->scols = scols_new_table();
    ASSERT(table->scols != NULL);
    table->columns = columns;
    scols_table_enable_colors(table->scols, wants_colors());
    if (columns == NULL)
    {
        scols_table_enable_noheadings(table->scols, 1);
        add_column(table, "field", 0);
        add_column(table, "value", SCOLS_FL_WRAP);
    }
    for (size_t i = 0; columns != NULL && i < columns->count; i++)
    {
        if (columns->rows[i].kind != COLUMN_WIDE)
            add_column(table, columns->rows[i].title, flags_of(columns->rows[i].kind));
    }
    return table;
}

void table_free(Table *table)
{
    if (table == NULL)
        return;
    scols_unref_table(table->scols);
    free(table);
}

/* "2026-01-31T12:00:00.000000Z" to the second. */
static void shorten_time(char *text)
{
    static const size_t length = sizeof "2026-01-31T12:00:00" - 1;
    if (strlen(text) <= length || text[10] != 'T')
        return;
    text[10] = ' ';
    text[length] = '\0';
}

static char *age_text(const Json *value)
{
    static const struct
    {
        const char *name;
        int64_t ms;
    } units[] = {{"d", 24 * INT64_C(3600000)}, {"h", 3600000}, {"min", 60000}, {"s", 1000}};
    char text[32];
    if (value == NULL || json_kind(value) != JSON_KIND_INTEGER)
        return base_strdup("");
    int64_t ms = json_as_integer(value);
    snprintf(text, sizeof text, "%" PRId64 " ms", ms);
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
    {
        if (ms >= 2 * units[i].ms || (ms >= units[i].ms && units[i].ms == 1000))
        {
            snprintf(text, sizeof text, "%" PRId64 " %s", ms / units[i].ms, units[i].name);
            break;
        }
    }
    return base_strdup(text);
}

static char *cell_text(const Json *value, ColumnKind kind)
{
    if (kind == COLUMN_AGE)
        return age_text(value);
    char *text = field_text(value);
    if (kind == COLUMN_TIME)
        shorten_time(text);
    return text;
}

static struct libscols_line *new_line(Table *table)
{
    struct libscols_line *line = scols_table_new_line(table->scols, NULL);
    ASSERT(line != NULL);
    table->length++;
    return line;
}

static void set_cell(struct libscols_line *line, size_t index, char *owned)
{
    ASSERT(scols_line_refer_data(line, index, owned) == 0);
}

static void color_cell(struct libscols_line *line, size_t index, const char *word)
{
    for (size_t i = 0; i < ARRAY_LENGTH(colors); i++)
    {
        if (strcmp(colors[i].word, word) == 0)
            scols_cell_set_color(scols_line_get_cell(line, index), colors[i].color);
    }
}

void table_item(Table *table, const Json *item)
{
    struct libscols_line *line = new_line(table);
    size_t index = 0;
    for (size_t i = 0; i < table->columns->count; i++)
    {
        const Column *column = &table->columns->rows[i];
        if (column->kind == COLUMN_WIDE)
            continue;
        char *text = cell_text(field_at(item, column->path), column->kind);
        if (column->kind == COLUMN_STATE)
            color_cell(line, index, text);
        set_cell(line, index++, text);
    }
}

void table_field(Table *table, const char *name, const Json *value)
{
    struct libscols_line *line = new_line(table);
    set_cell(line, 0, base_strdup(name));
    set_cell(line, 1, field_text(value));
}

size_t table_length(const Table *table)
{
    return table->length;
}

void table_print(Table *table)
{
    if (table->length > 0)
        scols_print_table(table->scols);
    scols_table_remove_lines(table->scols);
    table->length = 0;
}
