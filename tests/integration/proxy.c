/*
 * The proxy of proxy.h: one thread, one poll loop.
 *
 * Each connection has two streams, client to server and server to client. A stream reads bytes into
 * `in`, takes whole messages out of it, and puts those that go on into `out`. Rules act on messages
 * when they are taken, so a message is held, dropped or forwarded whole.
 */
#include "proxy.h"

#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct Connection
{
    int client;
    int server;
    WireStream up;   /* client to server */
    WireStream down; /* server to client */
    WireStatements statements;
    bool swallowing; /* replies are dropped until the server is ready, then both ends are cut */
    int syncs;       /* sent by the client and not answered by the server yet */
    int64_t up_held_until_ms;
    int64_t down_held_until_ms;
    bool ending;         /* cut it after this turn */
    bool cut_after_sync; /* cut it when the group at hand has gone to the server */
    bool draining;       /* cut it once `up.out` is written */
} Connection;

struct Proxy
{
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    int listener;
    int wake[2];
    int port;
    int server_port;
    bool stopping;
    bool black_hole;
    bool has_rule;
    ProxyRule rule;
    char statement[PROXY_STATEMENT_MAX];
    char tag[PROXY_STATEMENT_MAX];
    int hits;
    Connection *connections[PROXY_CONNECTIONS_MAX];
    int count;
};

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* ---- rules ---------------------------------------------------------------------------------- */

static bool rule_has_turns(const Proxy *proxy)
{
    return proxy->has_rule && (proxy->rule.count == 0 || proxy->hits < proxy->rule.count);
}

static void note_hit(Proxy *proxy)
{
    proxy->hits++;
    pthread_cond_broadcast(&proxy->changed);
}

/* A client's message is about to go on. False: it must not. */
static bool judge_statement(Proxy *proxy, Connection *connection)
{
    note_hit(proxy);
    switch (proxy->rule.action)
    {
    case PROXY_PASS:
        return true;
    case PROXY_SWALLOW:
        connection->swallowing = true;
        return true;
    case PROXY_CUT_BEFORE:
        connection->ending = true;
        return false;
    case PROXY_CUT_AFTER:
        connection->cut_after_sync = true;
        return true;
    case PROXY_DELAY:
        connection->up_held_until_ms = now_ms() + proxy->rule.ms;
        return true;
    case PROXY_DELAY_REPLY:
        connection->down_held_until_ms = now_ms() + proxy->rule.ms;
        return true;
    }
    return true;
}

