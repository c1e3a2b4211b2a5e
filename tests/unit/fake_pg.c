/* See fake_pg.h: the connections to fake servers. */
#include "fake_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct FakeMessage
{
    char *text;
    PgParams *params;
    bool ends_segment;
} FakeMessage;

struct Pg
{
    Loop *loop;
    FakeServer *server;
    LIST_ENTRY(Pg) link;
    LoopTask task;
    LoopTimer *timer;
    bool open;
    bool connecting;
    bool timed_out;
    bool hanging;
    int pid;
    char trouble[64];
    PgConnected connected;
    void *connected_context;
    void (*lost)(void *context);
    void *lost_context;
    PgTransaction transaction;

    FakeMessage messages[PG_GROUP_MAX];
    size_t count;
    PgAnswer answers[PG_GROUP_MAX];
    size_t answered;
    size_t segment; /* first message that is not confirmed */
    bool failed;    /* the segment's rest is skipped */
    bool under_way;
    PgGroupDone done;
    void *done_context;
};

/* ---- the life of a group --------------------------------------------------------------------- */

typedef enum Control
{
    CONTROL_NONE,
    CONTROL_BEGIN,
    CONTROL_COMMIT,
    CONTROL_ROLLBACK,
    CONTROL_PREPARE,
} Control;

static Control control_of(const char *text)
{
    if (fake_matches("BEGIN*", text))
        return CONTROL_BEGIN;
    if (strcmp(text, "COMMIT") == 0)
        return CONTROL_COMMIT;
    if (strcmp(text, "ROLLBACK") == 0)
        return CONTROL_ROLLBACK;
    return fake_matches("PREPARE TRANSACTION *", text) ? CONTROL_PREPARE : CONTROL_NONE;
}

static void set_text(char *target, size_t size, const char *text)
{
    snprintf(target, size, "%s", text != NULL ? text : "");
}

static const char *own_tag(const char *text)
{
    static const char *const tags[] = {"BEGIN",  "COMMIT PREPARED", "ROLLBACK PREPARED",
                                       "COMMIT", "ROLLBACK",        "PREPARE TRANSACTION"};
    for (size_t i = 0; i < ARRAY_LENGTH(tags); i++)
    {
        if (strncmp(text, tags[i], strlen(tags[i])) == 0)
            return tags[i];
    }
    return fake_matches("prepare *", text) ? "PREPARE" : "SELECT 0";
}

static void record_error(Pg *pg, PgAnswer *answer, const char *sqlstate, Control control)
{
    answer->kind = PG_ERROR;
    set_text(answer->sqlstate, sizeof answer->sqlstate, sqlstate);
    set_text(answer->text, sizeof answer->text, "scripted error");
    pg->failed = true;
    if (control == CONTROL_COMMIT || control == CONTROL_PREPARE)
        pg->transaction = PG_TRANSACTION_IDLE;
    else if (pg->transaction == PG_TRANSACTION_OPEN)
        pg->transaction = PG_TRANSACTION_FAILED;
}

static void record_done(Pg *pg, PgAnswer *answer, const FakeAnswer *wanted, const char *text)
{
    Control control = control_of(text);
    const char *tag = wanted->tag != NULL ? wanted->tag : own_tag(text);
    bool ends = control == CONTROL_COMMIT || control == CONTROL_PREPARE;
    answer->kind = PG_DONE;
    answer->warned = wanted->warned;
    set_text(answer->sqlstate, sizeof answer->sqlstate, wanted->sqlstate);
    if (ends && pg->transaction == PG_TRANSACTION_FAILED)
        tag = "ROLLBACK";
    if (ends && pg->transaction == PG_TRANSACTION_IDLE)
    {
        answer->warned = true;
        set_text(answer->sqlstate, sizeof answer->sqlstate, "25P01");
    }
    if (control == CONTROL_BEGIN)
        pg->transaction = PG_TRANSACTION_OPEN;
    else if (control != CONTROL_NONE)
        pg->transaction = PG_TRANSACTION_IDLE;
    set_text(answer->tag, sizeof answer->tag, tag);
    if (wanted->rows == NULL)
        return;
    answer->rows = fake_lend(wanted->rows);
    if (wanted->tag == NULL)
        snprintf(answer->tag, sizeof answer->tag, "SELECT %zu", pg_row_count(answer->rows));
}

