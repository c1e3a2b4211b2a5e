/*
 * A stream of transfers: some clients send many of them, each its next one as soon as its last one
 * is answered, and the answers are remembered.
 *
 * An answer is 201, 422, one that permits a repeat (202, 429, 503), or none at all; anything else
 * ends the test.
 */
#ifndef GIRO_TESTS_STREAM_H
#define GIRO_TESTS_STREAM_H

#include "bank.h"

typedef struct StreamAnswer
{
    int status;                 /* 0: none */
    char id[UUID_TEXT_MAX + 1]; /* if it was 201 */
} StreamAnswer;

typedef struct Stream
{
    const char *name; /* its keys start with it */
    size_t clients;
    size_t total;
    /* The accounts and the amount of the nth transfer, the same whenever it is asked. */
    Payment (*pick)(size_t index);
    void (*at)(size_t answered); /* called after each answer; may be NULL */

    /* what came of it */
    size_t answered;
    size_t posted;
    size_t refused;
    size_t later; /* 202, 429 and 503 */
    size_t lost;  /* no answer */
    StreamAnswer *answers;
} Stream;

/* Sends all and prints the counts. */
void stream_run(Client *client, Stream *stream);
/* Repeats every request until it has a final answer of success; what was answered 201 is 200 and
 * the same transfer now. Ends the test if that takes too long. */
void stream_repeat(Client *client, const Stream *stream);
/* Frees the answers. */
void stream_done(Stream *stream);

#endif
