/* See letter.h. */
#include "letter.h"

#include "check.h"

#include "base/base.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    ANSWER_MAX = 64 * 1024,
};

struct Letter
{
    int fd;
};

Letter *letter_send(const Client *client, const Request *request)
{
    char *text = NULL;
    Letter *letter = base_calloc(1, sizeof(*letter));
    int length = asprintf(&text,
                          "POST %s HTTP/1.1\r\nHost: giro\r\nConnection: close\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                          "Idempotency-Key: %s\r\n\r\n%s",
                          request->path, strlen(request->body), request->key, request->body);
    ASSERT(length > 0);
    letter->fd = client_connect(client);
    client_send(letter->fd, text, (size_t)length);
    free(text);
    return letter;
}

bool letter_is_answered(const Letter *letter)
{
    struct pollfd polled = {.fd = letter->fd, .events = POLLIN};
    return poll(&polled, 1, 0) > 0;
}

/* The whole answer up to the end of the stream; the server closes after it. */
static void read_answer(const char *text, Response *ret_response)
{
    const char *body = strstr(text, "\r\n\r\n");
    if (body == NULL || sscanf(text, "HTTP/1.1 %d", &ret_response->status) != 1)
    {
        return;
    }
    free(ret_response->body);
    free(ret_response->headers);
    ret_response->headers = base_strdup(text);
    ret_response->headers[body + 2 - text] = '\0';
    ret_response->body = base_strdup(body + 4);
    ret_response->length = strlen(ret_response->body);
    ret_response->json = json_parse(ret_response->body, ret_response->length, NULL);
}

void letter_receive(Letter *letter, int timeout_ms, Response *ret_response)
{
    bool ended = false;
    *ret_response = (Response){.body = base_strdup(""), .headers = base_strdup("")};
    if (letter == NULL)
    {
        return;
    }
    char *text = base_malloc(ANSWER_MAX);
    client_receive(letter->fd, text, ANSWER_MAX, timeout_ms, &ended);
    if (ended)
    {
        read_answer(text, ret_response);
    }
    close(letter->fd);
    free(text);
    free(letter);
}
