/* See fake_pg.h and fake_server.h. */
#include "fake_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    SERVERS_MAX = 16,
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
        .epoch = 1,
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

bool fake_matches(const char *pattern, const char *text)
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
static FakeRows *identity_rows(const FakeServer *server, int pid, const PgParams *params)
{
    const FakeIdentity *identity = &server->identity;
    FakeRows *rows = fake_rows_new(21);
    fake_text(rows, identity->cluster);
    fake_text(rows, identity->name);
    fake_int4(rows, identity->ordinal);
    fake_int8(rows, identity->epoch);
    fake_int4(rows, identity->format_version);
    fake_text(rows, identity->system_identifier);
    fake_text(rows, identity->timeline);
    fake_bool(rows, identity->in_recovery);
    fake_int4(rows, pid);
    fake_timestamp_us(rows, INT64_C(1700000000000000) + pid);
    fake_text(rows, "giro");
    fake_text(rows, "giro");
    fake_bool(rows, identity->read_only);
    fake_text(rows, identity->isolation);
    fake_text(rows, identity->synchronous_commit);
    fake_int4(rows, asked_or(identity->lock_timeout_ms, params, 0));
    fake_int4(rows, asked_or(identity->statement_timeout_ms, params, 1));
    fake_int4(rows, asked_or(identity->idle_timeout_ms, params, 2));
    fake_int4(rows, identity->max_prepared);
    fake_text(rows, identity->fenced);
    fake_int4(rows, identity->missing_marks);
    return rows;
}

bool fake_is_set_up(const char *text)
{
    return fake_matches("select * from giro.session*", text);
}

/* What a server does without a script. */
static FakeAnswer answer_by_itself(const FakeServer *server, int pid, const char *text,
                                   const PgParams *params)
{
    static const char *const silent[] = {"BEGIN*",
                                         "COMMIT*",
                                         "ROLLBACK*",
                                         "PREPARE TRANSACTION *",
                                         "prepare *",
                                         "limit",
                                         "finish",
                                         "select pg_logical_emit_message*",
                                         "select giro.end_session*",
                                         "select giro.fence_off*"};
    if (fake_is_set_up(text))
        return fake_rows(identity_rows(server, pid, params));
    for (size_t i = 0; i < ARRAY_LENGTH(silent); i++)
    {
        if (fake_matches(silent[i], text))
            return fake_done(NULL);
    }
    return (FakeAnswer){.deed = FAKE_PASS};
}

FakeAnswer fake_find_answer(FakeServer *server, int pid, const char *text, const PgParams *params)
{
    for (size_t i = 0; i < server->rule_count; i++)
    {
        Rule *rule = &server->rules[i];
        if (rule->used || !fake_matches(rule->text, text))
            continue;
        rule->used = true;
        return rule->answer;
    }
    FakeAnswer answer = answer_by_itself(server, pid, text, params);
    if (answer.deed == FAKE_PASS && server->serve != NULL)
        answer = server->serve(server->serve_context, text, params);
    if (answer.deed == FAKE_PASS)
        give_up("unexpected message", text);
    return answer;
}

/* ---- what was sent ---- */

PgParams *fake_copy_params(const PgParams *params)
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

void fake_note_message(FakeServer *server, const char *text, const PgParams *params)
{
    size_t i = 0;
    while (i < server->capture_count && strcmp(server->captures[i].text, text) != 0)
        i++;
    if (i == CAPTURES_MAX)
        return;
    if (i == server->capture_count)
        server->captures[server->capture_count++] = (Capture){base_strdup(text), NULL};
    pg_params_free(server->captures[i].params);
    server->captures[i].params = fake_copy_params(params);
}

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

int fake_new_pid(void)
{
    return fake.next_pid++;
}

void fake_note_group(FakeServer *server, const char *text)
{
    char line[8448];
    ASSERT(fake.log_count < GROUPS_MAX && server->sent_count < GROUPS_MAX);
    snprintf(line, sizeof line, "%.200s: %s", server->dsn, text);
    fake.log[fake.log_count++] = base_strdup(line);
    server->sent[server->sent_count++] = base_strdup(text);
}
