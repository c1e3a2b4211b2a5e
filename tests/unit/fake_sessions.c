/* See fake_sessions.h. */
#include "fake_sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    SCRIPTS_MAX = 32,
    MESSAGES_MAX = 8,
    SESSIONS_MAX = 512,
    CONVERSATION_MAX = 8192,
};

typedef struct Message
{
    Statement statement;
    bool sync_before;
    const PgRows *rows; /* what it answers if nothing is scripted */
} Message;

struct Session
{
    Shard *shard;
    bool open;
    PgTransaction transaction;
    int pid;
    Message messages[MESSAGES_MAX];
    size_t count;
    bool sync_next;
    bool busy;
    bool released;
    bool cut_after;
    uint64_t deadline_ms;
    PgGroupDone done;
    void *context;
    LoopTimer *timer;
};

typedef struct Script
{
    Shard *shard;
    Statement statement;
    FakeKind kind;
    const char *text;
    bool used;
} Script;

static struct
{
    Loop *loop;
    LoopTimer *grant;
    Script scripts[SCRIPTS_MAX];
    size_t script_count;
    Session *sessions[SESSIONS_MAX];
    size_t session_count;
    int sessions_out;
    char conversation[CONVERSATION_MAX];
} fake;

static void grant_all(void *context);

void fake_sessions_start(Loop *loop)
{
    memset(&fake, 0, sizeof fake);
    fake.loop = loop;
    fake.grant = loop_timer_new(loop, grant_all, NULL);
    fake_shards_start(loop);
    fake_bank_start();
}

void fake_sessions_stop(void)
{
    for (size_t i = 0; i < fake.session_count; i++)
    {
        loop_timer_free(fake.sessions[i]->timer);
        free(fake.sessions[i]);
    }
    loop_timer_free(fake.grant);
    fake_shards_stop();
    fake_values_stop();
}

void fake_script(Shard *shard, Statement statement, FakeKind kind, const char *text)
{
    ASSERT(fake.script_count < SCRIPTS_MAX);
    fake.scripts[fake.script_count++] =
        (Script){.shard = shard, .statement = statement, .kind = kind, .text = text};
}

const char *fake_conversation(void)
{
    return fake.conversation;
}

void fake_forget_conversation(void)
{
    fake.conversation[0] = '\0';
}

int fake_sessions_out(void)
{
    return fake.sessions_out;
}

static void say(const char *words)
{
    size_t length = strlen(fake.conversation);
    snprintf(fake.conversation + length, sizeof fake.conversation - length, "%s", words);
}

/* ---- shard.h: sessions ----------------------------------------------------------------------- */

static void answer_group(void *context);

static Session *session_new(Shard *shard)
{
    ASSERT(fake.session_count < SESSIONS_MAX);
    Session *session = base_calloc(1, sizeof *session);
    fake.sessions[fake.session_count++] = session;
    session->shard = shard;
    session->open = true;
    session->pid = (int)fake.session_count;
    session->timer = loop_timer_new(fake.loop, answer_group, session);
    fake.sessions_out++;
    return session;
}

static void grant_all(void *context)
{
    (void)context;
    for (size_t i = 0; i < directory_shard_count(NULL); i++)
    {
        Shard *shard = directory_shard(NULL, i);
        ShardWaiter *waiter;
        while ((waiter = TAILQ_FIRST(&shard->waiters)) != NULL)
        {
            TAILQ_REMOVE(&shard->waiters, waiter, link);
            waiter->waiting = false;
            bool refuse = shard->refuses_settling && waiter->purpose == SESSION_SETTLE;
            waiter->granted(waiter, refuse ? NULL : session_new(shard));
        }
    }
}

void shard_acquire(Shard *shard, ShardWaiter *waiter, SessionPurpose purpose, uint64_t deadline_ms)
{
    waiter->purpose = purpose;
    waiter->deadline_at_ms = deadline_ms;
    waiter->waiting = true;
    TAILQ_INSERT_TAIL(&shard->waiters, waiter, link);
    loop_timer_start(fake.grant, 0);
}

void shard_give_up(Shard *shard, ShardWaiter *waiter)
{
    if (waiter->waiting)
        TAILQ_REMOVE(&shard->waiters, waiter, link);
    waiter->waiting = false;
}

void session_release(Session *session)
{
    ASSERT(!session->released && !session->busy);
    session->released = true;
    fake.sessions_out--;
}

int session_backend_pid(const Session *session)
{
    return session->pid;
}

int64_t session_backend_start_us(const Session *session)
{
    return session->pid;
}

PgTransaction session_transaction(const Session *session)
{
    return session->open ? session->transaction : PG_TRANSACTION_UNKNOWN;
}

bool session_is_open(const Session *session)
{
    return session->open;
}

void session_note_mark(const Session *session, const uint8_t batch[MARK_LENGTH])
{
    (void)batch;
    session->shard->marks++;
}

void session_cut(Session *session)
{
    session->open = false;
}

void session_begin(Session *session)
{
    ASSERT(!session->busy && !session->released);
    session->count = 0;
    session->sync_next = false;
}

