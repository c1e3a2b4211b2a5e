/*
 * See directory.h. The copy itself and the look-ups in it are routing.c; this file fetches it.
 *
 * Fetching is a small cycle: connect if need be, read everything in one snapshot, use or refuse it.
 * A fetch starts when somebody waits for one or the poll is due, and is repeated with back-off as
 * long as somebody waits or nothing is loaded. Each waiter has its own deadline and is satisfied
 * only by a fetch that began after it had asked.
 *
 * Marks are written over the same connection between fetches. Nothing depends on that: what could
 * not be written is written later, or newer ones instead.
 */
#include "shard/directory.h"

#include "base/log.h"
#include "shard/routing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum
{
    BACK_OFF_FIRST_MS = 50,
    BACK_OFF_MAX_MS = 1000,
    TROUBLE_MAX = 256,
    FETCH_MESSAGES = 7,
    NOTE_MS = 1000,
    NOTE_BYTES_MAX = 1 << 20,
};

typedef struct Waiter
{
    TAILQ_ENTRY(Waiter) link;
    uint64_t deadline_at_ms;
    bool in_fetch; /* the fetch under way began after it had asked */
    DirectoryRefreshed done;
    void *context;
} Waiter;

TAILQ_HEAD(WaiterList, Waiter);

/* Names that callers may hold as long as the directory lives. */
typedef struct KeptName
{
    SLIST_ENTRY(KeptName) link;
    char text[];
} KeptName;

struct Directory
{
    Loop *loop;
    char *dsn;
    char *instance; /* of the session's options; who notes marks */
    ShardOptions session;
    uint64_t poll_ms;

    Pg *pg;
    bool fetching;
    bool noting; /* marks are being written */
    LoopTimer *next_note;
    bool reachable;
    char trouble[TROUBLE_MAX]; /* what was logged last; "" while all is well */
    uint64_t back_off_ms;
    LoopTimer *next_fetch;
    LoopTimer *deadline;
    LoopTask settle;
    struct WaiterList waiters;
    size_t waiting;

    Routing *routing; /* NULL until loaded */
    Shard **shards;   /* all that were ever listed */
    size_t known;
    Shard **listed;        /* by place in the routing */
    const char **prefixes; /* of the keyspaces, by place in the routing; kept names */
    SLIST_HEAD(, KeptName) names;
};

/* ---- putting a copy into use ----------------------------------------------------------------- */

static const char *keep_name(Directory *directory, const char *text)
{
    KeptName *name;
    SLIST_FOREACH(name, &directory->names, link)
    {
        if (strcmp(name->text, text) == 0)
            return name->text;
    }
    size_t size = strlen(text) + 1;
    name = base_malloc(sizeof *name + size);
    memcpy(name->text, text, size);
    SLIST_INSERT_HEAD(&directory->names, name, link);
    return name->text;
}

static Shard *known_shard(const Directory *directory, const char *name)
{
    for (size_t i = 0; i < directory->known; i++)
    {
        if (strcmp(shard_name(directory->shards[i]), name) == 0)
            return directory->shards[i];
    }
    return NULL;
}

static bool fits_what_is_known(const Directory *directory, const Routing *routing, Error *error)
{
    if (directory->routing != NULL && strcmp(directory->routing->cluster, routing->cluster) != 0)
        return error_set(error, ERROR_SETUP, "it is now of cluster %s, not %s", routing->cluster,
                         directory->routing->cluster);
    for (size_t i = 0; i < routing->shard_count; i++)
    {
        const RoutingShard *listed = &routing->shards[i];
        const Shard *shard = known_shard(directory, listed->name);
        if (shard != NULL && shard_ordinal(shard) != listed->ordinal)
            return error_set(error, ERROR_SETUP, "the ordinal of shard %s changed from %d to %d",
                             listed->name, shard_ordinal(shard), listed->ordinal);
    }
    return true;
}

