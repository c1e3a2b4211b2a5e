/*
 * See shard.h. All decisions are made in one place, `dispatch`, a loop task that every event posts:
 * it tells waiters whose time is over, grants idle sessions, and opens what is missing. Therefore
 * no waiter is ever called from inside shard_acquire or session_release.
 *
 * Sessions carry the generation in which they were opened. A new DSN, a new incarnation, and a
 * server that is not to be trusted start a generation; sessions of an older one are closed as soon
 * as nobody holds them.
 */
#include "shard/shard.h"

#include "base/log.h"
#include "shard/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    WATCHERS_MAX = 8,
    BACK_OFF_FIRST_MS = 50,
    BACK_OFF_MAX_MS = 500,
    TROUBLE_MAX = 256,
    PURPOSES = 2,
};

typedef struct Watcher
{
    void (*usable)(void *context, Shard *shard);
    void *context;
} Watcher;

TAILQ_HEAD(SessionList, Session);
TAILQ_HEAD(WaiterList, ShardWaiter);

struct Shard
{
    Loop *loop;
    ShardOptions options; /* its strings are the four below */
    char *instance;
    char *cluster;
    char *name;
    char *dsn;
    bool usable;
    bool fenced;
    char trouble[TROUBLE_MAX];
    Watcher watchers[WATCHERS_MAX];
    size_t watcher_count;

    struct SessionList sessions; /* all but the probe */
    int places[PURPOSES];        /* sessions per place, opening ones included */
    unsigned generation;
    History history;

    struct WaiterList waiters[PURPOSES];
    int waiting;
    LoopTask dispatch;
    LoopTimer *deadline; /* the earliest of the waiters' */

    Session *probe;
    Backend forsaken; /* of a probe that was answered, but could not commit in time */
    LoopTimer *pause; /* before the next probe, or before the next session is opened */
    uint64_t back_off_ms;
};

static void wake(Shard *shard)
{
    loop_post(shard->loop, &shard->dispatch);
}

static void back_off(Shard *shard)
{
    loop_timer_start(shard->pause, shard->back_off_ms);
    shard->back_off_ms *= 2;
    if (shard->back_off_ms > BACK_OFF_MAX_MS)
        shard->back_off_ms = BACK_OFF_MAX_MS;
}

/* ---- sessions in the pool -------------------------------------------------------------------- */

static void drop(Shard *shard, Session *session)
{
    TAILQ_REMOVE(&shard->sessions, session, link);
    shard->places[session->purpose]--;
    session_free(session);
}

static int open_sessions(const Shard *shard)
{
    int count = 0;
    const Session *session;
    TAILQ_FOREACH (session, &shard->sessions, link)
        count += session->state != SESSION_OPENING && session_is_open(session) ? 1 : 0;
    return count;
}

/* Closes idle sessions of older generations; those for traffic of every generation if asked. */
static void close_idle(Shard *shard, bool all_traffic)
{
    Session *next;
    for (Session *session = TAILQ_FIRST(&shard->sessions); session != NULL; session = next)
    {
        next = TAILQ_NEXT(session, link);
        bool outdated = session->generation != shard->generation ||
                        (all_traffic && session->purpose == SESSION_TRAFFIC);
        if (session->state == SESSION_IDLE && outdated)
            drop(shard, session);
    }
}

static Session *idle_session(const Shard *shard, SessionPurpose purpose)
{
    Session *session;
    TAILQ_FOREACH (session, &shard->sessions, link)
    {
        if (session->state == SESSION_IDLE && session->purpose == purpose)
            return session;
    }
    return NULL;
}

static const SessionEvents session_events;

static Session *order_session(Shard *shard, bool probe)
{
    SessionOrder order = {
        .loop = shard->loop,
        .shard = shard,
        .options = &shard->options,
        .history = &shard->history,
        .events = &session_events,
        .probe = probe,
    };
    if (probe)
        order.forsaken = shard->forsaken;
    Session *session = session_open(&order);
    session->generation = shard->generation;
    return session;
}

static bool has_place(const Shard *shard, SessionPurpose purpose)
{
    int max = purpose == SESSION_SETTLE ? 1 : shard->options.sessions_max;
    return shard->places[purpose] < max;
}

static void take_place(Shard *shard, Session *session, SessionPurpose purpose)
{
    session->purpose = purpose;
    shard->places[purpose]++;
    TAILQ_INSERT_TAIL(&shard->sessions, session, link);
}