/* A reply's command tag has arrived. */
static void judge_tag(Proxy *proxy, Connection *connection)
{
    note_hit(proxy);
    if (proxy->rule.action == PROXY_SWALLOW)
    {
        connection->swallowing = true;
    }
    else if (proxy->rule.action == PROXY_DELAY_REPLY)
    {
        connection->down_held_until_ms = now_ms() + proxy->rule.ms;
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Client to server. Stops at a message that has to wait. */
static void move_up(Proxy *proxy, Connection *connection)
{
    WireMessage message;
    while (!connection->ending && !connection->draining &&
           connection->up_held_until_ms <= now_ms() && wire_next(&connection->up, &message))
    {
        if (message.is_request_for_encryption)
        {
            wire_put(&connection->down, "N", 1);
            wire_drop(&connection->up, &message);
            continue;
        }
        bool is_held_before = connection->up_held_until_ms > 0;
        connection->up_held_until_ms = 0;
        if (!is_held_before && rule_has_turns(proxy) && proxy->statement[0] != '\0' &&
            wire_executes(&connection->statements, &message, proxy->statement))
        {
            if (!judge_statement(proxy, connection))
            {
                return;
            }
            if (connection->up_held_until_ms > 0)
            {
                return; /* the message stays in front and goes when its time has come */
            }
        }
        wire_note(&connection->statements, &message);
        bool ends_group = wire_is_synchronisation(&message);
        wire_forward(&connection->up, &message);
        connection->syncs += ends_group ? 1 : 0;
        connection->draining = ends_group && connection->cut_after_sync;
    }
}

/* Server to client. */
static void move_down(Proxy *proxy, Connection *connection)
{
    WireMessage message;
    while (!connection->ending && connection->down_held_until_ms <= now_ms() &&
           wire_next(&connection->down, &message))
    {
        bool is_held_before = connection->down_held_until_ms > 0;
        connection->down_held_until_ms = 0;
        if (!is_held_before && rule_has_turns(proxy) && proxy->tag[0] != '\0' &&
            wire_has_tag(&message, proxy->tag))
        {
            judge_tag(proxy, connection);
            if (connection->down_held_until_ms > 0)
            {
                return;
            }
        }
        bool is_ready = message.type == 'Z';
        connection->syncs -= is_ready && connection->syncs > 0 ? 1 : 0;
        if (!connection->swallowing)
        {
            wire_forward(&connection->down, &message);
            continue;
        }
        wire_drop(&connection->down, &message);
        connection->ending = is_ready && connection->syncs == 0;
    }
}

/* ---- connections ---------------------------------------------------------------------------- */

static void accept_client(Proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
    {
        return;
    }
    int server = wire_connect(proxy->server_port);
    if (server < 0 || proxy->count == PROXY_CONNECTIONS_MAX)
    {
        close(client);
        if (server >= 0)
        {
            close(server);
        }
        return;
    }
    wire_set_nonblocking(client);
    wire_set_nonblocking(server);
    Connection *connection = calloc(1, sizeof(*connection));
    connection->client = client;
    connection->server = server;
    connection->down.typed = true;
    proxy->connections[proxy->count++] = connection;
}

static void end_connection(Proxy *proxy, int index)
{
    Connection *connection = proxy->connections[index];
    close(connection->client);
    close(connection->server);
    wire_stream_done(&connection->up);
    wire_stream_done(&connection->down);
    wire_statements_done(&connection->statements);
    free(connection);
    proxy->connections[index] = proxy->connections[--proxy->count];
}

/* What was said before one end left still goes to the other, also when it is held back for long. */
static bool has_said_all(const WireStream *stream, int64_t held_until_ms)
{
    return stream->ended && stream->out.length == 0 && held_until_ms == 0;
}

static void serve(Proxy *proxy, Connection *connection, bool client_ready, bool server_ready)
{
    if (client_ready && !wire_read(&connection->up, connection->client))
    {
        connection->up.ended = true;
    }
    if (server_ready && !wire_read(&connection->down, connection->server))
    {
        connection->down.ended = true;
    }
    move_up(proxy, connection);
    move_down(proxy, connection);
    if (connection->up.ended)
    {
        connection->down.out.length = 0;
    }
    if (!wire_write(&connection->up, connection->server) ||
        !wire_write(&connection->down, connection->client) ||
        has_said_all(&connection->up, connection->up_held_until_ms) ||
        has_said_all(&connection->down, connection->down_held_until_ms) ||
        (connection->draining && connection->up.out.length == 0))
    {
        connection->ending = true;
    }
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void fill_polls(const Proxy *proxy, struct pollfd *polls)
{
    short listen_events = proxy->black_hole ? 0 : POLLIN;
    polls[0] = (struct pollfd){.fd = proxy->wake[0], .events = POLLIN};
    polls[1] = (struct pollfd){.fd = proxy->listener, .events = listen_events};
    for (int i = 0; i < proxy->count; i++)
    {
        const Connection *connection = proxy->connections[i];
        bool client_is_off = proxy->black_hole || connection->up.ended;
        bool server_is_off = proxy->black_hole || connection->down.ended;
        polls[2 + 2 * i] = (struct pollfd){
            .fd = client_is_off ? -1 : connection->client,
            .events = connection->down.out.length > 0 ? POLLIN | POLLOUT : POLLIN,
        };
        polls[3 + 2 * i] = (struct pollfd){
            .fd = server_is_off ? -1 : connection->server,
            .events = connection->up.out.length > 0 ? POLLIN | POLLOUT : POLLIN,
        };
    }
}

/* A held message is looked at again every few milliseconds; so is nothing else. */
static int poll_timeout(const Proxy *proxy)
{
    for (int i = 0; i < proxy->count; i++)
    {
        if (proxy->connections[i]->up_held_until_ms > 0 ||
            proxy->connections[i]->down_held_until_ms > 0)
        {
            return 5;
        }
    }
    return 1000;
}

static void take_turn(Proxy *proxy, const struct pollfd *polls, int polled)
{
    char byte[16];
    if (polls[0].revents != 0 && read(proxy->wake[0], byte, sizeof(byte)) < 0)
    {
        return;
    }
    for (int i = polled - 1; i >= 0 && !proxy->black_hole; i--)
    {
        const short gone = POLLERR | POLLHUP;
        serve(proxy, proxy->connections[i], (polls[2 + 2 * i].revents & (POLLIN | gone)) != 0,
              (polls[3 + 2 * i].revents & (POLLIN | gone)) != 0);
    }
    for (int i = polled - 1; i >= 0; i--)
    {
        if (proxy->connections[i]->ending)
        {
            end_connection(proxy, i);
        }
    }
    if (polls[1].revents != 0)
    {
        accept_client(proxy);
    }
}

static void *run(void *context)
{
    Proxy *proxy = context;
    struct pollfd polls[2 + 2 * PROXY_CONNECTIONS_MAX];
    pthread_mutex_lock(&proxy->mutex);
    while (!proxy->stopping)
    {
        fill_polls(proxy, polls);
        int polled = proxy->count;
        int timeout = poll_timeout(proxy);
        pthread_mutex_unlock(&proxy->mutex);
        int ready = poll(polls, (nfds_t)(2 + 2 * polled), timeout);
        pthread_mutex_lock(&proxy->mutex);
        if (ready >= 0 || errno == EINTR)
        {
            take_turn(proxy, polls, polled);
        }
    }
    while (proxy->count > 0)
    {
        end_connection(proxy, proxy->count - 1);
    }
    pthread_mutex_unlock(&proxy->mutex);
    return NULL;
}

/* ---- the test's side ------------------------------------------------------------------------ */

Proxy *proxy_new(int port, int server_port)
{
    int listener = wire_listen(port);
    if (listener < 0)
    {
        return NULL;
    }
    Proxy *proxy = calloc(1, sizeof(*proxy));
    proxy->listener = listener;
    proxy->port = wire_port(listener);
    proxy->server_port = server_port;
    pthread_mutex_init(&proxy->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&proxy->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pipe2(proxy->wake, O_CLOEXEC) != 0 || pthread_create(&proxy->thread, NULL, run, proxy) != 0)
    {
        abort();
    }
    return proxy;
}

static void wake(Proxy *proxy)
{
    if (write(proxy->wake[1], "", 1) != 1)
    {
        abort();
    }
}

void proxy_free(Proxy *proxy)
{
    if (proxy == NULL)
    {
        return;
    }
    pthread_mutex_lock(&proxy->mutex);
    proxy->stopping = true;
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    close(proxy->wake[0]);
    close(proxy->wake[1]);
    pthread_cond_destroy(&proxy->changed);
    pthread_mutex_destroy(&proxy->mutex);
    free(proxy);
}

int proxy_port(const Proxy *proxy)
{
    return proxy->port;
}

void proxy_set_rule(Proxy *proxy, const ProxyRule *rule)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->has_rule = rule != NULL;
    proxy->hits = 0;
    proxy->statement[0] = '\0';
    proxy->tag[0] = '\0';
    if (rule != NULL)
    {
        proxy->rule = *rule;
        snprintf(proxy->statement, sizeof(proxy->statement), "%s",
                 rule->statement == NULL ? "" : rule->statement);
        snprintf(proxy->tag, sizeof(proxy->tag), "%s", rule->tag == NULL ? "" : rule->tag);
    }
    pthread_mutex_unlock(&proxy->mutex);
}

int proxy_hits(Proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    int hits = proxy->hits;
    pthread_mutex_unlock(&proxy->mutex);
    return hits;
}

bool proxy_await_hits(Proxy *proxy, int hits, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000)
    {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&proxy->mutex);
    int waited = 0;
    while (proxy->hits < hits && waited == 0)
    {
        waited = pthread_cond_timedwait(&proxy->changed, &proxy->mutex, &until);
    }
    bool reached = proxy->hits >= hits;
    pthread_mutex_unlock(&proxy->mutex);
    return reached;
}

void proxy_set_black_hole(Proxy *proxy, bool on)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->black_hole = on;
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
}

void proxy_cut_all(Proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    for (int i = 0; i < proxy->count; i++)
    {
        proxy->connections[i]->ending = true;
        shutdown(proxy->connections[i]->client, SHUT_RDWR);
        shutdown(proxy->connections[i]->server, SHUT_RDWR);
    }
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
}

int proxy_connections(Proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    int count = proxy->count;
    pthread_mutex_unlock(&proxy->mutex);
    return count;
}
