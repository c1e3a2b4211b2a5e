/*
 * An HTTP client for tests (curl/curl.h is included by client.c alone): one request, many in
 * parallel, or closed loops; and raw bytes for HTTP that no client library would send.
 *
 * A request that gets no answer at all is not a failure of the test but a response with status 0.
 */
#ifndef GIRO_TESTS_CLIENT_H
#define GIRO_TESTS_CLIENT_H

#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

enum
{
    CLIENT_PARALLEL_MAX = 1024,
    CLIENT_HEADERS_MAX = 16,
    CLIENT_TIMEOUT_MS = 30000, /* of a request that names none */
};

typedef struct Client Client;

typedef struct Request
{
    const char *method;         /* NULL: POST with a body, GET without */
    const char *path;           /* from "/v1" on */
    const char *body;           /* NULL for none; sent as application/json */
    size_t body_length;         /* 0: up to the NUL */
    const char *key;            /* Idempotency-Key; NULL for none */
    const char *const *headers; /* more lines, "Name: value"; ends with NULL; may be NULL */
    int timeout_ms;
} Request;

typedef struct Response
{
    int status;    /* 0: no answer, see `trouble` */
    char *body;    /* NUL-terminated */
    size_t length; /* of the body */
    char *headers; /* all lines of the last answer */
    Json *json;    /* the body, if it is JSON; else NULL */
    double seconds;
    char trouble[256];
} Response;

/* base_url: "http://127.0.0.1:8080". Connections are kept for the next call. */
Client *client_new(const char *base_url);
void client_free(Client *client); /* accepts NULL */

void client_call(Client *client, const Request *request, Response *ret_response);
/* All at the same time, each on a connection of its own. */
void client_call_all(Client *client, const Request *requests, size_t count,
                     Response *ret_responses);
void response_done(Response *response);
void responses_done(Response *responses, size_t count);

/* ---- closed loops ---------------------------------------------------------------------------- */

/* Makes request number `index` of all; its texts must live until done is called with that index. */
typedef void (*ClientMake)(void *context, size_t index, Request *ret_request);
typedef void (*ClientDone)(void *context, size_t index, const Response *response);
/* May the next request go? */
typedef enum ClientPace
{
    CLIENT_GOES,
    CLIENT_WAITS, /* ask again in a few milliseconds */
    CLIENT_ENDS,  /* there are no more requests */
} ClientPace;
/* `clients` clients send `total` requests between them, each its next one as soon as its last one
 * is answered and `pace`, if there is one, says so. */
typedef struct ClientLoop
{
    size_t clients;
    size_t total;
    ClientMake make;
    ClientDone done;
    void *context;
    ClientPace (*pace)(void *context); /* may be NULL */
} ClientLoop;
void client_run_loop(Client *client, const ClientLoop *loop);

/* ---- looking at answers ---------------------------------------------------------------------- */

/* A value inside the body by dotted path: "refusal.code", "items.0.seq". NULL if there is none. */
const Json *response_value(const Response *response, const char *path);
/* "" and INT64_MIN if it is not there or of another kind. Lent. */
const char *response_string(const Response *response, const char *path);
int64_t response_integer(const Response *response, const char *path);
/* The value of a header, blanks around it taken off; false if there is none. */
bool response_header(const Response *response, const char *name, char *ret_value, size_t size);
/* Prints the response and ends the test if the status (and, if not NULL, the problem's code)
 * differ. */
void response_expect(const Response *response, int status, const char *code);

/* ---- raw bytes ------------------------------------------------------------------------------- */

/* A plain TCP connection to the service; ends the test if it cannot be made. */
int client_connect(const Client *client);
/* False if the other side does not take them. */
bool client_send(int fd, const char *bytes, size_t length);
/* Reads until the end of the stream, `size - 1` bytes, or timeout_ms without a byte. Returns the
 * number of bytes; *ret_ended says whether the stream has ended (may be NULL). */
size_t client_receive(int fd, char *ret_bytes, size_t size, int timeout_ms, bool *ret_ended);

#endif
