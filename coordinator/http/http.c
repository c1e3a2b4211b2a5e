/*
 * See http.h.
 *
 * libmicrohttpd runs on its own epoll descriptor, which our loop watches; MHD_run happens in the
 * server's phase only. A request goes through
 *
 *   head     on_target (the raw target) and the first on_access (all headers)
 *   body     on_access with pieces of it
 *   pending  handed over; the connection is suspended unless the handler answered at once
 *   answer   queued; on_completed ends it
 *
 * Each connection stands in a list ordered by when its present phase began, except while pending,
 * when it waits for us and not for the client. The sweep cuts those whose phase lasts too long;
 * libmicrohttpd's own time-out only counts silence, which a client that sends one byte now and then
 * never shows.
 *
 * Hazards of libmicrohttpd 0.9.7x that shape this file: no response can be queued while a body
 * arrives (so early ones are written by hand); a response queued before the body is read closes the
 * connection; suspended connections must be resumed before the daemon is stopped; a resumed
 * connection calls on_access again, and only there its response is queued.
 */
#include "http/http.h"

#include "base/log.h"
#include "http/request.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    CONNECTION_BYTES = 12 * 1024, /* head and read buffer; cleared after every request */
    DISCARD_MAX = 1024 * 1024,    /* read and dropped beyond the body limit, to answer in order */
    SWEEP_MS = 250,
    EARLY_HEAD_MAX = 1024,
};

TAILQ_HEAD(PeerList, Peer);
TAILQ_HEAD(RequestList, HttpRequest);

struct HttpServer
{
    Loop *loop;
    HttpOptions options;
    struct MHD_Daemon *daemon;
    LoopPoll *poll;
    LoopTimer *timer; /* libmicrohttpd's time-outs */
    LoopTimer *sweep;
    uint16_t port;
    bool run_due;
    bool sweep_due;
    bool stopping;
    struct PeerList peers;      /* by since_ms, oldest first */
    struct RequestList held;    /* suspended, waiting for http_reply */
    struct RequestList settled; /* suspended, replied, to be resumed */
    HttpCounts counts;
    size_t bodies_held; /* bytes */
    uint64_t made_prefix;
    uint64_t made_count;
    void (*drained)(void *context); /* NULL unless draining */
    void *drained_context;
    bool draining;
};

/* ---- connections and how long they take ----------------------------------------------------- */

static void peer_unlist(HttpServer *server, Peer *peer)
{
    if (peer->listed)
        TAILQ_REMOVE(&server->peers, peer, link);
    peer->listed = false;
}

/* A phase begins in which we wait for the client. */
static void peer_await(HttpServer *server, Peer *peer)
{
    peer_unlist(server, peer);
    peer->since_ms = loop_now_ms(server->loop);
    peer->listed = true;
    TAILQ_INSERT_TAIL(&server->peers, peer, link);
    if (!loop_timer_running(server->sweep))
        loop_timer_start(server->sweep, SWEEP_MS);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **peer_context,
                          enum MHD_ConnectionNotificationCode code)
{
    HttpServer *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
    {
        Peer *peer = base_calloc(1, sizeof *peer);
        peer->fd =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        *peer_context = peer;
        server->counts.connections++;
        peer_await(server, peer);
        return;
    }
    Peer *peer = *peer_context;
    if (peer == NULL)
        return;
    peer_unlist(server, peer);
    server->counts.connections--;
    *peer_context = NULL;
    free(peer);
}

/* ---- answers -------------------------------------------------------------------------------- */

void http_reply(HttpRequest *request, const HttpReply *reply)
{
    ASSERT(!request->replied);
    HttpServer *server = request->server;
    request_keep_reply(request, reply);
    request->replied = true;
    if (server->options.replied != NULL)
        server->options.replied(server->options.context, request, reply->status);
    if (!request->suspended)
        return; /* answered from inside the handler: on_access goes on */
    TAILQ_REMOVE(&server->held, request, link);
    TAILQ_INSERT_TAIL(&server->settled, request, link);
    loop_wake(server->loop);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_warn("http: a header of an answer was not acceptable: %s", name);
}

