/*
 * The server, as giroctl sees it: a request goes out, an answer comes back (curl/curl.h is included
 * by service.c alone).
 *
 * A request is tried again until its deadline, with the pause that the server asks for, where
 * repeating is harmless: a read, an order with an idempotency key, an action that says of itself
 * that it is safe to repeat. What is never repeated is marked `once`.
 *
 * In doubt is what may have taken effect, or may yet: no answer to what was sent, `effect:
 * unknown`. It stays in doubt through later answers that prove nothing (429, 503, 401), and ends
 * with one that speaks of the order itself. Nobody but the caller can say what to do about it; it
 * gets told.
 */
#ifndef GIROCTL_SERVICE_H
#define GIROCTL_SERVICE_H

#include "base/error.h"
#include "interrupt.h"
#include "json/json.h"

enum
{
    SERVICE_TIMEOUT_MS = 10000, /* unless the request, or --timeout, says otherwise */
    SERVICE_TOKEN_MAX = 1024,
    SERVICE_ANSWER_BYTES_MAX = 64 * 1024 * 1024,
};

typedef struct Service Service;

typedef struct ServiceOptions
{
    const char *url;
    const char *token;   /* NULL: none */
    const char *ca_file; /* NULL: the system's */
    bool tells_pauses;   /* says on stderr that it tries again */
    const Interrupt *interrupt;
} ServiceOptions;

/* Copies what it needs. NULL with a sentence. */
Service *service_new(const ServiceOptions *options, Error *error) ATTR_MUST_USE;
void service_free(Service *service); /* accepts NULL */
const char *service_url(const Service *service);

typedef struct ServiceRequest
{
    const char *method; /* NULL: GET */
    const char *path;   /* from "/v1" on, encoded: see address.h */
    const char *body;   /* JSON; NULL: none */
    const char *key;    /* Idempotency-Key; NULL: none */
    const char *prefer; /* NULL: nothing */
    int64_t timeout_ms; /* 0: SERVICE_TIMEOUT_MS; for all attempts together */
    bool once;          /* not to be repeated */
    bool only_asks;     /* it changes nothing, whatever its method */
} ServiceRequest;

typedef struct Answer
{
    int status;        /* 0: there was none, see `trouble` */
    Json *document;    /* NULL: none, or no JSON */
    char trouble[256]; /* why there is no answer, or none of Giro's */
    bool replayed;     /* Idempotent-Replayed */
    bool in_doubt;     /* it may have taken effect, or may yet */
    bool interrupted;  /* by Ctrl-C */
    bool was_never_sent;
} Answer;

/* Fills *ret_answer; answer_done() it. */
void service_call(Service *service, const ServiceRequest *request, Answer *ret_answer);
void answer_done(Answer *answer);

#endif
