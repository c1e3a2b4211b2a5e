/*
 * See clerk.h.
 *
 *   idle -> connecting -> asking -> idle
 *              |             |
 *              +-> away <----+   all who wait are told; the connection is dropped
 *
 * Only the first of the queue is ever under way. A statement that cannot be sent any more within
 * its deadline is not sent.
 */
#include "shard/clerk.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum
{
    MESSAGES = 3, /* BEGIN, the statement, COMMIT */
    STATEMENT_AT = 1,
    COMMIT_AT = 2,
};

typedef struct Asked
{
    TAILQ_ENTRY(Asked) link;
    ClerkCall call;
    uint64_t deadline_at_ms;
} Asked;

TAILQ_HEAD(AskedList, Asked);

struct Clerk
{
    Loop *loop;
    ClerkOptions options;
    char *dsn;
    Pg *pg;
    PgParams *params; /* built and copied out within one callback */
    struct AskedList asked;
    size_t count;
    bool busy; /* connecting or asking */
    LoopTask next;
};

static uint64_t left_ms(const Clerk *clerk, const Asked *asked)
{
    uint64_t now_ms = loop_now_ms(clerk->loop);
    return asked->deadline_at_ms > now_ms ? asked->deadline_at_ms - now_ms : 0;
}

static void answer(Clerk *clerk, Asked *asked, const ClerkResult *result)
{
    TAILQ_REMOVE(&clerk->asked, asked, link);
    clerk->count--;
    asked->call.done(asked->call.context, result);
    free(asked);
}

/* Those who ask again from inside their answer are not told now. */
static void tell_all_away(Clerk *clerk, const char *text)
{
    struct AskedList told = TAILQ_HEAD_INITIALIZER(told);
    ClerkResult result = {.outcome = CLERK_AWAY, .sqlstate = "", .text = text};
    Asked *asked;
    TAILQ_CONCAT(&told, &clerk->asked, link);
    while ((asked = TAILQ_FIRST(&told)) != NULL)
    {
        TAILQ_REMOVE(&told, asked, link);
        clerk->count--;
        asked->call.done(asked->call.context, &result);
        free(asked);
    }
}

static void drop_connection(Clerk *clerk)
{
    pg_close(clerk->pg);
    clerk->pg = NULL;
}

/* The first message that was not done tells why; without one COMMIT has its say: of a transaction
 * that failed it answers ROLLBACK, and a warning says that no standby has confirmed it. */
static void settle(Clerk *clerk, Asked *asked, const PgAnswer *answers)
{
    ClerkResult result = {.outcome = CLERK_DONE, .sqlstate = "", .text = ""};
    const PgAnswer *commit = &answers[COMMIT_AT];
    const PgAnswer *wrong = NULL;
    for (size_t i = 0; i < MESSAGES && wrong == NULL; i++)
    {
        if (answers[i].kind != PG_DONE)
            wrong = &answers[i];
    }
    if (wrong != NULL)
    {
        result.outcome = wrong->kind == PG_ERROR ? CLERK_REFUSED : CLERK_UNKNOWN;
        result.sqlstate = wrong->kind == PG_ERROR ? wrong->sqlstate : "";
        result.text = wrong->text;
    }
    else if (commit->warned || strcmp(commit->tag, "COMMIT") != 0)
    {
        result.outcome = CLERK_UNKNOWN;
        result.text = commit->warned ? commit->text : commit->tag;
    }
    else
        result.rows = answers[STATEMENT_AT].rows;
    answer(clerk, asked, &result);
}

static void on_answers(void *context, const PgAnswer *answers, size_t count,
                       PgTransaction transaction)
{
    Clerk *clerk = context;
    bool reusable = transaction == PG_TRANSACTION_IDLE;
    ASSERT(count == MESSAGES);
    settle(clerk, TAILQ_FIRST(&clerk->asked), answers);
    clerk->busy = false;
    if (!reusable)
        drop_connection(clerk);
    loop_post(clerk->loop, &clerk->next);
}