static enum MHD_Result queue_reply(HttpRequest *request)
{
    const HttpReply *reply = &request->reply;
    enum MHD_ResponseMemoryMode mode =
        request->reply_body != NULL ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->body_length, request->reply_body, mode);
    ASSERT(response != NULL);
    request->reply_body = NULL;
    if (reply->content_type != NULL)
        add_header(response, "Content-Type", reply->content_type);
    add_header(response, "X-Request-Id", request->id);
    for (size_t i = 0; i < reply->header_count; i++)
        add_header(response, reply->headers[i].name, reply->headers[i].value);
    if (request->close || request->server->draining)
        add_header(response, "Connection", "close");
    peer_await(request->server, request->peer);
    enum MHD_Result queued =
        MHD_queue_response(request->connection, (unsigned)reply->status, response);
    MHD_destroy_response(response);
    return queued;
}

/* Writes the answer past libmicrohttpd, which takes none while a body arrives. The connection must
 * be closed afterwards. What the socket does not take at once is lost: the client is at fault. */
static void write_early(HttpRequest *request)
{
    char head[EARLY_HEAD_MAX];
    size_t length = request_print_head(request, head, sizeof head);
    struct iovec parts[] = {
        {.iov_base = head, .iov_len = length},
        {.iov_base = request->reply_body, .iov_len = request->reply.body_length},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_LENGTH(parts)};
    (void)sendmsg(request->peer->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void reject(HttpRequest *request, const Error *error)
{
    const HttpOptions *options = &request->server->options;
    options->reject(options->context, request, error);
    ASSERT(request->replied);
}

/* ---- requests ------------------------------------------------------------------------------- */

/* The request line is complete; the target is as the client sent it. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    HttpRequest *request = base_calloc(1, sizeof *request);
    request->server = context;
    request->connection = connection;
    request->peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    request->arena = arena_new(HTTP_ARENA_BYTES);
    request->target = target;
    request->target_length = strlen(target);
    request->target_is_clean = head_target_is_clean(target);
    request->path =
        request->target_is_clean ? arena_copy(request->arena, target, strcspn(target, "?#")) : "-";
    request->uri_is_good = uri_parse(target, request->arena, &request->uri, &request->error);
    request->peer->request = request;
    return request;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode code)
{
    (void)connection;
    (void)code;
    HttpServer *server = context;
    HttpRequest *request = *request_context;
    if (request == NULL)
        return;
    *request_context = NULL;
    ASSERT(!request->suspended);
    if (request->handed)
        server->counts.pending--;
    request->peer->request = NULL;
    peer_await(server, request->peer);
    arena_free(request->arena);
    http_body_release(request);
    free(request->reply_body);
    free(request);
}

static enum MHD_Result keep_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    HttpRequest *request = context;
    if (value == NULL)
        value = "";
    head_add(&request->head, name, value);
    request_add_header(request, name, value);
    return MHD_YES;
}

static void name_request(HttpRequest *request)
{
    HttpServer *server = request->server;
    const char *given = http_header(request, "X-Request-Id", 0);
    if (given != NULL && request_id_is_sane(given))
        snprintf(request->id, sizeof request->id, "%s", given);
    else
        snprintf(request->id, sizeof request->id, "%016" PRIx64 "-%" PRIx64, server->made_prefix,
                 ++server->made_count);
}

static bool is_too_large(const HttpRequest *request)
{
    return request->arrived > request->body_max;
}

static bool refuse_large_body(const HttpRequest *request, Error *error)
{
    return error_set(error, ERROR_BODY_TOO_LARGE, "the limit is %zu bytes", request->body_max);
}

/* Takes the headers; false if the head is not what the client sent. */
static bool read_head(HttpRequest *request, const char *version, Error *error)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    HeadLine line = {
        .start = request->method,
        .size = info->header_size,
        .target = request->target,
        .target_length = request->target_length,
        .target_is_clean = request->target_is_clean,
        .version = version,
    };
    head_start(&request->head, &line);
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, keep_header, request);
    return head_end(&request->head, error);
}

