/*
 * What a command shows on stdout, in the form that was asked for:
 *
 *   table   aligned columns, a record as field and value; for people
 *   json    one document: a record, or {"items": […], "next_cursor": …} as the API has it
 *   jsonl   a record per line
 *   csv     RFC 4180 with a heading line; every column, values as the API has them
 *
 * A command describes its columns once and hands over documents; it never formats. json and jsonl
 * show whole documents, whatever the columns are. Lists are written as they come, so their length
 * does not matter: a table of more than OUTPUT_TABLE_ROWS is written in parts.
 *
 * A reader that goes away (`| head`) is no error: from then on nothing is written, and lists stop.
 */
#ifndef GIROCTL_OUTPUT_H
#define GIROCTL_OUTPUT_H

#include "json/json.h"

enum
{
    OUTPUT_TABLE_ROWS = 10000,
    OUTPUT_COLUMNS_MAX = 24,
};

typedef enum OutputForm
{
    OUTPUT_TABLE,
    OUTPUT_JSON,
    OUTPUT_JSONL,
    OUTPUT_CSV,
    OUTPUT_FORM_COUNT,
} OutputForm;

/* How a table shows it; the other forms show values as they are. */
typedef enum ColumnKind
{
    COLUMN_TEXT,
    COLUMN_NUMBER, /* to the right */
    COLUMN_TIME,   /* to the second, UTC */
    COLUMN_AGE,    /* from milliseconds: "4 s", "3 min" */
    COLUMN_STATE,  /* a word, coloured on a terminal if it says good or bad */
    COLUMN_LONG,   /* text that may be broken over lines */
    COLUMN_WIDE,   /* not shown by tables: there is no room */
} ColumnKind;

typedef struct Column
{
    const char *title; /* of a table; csv is headed by the paths */
    const char *path;  /* see field.h */
    ColumnKind kind;
} Column;

typedef struct Columns
{
    const Column *rows;
    size_t count;
} Columns;

typedef struct Output Output;

Output *output_new(OutputForm form);
/* Flushes. False, with a line on stderr, if something could not be written. Accepts NULL. */
bool output_free(Output *output) ATTR_MUST_USE;

bool output_form_by_name(const char *name, OutputForm *ret_form) ATTR_MUST_USE;
OutputForm output_form(const Output *output);
/* Has the reader gone, or can no more be written? */
bool output_is_closed(const Output *output);

/* One record, with all its fields. */
void output_record(Output *output, const Json *record);

/* A list: begin, any number of items, end. `columns` must live until the end. */
void output_begin_list(Output *output, const Columns *columns);
void output_item(Output *output, const Json *item);
/* What is there so far is seen at once. */
void output_flush(Output *output);
/* `page`: the last answer, whose other fields (next_cursor, incomplete, missing_shards) belong to
 * the list; NULL for none. */
void output_end_list(Output *output, const Json *page);

/* A line of text where people read tables, nothing in the other forms. */
void output_text(Output *output, const char *text);

#endif