static void lose(Pg *pg, const char *why)
{
    if (!pg->open)
        return;
    pg->open = false;
    pg->hanging = false;
    set_text(pg->trouble, sizeof pg->trouble, why);
    loop_timer_stop(pg->timer);
    pg->transaction = PG_TRANSACTION_UNKNOWN;
    for (size_t i = pg->under_way ? pg->segment : pg->count; i < pg->count; i++)
    {
        if (i >= pg->answered || pg->answers[i].kind == PG_DONE)
            pg->answers[i] = (PgAnswer){.kind = PG_LOST};
    }
    pg->answered = pg->count;
    loop_post(pg->loop, &pg->task);
}

/* Answers the next message; false when nothing more comes for now. */
static bool step(Pg *pg)
{
    const FakeMessage *message = &pg->messages[pg->answered];
    PgAnswer *answer = &pg->answers[pg->answered];
    Control control = control_of(message->text);
    *answer = (PgAnswer){0};
    if (pg->failed)
    {
        answer->kind = PG_SKIPPED;
    }
    else if (pg->transaction == PG_TRANSACTION_FAILED && control == CONTROL_NONE)
    {
        record_error(pg, answer, "25P02", control);
    }
    else
    {
        FakeAnswer wanted = fake_find_answer(pg->server, pg->pid, message->text, message->params);
        if (wanted.deed == FAKE_LOSE)
            lose(pg, "scripted loss");
        if (wanted.deed == FAKE_HANG)
            pg->hanging = true;
        if (wanted.deed == FAKE_LOSE || wanted.deed == FAKE_HANG)
            return false;
        if (wanted.deed == FAKE_ERROR)
            record_error(pg, answer, wanted.sqlstate, control);
        else
            record_done(pg, answer, &wanted, message->text);
    }
    pg->answered++;
    if (message->ends_segment)
    {
        pg->segment = pg->answered;
        pg->failed = false;
    }
    return true;
}

static void forget_group(Pg *pg)
{
    for (size_t i = 0; i < pg->count; i++)
    {
        free(pg->messages[i].text);
        pg_params_free(pg->messages[i].params);
    }
    pg->count = 0;
    pg->answered = 0;
    pg->segment = 0;
    pg->failed = false;
}

static void deliver_group(Pg *pg)
{
    PgAnswer answers[PG_GROUP_MAX];
    size_t count = pg->count;
    memcpy(answers, pg->answers, sizeof answers);
    loop_timer_stop(pg->timer);
    forget_group(pg);
    pg->under_way = false;
    pg->done(pg->done_context, answers, count, pg->transaction);
}

static void deliver_connected(Pg *pg)
{
    if (pg->server->how == FAKE_HANGS && !pg->timed_out)
        return;
    loop_timer_stop(pg->timer);
    pg->connecting = false;
    pg->open = pg->server->how == FAKE_ACCEPTS && !pg->timed_out;
    if (!pg->open)
        set_text(pg->trouble, sizeof pg->trouble,
                 pg->server->how == FAKE_REFUSES ? "connection refused" : "no answer in time");
    pg->transaction = pg->open ? PG_TRANSACTION_IDLE : PG_TRANSACTION_UNKNOWN;
    pg->connected(pg->connected_context, pg->open, pg->open ? NULL : pg->trouble);
}

static void run(void *context)
{
    Pg *pg = context;
    if (pg->connecting)
    {
        deliver_connected(pg);
        return;
    }
    while (pg->open && pg->under_way && !pg->hanging && pg->answered < pg->count && step(pg))
        continue;
    if (pg->under_way && pg->answered == pg->count)
    {
        deliver_group(pg);
    }
    else if (!pg->open && !pg->under_way && pg->lost != NULL)
    {
        void (*lost)(void *) = pg->lost;
        pg->lost = NULL;
        lost(pg->lost_context);
    }
}

static void deadline_missed(void *context)
{
    Pg *pg = context;
    pg->timed_out = true;
    if (pg->connecting)
        loop_post(pg->loop, &pg->task);
    else
        lose(pg, "no answer before the deadline");
}

void fake_crash(FakeServer *server)
{
    Pg *pg;
    LIST_FOREACH (pg, &server->connections, link)
        lose(pg, "the server crashed");
}

void fake_resume(FakeServer *server)
{
    Pg *pg;
    LIST_FOREACH (pg, &server->connections, link)
    {
        if (!pg->hanging)
            continue;
        pg->hanging = false;
        loop_post(pg->loop, &pg->task);
    }
}