/* All headers are here, no byte of the body is. */
static enum MHD_Result begin_request(HttpRequest *request, const char *method, const char *version)
{
    HttpServer *server = request->server;
    Error error;
    request->begun = true;
    request->since_us = base_now_us();
    request->method = method;
    bool sound = read_head(request, version, &error);
    name_request(request);
    request_read_trace(request);
    request->body_max = server->options.body_max(server->options.context, request);
    sound = sound && request_check_headers(request, &error);
    if (sound && request_announced_length(request) > request->body_max + DISCARD_MAX)
        sound = refuse_large_body(request, &error);
    if (sound)
    {
        peer_await(server, request->peer);
        return MHD_YES;
    }
    request->close = true;
    reject(request, &error);
    return queue_reply(request);
}

/* Among all the bodies that are held. */
static bool keep_body(HttpRequest *request, const char *bytes, size_t length, Error *error)
{
    HttpServer *server = request->server;
    if (server->bodies_held + length > server->options.bodies_max)
        return error_set(error, ERROR_OVERLOADED, "too many bodies arrive at a time");
    size_t size = request->body_size;
    request_keep_body(request, bytes, length);
    server->bodies_held += request->body_size - size;
    return true;
}

void http_body_release(HttpRequest *request)
{
    request->server->bodies_held -= request->body_size;
    free(request->body);
    request->body = NULL;
    request->body_length = 0;
    request->body_size = 0;
}

static enum MHD_Result take_body(HttpRequest *request, const char *bytes, size_t *length)
{
    Error error;
    bool fits = true;
    if (request->replied)
        return MHD_NO; /* the sweep has answered; the connection is going */
    request->arrived += *length;
    if (request->arrived > request->body_max + DISCARD_MAX)
        fits = refuse_large_body(request, &error);
    else if (!is_too_large(request))
        fits = keep_body(request, bytes, *length, &error);
    *length = 0;
    if (fits)
        return MHD_YES;
    reject(request, &error);
    write_early(request);
    return MHD_NO;
}

/* The request is complete. */
static void hand_over(HttpRequest *request)
{
    HttpServer *server = request->server;
    request->handed = true;
    request->since_us = base_now_us();
    server->counts.pending++;
    peer_unlist(server, request->peer);
    if (is_too_large(request))
    {
        refuse_large_body(request, &request->error);
        request->close = true;
        reject(request, &request->error);
    }
    else if (!request->uri_is_good)
        reject(request, &request->error);
    else
        server->options.handle(server->options.context, request);
}

/* NOLINTNEXTLINE(readability-function-size): the signature is libmicrohttpd's */
static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_length, void **request_context)
{
    HttpServer *server = context;
    HttpRequest *request = *request_context;
    (void)url;
    ASSERT(request != NULL && request->connection == connection);
    if (server->stopping)
        return MHD_NO;
    if (!request->begun)
        return begin_request(request, method, version);
    if (*upload_length > 0)
        return take_body(request, upload, upload_length);
    if (!request->handed)
        hand_over(request);
    if (request->replied)
        return queue_reply(request);
    request->suspended = true;
    TAILQ_INSERT_TAIL(&server->held, request, link);
    MHD_suspend_connection(connection);
    return MHD_YES;
}

/* ---- the phase ------------------------------------------------------------------------------ */

static void resume(HttpServer *server, struct RequestList *list)
{
    while (!TAILQ_EMPTY(list))
    {
        HttpRequest *request = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, request, link);
        request->suspended = false;
        MHD_resume_connection(request->connection);
        server->run_due = true;
    }
}

/* Cuts a connection whose phase lasts too long; libmicrohttpd sees its end and closes it. */
static void cut(Peer *peer)
{
    HttpRequest *request = peer->request;
    if (request != NULL && request->begun && !request->replied)
    {
        Error error;
        error_set(&error, ERROR_REQUEST_TIMEOUT, "the body did not arrive in time");
        reject(request, &error);
        write_early(request);
    }
    shutdown(peer->fd, SHUT_RDWR);
}

static void sweep(HttpServer *server)
{
    uint64_t now_ms = loop_now_ms(server->loop);
    server->sweep_due = false;
    while (!TAILQ_EMPTY(&server->peers))
    {
        Peer *peer = TAILQ_FIRST(&server->peers);
        if (now_ms - peer->since_ms < server->options.arrive_timeout_ms)
            break;
        peer_unlist(server, peer);
        cut(peer);
    }
    if (!TAILQ_EMPTY(&server->peers))
        loop_timer_start(server->sweep, SWEEP_MS);
}

