/* See fake_pg.h. */
#include "fake_pg.h"

#include "pg/pg_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum
{
    SERVERS_MAX = 16,
    RULES_MAX = 256,
    GROUPS_MAX = 4096,
    CAPTURES_MAX = 64,
};

typedef struct Rule
{
    char *text;
    FakeAnswer answer;
    bool used;
} Rule;

typedef struct Capture
{
    char *text;
    PgParams *params;
} Capture;

struct FakeServer
{
    char *dsn;
    FakeConnect how;
    FakeIdentity identity;
    Rule rules[RULES_MAX];
    size_t rule_count;
    FakeServe serve;
    void *serve_context;
    LIST_HEAD(, Pg) connections;
    size_t connects;
    char *sent[GROUPS_MAX];
    size_t sent_count;
    Capture captures[CAPTURES_MAX];
    size_t capture_count;
};

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

/* Everything a test may look at; emptied by fake_start. */
static struct
{
    FakeServer *servers[SERVERS_MAX];
    size_t server_count;
    char *log[GROUPS_MAX];
    size_t log_count;
    int next_pid;
} fake;

static void __attribute__((noreturn)) give_up(const char *what, const char *detail)
{
    fprintf(stderr, "fake_pg: %s: %s\n", what, detail);
    abort();
}

/* ---- start, stop, servers -------------------------------------------------------------------- */

void fake_start(void)
{
    memset(&fake, 0, sizeof fake);
    fake.next_pid = 1000;
}

static void free_server(FakeServer *server)
{
    if (!LIST_EMPTY(&server->connections))
        give_up("a connection is still open", server->dsn);
    for (size_t i = 0; i < server->rule_count; i++)
        free(server->rules[i].text);
    for (size_t i = 0; i < server->sent_count; i++)
        free(server->sent[i]);
    for (size_t i = 0; i < server->capture_count; i++)
    {
        free(server->captures[i].text);
        pg_params_free(server->captures[i].params);
    }
    free(server->dsn);
    free(server);
}

void fake_stop(void)
{
    for (size_t i = 0; i < fake.server_count; i++)
        free_server(fake.servers[i]);
    for (size_t i = 0; i < fake.log_count; i++)
        free(fake.log[i]);
    fake_values_stop();
    memset(&fake, 0, sizeof fake);
}

FakeServer *fake_server(const char *dsn)
{
    for (size_t i = 0; i < fake.server_count; i++)
    {
        if (strcmp(fake.servers[i]->dsn, dsn) == 0)
            return fake.servers[i];
    }
    ASSERT(fake.server_count < SERVERS_MAX);
    FakeServer *server = base_calloc(1, sizeof *server);
    server->dsn = base_strdup(dsn);
    LIST_INIT(&server->connections);
    server->identity = (FakeIdentity){
        .cluster = "test",
        .name = "shard-1",
        .ordinal = 1,
        .format_version = 1,
        .system_identifier = "7000000000000000001",
        .timeline = "00000001",
        .isolation = "read committed",
        .synchronous_commit = "on",
        .max_prepared = 20,
        .lock_timeout_ms = -1,
        .statement_timeout_ms = -1,
        .idle_timeout_ms = -1,
    };
    fake.servers[fake.server_count++] = server;
    return server;
}

FakeIdentity *fake_identity(FakeServer *server)
{
    return &server->identity;
}

void fake_connects(FakeServer *server, FakeConnect how)
{
    server->how = how;
}

size_t fake_connects_seen(const FakeServer *server)
{
    return server->connects;
}

size_t fake_connection_count(const FakeServer *server)
{
    size_t count = 0;
    const Pg *pg;
    LIST_FOREACH (pg, &server->connections, link)
        count += pg->open ? 1 : 0;
    return count;
}

void fake_serve(FakeServer *server, FakeServe serve, void *context)
{
    server->serve = serve;
    server->serve_context = context;
}

/* ---- answers --------------------------------------------------------------------------------- */

FakeAnswer fake_done(const char *tag)
{
    return (FakeAnswer){.deed = FAKE_DO, .tag = tag};
}

