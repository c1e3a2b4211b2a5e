/* See fake_shard.h. */
#include "fake_shard.h"

#include "pg/pg_params.h"
#include "shard/statement.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    SHARDS_MAX = 4,
    SCRIPTS_MAX = 32,
    ACCOUNTS_MAX = 32,
    TRANSFERS_MAX = 8,
    MESSAGES_MAX = 8,
    CELLS_MAX = 4096,
    SESSIONS_MAX = 64,
};

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct Cell
{
    bool null;
    int64_t number;
    uint8_t bytes[16];
    char text[100];
} Cell;

struct PgRows
{
    size_t rows;
    size_t columns;
    Cell cells[CELLS_MAX];
};

size_t pg_row_count(const PgRows *rows)
{
    return rows != NULL ? rows->rows : 0;
}

static const Cell *cell(const PgRows *rows, size_t row, size_t column)
{
    ASSERT(row < rows->rows && column < rows->columns);
    return &rows->cells[row * rows->columns + column];
}

bool pg_is_null(const PgRows *rows, size_t row, size_t column)
{
    return cell(rows, row, column)->null;
}

bool pg_bool(const PgRows *rows, size_t row, size_t column)
{
    return cell(rows, row, column)->number != 0;
}

int32_t pg_int4(const PgRows *rows, size_t row, size_t column)
{
    return (int32_t)cell(rows, row, column)->number;
}

int64_t pg_int8(const PgRows *rows, size_t row, size_t column)
{
    return cell(rows, row, column)->number;
}

int64_t pg_timestamp_us(const PgRows *rows, size_t row, size_t column)
{
    return cell(rows, row, column)->number;
}

const uint8_t *pg_uuid(const PgRows *rows, size_t row, size_t column)
{
    return cell(rows, row, column)->bytes;
}

const char *pg_text(const PgRows *rows, size_t row, size_t column)
{
    const Cell *found = cell(rows, row, column);
    return found->null ? NULL : found->text;
}

const uint8_t *pg_bytes(const PgRows *rows, size_t row, size_t column, size_t *ret_length)
{
    *ret_length = 16;
    return cell(rows, row, column)->bytes;
}

static Cell number(int64_t value)
{
    return (Cell){.number = value};
}

static Cell text(const char *value)
{
    Cell made = {.null = value == NULL};
    snprintf(made.text, sizeof made.text, "%s", value != NULL ? value : "");
    return made;
}

/* ---- the world ------------------------------------------------------------------------------- */