static void run_daemon(HttpServer *server)
{
    MHD_UNSIGNED_LONG_LONG pause_ms;
    server->run_due = false;
    ASSERT(MHD_run(server->daemon) == MHD_YES);
    if (MHD_get_timeout(server->daemon, &pause_ms) != MHD_YES)
        loop_timer_stop(server->timer);
    else if (pause_ms > 0)
        loop_timer_start(server->timer, pause_ms);
    else
    {
        server->run_due = true;
        loop_wake(server->loop);
    }
}

static void tell_drained(HttpServer *server)
{
    if (server->drained == NULL || server->counts.pending > 0)
        return;
    void (*drained)(void *) = server->drained;
    server->drained = NULL;
    drained(server->drained_context);
}

static void phase(void *context)
{
    HttpServer *server = context;
    if (server->daemon == NULL)
        return;
    if (server->sweep_due)
        sweep(server);
    resume(server, &server->settled);
    if (server->run_due)
        run_daemon(server);
    tell_drained(server);
}

static void on_ready(void *context, unsigned events)
{
    (void)events;
    ((HttpServer *)context)->run_due = true;
}

static void on_timer(void *context)
{
    ((HttpServer *)context)->run_due = true;
}

static void on_sweep(void *context)
{
    ((HttpServer *)context)->sweep_due = true;
}

/* ---- the server ----------------------------------------------------------------------------- */

static void on_log(void *context, const char *format, va_list arguments) ATTR_PRINTF(2, 0);
static void on_log(void *context, const char *format, va_list arguments)
{
    char line[256];
    (void)context;
    vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\r\n")] = '\0';
    log_debug("http: %s", line);
}

static bool start_daemon(HttpServer *server, int fd, Error *error)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    /* Belt and braces: silence alone may last twice as long as a whole phase. */
    unsigned silence_s = (unsigned)(server->options.arrive_timeout_ms / 1000 * 2 + 1);
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, server->options.connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, silence_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_END);
    if (server->daemon == NULL)
        return error_set(error, ERROR_CONFIG, "libmicrohttpd does not start");
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    ASSERT(info != NULL && info->epoll_fd >= 0);
    server->poll = loop_poll_new(server->loop, info->epoll_fd, on_ready, server);
    loop_poll_set(server->poll, LOOP_READABLE);
    return true;
}

HttpServer *http_server_new(Loop *loop, const HttpOptions *options, Error *error)
{
    int fd;
    uint16_t port;
    if (!listen_open(&options->address, &fd, &port, error))
        return NULL;
    HttpServer *server = base_calloc(1, sizeof *server);
    server->loop = loop;
    server->options = *options;
    server->options.address.host = NULL; /* lent; not needed any more */
    server->port = port;
    TAILQ_INIT(&server->peers);
    TAILQ_INIT(&server->held);
    TAILQ_INIT(&server->settled);
    server->timer = loop_timer_new(loop, on_timer, server);
    server->sweep = loop_timer_new(loop, on_sweep, server);
    ASSERT(getrandom(&server->made_prefix, sizeof server->made_prefix, 0) ==
           (ssize_t)sizeof server->made_prefix);
    if (!start_daemon(server, fd, error))
    {
        close(fd);
        http_server_free(server);
        return NULL;
    }
    loop_add_phase(loop, phase, server);
    server->run_due = true;
    loop_wake(loop);
    return server;
}

void http_server_free(HttpServer *server)
{
    if (server == NULL)
        return;
    if (server->daemon != NULL)
    {
        server->stopping = true;
        resume(server, &server->settled);
        resume(server, &server->held);
        MHD_run(server->daemon);
        loop_poll_free(server->poll);
        MHD_stop_daemon(server->daemon);
    }
    loop_timer_free(server->timer);
    loop_timer_free(server->sweep);
    free(server);
}

uint16_t http_server_port(const HttpServer *server)
{
    return server->port;
}

void http_server_drain(HttpServer *server, void (*drained)(void *context), void *context)
{
    ASSERT(!server->draining);
    server->draining = true;
    server->drained = drained;
    server->drained_context = context;
    MHD_socket fd = MHD_quiesce_daemon(server->daemon);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
    loop_wake(server->loop);
}

HttpCounts http_server_counts(const HttpServer *server)
{
    return server->counts;
}
