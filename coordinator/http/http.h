/*
 * The HTTP server (microhttpd.h is included by http.c alone): requests in, one answer each out.
 *
 * A request is handed over once, complete with its body, and may be answered at once or much later;
 * until http_reply it stays alive whatever the client does, since its connection is suspended. A
 * client that leaves while it waits is noticed when its answer is written, and harms nobody.
 *
 * What is bounded: connections, headers, segments and parameters of the target, the body and all
 * bodies together, the time in which a request must arrive and an answer must be taken. A body
 * beyond its limit is read on to a second limit, so that honest clients get to see their 413. Slow
 * clients are answered 408, and those whose body finds no room any more 503.
 *
 * Refused before any handler sees it, with the connection closed: repeated Idempotency-Key,
 * Authorization, Content-Length or Host headers, Content-Length with Transfer-Encoding, folded
 * headers, and control characters in the request line or a header. Every answer carries
 * X-Request-Id. A traceparent (W3C Trace Context) that is well formed gives the request its trace
 * id; any other one is as good as none.
 *
 * Everything happens on the loop's thread, handlers run in the server's phase.
 */
#ifndef GIRO_HTTP_H
#define GIRO_HTTP_H

#include "base/error.h"
#include "http/listen.h"
#include "http/uri.h"
#include "loop/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct HttpServer HttpServer;
typedef struct HttpRequest HttpRequest;

enum
{
    HTTP_REQUEST_ID_MAX = 128,
    HTTP_TRACE_ID_LENGTH = 32,
    HTTP_REPLY_HEADERS_MAX = 8,
    HTTP_ARENA_BYTES = 1024 * 1024, /* of one request */
};

typedef struct HttpOptions
{
    ListenAddress address;
    unsigned connections_max;
    size_t bodies_max;          /* bytes of all bodies that are held at a time */
    uint64_t arrive_timeout_ms; /* for head, then body, then taking the answer, each */
    /* The largest body that this request may have. Asked once, as soon as the head is complete. The
     * target may be one that is refused later; it has no segments then. */
    size_t (*body_max)(void *context, const HttpRequest *request);
    /* A complete request. Answers now or later. */
    void (*handle)(void *context, HttpRequest *request);
    /* Renders the answer to a request that the server itself refuses; must call http_reply before
     * it returns. */
    void (*reject)(void *context, HttpRequest *request, const Error *error);
    /* Called with every answer, from http_reply. NULL: nobody wants to know. */
    void (*replied)(void *context, const HttpRequest *request, int status);
    void *context;
} HttpOptions;

/* Starts to listen. NULL with ERROR_CONFIG if it cannot. */
HttpServer *http_server_new(Loop *loop, const HttpOptions *options, Error *error) ATTR_MUST_USE;
/* Closes every connection; whoever holds a request that is not answered must not touch it again.
 * The loop must run no more turns. Accepts NULL. */
void http_server_free(HttpServer *server);

uint16_t http_server_port(const HttpServer *server);

/* Stops listening and calls drained, in a later turn, once every request that was handed over has
 * been answered. Requests that still arrive on open connections are handled too; their connections
 * close after the answer. */
void http_server_drain(HttpServer *server, void (*drained)(void *context), void *context);

typedef struct HttpCounts
{
    size_t connections;
    size_t pending; /* requests handed over whose answer is not written yet */
} HttpCounts;
HttpCounts http_server_counts(const HttpServer *server);

/* ---- requests; everything lent is good until http_reply ------------------------------------- */

const char *http_method(const HttpRequest *request); /* "GET", … as sent */
/* As sent, without the query: for logs. "-" if it holds control characters. */
const char *http_path(const HttpRequest *request);
const Uri *http_uri(const HttpRequest *request);
/* The nth header of that name (any case), NULL if there are fewer. */
const char *http_header(const HttpRequest *request, const char *name, size_t nth);
const char *http_body(const HttpRequest *request, size_t *ret_length);
/* Gives the body's memory back before the answer; what was lent of it is gone. */
void http_body_release(HttpRequest *request);
const char *http_request_id(const HttpRequest *request);
const char *http_trace_id(const HttpRequest *request); /* "": it is part of no trace */
Arena *http_arena(HttpRequest *request);               /* lives until the answer is written */
/* Since it was complete, or, if it never was, since its head was. */
uint64_t http_age_us(const HttpRequest *request);
/* A note of the handler's, for `replied`. NULL until it is set. */
void http_set_tag(HttpRequest *request, const void *tag);
const void *http_tag(const HttpRequest *request);

typedef struct HttpHeader
{
    const char *name;
    const char *value;
} HttpHeader;

typedef struct HttpReply
{
    int status;
    const char *content_type; /* NULL if there is no body */
    const char *body;
    char *given_body; /* instead of `body`: malloc'ed, and the server's from now on */
    size_t body_length;
    HttpHeader headers[HTTP_REPLY_HEADERS_MAX];
    size_t header_count;
} HttpReply;

/* Appends a header; the strings must live until http_reply has returned. */
void http_reply_header(HttpReply *reply, const char *name, const char *value);

/* Answers, exactly once per request; from a handler or any later turn. Everything but a given body
 * is copied. The request must not be touched afterwards. */
void http_reply(HttpRequest *request, const HttpReply *reply);

#endif
