/*
 * What an operator changes: one path for all of it.
 *
 *   look at the object -> show it, and the effect -> ask, unless --yes -> send -> show the answer
 *
 * Without a reason nothing is sent (tokens have none). Without a terminal to ask at, --yes is
 * needed. With --dry-run it ends after the second step. Guards are the server's: what is shown may
 * have changed when the order arrives.
 *
 * Some orders have a plan of the server (`has_plan`): its steps, and the evidence on the shards
 * that they rest on, are what is looked at, and what is shown. What it calls impossible is not
 * asked for.
 */
#ifndef GIROCTL_CHANGE_H
#define GIROCTL_CHANGE_H

#include "context.h"
#include "json/json_writer.h"

enum
{
    CHANGE_SHOWN_MAX = 20,
};

typedef struct Change
{
    const char *title;     /* "cancel transfer 1c95…" */
    const char *effect;    /* a sentence; NULL: the plan has it */
    const char *look_path; /* where the object is; NULL: there is none yet */
    const char *method;    /* NULL: POST */
    const char *path;
    void (*put)(const Context *context, JsonWriter *body); /* fields beside the reason; or NULL */
    const char *prefer;                                    /* NULL: nothing */
    bool has_plan;                                         /* the server knows ?dry_run=true */
    bool is_plain;                       /* takes no reason; no body either, unless `put` */
    bool once;                           /* must not be repeated when its answer is lost */
    const char *shown[CHANGE_SHOWN_MAX]; /* fields of the object, to be shown with the question */
} Change;

/* *ret_answer (may be NULL) is the answer to the order, to be
 * answer_done(); its document has been shown then, unless `ret_answer` is given: then showing is
 * the caller's. */
ExitCode change_run(const Context *context, const Change *change, Answer *ret_answer);

#endif
