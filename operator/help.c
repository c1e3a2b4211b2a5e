/* See help.h. */
#include "help.h"

#include "commands.h"
#include "context.h"
#include "say.h"

#include <string.h>

enum
{
    USAGE_MAX = 160,
};

static void usage(const CommandRow *command, char ret_text[USAGE_MAX])
{
    char name[COMMAND_NAME_MAX];
    command_name(command, name);
    int length = snprintf(ret_text, USAGE_MAX, "%s", name);
    for (size_t i = 0; i < COMMAND_OPERANDS_MAX && command->operands[i] != NULL; i++)
        length +=
            snprintf(ret_text + length, USAGE_MAX - (size_t)length, " %s", command->operands[i]);
}

static void print_commands(FILE *out, const char *group)
{
    for (size_t i = 0; i < command_count(); i++)
    {
        char text[USAGE_MAX];
        const CommandRow *command = command_at(i);
        if (command->summary == NULL || (group != NULL && strcmp(command->group, group) != 0))
            continue;
        usage(command, text);
        fprintf(out, "  %s\n        %s\n", text, command->summary);
    }
}

static void print_option(FILE *out, OptionId id)
{
    const OptionRow *row = option_row(id);
    char letter[8] = "";
    if (row->letter != '\0')
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    fprintf(out, "  %s--%s%s%s\n        %s\n", letter, row->name, row->argument != NULL ? " " : "",
            row->argument != NULL ? row->argument : "", row->summary);
}

static void print_common_options(FILE *out)
{
    fputs("\nOptions of every command:\n", out);
    for (OptionId id = OPTION_COMMON_FIRST; id <= OPTION_COMMON_LAST; id++)
        print_option(out, id);
}

void help_print_all(FILE *out)
{
    fputs("giroctl COMMAND [options]: look at a Giro cluster, and settle what is stuck.\n\n", out);
    print_commands(out, NULL);
    print_common_options(out);
    fputs(
        "\ngiroctl help COMMAND has the options of each. Exit codes: 0 done, 1 not done, 2 usage,\n"
        "3 not found, 4 token or right missing, 5 conflict, 6 refused, 7 unavailable or unknown,\n"
        "9 a check found problems, 130 interrupted. More: man giroctl.\n",
        out);
}

void help_print_command(FILE *out, const CommandRow *command)
{
    char text[USAGE_MAX];
    usage(command, text);
    fprintf(out, "giroctl %s [options]\n        %s\n", text,
            command->summary != NULL ? command->summary : "for the shell's completion");
    if (command->options[0] != OPTION_NONE)
        fputs("\nOptions:\n", out);
    for (size_t i = 0; i < COMMAND_OPTIONS_MAX && command->options[i] != OPTION_NONE; i++)
        print_option(out, command->options[i]);
    print_common_options(out);
}

ExitCode run_help(Context *context)
{
    const char *group = context_operand(context, 0);
    const char *verb = context_operand(context, 1);
    const CommandRow *command = group != NULL ? command_find(group, verb) : NULL;
    if (group == NULL)
        help_print_all(stdout);
    else if (command != NULL)
        help_print_command(stdout, command);
    else if (command_is_group(group) && verb == NULL)
        print_commands(stdout, group);
    else
    {
        say("\"%.80s%s%.80s\" is no command; see giroctl help", group, verb != NULL ? " " : "",
            verb != NULL ? verb : "");
        return EXIT_CODE_USAGE;
    }
    return EXIT_CODE_DONE;
}

/* ---- completion ----------------------------------------------------------------------------- */

/* What stands before the word that is being completed. */
typedef struct Typed
{
    const char *plain[2]; /* group and verb */
    size_t plain_count;
    OptionId open; /* the option that waits for its value */
} Typed;

static OptionId option_of(const char *word)
{
    if (strncmp(word, "--", 2) == 0)
        return option_by_name(word + 2, strlen(word + 2));
    return word[0] == '-' && word[1] != '\0' && word[2] == '\0' ? option_by_letter(word[1])
                                                                : OPTION_NONE;
}

static Typed read_typed(const char *const *words, size_t count)
{
    Typed typed = {0};
    for (size_t i = 0; i < count; i++)
    {
        OptionId option = option_of(words[i]);
        bool is_value = typed.open != OPTION_NONE;
        typed.open = OPTION_NONE;
        if (is_value)
            continue;
        if (option != OPTION_NONE && option_row(option)->argument != NULL)
            typed.open = option;
        else if (words[i][0] != '-' && typed.plain_count < ARRAY_LENGTH(typed.plain))
            typed.plain[typed.plain_count++] = words[i];
    }
    /* `giroctl help transfer` is completed like `giroctl transfer`. */
    if (typed.plain_count > 0 && strcmp(typed.plain[0], "help") == 0)
    {
        typed.plain[0] = typed.plain[1];
        typed.plain_count--;
    }
    return typed;
}

static void print_choices(FILE *out, const char *choices)
{
    for (const char *at = choices; at != NULL && *at != '\0'; at += strspn(at, " "))
    {
        size_t length = strcspn(at, " ");
        fprintf(out, "%.*s\n", (int)length, at);
        at += length;
    }
}

static void print_groups(FILE *out)
{
    for (size_t i = 0; i < command_count(); i++)
    {
        const CommandRow *command = command_at(i);
        bool again = i > 0 && strcmp(command_at(i - 1)->group, command->group) == 0;
        if (command->summary != NULL && !again)
            fprintf(out, "%s\n", command->group);
    }
}

static void print_verbs(FILE *out, const char *group)
{
    for (size_t i = 0; i < command_count(); i++)
    {
        const CommandRow *command = command_at(i);
        if (command->verb != NULL && strcmp(command->group, group) == 0)
            fprintf(out, "%s\n", command->verb);
    }
}

static void print_options(FILE *out, const CommandRow *command)
{
    for (OptionId id = OPTION_NONE + 1; id < OPTION_COUNT; id++)
    {
        if (command_takes(command, id))
            fprintf(out, "--%s\n", option_row(id)->name);
    }
}

void help_print_candidates(FILE *out, const char *const *words, size_t count)
{
    Typed typed = read_typed(words, count);
    const CommandRow *command =
        typed.plain_count > 0
            ? command_find(typed.plain[0], typed.plain_count > 1 ? typed.plain[1] : NULL)
            : NULL;
    if (typed.open != OPTION_NONE)
        print_choices(out, option_row(typed.open)->choices);
    else if (typed.plain_count == 0)
        print_groups(out);
    else if (command != NULL)
        print_options(out, command);
    else if (typed.plain_count == 1)
        print_verbs(out, typed.plain[0]);
}

ExitCode run_complete(Context *context)
{
    help_print_candidates(stdout, context->arguments->operands, context->arguments->operand_count);
    return EXIT_CODE_DONE;
}
