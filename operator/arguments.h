/*
 * The command line, taken apart by the tables of command.h and option.h.
 *
 * Options may stand anywhere, as `--name value` or `--name=value`; `--` ends them. A negative
 * number is an operand and not an option. Names are never abbreviated: a script must mean the same
 * with every later version. Everything is UTF-8.
 */
#ifndef GIROCTL_ARGUMENTS_H
#define GIROCTL_ARGUMENTS_H

#include "base/error.h"
#include "command.h"

enum
{
    ARGUMENTS_METADATA_MAX = 64,
};

typedef struct Arguments
{
    const CommandRow *command;
    const char *operands[COMMAND_WORDS_MAX];
    size_t operand_count;
    const char *values[OPTION_COUNT]; /* NULL: not given; "" of an option without an argument */
    const char *metadata[ARGUMENTS_METADATA_MAX]; /* "name=text", as often as it was given */
    size_t metadata_count;
} Arguments;

/* All point into argv. False with a sentence for people. `command` is NULL when none was named:
 * with --help or --version only. */
bool arguments_parse(int argc, char **argv, Arguments *ret_arguments, Error *error) ATTR_MUST_USE;

/* Operand number `index`; NULL if it was left out. */
const char *arguments_operand(const Arguments *arguments, size_t index);
const char *arguments_value(const Arguments *arguments, OptionId option); /* NULL: not given */
bool arguments_has(const Arguments *arguments, OptionId option);

/* "500ms", "30s", "5m", "2h", "1d"; a number alone is seconds. */
bool arguments_duration(const char *text, int64_t *ret_ms) ATTR_MUST_USE;
/* Decimal digits, with a minus at most; false if it is none or beyond 64 bits. */
bool arguments_integer(const char *text, int64_t *ret_value) ATTR_MUST_USE;
/* 8-4-4-4-12 hexadecimal digits. */
bool arguments_is_uuid(const char *text);

#endif
