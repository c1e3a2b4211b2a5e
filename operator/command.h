/*
 * Every command, in one table: its words, what it takes, what it does, and the function that does
 * it. `giroctl help`, the completion (operator/giroctl.bash asks `giroctl complete`) and the parser
 * read nothing else, and the tests walk it to hold the man page against it. So a command is added
 * in one place.
 */
#ifndef GIROCTL_COMMAND_H
#define GIROCTL_COMMAND_H

#include "exits.h"
#include "option.h"

#include <stdbool.h>

enum
{
    COMMAND_OPTIONS_MAX = 12,
    COMMAND_OPERANDS_MAX = 4,
    COMMAND_WORDS_MAX = 64, /* of `complete` */
};

typedef struct Context Context;

typedef struct CommandRow
{
    const char *group;
    const char *verb;                           /* NULL: the group alone is the command */
    const char *operands[COMMAND_OPERANDS_MAX]; /* "[X]" may be left out, "[X...]" many */
    OptionId options[COMMAND_OPTIONS_MAX];      /* beside those of every command */
    const char *summary;                        /* NULL: not for people, not in the help */
    ExitCode (*run)(Context *context);
} CommandRow;

size_t command_count(void);
const CommandRow *command_at(size_t index);
/* `verb` may be NULL. NULL if there is none. */
const CommandRow *command_find(const char *group, const char *verb);
bool command_is_group(const char *group);
/* "transfer create" */
enum
{
    COMMAND_NAME_MAX = 64,
};
void command_name(const CommandRow *command, char ret_name[COMMAND_NAME_MAX]);
/* Does it take the option? Those of every command count. */
bool command_takes(const CommandRow *command, OptionId option);
/* How many operands it needs, and takes at most. */
size_t command_operands_min(const CommandRow *command);
size_t command_operands_max(const CommandRow *command);
/* help and complete do not. */
bool command_needs_server(const CommandRow *command);

#endif