static Shard *open_shard(Directory *directory, const Routing *routing, const RoutingShard *listed)
{
    Shard *shard = known_shard(directory, listed->name);
    if (shard != NULL)
    {
        shard_set_dsn(shard, listed->dsn);
        shard_expect(shard, &listed->incarnation);
        return shard;
    }
    ShardOptions options = directory->session;
    options.cluster = routing->cluster;
    options.name = listed->name;
    options.ordinal = listed->ordinal;
    options.dsn = listed->dsn;
    options.incarnation = listed->incarnation;
    directory->shards =
        base_realloc(directory->shards, (directory->known + 1) * sizeof *directory->shards);
    shard = shard_new(directory->loop, &options);
    directory->shards[directory->known++] = shard;
    return shard;
}

static void use(Directory *directory, Routing *routing)
{
    if (directory->routing == NULL || directory->routing->version != routing->version)
        log_info("directory version=%lld shards=%zu partitions=%zu", (long long)routing->version,
                 routing->shard_count, routing->partition_count);
    directory->listed =
        base_realloc(directory->listed, routing->shard_count * sizeof *directory->listed);
    for (size_t i = 0; i < routing->shard_count; i++)
        directory->listed[i] = open_shard(directory, routing, &routing->shards[i]);
    directory->prefixes =
        base_realloc(directory->prefixes, routing->keyspace_count * sizeof *directory->prefixes);
    for (size_t i = 0; i < routing->keyspace_count; i++)
        directory->prefixes[i] = keep_name(directory, routing->keyspaces[i].prefix);
    routing_free(directory->routing);
    directory->routing = routing;
}

/* shard, batch */
static void list_marks(const Directory *directory, const PgRows *rows)
{
    for (size_t i = 0; i < directory->routing->shard_count; i++)
        history_forget_listed(shard_history(directory->listed[i]));
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        Shard *shard = known_shard(directory, pg_text(rows, row, 0));
        if (shard != NULL)
            history_list(shard_history(shard), pg_uuid(rows, row, 1));
    }
}

/* ---- waiters --------------------------------------------------------------------------------- */

/* Tells those who wait for the fetch that succeeded, or those whose time is over. They leave the
 * queue first, so that one who asks again at once waits for the next turn. */
static void tell(Directory *directory, bool fresh)
{
    struct WaiterList told = TAILQ_HEAD_INITIALIZER(told);
    uint64_t now_ms = loop_now_ms(directory->loop);
    Waiter *next;
    for (Waiter *waiter = TAILQ_FIRST(&directory->waiters); waiter != NULL; waiter = next)
    {
        next = TAILQ_NEXT(waiter, link);
        if (fresh ? !waiter->in_fetch : waiter->deadline_at_ms > now_ms)
            continue;
        TAILQ_REMOVE(&directory->waiters, waiter, link);
        TAILQ_INSERT_TAIL(&told, waiter, link);
        directory->waiting--;
    }
    for (Waiter *waiter = TAILQ_FIRST(&told); waiter != NULL; waiter = next)
    {
        next = TAILQ_NEXT(waiter, link);
        waiter->done(waiter->context, fresh);
        free(waiter);
    }
}

static void start_fetch(Directory *directory);

/* Gives up on waiters whose time is over, and sees to it that somebody works for the others. */
static void settle(void *context)
{
    Directory *directory = context;
    uint64_t now_ms = loop_now_ms(directory->loop);
    uint64_t earliest_ms = UINT64_MAX;
    const Waiter *waiter;
    tell(directory, false);
    TAILQ_FOREACH (waiter, &directory->waiters, link)
    {
        if (waiter->deadline_at_ms < earliest_ms)
            earliest_ms = waiter->deadline_at_ms;
    }
    if (earliest_ms == UINT64_MAX)
    {
        loop_timer_stop(directory->deadline);
        return;
    }
    loop_timer_start(directory->deadline, earliest_ms > now_ms ? earliest_ms - now_ms : 0);
    bool backing_off = directory->back_off_ms > BACK_OFF_FIRST_MS;
    if (!directory->fetching && !directory->noting && !backing_off)
        start_fetch(directory);
}

static void deadline_passed(void *context)
{
    Directory *directory = context;
    loop_post(directory->loop, &directory->settle);
}