/* ---- usable and suspect ---------------------------------------------------------------------- */

void shard_suspect(Shard *shard, const char *why)
{
    bool news = strcmp(shard->trouble, why) != 0;
    shard->fenced = false;
    if (news)
        snprintf(shard->trouble, sizeof shard->trouble, "%s", why);
    if (shard->usable || news)
        log_warn("shard=%s cannot be used: %s", shard->options.name, shard->trouble);
    if (!shard->usable)
        return;
    shard->usable = false;
    close_idle(shard, true);
    shard->back_off_ms = BACK_OFF_FIRST_MS;
    back_off(shard);
    wake(shard);
}

static void become_usable(Shard *shard)
{
    log_info("shard=%s is usable", shard->options.name);
    shard->usable = true;
    shard->fenced = false;
    shard->trouble[0] = '\0';
    shard->back_off_ms = BACK_OFF_FIRST_MS;
    loop_timer_stop(shard->pause);
    wake(shard);
    for (size_t i = 0; i < shard->watcher_count; i++)
        shard->watchers[i].usable(shard->watchers[i].context, shard);
}

static void pause_over(void *context)
{
    Shard *shard = context;
    if (!shard->usable && shard->probe == NULL)
        shard->probe = order_session(shard, true);
    else
        wake(shard);
}

/* Closes the sessions that there are, or has them closed when they are given back. */
static void begin_generation(Shard *shard)
{
    shard->generation++;
    close_idle(shard, false);
}

/* What one session has found holds for all of its generation. */
static void distrust(Shard *shard, unsigned generation, SessionFailure failure, const char *why)
{
    if (generation != shard->generation)
        return;
    begin_generation(shard);
    shard_suspect(shard, why);
    shard->fenced = failure == SESSION_FENCED;
}

/* ---- events of sessions ---------------------------------------------------------------------- */

static void remove_session(Shard *shard, Session *session)
{
    if (session != shard->probe)
    {
        drop(shard, session);
        return;
    }
    shard->probe = NULL;
    session_free(session);
}

/* A server that is full says so at once; one that says nothing is no better for its other sessions.
 */
static bool is_silent(const Shard *shard, const Session *session)
{
    uint64_t waited_ms = loop_now_ms(shard->loop) - session->opening_since_ms;
    return waited_ms >= shard->options.connect_deadline_ms;
}

static void opening_failed(Shard *shard, Session *session, SessionFailure failure, const char *why)
{
    bool was_probe = session == shard->probe;
    bool silent = is_silent(shard, session);
    unsigned generation = session->generation;
    char reason[TROUBLE_MAX];
    snprintf(reason, sizeof reason, "%s", why);
    if (was_probe && session->identity.backend.pid != 0)
        shard->forsaken = session->identity.backend;
    remove_session(shard, session);
    if (failure != SESSION_UNREACHABLE)
        distrust(shard, generation, failure, reason);
    else if (was_probe || silent || open_sessions(shard) == 0)
        shard_suspect(shard, reason);
    else
        log_warn("shard=%s no further session: %s", shard->options.name, reason);
    if (!loop_timer_running(shard->pause))
        back_off(shard);
    wake(shard);
}

static void opened(Shard *shard, Session *session)
{
    bool was_probe = session == shard->probe;
    bool outdated = session->generation != shard->generation;
    if (was_probe)
    {
        shard->probe = NULL;
        shard->forsaken.pid = 0;
        SessionPurpose purpose =
            has_place(shard, SESSION_SETTLE) ? SESSION_SETTLE : SESSION_TRAFFIC;
        if (!outdated && has_place(shard, purpose))
            take_place(shard, session, purpose);
        else
            session_free(session);
    }
    else if (outdated)
    {
        drop(shard, session);
    }
    else
    {
        shard->back_off_ms = BACK_OFF_FIRST_MS;
    }
    if (was_probe && outdated)
        back_off(shard);
    else if (was_probe)
        become_usable(shard);
    wake(shard);
}

static void returned(Shard *shard, Session *session)
{
    if (session->state == SESSION_CLOSED || session->generation != shard->generation)
        drop(shard, session);
    if (shard->usable && open_sessions(shard) == 0)
        shard_suspect(shard, "the last connection was lost");
    wake(shard);
}