FakeAnswer fake_rows(FakeRows *rows)
{
    return (FakeAnswer){.deed = FAKE_DO, .rows = rows};
}

FakeAnswer fake_error(const char *sqlstate)
{
    return (FakeAnswer){.deed = FAKE_ERROR, .sqlstate = sqlstate};
}

FakeAnswer fake_warning(const char *tag, const char *sqlstate)
{
    return (FakeAnswer){.deed = FAKE_DO, .tag = tag, .sqlstate = sqlstate, .warned = true};
}

FakeAnswer fake_lose(void)
{
    return (FakeAnswer){.deed = FAKE_LOSE};
}

FakeAnswer fake_hang(void)
{
    return (FakeAnswer){.deed = FAKE_HANG};
}

void fake_answer(FakeServer *server, const char *text, FakeAnswer answer)
{
    ASSERT(server->rule_count < RULES_MAX);
    server->rules[server->rule_count++] = (Rule){base_strdup(text), answer, false};
}

size_t fake_unused(const FakeServer *server)
{
    size_t count = 0;
    for (size_t i = 0; i < server->rule_count; i++)
        count += server->rules[i].used ? 0 : 1;
    return count;
}

static bool matches(const char *pattern, const char *text)
{
    size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(pattern, text, length - 1) == 0;
    return strcmp(pattern, text) == 0;
}

static int asked_or(int value, const PgParams *params, int index)
{
    return value >= 0 ? value : fake_param_int4(params, index);
}

/* One row as of the function `session`. */
static FakeRows *identity_rows(const Pg *pg, const PgParams *params)
{
    const FakeIdentity *identity = &pg->server->identity;
    FakeRows *rows = fake_rows_new(19);
    fake_text(rows, identity->cluster);
    fake_text(rows, identity->name);
    fake_int4(rows, identity->ordinal);
    fake_int8(rows, 1);
    fake_int4(rows, identity->format_version);
    fake_text(rows, identity->system_identifier);
    fake_text(rows, identity->timeline);
    fake_bool(rows, identity->in_recovery);
    fake_int4(rows, pg->pid);
    fake_timestamp_us(rows, INT64_C(1700000000000000) + pg->pid);
    fake_text(rows, "giro");
    fake_text(rows, "giro");
    fake_bool(rows, identity->read_only);
    fake_text(rows, identity->isolation);
    fake_text(rows, identity->synchronous_commit);
    fake_int4(rows, asked_or(identity->lock_timeout_ms, params, 0));
    fake_int4(rows, asked_or(identity->statement_timeout_ms, params, 1));
    fake_int4(rows, asked_or(identity->idle_timeout_ms, params, 2));
    fake_int4(rows, identity->max_prepared);
    return rows;
}

static bool is_set_up(const char *text)
{
    return matches("select * from giro.session*", text);
}

/* What a server does without a script. */
static FakeAnswer answer_by_itself(const Pg *pg, const FakeMessage *message)
{
    static const char *const silent[] = {"BEGIN*",
                                         "COMMIT*",
                                         "ROLLBACK*",
                                         "PREPARE TRANSACTION *",
                                         "prepare *",
                                         "limit",
                                         "finish",
                                         "select pg_logical_emit_message*",
                                         "select giro.end_session*"};
    if (is_set_up(message->text))
        return fake_rows(identity_rows(pg, message->params));
    for (size_t i = 0; i < ARRAY_LENGTH(silent); i++)
    {
        if (matches(silent[i], message->text))
            return fake_done(NULL);
    }
    return (FakeAnswer){.deed = FAKE_PASS};
}

