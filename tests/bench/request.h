/*
 * The bytes of requests and answers, as far as the bench needs them: requests are composed by
 * printing, and of an answer only its status, its length, and how many transfers were posted.
 */
#ifndef GIRO_BENCH_REQUEST_H
#define GIRO_BENCH_REQUEST_H

#include "flow.h"

typedef struct RequestText
{
    char *bytes; /* free() it at last */
    size_t size;
    size_t length;
} RequestText;

/* The flow's next transfers: one by POST /v1/transfers, several by POST /v1/transfers/batch. The
 * buffer is kept from call to call. */
void request_compose(RequestText *request, Flow *flow, size_t transfers);

/* Zeroed at first. */
typedef struct Answer
{
    int status; /* 0 until the head is there */
    char *bytes;
    size_t size;
    size_t length;
    size_t wanted; /* head and body; 0 until the head is there */
} Answer;

void answer_reset(Answer *answer);
void answer_done(Answer *answer);
/* Appends what was received; true when the answer is complete. */
bool answer_take(Answer *answer, const char *bytes, size_t length);
/* How many of the request's transfers it says are posted: by 201, alone or as a batch's item. */
size_t answer_posted(const Answer *answer, size_t transfers);

#endif
