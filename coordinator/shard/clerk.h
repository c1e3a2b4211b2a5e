/*
 * Statements to the directory database, one after the other over a connection of its own, each in a
 * transaction of its own: for what is not routing, which directory.h reads.
 *
 * The connection is made when it is needed. Nothing is ever sent twice: a statement whose answer is
 * lost may have taken effect or may still do so, and whoever asked has to know that. Every
 * statement has a deadline, from the moment it is asked for; while the directory cannot be reached
 * all that wait are told at once, since the next one would have to wait as long.
 */
#ifndef GIRO_CLERK_H
#define GIRO_CLERK_H

#include "pg/pg.h"
#include "shard/statement.h"

typedef struct Clerk Clerk;

typedef struct ClerkOptions
{
    const char *dsn; /* of the directory database, coordinator's role */
    size_t calls_max;
    size_t parameter_bytes; /* of one statement, at most */
    uint64_t deadline_ms;
} ClerkOptions;

typedef enum ClerkOutcome
{
    CLERK_DONE,    /* committed */
    CLERK_REFUSED, /* the directory raised an error; nothing changed */
    CLERK_AWAY,    /* the directory does not answer, or is asked too much; nothing changed */
    CLERK_UNKNOWN, /* it was sent, and the answer was lost */
} ClerkOutcome;

typedef struct ClerkResult
{
    ClerkOutcome outcome;
    const char *sqlstate; /* "" unless refused */
    const char *text;     /* why, for people */
    const PgRows *rows;   /* lent until done returns; NULL unless done */
} ClerkResult;

typedef struct ClerkCall
{
    Statement statement; /* of the directory */
    /* Appends the parameters; called once, at the latest moment. NULL: there are none. */
    void (*fill)(void *context, PgParams *params);
    /* Called exactly once, never from inside clerk_ask; may ask again. */
    void (*done)(void *context, const ClerkResult *result);
    void *context; /* must live until done was called */
} ClerkCall;

Clerk *clerk_new(Loop *loop, const ClerkOptions *options);
/* What is under way is forgotten. Accepts NULL. */
void clerk_free(Clerk *clerk);

void clerk_ask(Clerk *clerk, const ClerkCall *call);
/* Calls that are not answered yet. */
size_t clerk_count(const Clerk *clerk);

#endif