void directory_refresh(Directory *directory, uint64_t deadline_ms, DirectoryRefreshed done,
                       void *context)
{
    Waiter *waiter = base_calloc(1, sizeof *waiter);
    bool too_many = directory->waiting >= DIRECTORY_REFRESH_MAX;
    waiter->deadline_at_ms = too_many ? 0 : loop_now_ms(directory->loop) + deadline_ms;
    waiter->done = done;
    waiter->context = context;
    TAILQ_INSERT_TAIL(&directory->waiters, waiter, link);
    directory->waiting++;
    loop_post(directory->loop, &directory->settle);
}

/* ---- the fetch ------------------------------------------------------------------------------- */

static void fetch_failed(Directory *directory, const char *why)
{
    if (strcmp(directory->trouble, why) != 0)
        log_warn("directory cannot be read: %s", why);
    snprintf(directory->trouble, sizeof directory->trouble, "%s", why);
    pg_close(directory->pg);
    directory->pg = NULL;
    directory->fetching = false;
    loop_timer_start(directory->next_fetch, directory->back_off_ms);
    directory->back_off_ms *= 2;
    if (directory->back_off_ms > BACK_OFF_MAX_MS)
        directory->back_off_ms = BACK_OFF_MAX_MS;
}

static void fetch_done(Directory *directory, Routing *routing, const PgRows *marks)
{
    use(directory, routing);
    list_marks(directory, marks);
    directory->trouble[0] = '\0';
    directory->fetching = false;
    directory->back_off_ms = BACK_OFF_FIRST_MS;
    loop_timer_start(directory->next_fetch, directory->poll_ms);
    tell(directory, true);
    loop_post(directory->loop, &directory->settle);
}

static void read_done(void *context, const PgAnswer *answers, size_t count,
                      PgTransaction transaction)
{
    Directory *directory = context;
    Error error;
    (void)transaction;
    directory->reachable = answers[0].kind == PG_DONE;
    for (size_t i = 0; i < count; i++)
    {
        if (answers[i].kind != PG_DONE)
        {
            fetch_failed(directory, answers[i].text);
            return;
        }
    }
    RoutingSource source = {answers[1].rows, answers[2].rows, answers[3].rows, answers[4].rows};
    Routing *routing = routing_new(&source, &error);
    if (routing != NULL && fits_what_is_known(directory, routing, &error))
    {
        fetch_done(directory, routing, answers[5].rows);
        return;
    }
    routing_free(routing);
    fetch_failed(directory, error.text);
}

static void read_all(Directory *directory)
{
    static const Statement statements[FETCH_MESSAGES] = {
        STATEMENT_BEGIN_SNAPSHOT, STATEMENT_READ_CLUSTER,    STATEMENT_READ_SHARDS,
        STATEMENT_READ_KEYSPACES, STATEMENT_READ_PARTITIONS, STATEMENT_READ_MARKS,
        STATEMENT_COMMIT,
    };
    pg_group_begin(directory->pg);
    for (size_t i = 0; i < FETCH_MESSAGES; i++)
        pg_group_sql(directory->pg, statement_row(statements[i])->sql, NULL);
    pg_group_send(directory->pg, directory->session.connect_deadline_ms, read_done, directory);
}

static void connected(void *context, bool is_connected, const char *text)
{
    Directory *directory = context;
    directory->reachable = is_connected;
    if (is_connected)
        read_all(directory);
    else
        fetch_failed(directory, text);
}

/* A connection that was lost while idle is only found here; nothing was read over it yet, so that a
 * new one is opened instead. */
static void start_fetch(Directory *directory)
{
    Waiter *waiter;
    directory->fetching = true;
    loop_timer_stop(directory->next_fetch);
    TAILQ_FOREACH (waiter, &directory->waiters, link)
        waiter->in_fetch = true;
    if (directory->pg != NULL && pg_is_open(directory->pg))
    {
        read_all(directory);
        return;
    }
    pg_close(directory->pg);
    directory->pg = pg_connect(directory->loop, directory->dsn,
                               directory->session.connect_deadline_ms, connected, directory);
}

