/* See stream.h. */
#include "stream.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    KEY_MAX = 40,
    ROUNDS_MAX = 100,
    ROUND_PAUSE_US = 100000,
    TROUBLES_PRINTED = 4,
};

/* Requests of a stream on their way: all of it, or those that still want an answer. */
typedef struct Sending
{
    Stream *stream;
    size_t *indices;
    size_t count;
    char **bodies;
    char (*keys)[KEY_MAX];
} Sending;

static Sending sending_new(Stream *stream)
{
    Sending sending = {
        .stream = stream,
        .indices = calloc(stream->total, sizeof(size_t)),
        .count = stream->total,
        .bodies = calloc(stream->total, sizeof(char *)),
        .keys = calloc(stream->total, sizeof(char[KEY_MAX])),
    };
    for (size_t i = 0; i < stream->total; i++)
        sending.indices[i] = i;
    return sending;
}

static void sending_done(Sending *sending)
{
    free(sending->indices);
    free(sending->bodies);
    free(sending->keys);
}

static void make(void *context, size_t place, Request *ret_request)
{
    Sending *sending = context;
    size_t index = sending->indices[place];
    Payment payment = sending->stream->pick(index);
    snprintf(sending->keys[place], KEY_MAX, "%s-%zu", sending->stream->name, index);
    sending->bodies[place] = bank_body(&payment);
    *ret_request = (Request){
        .path = "/v1/transfers", .body = sending->bodies[place], .key = sending->keys[place]};
}

static void run(Client *client, Sending *sending, ClientDone done)
{
    ClientLoop loop = {.clients = sending->stream->clients,
                       .total = sending->count,
                       .make = make,
                       .done = done,
                       .context = sending};
    client_run_loop(client, &loop);
}

static bool permits_a_repeat(const Response *response)
{
    return response->status == 202 || response->status == 429 || response->status == 503;
}

/* ---- the first time -------------------------------------------------------------------------- */

static void note(void *context, size_t place, const Response *response)
{
    Sending *sending = context;
    Stream *stream = sending->stream;
    StreamAnswer *answer = &stream->answers[place];
    free(sending->bodies[place]);
    answer->status = response->status;
    if (response->status == 201)
        snprintf(answer->id, sizeof answer->id, "%s", response_string(response, "id"));
    stream->posted += response->status == 201;
    stream->refused += response->status == 422;
    stream->later += permits_a_repeat(response);
    stream->lost += response->status == 0;
    stream->answered++;
    check(stream->posted + stream->refused + stream->later + stream->lost == stream->answered,
          "%s: %d %s", sending->keys[place], response->status, response->body);
    if (stream->later > 0 && stream->later < TROUBLES_PRINTED && response->status > 422)
        print_message("%s: %d %s\n", sending->keys[place], response->status, response->body);
    if (stream->at != NULL)
        stream->at(stream->answered);
}

void stream_run(Client *client, Stream *stream)
{
    stream->answers = calloc(stream->total, sizeof *stream->answers);
    Sending sending = sending_new(stream);
    run(client, &sending, note);
    sending_done(&sending);
    print_message("%s: %zu posted, %zu refused, %zu to be repeated, %zu without an answer\n",
                  stream->name, stream->posted, stream->refused, stream->later, stream->lost);
}

void stream_done(Stream *stream)
{
    free(stream->answers);
    stream->answers = NULL;
}

/* ---- once more ------------------------------------------------------------------------------- */

/* Leaves in `indices` a mark in place of those that are final. */
static void note_repeat(void *context, size_t place, const Response *response)
{
    Sending *sending = context;
    const StreamAnswer *answer = &sending->stream->answers[sending->indices[place]];
    free(sending->bodies[place]);
    if (response->status != 200 && response->status != 201)
    {
        check(permits_a_repeat(response), "%s: %d %s", sending->keys[place], response->status,
              response->body);
        return;
    }
    sending->indices[place] = SIZE_MAX;
    if (answer->status != 201)
        return;
    assert_int_equal(response->status, 200);
    assert_string_equal(response_string(response, "id"), answer->id);
}

static void drop_final_ones(Sending *sending)
{
    size_t left = 0;
    for (size_t place = 0; place < sending->count; place++)
    {
        if (sending->indices[place] != SIZE_MAX)
            sending->indices[left++] = sending->indices[place];
    }
    sending->count = left;
}

void stream_repeat(Client *client, const Stream *stream)
{
    Stream same = *stream;
    Sending sending = sending_new(&same);
    for (int round = 0; round < ROUNDS_MAX && sending.count > 0; round++)
    {
        usleep(round == 0 ? 0 : ROUND_PAUSE_US);
        run(client, &sending, note_repeat);
        drop_final_ones(&sending);
    }
    assert_int_equal(sending.count, 0);
    sending_done(&sending);
}
