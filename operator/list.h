/*
 * A list of the API, page by page: the cursors are followed up to --limit, or to the end with
 * --all. One page is held at a time.
 */
#ifndef GIROCTL_LIST_H
#define GIROCTL_LIST_H

#include "context.h"

enum
{
    LIST_PARAMETERS_MAX = 12,
    LIST_PAGE_MAX = 1000,
    LIST_LIMIT_DEFAULT = 100,
};

typedef struct ListParameter
{
    const char *name;
    const char *value; /* NULL: left out */
} ListParameter;

typedef struct List
{
    const char *path;
    ListParameter parameters[LIST_PARAMETERS_MAX]; /* ends with a NULL name */
    bool is_whole; /* this one has no pages: neither limit nor cursor is sent */
} List;

/* Shows it, as far as --limit and --all ask for. */
ExitCode list_show(const Context *context, const List *list, const Columns *columns);

/* Visits every item of all pages; false ends it. *ret_page (may be NULL) is the last page, to be
 * answer_done(). */
typedef bool (*ListVisitor)(void *closure, const Json *item);
ExitCode list_each(const Context *context, const List *list, ListVisitor visit, void *closure,
                   Answer *ret_page);

/* The shards that a page is without, with commas; NULL if all have answered. free(). */
char *list_missing_shards(const Json *page);

#endif