size_t fake_connection_count(const FakeServer *server)
{
    size_t count = 0;
    const Pg *pg;
    LIST_FOREACH (pg, &server->connections, link)
        count += pg->open ? 1 : 0;
    return count;
}

/* ---- pg.h ------------------------------------------------------------------------------------ */

Pg *pg_connect(Loop *loop, const char *dsn, uint64_t deadline_ms, PgConnected connected,
               void *context)
{
    Pg *pg = base_calloc(1, sizeof *pg);
    pg->loop = loop;
    pg->server = fake_server(dsn);
    pg->server->connects++;
    pg->connecting = true;
    pg->pid = fake_new_pid();
    pg->connected = connected;
    pg->connected_context = context;
    pg->task = (LoopTask){.run = run, .context = pg};
    pg->timer = loop_timer_new(loop, deadline_missed, pg);
    LIST_INSERT_HEAD(&pg->server->connections, pg, link);
    loop_timer_start(pg->timer, deadline_ms);
    loop_post(loop, &pg->task);
    return pg;
}

void pg_close(Pg *pg)
{
    if (pg == NULL)
        return;
    LIST_REMOVE(pg, link);
    loop_unpost(pg->loop, &pg->task);
    loop_timer_free(pg->timer);
    forget_group(pg);
    free(pg);
}

bool pg_is_open(const Pg *pg)
{
    return pg->open;
}

int pg_backend_pid(const Pg *pg)
{
    return pg->open ? pg->pid : 0;
}

void pg_cut(Pg *pg)
{
    lose(pg, "cut by the coordinator");
}

bool pg_is_timed_out(const Pg *pg)
{
    return pg->timed_out;
}

const char *pg_trouble(const Pg *pg)
{
    return pg->open ? "" : pg->trouble;
}

void pg_on_lost(Pg *pg, void (*lost)(void *context), void *context)
{
    pg->lost = lost;
    pg->lost_context = context;
}

static void add(Pg *pg, const char *prefix, const char *text, const PgParams *params)
{
    char whole[2048];
    ASSERT(pg->count < PG_GROUP_MAX && !pg->under_way);
    snprintf(whole, sizeof whole, "%s%s", prefix, text);
    pg->messages[pg->count++] = (FakeMessage){base_strdup(whole), fake_copy_params(params), false};
}

void pg_group_begin(Pg *pg)
{
    ASSERT(!pg->under_way);
    forget_group(pg);
}

void pg_group_sql(Pg *pg, const char *sql, const PgParams *params)
{
    add(pg, "", sql, params);
}

void pg_group_prepare(Pg *pg, const char *name, const char *sql)
{
    (void)sql;
    add(pg, "prepare ", name, NULL);
}

void pg_group_execute(Pg *pg, const char *name, const PgParams *params)
{
    add(pg, "", name, params);
}

void pg_group_sync(Pg *pg)
{
    if (pg->count > 0)
        pg->messages[pg->count - 1].ends_segment = true;
}

static void log_group(Pg *pg)
{
    char text[8192] = "";
    size_t used = 0;
    for (size_t i = 0; i < pg->count; i++)
    {
        const char *between = i + 1 == pg->count ? "" : pg->messages[i].ends_segment ? " | " : "; ";
        int length =
            snprintf(text + used, sizeof text - used, "%s%s", pg->messages[i].text, between);
        used += (size_t)length;
        ASSERT(used < sizeof text);
        fake_note_message(pg->server, pg->messages[i].text, pg->messages[i].params);
    }
    if (!fake_is_set_up(pg->messages[0].text))
        fake_note_group(pg->server, text);
}

void pg_group_send(Pg *pg, uint64_t deadline_ms, PgGroupDone done, void *context)
{
    ASSERT(!pg->under_way && pg->count > 0);
    pg_group_sync(pg);
    pg->under_way = true;
    pg->done = done;
    pg->done_context = context;
    loop_post(pg->loop, &pg->task);
    if (pg->open)
    {
        log_group(pg);
        loop_timer_start(pg->timer, deadline_ms);
        return;
    }
    for (size_t i = 0; i < pg->count; i++)
        pg->answers[i] = (PgAnswer){.kind = PG_LOST};
    pg->answered = pg->count;
}