static void ask(Clerk *clerk, const Asked *asked)
{
    pg_params_reset(clerk->params);
    if (asked->call.fill != NULL)
        asked->call.fill(asked->call.context, clerk->params);
    clerk->busy = true;
    pg_group_begin(clerk->pg);
    pg_group_sql(clerk->pg, statement_row(STATEMENT_BEGIN)->sql, NULL);
    pg_group_sql(clerk->pg, statement_row(asked->call.statement)->sql, clerk->params);
    pg_group_sql(clerk->pg, statement_row(STATEMENT_COMMIT)->sql, NULL);
    pg_group_send(clerk->pg, left_ms(clerk, asked), on_answers, clerk);
}

static void on_connected(void *context, bool connected, const char *text)
{
    Clerk *clerk = context;
    clerk->busy = false;
    if (!connected)
    {
        drop_connection(clerk);
        tell_all_away(clerk, text);
    }
    loop_post(clerk->loop, &clerk->next);
}

/* All but the one under way, which has its own deadline. */
static void tell_late(Clerk *clerk)
{
    static const ClerkResult late = {
        .outcome = CLERK_AWAY, .sqlstate = "", .text = "the directory answers too slowly"};
    Asked *asked = TAILQ_FIRST(&clerk->asked);
    if (clerk->busy)
        asked = TAILQ_NEXT(asked, link);
    while (asked != NULL)
    {
        Asked *next = TAILQ_NEXT(asked, link);
        if (left_ms(clerk, asked) == 0)
            answer(clerk, asked, &late);
        asked = next;
    }
}

static void step(void *context)
{
    Clerk *clerk = context;
    tell_late(clerk);
    if (clerk->busy)
        return;
    const Asked *asked = TAILQ_FIRST(&clerk->asked);
    if (asked == NULL)
        return;
    if (clerk->pg != NULL && pg_is_open(clerk->pg))
    {
        ask(clerk, asked);
        return;
    }
    drop_connection(clerk);
    clerk->busy = true;
    clerk->pg = pg_connect(clerk->loop, clerk->dsn, left_ms(clerk, asked), on_connected, clerk);
}

/* One call too many has no time and is told so in the next step. */
void clerk_ask(Clerk *clerk, const ClerkCall *call)
{
    ASSERT(statement_row(call->statement)->kind == STATEMENT_IS_DIRECTORY);
    Asked *asked = base_calloc(1, sizeof *asked);
    bool full = clerk->count >= clerk->options.calls_max;
    asked->call = *call;
    asked->deadline_at_ms = full ? 0 : loop_now_ms(clerk->loop) + clerk->options.deadline_ms;
    TAILQ_INSERT_TAIL(&clerk->asked, asked, link);
    clerk->count++;
    loop_post(clerk->loop, &clerk->next);
}

size_t clerk_count(const Clerk *clerk)
{
    return clerk->count;
}

Clerk *clerk_new(Loop *loop, const ClerkOptions *options)
{
    Clerk *clerk = base_calloc(1, sizeof *clerk);
    clerk->loop = loop;
    clerk->options = *options;
    clerk->dsn = base_strdup(options->dsn);
    clerk->options.dsn = clerk->dsn;
    clerk->params = pg_params_new(options->parameter_bytes);
    clerk->next = (LoopTask){.run = step, .context = clerk};
    TAILQ_INIT(&clerk->asked);
    return clerk;
}

void clerk_free(Clerk *clerk)
{
    if (clerk == NULL)
        return;
    pg_close(clerk->pg);
    loop_unpost(clerk->loop, &clerk->next);
    for (Asked *asked; (asked = TAILQ_FIRST(&clerk->asked)) != NULL;)
    {
        TAILQ_REMOVE(&clerk->asked, asked, link);
        free(asked);
    }
    pg_params_free(clerk->params);
    free(clerk->dsn);
    free(clerk);
}
