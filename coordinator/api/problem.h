/*
 * Errors as RFC 9457 documents. Status, title, effect and retry advice come from the table in
 * base/error.h; a handler adds what only it knows.
 */
#ifndef GIRO_PROBLEM_H
#define GIRO_PROBLEM_H

#include "http/http.h"
#include "json/json_writer.h"

enum
{
    POINTER_MAX = 80,
    FAULT_DETAIL_MAX = 160,
    PROBLEM_RETRY_AFTER_MAX = 16,
};

/* What is wrong with a request, and where. Owned by the caller. */
typedef struct Fault
{
    ErrorCode code;
    char pointer[POINTER_MAX + 1]; /* JSON pointer into the body; "" = not about a field */
    char detail[FAULT_DETAIL_MAX + 1];
} Fault;

/* Fills *fault and returns false. `field` may be NULL. */
bool fault_set(Fault *fault, ErrorCode code, const char *field, const char *format, ...)
    ATTR_PRINTF(4, 5);

typedef struct Problem
{
    ErrorCode code;
    const char *detail;      /* NULL or "": the title says it all */
    const char *transfer_id; /* NULL if none */
    const char *state;       /* NULL if none */
    const char *pointer;     /* NULL or "": no single field is at fault */
    unsigned differing;      /* DIFFERS_… bits, for idempotency-key-reused */
} Problem;

/* As an object; `name` as in json_writer.h. */
void problem_write(JsonWriter *writer, const char *name, const Problem *problem,
                   const char *request_id);

/* A code that a person should hear of besides the client, and that no other line of the log tells
 * of. */
bool problem_is_for_operators(ErrorCode code);

/* Puts what a line of the log is found by: the request's id, and that of its trace if it has one.
 */
void problem_put_ids(JsonWriter *writer, const HttpRequest *request);

/* Gives a reply the Retry-After of a code, if it has one. The text must outlive the reply. */
void problem_retry_header(HttpReply *reply, ErrorCode code, char ret_text[PROBLEM_RETRY_AFTER_MAX]);

/* Answers the request with the problem. `reply` may hold headers already; status, body and
 * Retry-After are set here. */
void problem_reply(HttpRequest *request, const Problem *problem, HttpReply *reply);
/* The same without further headers. */
void problem_send(HttpRequest *request, ErrorCode code, const char *detail);
void problem_send_fault(HttpRequest *request, const Fault *fault);

#endif