void session_add(Session *session, Statement statement, const PgParams *params)
{
    ASSERT(session->count < MESSAGES_MAX);
    session->messages[session->count++] = (Message){.statement = statement,
                                                    .sync_before = session->sync_next,
                                                    .rows = fake_bank_answer(statement, params)};
    session->sync_next = false;
}

void session_add_gid(Session *session, Statement statement, const char *gid)
{
    ASSERT(strncmp(gid, "giro:test:", 10) == 0);
    session_add(session, statement, NULL);
}

void session_sync(Session *session)
{
    session->sync_next = true;
}

static Script *script_for(const Session *session, Statement statement)
{
    for (size_t i = 0; i < fake.script_count; i++)
    {
        Script *script = &fake.scripts[i];
        if (!script->used && script->shard == session->shard && script->statement == statement)
            return script;
    }
    return NULL;
}

/* Adds the group to the conversation, unless it is one of the looks that go on all the time.
 * Answers whether a script has it stay silent. */
static bool keep_conversation(const Session *session)
{
    bool silent = false;
    Statement first = session->messages[0].statement;
    if (first == STATEMENT_CLAIM || first == STATEMENT_RECOVERY)
        return false;
    say(session->shard->name);
    say(":");
    for (size_t i = 0; i < session->count; i++)
    {
        const Script *script = script_for(session, session->messages[i].statement);
        silent = silent || (script != NULL && script->kind == FAKE_SILENT);
        say(session->messages[i].sync_before ? " | " : " ");
        say(statement_row(session->messages[i].statement)->name);
    }
    say("\n");
    return silent;
}

void session_send(Session *session, uint64_t deadline_ms, PgGroupDone done, void *context)
{
    bool silent = keep_conversation(session);
    session->done = done;
    session->context = context;
    session->busy = true;
    session->deadline_ms = deadline_ms;
    loop_timer_start(session->timer, silent ? deadline_ms : 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *tag_of(Statement statement)
{
    switch (statement)
    {
    case STATEMENT_BEGIN:
        return "BEGIN";
    case STATEMENT_COMMIT:
        return "COMMIT";
    case STATEMENT_ROLLBACK:
        return "ROLLBACK";
    case STATEMENT_PREPARE:
        return "PREPARE TRANSACTION";
    case STATEMENT_COMMIT_PREPARED:
        return "COMMIT PREPARED";
    case STATEMENT_ROLLBACK_PREPARED:
        return "ROLLBACK PREPARED";
    default:
        return "SELECT 1";
    }
}

static void follow_transaction(Session *session, Statement statement)
{
    if (statement == STATEMENT_BEGIN)
        session->transaction = PG_TRANSACTION_OPEN;
    if (statement == STATEMENT_COMMIT || statement == STATEMENT_ROLLBACK ||
        statement == STATEMENT_PREPARE)
        session->transaction = PG_TRANSACTION_IDLE;
}

static void execute(Session *session, const Message *message, PgAnswer *answer)
{
    Script *script = script_for(session, message->statement);
    FakeKind kind = script != NULL ? script->kind : FAKE_DONE;
    if (script != NULL)
        script->used = true;
    answer->kind = PG_DONE;
    snprintf(answer->tag, sizeof answer->tag, "%s", tag_of(message->statement));
    answer->rows = message->rows;
    if (message->statement == STATEMENT_COMMIT)
        fake_bank_end(kind == FAKE_DONE || kind == FAKE_CUT);
    switch (kind)
    {
    case FAKE_CUT:
        session->cut_after = true;
        follow_transaction(session, message->statement);
        break;
    case FAKE_DONE:
        follow_transaction(session, message->statement);
        break;
    case FAKE_TAG:
        snprintf(answer->tag, sizeof answer->tag, "%s", script->text);
        session->transaction = PG_TRANSACTION_IDLE;
        break;
    case FAKE_WARNED:
        answer->warned = true;
        follow_transaction(session, message->statement);
        break;
    case FAKE_ERROR:
        answer->kind = PG_ERROR;
        answer->rows = NULL;
        memcpy(answer->sqlstate, script->text, sizeof answer->sqlstate);
        if (session->transaction == PG_TRANSACTION_OPEN)
            session->transaction =
                message->statement == STATEMENT_PREPARE || message->statement == STATEMENT_COMMIT
                    ? PG_TRANSACTION_IDLE
                    : PG_TRANSACTION_FAILED;
        break;
    case FAKE_LOST:
    case FAKE_SILENT:
        session->open = false;
        break;
    }
}

static void answer_group(void *context)
{
    Session *session = context;
    PgAnswer answers[MESSAGES_MAX];
    bool skip = false;
    memset(answers, 0, sizeof answers);
    session->busy = false;
    for (size_t i = 0; i < session->count; i++)
    {
        if (session->messages[i].sync_before)
            skip = false;
        answers[i].kind = PG_SKIPPED;
        if (session->open && !skip)
            execute(session, &session->messages[i], &answers[i]);
        if (!session->open)
        {
            answers[i].kind = PG_LOST;
            answers[i].rows = NULL;
        }
        skip = skip || answers[i].kind == PG_ERROR;
    }
    session->open = session->open && !session->cut_after;
    session->done(session->context, answers, session->count, session->transaction);
}
