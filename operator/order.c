/* See order.h. */
#include "order.h"

#include "say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    WAIT_SECONDS_MAX = 30,
};

/* Names of metadata are the user's and may need escapes, which json_put_string spares names; so
 * the text comes from a parsed value. */
static void put_pair(FILE *out, const char *name, size_t length, const char *value)
{
    const char *parts[] = {name, value};
    const size_t lengths[] = {length, strlen(value)};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
    {
        char *part = strndup(parts[i], lengths[i]);
        JsonWriter *writer = json_writer_new(6 * lengths[i] + 3);
        json_put_string(writer, NULL, part);
        char *text = json_writer_take(writer, NULL);
        fprintf(out, "%s%s", i > 0 ? ":" : "", text != NULL ? text : "\"\"");
        free(text);
        free(part);
    }
}

bool order_put_metadata(const Context *context, JsonWriter *writer)
{
    const Arguments *arguments = context->arguments;
    char *text = NULL;
    size_t size = 0;
    if (arguments->metadata_count == 0)
        return true;
    FILE *out = open_memstream(&text, &size);
    ASSERT(out != NULL);
    bool good = true;
    for (size_t i = 0; i < arguments->metadata_count; i++)
    {
        const char *pair = arguments->metadata[i];
        size_t length = strcspn(pair, "=");
        good = good && pair[length] == '=' && length > 0;
        fputs(i > 0 ? "," : "{", out);
        put_pair(out, pair, length, good ? pair + length + 1 : "");
    }
    fputs("}", out);
    ASSERT(fclose(out) == 0);
    json_put_raw(writer, "metadata", text);
    free(text);
    if (!good)
        say("--metadata takes NAME=TEXT");
    return good;
}

bool order_put_floor(const char *text, JsonWriter *writer)
{
    int64_t floor;
    if (strcmp(text, "none") == 0)
        json_put_null(writer, "floor");
    else if (arguments_integer(text, &floor))
        json_put_integer(writer, "floor", floor);
    else
    {
        say("a floor is 0, a number below 0, or none; not \"%.40s\"", text);
        return false;
    }
    return true;
}

bool order_prefer(const Context *context, char ret_prefer[ORDER_PREFER_MAX])
{
    const char *text = context_value(context, OPTION_WAIT);
    int64_t seconds;
    ret_prefer[0] = '\0';
    if (text == NULL)
        return true;
    if (!arguments_integer(text, &seconds) || seconds < 0 || seconds > WAIT_SECONDS_MAX)
    {
        say("--wait takes seconds from 0 to %d, not \"%.40s\"", WAIT_SECONDS_MAX, text);
        return false;
    }
    snprintf(ret_prefer, ORDER_PREFER_MAX, "wait=%" PRId64, seconds);
    return true;
}

bool order_age(const char *text, int64_t *ret_ms)
{
    if (arguments_duration(text, ret_ms))
        return true;
    say("--older-than takes a time like 30s, 5m or 2h, not \"%.40s\"", text);
    return false;
}
