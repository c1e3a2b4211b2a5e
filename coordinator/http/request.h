/*
 * Inside the HTTP server: what a request holds, apart from libmicrohttpd. Only http.c and request.c
 * include this.
 */
#ifndef GIRO_REQUEST_H
#define GIRO_REQUEST_H

#include "http/head.h"
#include "http/http.h"

#include <sys/queue.h>

enum
{
    REQUEST_HEADERS_MAX = 64,
};

struct MHD_Connection;

/* One client connection, and how long its present phase lasts. */
typedef struct Peer
{
    TAILQ_ENTRY(Peer) link;
    int fd;
    bool listed; /* the client is being waited for */
    uint64_t since_ms;
    HttpRequest *request; /* the one that arrives or is answered; NULL between two */
} Peer;

struct HttpRequest
{
    TAILQ_ENTRY(HttpRequest) link;
    HttpServer *server;
    struct MHD_Connection *connection;
    Peer *peer;
    Arena *arena;
    const char *target; /* as sent, up to its first NUL; libmicrohttpd changes it later */
    size_t target_length;
    bool target_is_clean;
    const char *path; /* as sent, without the query; "-" if it is not clean */
    Head head;
    Uri uri;
    bool uri_is_good;
    Error error; /* why the target is refused */
    const char *method;
    char id[HTTP_REQUEST_ID_MAX + 1];
    char trace_id[HTTP_TRACE_ID_LENGTH + 1];
    HttpHeader headers[REQUEST_HEADERS_MAX];
    size_t header_count;
    size_t headers_dropped; /* beyond the maximum */
    char *body;
    size_t body_length;
    size_t body_size;
    size_t body_max;
    size_t arrived;    /* bytes of the body, kept or dropped */
    uint64_t since_us; /* complete, or until then its head */
    const void *tag;   /* the handler's */
    bool begun;        /* the head has been looked at */
    bool handed;       /* over to the handler */
    bool suspended;
    bool replied;
    bool close;       /* the connection, after the answer */
    HttpReply reply;  /* copies in the arena, without the body */
    char *reply_body; /* malloc'ed; NULL if it is empty, or libmicrohttpd owns it */
};

void request_add_header(HttpRequest *request, const char *name, const char *value);
/* The refusals that end the connection; all headers must have been added. */
bool request_check_headers(HttpRequest *request, Error *error) ATTR_MUST_USE;
/* Content-Length, 0 if there is none; an absurd one saturates. */
size_t request_announced_length(const HttpRequest *request);
bool request_id_is_sane(const char *id);
/* Takes the trace id out of the traceparent, if there is one that is well formed. */
void request_read_trace(HttpRequest *request);
void request_keep_body(HttpRequest *request, const char *bytes, size_t length);
void request_keep_reply(HttpRequest *request, const HttpReply *reply);
/* The kept answer's head as HTTP/1.1, for a connection that will be closed. Returns its length. */
size_t request_print_head(const HttpRequest *request, char *ret_text, size_t size);

#endif