static void fetch_due(void *context)
{
    Directory *directory = context;
    if (!directory->fetching && !directory->noting)
        start_fetch(directory);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A fetch that became due, or was asked for, meanwhile starts now. */
static void noted(void *context, const PgAnswer *answers, size_t count, PgTransaction transaction)
{
    Directory *directory = context;
    (void)count;
    (void)transaction;
    directory->noting = false;
    if (answers[0].kind == PG_DONE)
    {
        for (size_t i = 0; i < directory->known; i++)
            history_written(shard_history(directory->shards[i]));
    }
    else
    {
        log_warn("directory does not note marks: %s", answers[0].text);
    }
    if (!loop_timer_running(directory->next_fetch))
        start_fetch(directory);
    loop_post(directory->loop, &directory->settle);
}

typedef struct Note
{
    const char *shard;
    int64_t epoch;
    uint8_t batch[MARK_LENGTH];
} Note;

/* Takes the marks of all shards; the answer is freed by the caller. */
static Note *take_notes(const Directory *directory, size_t *ret_count)
{
    uint8_t marks[HISTORY_TAKEN_MAX][MARK_LENGTH];
    Note *notes = base_calloc(directory->known * HISTORY_TAKEN_MAX + 1, sizeof *notes);
    size_t count = 0;
    for (size_t i = 0; i < directory->known; i++)
    {
        History *history = shard_history(directory->shards[i]);
        size_t taken = history_take(history, marks);
        for (size_t mark = 0; mark < taken; mark++, count++)
        {
            notes[count].shard = shard_name(directory->shards[i]);
            notes[count].epoch = history->expected.epoch;
            memcpy(notes[count].batch, marks[mark], MARK_LENGTH);
        }
    }
    *ret_count = count;
    return notes;
}

static void send_notes(Directory *directory, const Note *notes, size_t count)
{
    PgParams *params = pg_params_new(NOTE_BYTES_MAX);
    pg_params_text(params, directory->instance);
    pg_params_array(params, PG_ELEMENT_TEXT, count);
    for (size_t i = 0; i < count; i++)
        pg_params_add_text(params, notes[i].shard);
    pg_params_array(params, PG_ELEMENT_INT8, count);
    for (size_t i = 0; i < count; i++)
        pg_params_add_int8(params, notes[i].epoch);
    pg_params_array(params, PG_ELEMENT_UUID, count);
    for (size_t i = 0; i < count; i++)
        pg_params_add_uuid(params, notes[i].batch);
    directory->noting = true;
    pg_group_begin(directory->pg);
    pg_group_sql(directory->pg, statement_row(STATEMENT_NOTE_MARKS)->sql, params);
    pg_group_send(directory->pg, directory->session.connect_deadline_ms, noted, directory);
    pg_params_free(params);
}

static void note_due(void *context)
{
    Directory *directory = context;
    size_t count = 0;
    loop_timer_start(directory->next_note, NOTE_MS);
    if (directory->fetching || directory->noting || directory->pg == NULL ||
        !pg_is_open(directory->pg))
        return;
    Note *notes = take_notes(directory, &count);
    if (count > 0)
        send_notes(directory, notes, count);
    free(notes);
}

/* ---- life and look-ups ----------------------------------------------------------------------- */

Directory *directory_new(Loop *loop, const DirectoryOptions *options)
{
    Directory *directory = base_calloc(1, sizeof *directory);
    directory->loop = loop;
    directory->dsn = base_strdup(options->dsn);
    directory->instance = base_strdup(options->session.instance);
    directory->session = options->session;
    directory->session.instance = directory->instance;
    directory->poll_ms = options->poll_ms;
    directory->back_off_ms = BACK_OFF_FIRST_MS;
    directory->next_fetch = loop_timer_new(loop, fetch_due, directory);
    directory->deadline = loop_timer_new(loop, deadline_passed, directory);
    directory->next_note = loop_timer_new(loop, note_due, directory);
    directory->settle = (LoopTask){.run = settle, .context = directory};
    TAILQ_INIT(&directory->waiters);
    SLIST_INIT(&directory->names);
    loop_timer_start(directory->next_fetch, 0);
    loop_timer_start(directory->next_note, NOTE_MS);
    return directory;
}

void directory_free(Directory *directory)
{
    if (directory == NULL)
        return;
    ASSERT(directory->waiting == 0);
    pg_close(directory->pg);
    for (size_t i = 0; i < directory->known; i++)
        shard_free(directory->shards[i]);
    for (KeptName *name; (name = SLIST_FIRST(&directory->names)) != NULL;)
    {
        SLIST_REMOVE_HEAD(&directory->names, link);
        free(name);
    }
    loop_unpost(directory->loop, &directory->settle);
    loop_timer_free(directory->next_fetch);
    loop_timer_free(directory->deadline);
    loop_timer_free(directory->next_note);
    routing_free(directory->routing);
    free(directory->shards);
    free(directory->listed);
    free(directory->prefixes);
    free(directory->dsn);
    free(directory->instance);
    free(directory);
}

bool directory_is_loaded(const Directory *directory)
{
    return directory->routing != NULL;
}

bool directory_is_reachable(const Directory *directory)
{
    return directory->reachable;
}

int64_t directory_version(const Directory *directory)
{
    return directory->routing != NULL ? directory->routing->version : 0;
}

const char *directory_cluster(const Directory *directory)
{
    return directory->routing != NULL ? directory->routing->cluster : "";
}

bool directory_locate(const Directory *directory, const char *account_id, Location *ret_location)
{
    const Routing *routing = directory->routing;
    if (routing == NULL)
        return false;
    const RoutingKeyspace *keyspace = routing_keyspace(routing, account_id);
    Location location = {
        .default_mode = keyspace->default_mode,
        .keyspace = directory->prefixes[keyspace - routing->keyspaces],
    };
    route_make(keyspace->kind, keyspace->prefix_length, account_id, &location.route);
    const RoutingPartition *partition = routing_partition(routing, keyspace, &location.route);
    location.shard = directory->listed[partition->shard];
    location.partition = partition->id;
    location.epoch = partition->epoch;
    *ret_location = location;
    return true;
}

size_t directory_shard_count(const Directory *directory)
{
    return directory->routing != NULL ? directory->routing->shard_count : 0;
}

Shard *directory_shard(const Directory *directory, size_t position)
{
    ASSERT(position < directory_shard_count(directory));
    return directory->listed[position];
}

Shard *directory_shard_by_name(const Directory *directory, const char *name)
{
    return known_shard(directory, name);
}

size_t directory_candidates(const Directory *directory, const uint8_t transfer_id[16],
                            Shard **ret_shards, size_t max)
{
    bool marks[ROUTING_SHARDS_MAX] = {false};
    size_t count = 0;
    if (directory->routing == NULL)
        return 0;
    routing_candidates(directory->routing, transfer_id, marks);
    for (size_t i = 0; i < directory->routing->shard_count && count < max; i++)
    {
        if (marks[i])
            ret_shards[count++] = directory->listed[i];
    }
    return count;
}

size_t directory_partition_count(const Directory *directory)
{
    return directory->routing != NULL ? directory->routing->partition_count : 0;
}

static const RoutingKeyspace *keyspace_of(const Routing *routing, size_t place)
{
    const RoutingKeyspace *keyspace = routing->keyspaces;
    while (place < keyspace->first || place >= keyspace->first + keyspace->count)
        keyspace++;
    return keyspace;
}

void directory_partition(const Directory *directory, size_t place,
                         DirectoryPartition *ret_partition)
{
    const Routing *routing = directory->routing;
    ASSERT(place < directory_partition_count(directory));
    const RoutingPartition *partition = &routing->partitions[place];
    const RoutingKeyspace *keyspace = keyspace_of(routing, place);
    *ret_partition = (DirectoryPartition){
        .id = partition->id,
        .keyspace = keyspace->prefix,
        .kind = keyspace->kind,
        .lo = &partition->lo,
        .hi = partition->endless ? NULL : &partition->hi,
        .shard = directory->listed[partition->shard],
        .epoch = partition->epoch,
    };
}

size_t directory_keyspace_count(const Directory *directory)
{
    return directory->routing != NULL ? directory->routing->keyspace_count : 0;
}

void directory_keyspace(const Directory *directory, size_t place, DirectoryKeyspace *ret_keyspace)
{
    ASSERT(place < directory_keyspace_count(directory));
    const RoutingKeyspace *keyspace = &directory->routing->keyspaces[place];
    *ret_keyspace = (DirectoryKeyspace){keyspace->prefix, keyspace->kind, keyspace->default_mode,
                                        keyspace->count};
}
