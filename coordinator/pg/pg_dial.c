/*
 * See pg_dial.h. The walk is a pair of cursors (endpoint, address); every failure and every missed
 * share goes through next_address, so there is one way forward.
 *
 * PQconnectPoll may close its socket and open another under the same number. Therefore the poll
 * handle is freed before each step and made anew after it.
 */
#include "pg/pg_dial.h"

#include "pg/pg_dsn.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ADDRESSES_MAX = 8,
    TEXT_MAX = 512,
    MINIMUM_SHARE_MS = 1,
};

/* Outlives the dial while the name is being looked up. */
typedef struct Lookup
{
    PgDial *dial; /* NULL once nobody wants the answer */
} Lookup;

struct PgDial
{
    Loop *loop;
    PgDsn dsn;
    bool dsn_is_valid;
    uint64_t deadline_at_ms;
    PgDialed dialed;
    void *context;

    size_t endpoint;
    uint64_t endpoint_deadline_at_ms;
    char *addresses[ADDRESSES_MAX]; /* NULL entry: the endpoint is passed as it is */
    size_t address_count;
    size_t address;

    LoopTask start;
    LoopTimer *timer;
    Lookup *lookup;
    PGconn *connection;
    LoopPoll *poll;
    char text[TEXT_MAX]; /* what went wrong so far */
};

static void try_endpoint(PgDial *dial);
static void try_address(PgDial *dial);
static void step(void *context, unsigned events);

static void note_failure(PgDial *dial, const char *text)
{
    size_t used = strlen(dial->text);
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        length--;
    snprintf(dial->text + used, sizeof dial->text - used, "%s%.*s", used > 0 ? "; " : "",
             (int)length, text);
}

static void finish(PgDial *dial, PGconn *connection)
{
    loop_timer_stop(dial->timer);
    dial->dialed(dial->context, connection, dial->text);
}

static void drop_connection(PgDial *dial)
{
    loop_poll_free(dial->poll);
    dial->poll = NULL;
    PQfinish(dial->connection);
    dial->connection = NULL;
}

static void forget_addresses(PgDial *dial)
{
    for (size_t i = 0; i < dial->address_count; i++)
        free(dial->addresses[i]);
    dial->address_count = 0;
    dial->address = 0;
}

static void abandon_lookup(PgDial *dial)
{
    if (dial->lookup != NULL)
        dial->lookup->dial = NULL;
    dial->lookup = NULL;
}

static void next_endpoint(PgDial *dial)
{
    forget_addresses(dial);
    dial->endpoint++;
    if (dial->endpoint < dial->dsn.endpoint_count)
        try_endpoint(dial);
    else
        finish(dial, NULL);
}

static void next_address(PgDial *dial)
{
    drop_connection(dial);
    dial->address++;
    if (dial->address < dial->address_count)
        try_address(dial);
    else
        next_endpoint(dial);
}

/* An equal part of the time until `end_ms` for each of the attempts left, this one among them. */
static uint64_t share_ms(const PgDial *dial, uint64_t end_ms, size_t attempts)
{
    uint64_t now_ms = loop_now_ms(dial->loop);
    uint64_t left_ms = end_ms > now_ms ? end_ms - now_ms : 0;
    uint64_t share = left_ms / attempts;
    return share > MINIMUM_SHARE_MS ? share : MINIMUM_SHARE_MS;
}

static void share_passed(void *context)
{
    PgDial *dial = context;
    char text[160];
    const PgEndpoint *endpoint = &dial->dsn.endpoints[dial->endpoint];
    const char *host = endpoint->host != NULL ? endpoint->host : endpoint->address;
    snprintf(text, sizeof text, "no answer from %s, port %s, in time",
             host != NULL ? host : "the local socket",
             endpoint->port != NULL ? endpoint->port : "default");
    note_failure(dial, text);
    if (dial->lookup != NULL)
    {
        abandon_lookup(dial);
        next_endpoint(dial);
        return;
    }
    next_address(dial);
}

static void watch(PgDial *dial, PostgresPollingStatusType direction)
{
    dial->poll = loop_poll_new(dial->loop, PQsocket(dial->connection), step, dial);
    loop_poll_set(dial->poll, direction == PGRES_POLLING_READING ? LOOP_READABLE : LOOP_WRITABLE);
}

static void step(void *context, unsigned events)
{
    PgDial *dial = context;
    (void)events;
    loop_poll_free(dial->poll);
    dial->poll = NULL;
    PostgresPollingStatusType status = PQconnectPoll(dial->connection);
    if (status == PGRES_POLLING_OK)
    {
        PGconn *connection = dial->connection;
        dial->connection = NULL;
        finish(dial, connection);
    }
    else if (status == PGRES_POLLING_FAILED)
    {
        note_failure(dial, PQerrorMessage(dial->connection));
        next_address(dial);
    }
    else
    {
        watch(dial, status);
    }
}

