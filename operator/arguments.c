/* See arguments.h. */
#include "arguments.h"

#include "json/json.h"
#include "json/json_writer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum
{
    JSON_BYTES_MAX = 6 * 1024 * 1024, /* of a word of 1 MiB, all of it escapes */
};

/* The command line while it is read. */
typedef struct Reader
{
    char **words;
    int count;
    int at;
    const char *plain[COMMAND_WORDS_MAX]; /* the command's own words, and its operands */
    size_t plain_count;
    Arguments *arguments;
    Error *error;
} Reader;

/* What is no UTF-8 does not come through JSON as it was. */
static bool is_utf8(const char *word)
{
    JsonWriter *writer = json_writer_new(JSON_BYTES_MAX);
    json_put_string(writer, NULL, word);
    size_t length = 0;
    char *text = json_writer_take(writer, &length);
    Json *copy = text != NULL ? json_parse(text, length, NULL) : NULL;
    bool same = copy != NULL && strcmp(json_as_string(copy), word) == 0;
    json_free(copy);
    free(text);
    return same;
}

static bool is_choice(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = choices; *at != '\0';)
    {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, size) == 0)
            return true;
        at += size;
        at += strspn(at, " ");
    }
    return false;
}

/* ---- options -------------------------------------------------------------------------------- */

static bool take_value(Reader *reader, OptionId id, const char *value)
{
    Arguments *arguments = reader->arguments;
    const OptionRow *row = option_row(id);
    if (row->choices != NULL && !is_choice(row->choices, value))
        return error_set(reader->error, ERROR_CONFIG, "--%s takes one of: %s", row->name,
                         row->choices);
    if (id == OPTION_METADATA)
    {
        if (arguments->metadata_count == ARGUMENTS_METADATA_MAX)
            return error_set(reader->error, ERROR_CONFIG, "--metadata: %d at most",
                             ARGUMENTS_METADATA_MAX);
        arguments->metadata[arguments->metadata_count++] = value;
    }
    else if (arguments->values[id] != NULL)
        return error_set(reader->error, ERROR_CONFIG, "--%s is given twice", row->name);
    arguments->values[id] = value;
    return true;
}

/* `attached` is what stood behind "=" or behind the letter; NULL: nothing. */
static bool take_option(Reader *reader, OptionId id, const char *attached)
{
    const OptionRow *row = option_row(id);
    if (row->argument == NULL)
    {
        if (attached != NULL)
            return error_set(reader->error, ERROR_CONFIG, "--%s takes no value", row->name);
        return take_value(reader, id, "");
    }
    if (attached != NULL)
        return take_value(reader, id, attached);
    if (reader->at == reader->count)
        return error_set(reader->error, ERROR_CONFIG, "--%s needs a value: %s", row->name,
                         row->argument);
    return take_value(reader, id, reader->words[reader->at++]);
}

static bool take_long(Reader *reader, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    OptionId id = option_by_name(word, length);
    if (id == OPTION_NONE)
        return error_set(reader->error, ERROR_CONFIG, "--%.*s is no option", (int)length, word);
    return take_option(reader, id, equals != NULL ? equals + 1 : NULL);
}

static bool take_short(Reader *reader, const char *word)
{
    OptionId id = option_by_letter(word[0]);
    if (id == OPTION_NONE)
        return error_set(reader->error, ERROR_CONFIG, "-%s is no option", word);
    return take_option(reader, id, word[1] != '\0' ? word + 1 : NULL);
}

static bool take_plain(Reader *reader, const char *word)
{
    if (reader->plain_count == ARRAY_LENGTH(reader->plain))
        return error_set(reader->error, ERROR_CONFIG, "\"%.80s\" is one word too many", word);
    reader->plain[reader->plain_count++] = word;
    return true;
}

