/*
 * What a command works with, and the few things that most of them do: one request and what is shown
 * of it, a list page by page, a question before something is changed.
 */
#ifndef GIROCTL_CONTEXT_H
#define GIROCTL_CONTEXT_H

#include "address.h"
#include "answer.h"
#include "arguments.h"
#include "interrupt.h"
#include "output.h"
#include "service.h"

struct Context
{
    const Arguments *arguments;
    const Interrupt *interrupt;
    Service *service; /* NULL for commands that need none */
    Output *output;
    int64_t timeout_ms; /* of --timeout; 0: the command's own */
};

/* Shorthands. */
const char *context_operand(const Context *context, size_t index);
const char *context_value(const Context *context, OptionId option);
bool context_has(const Context *context, OptionId option);

/* Fills *ret_answer, which is to be answer_done() also if it is not good. */
void context_get(const Context *context, const char *path, Answer *ret_answer);
/* GET and shown as a record. */
ExitCode context_show(const Context *context, const char *path);
/* The operand as an id of the server's making, else a usage error with this noun ("transfer"). */
bool context_is_id(const char *text, const char *noun) ATTR_MUST_USE;
/* "/v1/transfers" + "/" + id + "/steps" */
void context_path(Address *ret_address, const char *collection, const char *id, const char *rest);

#endif