typedef struct Message
{
    Statement statement;
    bool sync_before;
    size_t account_count;
    char accounts[ACCOUNTS_MAX][ACCOUNT_ID_MAX + 1]; /* of lock */
    size_t id_count;
    uint8_t ids[ACCOUNTS_MAX][16]; /* of transfers_by_id */
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

struct Shard
{
    char name[NAME_MAX_LENGTH + 1];
    int ordinal;
    char letter;
    bool usable;
    bool refuses;
    TAILQ_HEAD(, ShardWaiter) waiters;
};

typedef struct Script
{
    Shard *shard;
    Statement statement;
    FakeKind kind;
    char text[40];
    bool used;
} Script;

typedef struct Account
{
    char id[ACCOUNT_ID_MAX + 1];
    char state[20];
    int64_t balance;
} Account;

typedef struct KnownTransfer
{
    uint8_t id[16];
    char debit[40];
    char credit[40];
    char key[40];
} KnownTransfer;

static struct
{
    Loop *loop;
    LoopTimer *grant;
    LoopTimer *refresh;
    Shard shards[SHARDS_MAX];
    size_t shard_count;
    Shard *next_owner[26];
    Script scripts[SCRIPTS_MAX];
    size_t script_count;
    Account accounts[ACCOUNTS_MAX];
    size_t account_count;
    KnownTransfer transfers[TRANSFERS_MAX];
    size_t transfer_count;
    char verdict[10];
    bool look_prepared;
    bool look_leg;
    Session *sessions[SESSIONS_MAX];
    size_t session_count;
    int sessions_out;
    int64_t version;
    DirectoryRefreshed refreshed;
    void *refreshed_context;
    char conversation[8192];
} world;

static void grant_all(void *context);
static void finish_refresh(void *context);

void fake_reset(Loop *loop)
{
    for (size_t i = 0; i < world.session_count; i++)
    {
        loop_timer_free(world.sessions[i]->timer);
        free(world.sessions[i]);
    }
    loop_timer_free(world.grant);
    loop_timer_free(world.refresh);
    memset(&world, 0, sizeof world);
    if (loop == NULL)
        return;
    world.loop = loop;
    world.grant = loop_timer_new(loop, grant_all, NULL);
    world.refresh = loop_timer_new(loop, finish_refresh, NULL);
    world.version = 1;
    snprintf(world.verdict, sizeof world.verdict, "abort");
}

Shard *fake_shard(const char *name, int ordinal, char letter)
{
    Shard *shard = &world.shards[world.shard_count++];
    ASSERT(world.shard_count <= SHARDS_MAX);
    snprintf(shard->name, sizeof shard->name, "%s", name);
    shard->ordinal = ordinal;
    shard->letter = letter;
    shard->usable = true;
    TAILQ_INIT(&shard->waiters);
    world.next_owner[letter - 'a'] = shard;
    return shard;
}

void fake_set_usable(Shard *shard, bool usable)
{
    shard->usable = usable;
}

void fake_refuse_settling(Shard *shard, bool refuse)
{
    shard->refuses = refuse;
}

void fake_move(char letter, Shard *shard)
{
    world.next_owner[letter - 'a'] = shard;
}

void fake_script(Shard *shard, Statement statement, FakeKind kind, const char *said)
{
    Script *script = &world.scripts[world.script_count++];
    ASSERT(world.script_count <= SCRIPTS_MAX);
    *script = (Script){.shard = shard, .statement = statement, .kind = kind};
    snprintf(script->text, sizeof script->text, "%s", said != NULL ? said : "");
}

void fake_account(const char *id, const char *state, int64_t balance)
{
    Account *account = NULL;
    for (size_t i = 0; i < world.account_count; i++)
    {
        if (strcmp(world.accounts[i].id, id) == 0)
            account = &world.accounts[i];
    }
    if (account == NULL)
        account = &world.accounts[world.account_count++];
    ASSERT(world.account_count <= ACCOUNTS_MAX);
    snprintf(account->id, sizeof account->id, "%s", id);
    snprintf(account->state, sizeof account->state, "%s", state);
    account->balance = balance;
}

void fake_verdict(const char *verdict)
{
    snprintf(world.verdict, sizeof world.verdict, "%s", verdict);
}

void fake_look(bool prepared, bool leg)
{
    world.look_prepared = prepared;
    world.look_leg = leg;
}

void fake_transfer(const uint8_t id[16], const char *debit, const char *credit, const char *key)
{
    KnownTransfer *known = &world.transfers[world.transfer_count++];
    ASSERT(world.transfer_count <= TRANSFERS_MAX);
    memcpy(known->id, id, 16);
    snprintf(known->debit, sizeof known->debit, "%s", debit);
    snprintf(known->credit, sizeof known->credit, "%s", credit);
    snprintf(known->key, sizeof known->key, "%s", key);
}

const char *fake_conversation(void)
{
    return world.conversation;
}

void fake_forget_conversation(void)
{
    world.conversation[0] = '\0';
}

int fake_sessions_out(void)
{
    return world.sessions_out;
}

static void say(const char *words)
{
    size_t length = strlen(world.conversation);
    snprintf(world.conversation + length, sizeof world.conversation - length, "%s", words);
}

/* ---- shard.h --------------------------------------------------------------------------------- */

const char *shard_name(const Shard *shard)
{
    return shard->name;
}

int shard_ordinal(const Shard *shard)
{
    return shard->ordinal;
}

bool shard_is_usable(const Shard *shard)
{
    return shard->usable;
}

const char *shard_trouble(const Shard *shard)
{
    return shard->usable ? "" : "down";
}

void shard_suspect(Shard *shard, const char *why)
{
    (void)why;
    shard->usable = false;
}

static void answer_group(void *context);

static Session *session_new(Shard *shard)
{
    Session *session = base_calloc(1, sizeof *session);
    ASSERT(world.session_count < SESSIONS_MAX);
    world.sessions[world.session_count++] = session;
    session->shard = shard;
    session->open = true;
    session->pid = (int)world.session_count;
    session->timer = loop_timer_new(world.loop, answer_group, session);
    world.sessions_out++;
    return session;
}

static void grant_all(void *context)
{
    (void)context;
    for (size_t i = 0; i < world.shard_count; i++)
    {
        Shard *shard = &world.shards[i];
        ShardWaiter *waiter;
        while ((waiter = TAILQ_FIRST(&shard->waiters)) != NULL)
        {
            TAILQ_REMOVE(&shard->waiters, waiter, link);
            waiter->waiting = false;
            bool refuse = shard->refuses && waiter->purpose == SESSION_SETTLE;
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
    loop_timer_start(world.grant, 0);
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
    world.sessions_out--;
}

Shard *session_shard(const Session *session)
{
    return session->shard;
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

/* The elements of a one-dimensional binary array of text or bytes. */
static size_t read_array(const PgParams *params, int parameter, void *ret, size_t stride)
{
    const uint8_t *at = params->bytes + params->offsets[parameter];
    uint32_t word;
    memcpy(&word, at, 4);
    if (ntohl(word) == 0)
        return 0;
    memcpy(&word, at + 12, 4);
    size_t count = ntohl(word);
    at += 20;
    ASSERT(count <= ACCOUNTS_MAX);
    for (size_t i = 0; i < count; i++)
    {
        memcpy(&word, at, 4);
        size_t length = ntohl(word);
        memcpy((char *)ret + i * stride, at + 4, length);
        at += 4 + length;
    }
    return count;
}

void session_add(Session *session, Statement statement, const PgParams *params)
{
    Message *message = &session->messages[session->count++];
    ASSERT(session->count <= MESSAGES_MAX);
    memset(message, 0, sizeof *message);
    message->statement = statement;
    message->sync_before = session->sync_next;
    session->sync_next = false;
    if (statement == STATEMENT_LOCK)
        message->account_count =
            read_array(params, 2, message->accounts, sizeof message->accounts[0]);
    if (statement == STATEMENT_TRANSFERS_BY_ID)
        message->id_count = read_array(params, 0, message->ids, sizeof message->ids[0]);
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
    for (size_t i = 0; i < world.script_count; i++)
    {
        Script *script = &world.scripts[i];
        if (!script->used && script->shard == session->shard && script->statement == statement)
            return script;
    }
    return NULL;
}

void session_send(Session *session, uint64_t deadline_ms, PgGroupDone done, void *context)
{
    bool silent = false;
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
    session->done = done;
    session->context = context;
    session->busy = true;
    session->deadline_ms = deadline_ms;
    loop_timer_start(session->timer, silent ? deadline_ms : 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

static const Account *known_account(const char *id)
{
    for (size_t i = 0; i < world.account_count; i++)
    {
        if (strcmp(world.accounts[i].id, id) == 0)
            return &world.accounts[i];
    }
    return NULL;
}

static void put(PgRows *rows, size_t *at, Cell made)
{
    ASSERT(*at < CELLS_MAX);
    rows->cells[(*at)++] = made;
}

static void lock_rows(PgRows *rows, const Message *message)
{
    size_t at = 0;
    rows->columns = 7;
    rows->rows = message->account_count;
    for (size_t i = 0; i < message->account_count; i++)
    {
        const Account *known = known_account(message->accounts[i]);
        put(rows, &at, number((int64_t)i + 1));
        put(rows, &at, text(known != NULL ? known->state : "locked"));
        put(rows, &at, text("EUR"));
        put(rows, &at, number(known != NULL ? known->balance : 100));
        put(rows, &at, number(3));
        put(rows, &at, number(0));
        put(rows, &at, text("open"));
    }
}

static bool asks_for(const Message *message, const uint8_t id[16])
{
    for (size_t i = 0; i < message->id_count; i++)
    {
        if (memcmp(message->ids[i], id, 16) == 0)
            return true;
    }
    return false;
}

static void transfer_rows(PgRows *rows, const Message *message)
{
    size_t at = 0;
    rows->columns = 18;
    for (size_t i = 0; i < world.transfer_count; i++)
    {
        const KnownTransfer *known = &world.transfers[i];
        if (!asks_for(message, known->id))
            continue;
        Cell id = {0};
        memcpy(id.bytes, known->id, 16);
        rows->rows++;
        put(rows, &at, id);
        put(rows, &at, text("home"));
        put(rows, &at, text("posted"));
        put(rows, &at, text("2pc"));
        put(rows, &at, text(known->debit));
        put(rows, &at, text(known->credit));
        put(rows, &at, number(5));
        put(rows, &at, text("EUR"));
        put(rows, &at, text(known->key));
        put(rows, &at, text(NULL));
        put(rows, &at, text("{}"));
        put(rows, &at, text(NULL));
        put(rows, &at, text(NULL));
        put(rows, &at, number(0));
        put(rows, &at, text(NULL));
        put(rows, &at, text(NULL));
        put(rows, &at, number(111));
        put(rows, &at, number(222));
    }
}

static void one_row(PgRows *rows, Cell made)
{
    size_t at = 0;
    rows->rows = 1;
    rows->columns = 1;
    put(rows, &at, made);
}

static void fill_rows(PgRows *rows, const Message *message)
{
    size_t at = 0;
    rows->rows = 0;
    switch (message->statement)
    {
    case STATEMENT_LOCK:
        lock_rows(rows, message);
        break;
    case STATEMENT_TRANSFERS_BY_ID:
        transfer_rows(rows, message);
        break;
    case STATEMENT_RECORD:
        rows->rows = 1;
        rows->columns = 2;
        put(rows, &at, number(1111));
        put(rows, &at, number(2222));
        break;
    case STATEMENT_VERDICT:
        one_row(rows, text(world.verdict));
        break;
    case STATEMENT_PREPARED_EXISTS:
        one_row(rows, number(world.look_prepared));
        break;
    case STATEMENT_LEG_EXISTS:
        one_row(rows, number(world.look_leg));
        break;
    case STATEMENT_END_SESSION:
        one_row(rows, number(1));
        break;
    default:
        break;
    }
}

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

static void execute(Session *session, const Message *message, PgAnswer *answer, PgRows *rows)
{
    Script *script = script_for(session, message->statement);
    FakeKind kind = script != NULL ? script->kind : FAKE_DONE;
    if (script != NULL)
        script->used = true;
    answer->kind = PG_DONE;
    snprintf(answer->tag, sizeof answer->tag, "%s", tag_of(message->statement));
    fill_rows(rows, message);
    answer->rows = rows;
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
    static PgRows rows[MESSAGES_MAX];
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
            execute(session, &session->messages[i], &answers[i], &rows[i]);
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

/* ---- directory.h ----------------------------------------------------------------------------- */

const char *directory_cluster(const Directory *directory)
{
    (void)directory;
    return "test";
}

int64_t directory_version(const Directory *directory)
{
    (void)directory;
    return world.version;
}

bool directory_locate(const Directory *directory, const char *account_id, Location *ret_location)
{
    (void)directory;
    for (size_t i = 0; i < world.shard_count; i++)
    {
        if (world.shards[i].letter != account_id[0])
            continue;
        *ret_location = (Location){
            .shard = &world.shards[i], .partition = (int32_t)i + 1, .epoch = world.version};
        route_make(KEYSPACE_HASH, account_id, &ret_location->route);
        return true;
    }
    return false;
}

static void finish_refresh(void *context)
{
    (void)context;
    world.version++;
    for (size_t i = 0; i < world.shard_count; i++)
    {
        /* Only whole moves: the two shards exchange their letters. */
        char letter = world.shards[i].letter;
        Shard *next = world.next_owner[letter - 'a'];
        if (next != &world.shards[i])
        {
            char other = next->letter;
            next->letter = letter;
            world.shards[i].letter = other;
            world.next_owner[other - 'a'] = &world.shards[i];
        }
    }
    world.refreshed(world.refreshed_context, true);
}

void directory_refresh(Directory *directory, uint64_t deadline_ms, DirectoryRefreshed done,
                       void *context)
{
    (void)directory;
    (void)deadline_ms;
    world.refreshed = done;
    world.refreshed_context = context;
    loop_timer_start(world.refresh, 0);
}
