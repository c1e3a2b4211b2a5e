/*
 * Help and completion, made from the tables of commands and options.
 */
#ifndef GIROCTL_HELP_H
#define GIROCTL_HELP_H

#include "command.h"

#include <stdio.h>

/* All commands. */
void help_print_all(FILE *out);
/* One command: what it takes, and each option. */
void help_print_command(FILE *out, const CommandRow *command);
/* What may stand behind these words, one per line: commands, verbs, options, or the values of the
 * option that is the last of them. */
void help_print_candidates(FILE *out, const char *const *words, size_t count);

#endif