static bool read_words(Reader *reader)
{
    bool options_ended = false;
    while (reader->at < reader->count)
    {
        const char *word = reader->words[reader->at++];
        bool good;
        if (options_ended || word[0] != '-' || word[1] == '\0' || isdigit((unsigned char)word[1]))
            good = take_plain(reader, word);
        else if (strcmp(word, "--") == 0)
            good = options_ended = true;
        else if (word[1] == '-')
            good = take_long(reader, word + 2);
        else
            good = take_short(reader, word + 1);
        if (!good)
            return false;
    }
    return true;
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool find_command(Reader *reader)
{
    const char *group = reader->plain[0];
    const char *verb = reader->plain_count > 1 ? reader->plain[1] : NULL;
    const CommandRow *command = command_find(group, verb);
    if (command == NULL && !command_is_group(group))
        return error_set(reader->error, ERROR_CONFIG, "\"%.80s\" is no command; see giroctl help",
                         group);
    if (command == NULL && verb == NULL)
        return error_set(reader->error, ERROR_CONFIG, "%s what? See giroctl help %s", group, group);
    if (command == NULL)
        return error_set(reader->error, ERROR_CONFIG,
                         "\"%s %.80s\" is no command; see giroctl help %s", group, verb, group);
    reader->arguments->command = command;
    return true;
}

static bool take_operands(Reader *reader)
{
    Arguments *arguments = reader->arguments;
    const CommandRow *command = arguments->command;
    ASSERT(command != NULL);
    size_t first = command->verb != NULL ? 2 : 1;
    size_t count = reader->plain_count - first;
    char name[COMMAND_NAME_MAX];
    command_name(command, name);
    if (count < command_operands_min(command))
        return error_set(reader->error, ERROR_CONFIG, "%s needs %s", name,
                         command->operands[count]);
    if (count > command_operands_max(command))
        return error_set(reader->error, ERROR_CONFIG, "%s: \"%.80s\" is one word too many", name,
                         reader->plain[first + command_operands_max(command)]);
    for (size_t i = 0; i < count; i++)
    {
        const char *word = reader->plain[first + i];
        ASSERT(word != NULL);
        if (word[0] == '\0' && command_needs_server(command))
            return error_set(reader->error, ERROR_CONFIG, "%s: an empty word", name);
        arguments->operands[i] = word;
    }
    arguments->operand_count = count;
    return true;
}

static bool check_options(Reader *reader)
{
    const CommandRow *command = reader->arguments->command;
    char name[COMMAND_NAME_MAX];
    command_name(command, name);
    for (OptionId id = OPTION_NONE + 1; id < OPTION_COUNT; id++)
    {
        if (reader->arguments->values[id] != NULL && !command_takes(command, id))
            return error_set(reader->error, ERROR_CONFIG, "%s takes no --%s", name,
                             option_row(id)->name);
    }
    return true;
}

bool arguments_parse(int argc, char **argv, Arguments *ret_arguments, Error *error)
{
    Arguments arguments = {0};
    Reader reader = {
        .words = argv, .count = argc, .at = 1, .arguments = &arguments, .error = error};
    for (int i = 1; i < argc; i++)
    {
        if (!is_utf8(argv[i]))
            return error_set(error, ERROR_CONFIG, "word %d of the command line is no UTF-8", i);
    }
    if (!read_words(&reader))
        return false;
    bool only_asks =
        arguments_has(&arguments, OPTION_HELP) || arguments_has(&arguments, OPTION_VERSION);
    if (reader.plain_count == 0 && !only_asks)
        return error_set(error, ERROR_CONFIG, "no command; see giroctl help");
    if (reader.plain_count > 0 && !find_command(&reader))
        return false;
    if (!only_asks && (!take_operands(&reader) || !check_options(&reader)))
        return false;
    *ret_arguments = arguments;
    return true;
}

/* ---- what was given ------------------------------------------------------------------------- */

const char *arguments_operand(const Arguments *arguments, size_t index)
{
    return index < arguments->operand_count ? arguments->operands[index] : NULL;
}

const char *arguments_value(const Arguments *arguments, OptionId option)
{
    return arguments->values[option];
}

bool arguments_has(const Arguments *arguments, OptionId option)
{
    return arguments->values[option] != NULL;
}

bool arguments_integer(const char *text, int64_t *ret_value)
{
    char *end;
    const char *digits = text[0] == '-' ? text + 1 : text;
    if (!isdigit((unsigned char)digits[0]))
        return false;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *ret_value = value;
    return true;
}

bool arguments_duration(const char *text, int64_t *ret_ms)
{
    static const struct
    {
        const char *name;
        int64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    static const int64_t number_max = 1000000000;
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    int64_t number = strtoll(text, &end, 10);
    if (errno != 0 || number > number_max)
        return false;
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
    {
        if (strcmp(end, units[i].name) == 0)
        {
            *ret_ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}

bool arguments_is_uuid(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (strlen(text) != sizeof form - 1)
        return false;
    for (size_t i = 0; i < sizeof form - 1; i++)
    {
        bool hexadecimal = base_hex_value(text[i]) >= 0;
        if (form[i] == 'x' ? !hexadecimal : text[i] != '-')
            return false;
    }
    return true;
}
