/* See request.h. */
#include "request.h"

#include "base/base.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    HEAD_ROOM = 256,
    TRANSFER_ROOM = 256,
    BYTES_MAX = 64 << 20,
};

/* ---- requests -------------------------------------------------------------------------------- */

static void reserve(RequestText *request, size_t size)
{
    if (request->size >= size)
        return;
    request->size = size;
    request->bytes = base_realloc(request->bytes, size);
}

static size_t print_transfer(char *to, const FlowTransfer *transfer, const char *mode)
{
    int length = snprintf(to, TRANSFER_ROOM,
                          "\"debit_account\":\"%s\",\"credit_account\":\"%s\",\"amount\":1,"
                          "\"currency\":\"EUR\",\"mode\":\"%s\"}",
                          transfer->debit, transfer->credit, mode);
    ASSERT(length > 0 && length < TRANSFER_ROOM);
    return (size_t)length;
}

static void compose_one(RequestText *request, Flow *flow)
{
    FlowTransfer transfer;
    char body[TRANSFER_ROOM + 1] = "{";
    flow_next(flow, &transfer);
    size_t body_length = 1 + print_transfer(body + 1, &transfer, flow_mode(flow));
    reserve(request, HEAD_ROOM + sizeof body);
    int length = snprintf(request->bytes, request->size,
                          "POST /v1/transfers HTTP/1.1\r\nHost: bench\r\n"
                          "Content-Type: application/json\r\nIdempotency-Key: %s\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          transfer.key, body_length, body);
    ASSERT(length > 0 && (size_t)length < request->size);
    request->length = (size_t)length;
}

/* The body goes behind room for the head, which has to name its length; then they are joined. */
static void compose_many(RequestText *request, Flow *flow, size_t transfers)
{
    static const char opening[] = "{\"transfers\":[";
    reserve(request, HEAD_ROOM + sizeof opening + transfers * TRANSFER_ROOM);
    char *body = request->bytes + HEAD_ROOM;
    char *end = body + sizeof opening - 1;
    memcpy(body, opening, sizeof opening - 1);
    for (size_t i = 0; i < transfers; i++)
    {
        FlowTransfer transfer;
        flow_next(flow, &transfer);
        end += snprintf(end, TRANSFER_ROOM, "%s{\"idempotency_key\":\"%s\",", i == 0 ? "" : ",",
                        transfer.key);
        end += print_transfer(end, &transfer, flow_mode(flow));
    }
    memcpy(end, "]}", 2);
    size_t body_length = (size_t)(end + 2 - body);
    int head = snprintf(request->bytes, HEAD_ROOM,
                        "POST /v1/transfers/batch HTTP/1.1\r\nHost: bench\r\n"
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                        body_length);
    ASSERT(head > 0 && head < HEAD_ROOM);
    memmove(request->bytes + head, body, body_length);
    request->length = (size_t)head + body_length;
}

void request_compose(RequestText *request, Flow *flow, size_t transfers)
{
    if (transfers == 1)
        compose_one(request, flow);
    else
        compose_many(request, flow, transfers);
}

/* ---- answers --------------------------------------------------------------------------------- */

void answer_reset(Answer *answer)
{
    answer->status = 0;
    answer->length = 0;
    answer->wanted = 0;
}

void answer_done(Answer *answer)
{
    free(answer->bytes);
    answer->bytes = NULL;
}

static void append(Answer *answer, const char *bytes, size_t length)
{
    if (answer->length + length + 1 > answer->size)
    {
        answer->size = 2 * (answer->length + length + 1);
        ASSERT(answer->size <= BYTES_MAX);
        answer->bytes = base_realloc(answer->bytes, answer->size);
    }
    memcpy(answer->bytes + answer->length, bytes, length);
    answer->length += length;
    answer->bytes[answer->length] = '\0';
}

static void read_head(Answer *answer)
{
    static const char name[] = "\r\nContent-Length:";
    const char *end = strstr(answer->bytes, "\r\n\r\n");
    if (end == NULL)
        return;
    const char *length = strcasestr(answer->bytes, name);
    check(strncmp(answer->bytes, "HTTP/1.1 ", 9) == 0 && length != NULL && length < end,
          "an answer without a length: %.200s", answer->bytes);
    answer->status = (int)strtol(answer->bytes + 9, NULL, 10);
    answer->wanted =
        (size_t)(end + 4 - answer->bytes) + (size_t)strtoul(length + sizeof name - 1, NULL, 10);
}

bool answer_take(Answer *answer, const char *bytes, size_t length)
{
    append(answer, bytes, length);
    if (answer->wanted == 0)
        read_head(answer);
    return answer->wanted > 0 && answer->length >= answer->wanted;
}

static size_t count_text(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

size_t answer_posted(const Answer *answer, size_t transfers)
{
    if (transfers == 1)
        return answer->status == 201 ? 1 : 0;
    return answer->status == 200 ? count_text(answer->bytes, "\"status\":201") : 0;
}