static void try_address(PgDial *dial)
{
    const PgDsn *dsn = &dial->dsn;
    const PgEndpoint *endpoint = &dsn->endpoints[dial->endpoint];
    const char *keywords[PG_SETTINGS_MAX + 3] = {0};
    const char *values[PG_SETTINGS_MAX + 3] = {0};
    size_t count = dsn->setting_count;
    memcpy(keywords, dsn->keywords, count * sizeof *keywords);
    memcpy(values, dsn->values, count * sizeof *values);
    const char *address = dial->addresses[dial->address];
    const char *endpoint_values[] = {endpoint->host, address ? address : endpoint->address,
                                     endpoint->port};
    static const char *const endpoint_keywords[] = {"host", "hostaddr", "port"};
    for (size_t i = 0; i < ARRAY_LENGTH(endpoint_keywords); i++)
    {
        if (endpoint_values[i] == NULL)
            continue;
        keywords[count] = endpoint_keywords[i];
        values[count++] = endpoint_values[i];
    }

    loop_timer_start(dial->timer, share_ms(dial, dial->endpoint_deadline_at_ms,
                                           dial->address_count - dial->address));
    dial->connection = PQconnectStartParams(keywords, values, 0);
    ASSERT(dial->connection != NULL);
    if (PQstatus(dial->connection) == CONNECTION_BAD)
    {
        note_failure(dial, PQerrorMessage(dial->connection));
        next_address(dial);
        return;
    }
    watch(dial, PGRES_POLLING_WRITING);
}

static void looked_up(void *context, const char *const *addresses, int count)
{
    Lookup *lookup = context;
    PgDial *dial = lookup->dial;
    free(lookup);
    if (dial == NULL)
        return;
    dial->lookup = NULL;
    if (count == 0)
    {
        char text[160];
        snprintf(text, sizeof text, "no address is known for host %s",
                 dial->dsn.endpoints[dial->endpoint].host);
        note_failure(dial, text);
        next_endpoint(dial);
        return;
    }
    dial->address_count = (size_t)count < ADDRESSES_MAX ? (size_t)count : ADDRESSES_MAX;
    for (size_t i = 0; i < dial->address_count; i++)
        dial->addresses[i] = base_strdup(addresses[i]);
    try_address(dial);
}

static void try_endpoint(PgDial *dial)
{
    const PgEndpoint *endpoint = &dial->dsn.endpoints[dial->endpoint];
    uint64_t share =
        share_ms(dial, dial->deadline_at_ms, dial->dsn.endpoint_count - dial->endpoint);
    dial->endpoint_deadline_at_ms = loop_now_ms(dial->loop) + share;
    if (pg_endpoint_is_direct(endpoint))
    {
        dial->addresses[0] = NULL;
        dial->address_count = 1;
        try_address(dial);
        return;
    }
    loop_timer_start(dial->timer, share);
    dial->lookup = base_malloc(sizeof *dial->lookup);
    dial->lookup->dial = dial;
    loop_resolve(dial->loop, endpoint->host, looked_up, dial->lookup);
}

static void start(void *context)
{
    PgDial *dial = context;
    if (dial->dsn_is_valid)
        try_endpoint(dial);
    else
        finish(dial, NULL);
}

PgDial *pg_dial_new(Loop *loop, const char *dsn, uint64_t deadline_ms, PgDialed dialed,
                    void *context)
{
    PgDial *dial = base_calloc(1, sizeof *dial);
    Error error;
    dial->loop = loop;
    dial->deadline_at_ms = loop_now_ms(loop) + deadline_ms;
    dial->dialed = dialed;
    dial->context = context;
    dial->timer = loop_timer_new(loop, share_passed, dial);
    dial->start = (LoopTask){.run = start, .context = dial};
    dial->dsn_is_valid = pg_dsn_init(&dial->dsn, dsn, &error);
    if (!dial->dsn_is_valid)
        note_failure(dial, error.text);
    loop_post(loop, &dial->start);
    return dial;
}

void pg_dial_free(PgDial *dial)
{
    if (dial == NULL)
        return;
    loop_unpost(dial->loop, &dial->start);
    loop_timer_free(dial->timer);
    abandon_lookup(dial);
    drop_connection(dial);
    forget_addresses(dial);
    if (dial->dsn_is_valid)
        pg_dsn_done(&dial->dsn);
    free(dial);
}