static FakeAnswer find_answer(const Pg *pg, const FakeMessage *message)
{
    FakeServer *server = pg->server;
    for (size_t i = 0; i < server->rule_count; i++)
    {
        Rule *rule = &server->rules[i];
        if (rule->used || !matches(rule->text, message->text))
            continue;
        rule->used = true;
        return rule->answer;
    }
    FakeAnswer answer = answer_by_itself(pg, message);
    if (answer.deed == FAKE_PASS && server->serve != NULL)
        answer = server->serve(server->serve_context, message->text, message->params);
    if (answer.deed == FAKE_PASS)
        give_up("unexpected message", message->text);
    return answer;
}

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
    if (matches("BEGIN*", text))
        return CONTROL_BEGIN;
    if (strcmp(text, "COMMIT") == 0)
        return CONTROL_COMMIT;
    if (strcmp(text, "ROLLBACK") == 0)
        return CONTROL_ROLLBACK;
    return matches("PREPARE TRANSACTION *", text) ? CONTROL_PREPARE : CONTROL_NONE;
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
    return matches("prepare *", text) ? "PREPARE" : "SELECT 0";
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
        FakeAnswer wanted = find_answer(pg, message);
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

/* ---- pg.h ------------------------------------------------------------------------------------ */

Pg *pg_connect(Loop *loop, const char *dsn, uint64_t deadline_ms, PgConnected connected,
               void *context)
{
    Pg *pg = base_calloc(1, sizeof *pg);
    pg->loop = loop;
    pg->server = fake_server(dsn);
    pg->server->connects++;
    pg->connecting = true;
    pg->pid = fake.next_pid++;
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

bool pg_is_idle(const Pg *pg)
{
    return pg->open && !pg->under_way;
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

static PgParams *copy_params(const PgParams *params)
{
    PgParams *copy = pg_params_new(0);
    if (params == NULL)
        return copy;
    ASSERT(!params->overflow && params->elements_due == 0);
    *copy = *params;
    copy->bytes = base_malloc(params->used);
    if (params->used > 0)
        memcpy(copy->bytes, params->bytes, params->used);
    copy->room = params->used;
    return copy;
}

static void add(Pg *pg, const char *prefix, const char *text, const PgParams *params)
{
    char whole[2048];
    ASSERT(pg->count < PG_GROUP_MAX && !pg->under_way);
    snprintf(whole, sizeof whole, "%s%s", prefix, text);
    pg->messages[pg->count++] = (FakeMessage){base_strdup(whole), copy_params(params), false};
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

static void capture(FakeServer *server, const FakeMessage *message)
{
    size_t i = 0;
    while (i < server->capture_count && strcmp(server->captures[i].text, message->text) != 0)
        i++;
    if (i == CAPTURES_MAX)
        return;
    if (i == server->capture_count)
        server->captures[server->capture_count++] = (Capture){base_strdup(message->text), NULL};
    pg_params_free(server->captures[i].params);
    server->captures[i].params = copy_params(message->params);
}

static void log_group(Pg *pg)
{
    char text[8192] = "";
    char line[8448];
    size_t used = 0;
    for (size_t i = 0; i < pg->count; i++)
    {
        const char *between = i + 1 == pg->count ? "" : pg->messages[i].ends_segment ? " | " : "; ";
        int length =
            snprintf(text + used, sizeof text - used, "%s%s", pg->messages[i].text, between);
        used += (size_t)length;
        ASSERT(used < sizeof text);
        capture(pg->server, &pg->messages[i]);
    }
    if (is_set_up(pg->messages[0].text))
        return;
    ASSERT(fake.log_count < GROUPS_MAX && pg->server->sent_count < GROUPS_MAX);
    snprintf(line, sizeof line, "%.200s: %s", pg->server->dsn, text);
    fake.log[fake.log_count++] = base_strdup(line);
    pg->server->sent[pg->server->sent_count++] = base_strdup(text);
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

/* ---- what was sent --------------------------------------------------------------------------- */

const char *fake_sent(const FakeServer *server, size_t index)
{
    return index < server->sent_count ? server->sent[index] : NULL;
}

size_t fake_sent_count(const FakeServer *server)
{
    return server->sent_count;
}

const char *fake_log(size_t index)
{
    return index < fake.log_count ? fake.log[index] : NULL;
}

const PgParams *fake_params(const FakeServer *server, const char *text)
{
    for (size_t i = 0; i < server->capture_count; i++)
    {
        if (strcmp(server->captures[i].text, text) == 0)
            return server->captures[i].params;
    }
    return NULL;
}