static void lost(Shard *shard, Session *session, const char *why)
{
    char reason[TROUBLE_MAX];
    snprintf(reason, sizeof reason, "connection lost: %s", why);
    drop(shard, session);
    if (open_sessions(shard) == 0)
        shard_suspect(shard, reason);
    wake(shard);
}

static void overdue(Shard *shard, Session *session)
{
    (void)session;
    shard_suspect(shard, "it missed a deadline");
}

static void unfit(Shard *shard, Session *session, SessionFailure failure, const char *why)
{
    distrust(shard, session->generation, failure, why);
}

static const SessionEvents session_events = {
    .opened = opened,
    .failed = opening_failed,
    .returned = returned,
    .lost = lost,
    .overdue = overdue,
    .unfit = unfit,
};

/* ---- waiters --------------------------------------------------------------------------------- */

static void answer(Shard *shard, ShardWaiter *waiter, Session *session)
{
    shard_give_up(shard, waiter);
    if (session != NULL)
        session_take(session);
    waiter->granted(waiter, session);
}

static Session *session_for(const Shard *shard, SessionPurpose purpose)
{
    Session *session = idle_session(shard, purpose);
    if (session == NULL && purpose == SESSION_SETTLE)
        session = idle_session(shard, SESSION_TRAFFIC);
    return session;
}

/* Answers each waiter of the queue that can be answered now, at most once per call, so that a
 * waiter that comes back at once waits for the next turn. */
static void serve(Shard *shard, SessionPurpose purpose)
{
    struct WaiterList *queue = &shard->waiters[purpose];
    uint64_t now_ms = loop_now_ms(shard->loop);
    int rounds = shard->waiting;
    ShardWaiter *waiter = TAILQ_FIRST(queue);
    while (waiter != NULL && rounds-- > 0)
    {
        bool refused = purpose == SESSION_TRAFFIC && !shard->usable;
        Session *session = refused ? NULL : session_for(shard, purpose);
        if (refused || session != NULL || waiter->deadline_at_ms <= now_ms)
        {
            answer(shard, waiter, session);
            waiter = TAILQ_FIRST(queue);
        }
        else
        {
            waiter = TAILQ_NEXT(waiter, link);
        }
    }
}

static void open_more(Shard *shard)
{
    if (!shard->usable || loop_timer_running(shard->pause))
        return;
    int opening = 0;
    const Session *session;
    TAILQ_FOREACH (session, &shard->sessions, link)
        opening += session->state == SESSION_OPENING ? 1 : 0;
    if (has_place(shard, SESSION_SETTLE))
        take_place(shard, order_session(shard, false), SESSION_SETTLE);
    for (; opening < shard->waiting && has_place(shard, SESSION_TRAFFIC); opening++)
        take_place(shard, order_session(shard, false), SESSION_TRAFFIC);
}

static void watch_deadlines(Shard *shard)
{
    uint64_t earliest_ms = UINT64_MAX;
    uint64_t now_ms = loop_now_ms(shard->loop);
    const ShardWaiter *waiter;
    for (int purpose = 0; purpose < PURPOSES; purpose++)
    {
        TAILQ_FOREACH (waiter, &shard->waiters[purpose], link)
        {
            if (waiter->deadline_at_ms < earliest_ms)
                earliest_ms = waiter->deadline_at_ms;
        }
    }
    if (earliest_ms == UINT64_MAX)
        loop_timer_stop(shard->deadline);
    else
        loop_timer_start(shard->deadline, earliest_ms > now_ms ? earliest_ms - now_ms : 0);
}

static void dispatch(void *context)
{
    Shard *shard = context;
    serve(shard, SESSION_SETTLE);
    serve(shard, SESSION_TRAFFIC);
    open_more(shard);
    watch_deadlines(shard);
}

static void deadline_passed(void *context)
{
    wake(context);
}

void shard_acquire(Shard *shard, ShardWaiter *waiter, SessionPurpose purpose, uint64_t deadline_ms)
{
    ASSERT(!waiter->waiting);
    waiter->purpose = purpose;
    waiter->deadline_at_ms = loop_now_ms(shard->loop) + deadline_ms;
    waiter->waiting = true;
    TAILQ_INSERT_TAIL(&shard->waiters[purpose], waiter, link);
    shard->waiting++;
    wake(shard);
}

