/* See finding.h. */
#include "finding.h"

#include "json/json_writer.h"

#include <stdlib.h>

enum
{
    FINDING_BYTES_MAX = 64 * 1024,
};

static const Column finding_rows[] = {
    {"PART", "part", COLUMN_TEXT},
    {"WHAT", "check", COLUMN_TEXT},
    {"IS", "result", COLUMN_STATE},
    {"DETAIL", "detail", COLUMN_LONG},
};
static const Columns columns = {finding_rows, ARRAY_LENGTH(finding_rows)};

void finding_begin(Output *output)
{
    output_begin_list(output, &columns);
}

void finding_put(Output *output, const Finding *finding)
{
    JsonWriter *writer = json_writer_new(FINDING_BYTES_MAX);
    json_begin_object(writer, NULL);
    json_put_string(writer, "part", finding->part);
    json_put_string(writer, "check", finding->check);
    json_put_string(writer, "result", finding->result);
    json_put_string(writer, "detail", finding->detail);
    json_end_object(writer);
    size_t length = 0;
    char *text = json_writer_take(writer, &length);
    Json *item = text != NULL ? json_parse(text, length, NULL) : NULL;
    if (item != NULL)
        output_item(output, item);
    json_free(item);
    free(text);
}

void finding_end(Output *output)
{
    output_end_list(output, NULL);
}
