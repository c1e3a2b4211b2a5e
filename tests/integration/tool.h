/*
 * giroctl, as a test runs it: the real binary beside girod, with pipes or on a terminal of its own
 * (a pty), its output, its exit code, and signals while it runs.
 */
#ifndef GIRO_TESTS_TOOL_H
#define GIRO_TESTS_TOOL_H

#include "json/json.h"

#include <stdbool.h>

typedef struct Tool Tool;

typedef struct ToolOptions
{
    const char *server;             /* GIRO_SERVER; NULL: not set */
    const char *const *environment; /* more of "NAME=value", ends with NULL; may be NULL */
    bool terminal;                  /* stdin, stdout and stderr are one; else stdin is empty */
    int columns;                    /* of the terminal; 0: 200 */
} ToolOptions;

typedef struct ToolEnd
{
    int code;  /* the exit code; -1: ended by a signal */
    char *out; /* stdout, or all that a terminal showed */
    char *err; /* stderr; "" on a terminal */
} ToolEnd;

/* Starts it with these words, up to NULL. */
Tool *tool_start(const ToolOptions *options, const char *const *words);
/* Waits until what it has said so far, on either stream, has this text; ends the test after a
 * generous time. */
void tool_await(Tool *tool, const char *text);
void tool_type(Tool *tool, const char *text); /* at the keyboard of a terminal */
void tool_signal(const Tool *tool, int signal_number);
/* Waits for its end, generously, and frees the tool. */
void tool_end(Tool *tool, ToolEnd *ret_end);
void tool_end_done(ToolEnd *end);

/* start and end. */
void tool_run(const ToolOptions *options, const char *const *words, ToolEnd *ret_end);

/* Runs it without a terminal and expects this exit code. */
ToolEnd tool_expect(const char *server, int code, const char *first, ...) __attribute__((sentinel));
/* Starts it on a terminal. */
Tool *tool_at_terminal(const char *server, const char *first, ...) __attribute__((sentinel));
/* Waits for its end, and expects this exit code and these words. */
void tool_finish(Tool *tool, int code, const char *words);

/* ---- looking at what it has said ------------------------------------------------------------- */

void tool_has(const char *text, const char *words);
void tool_lacks(const char *text, const char *words);
size_t tool_line_count(const char *text);

/* stdout as JSON; ends the test if it is none. json_free it. */
Json *tool_json(const ToolEnd *end);
/* A field's text; "" if it has none. Lent. */
const char *tool_text(const Json *object, const char *name);
/* Cell `column` of line `line` of a csv, the heading being line 0; NULL if there is none. free().
 */
char *tool_csv_cell(const char *csv, int line, int column);
/* By the heading. */
char *tool_csv_value(const char *csv, int line, const char *heading);

#endif