void shard_give_up(Shard *shard, ShardWaiter *waiter)
{
    if (!waiter->waiting)
        return;
    waiter->waiting = false;
    TAILQ_REMOVE(&shard->waiters[waiter->purpose], waiter, link);
    shard->waiting--;
}

/* ---- life ------------------------------------------------------------------------------------ */

Shard *shard_new(Loop *loop, const ShardOptions *options)
{
    Shard *shard = base_calloc(1, sizeof *shard);
    ASSERT(options->sessions_max > 0);
    shard->loop = loop;
    shard->options = *options;
    shard->options.instance = shard->instance = base_strdup(options->instance);
    shard->options.cluster = shard->cluster = base_strdup(options->cluster);
    shard->options.name = shard->name = base_strdup(options->name);
    shard->options.dsn = shard->dsn = base_strdup(options->dsn);
    history_expect(&shard->history, &options->incarnation);
    TAILQ_INIT(&shard->sessions);
    for (int purpose = 0; purpose < PURPOSES; purpose++)
        TAILQ_INIT(&shard->waiters[purpose]);
    shard->dispatch = (LoopTask){.run = dispatch, .context = shard};
    shard->deadline = loop_timer_new(loop, deadline_passed, shard);
    shard->pause = loop_timer_new(loop, pause_over, shard);
    shard->back_off_ms = BACK_OFF_FIRST_MS;
    snprintf(shard->trouble, sizeof shard->trouble, "not connected yet");
    loop_timer_start(shard->pause, 0);
    return shard;
}

void shard_free(Shard *shard)
{
    if (shard == NULL)
        return;
    ASSERT(shard->waiting == 0);
    for (Session *session; (session = TAILQ_FIRST(&shard->sessions)) != NULL;)
    {
        ASSERT(session->state != SESSION_HELD);
        drop(shard, session);
    }
    session_free(shard->probe);
    loop_unpost(shard->loop, &shard->dispatch);
    loop_timer_free(shard->deadline);
    loop_timer_free(shard->pause);
    free(shard->instance);
    free(shard->cluster);
    free(shard->name);
    free(shard->dsn);
    free(shard);
}

void shard_set_dsn(Shard *shard, const char *dsn)
{
    if (strcmp(shard->options.dsn, dsn) == 0)
        return;
    free(shard->dsn);
    shard->options.dsn = shard->dsn = base_strdup(dsn);
    begin_generation(shard);
    shard_suspect(shard, "its address changed");
}

void shard_expect(Shard *shard, const Incarnation *incarnation)
{
    if (!history_expect(&shard->history, incarnation))
        return;
    char text[TROUBLE_MAX];
    snprintf(text, sizeof text, "it was readmitted under epoch %lld",
             (long long)incarnation->epoch);
    begin_generation(shard);
    shard_suspect(shard, text);
}

History *shard_history(Shard *shard)
{
    return &shard->history;
}

void session_note_mark(const Session *session, const uint8_t batch[MARK_LENGTH])
{
    Shard *shard = session->shard;
    if (session->generation == shard->generation)
        history_note(&shard->history, batch);
}

const char *shard_name(const Shard *shard)
{
    return shard->options.name;
}

int shard_ordinal(const Shard *shard)
{
    return shard->options.ordinal;
}

bool shard_is_usable(const Shard *shard)
{
    return shard->usable;
}

bool shard_is_fenced(const Shard *shard)
{
    return shard->fenced;
}

const char *shard_trouble(const Shard *shard)
{
    return shard->trouble;
}

const char *shard_excuse(const Shard *shard)
{
    if (shard->fenced)
        return shard->trouble;
    return shard->usable ? "no session became free in time" : "does not answer";
}

void shard_on_usable(Shard *shard, void (*usable)(void *context, Shard *shard), void *context)
{
    ASSERT(shard->watcher_count < WATCHERS_MAX);
    shard->watchers[shard->watcher_count++] = (Watcher){usable, context};
}

ShardCounts shard_counts(const Shard *shard)
{
    ShardCounts counts = {.sessions_open = open_sessions(shard), .waiting = shard->waiting};
    const Session *session;
    TAILQ_FOREACH (session, &shard->sessions, link)
        counts.sessions_busy +=
            session->state == SESSION_HELD || session->state == SESSION_RETURNING ? 1 : 0;
    return counts;
}
