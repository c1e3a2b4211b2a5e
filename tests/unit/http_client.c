/* See http_client.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    STEP_MS = 2,
};

void client_pump(Loop *loop, uint64_t ms)
{
    static const bool never = false;
    loop_run_until(loop, &never, ms);
}

int client_open(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

void client_send_bytes(int fd, const char *bytes, size_t length)
{
    assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

void client_send(int fd, const char *text)
{
    client_send_bytes(fd, text, strlen(text));
}

/* Does the text hold a whole answer, by its Content-Length? */
static bool is_whole(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    const char *length = strstr(answer, "Content-Length: ");
    if (end == NULL)
        return false;
    return length == NULL || strlen(end + 4) >= strtoul(length + 16, NULL, 10);
}

static bool is_seen(const Received *received)
{
    int seen = 0;
    if (received->marker == NULL)
        return false;
    for (const char *at = received->text; (at = strstr(at, received->marker)) != NULL; at++)
        seen++;
    return seen >= received->count && is_whole(received->text);
}

bool client_receive(Loop *loop, int fd, const Received *received)
{
    char *text = received->text;
    size_t used = 0;
    text[0] = '\0';
    for (int waited_ms = 0; waited_ms < CLIENT_PATIENCE_MS; waited_ms += STEP_MS)
    {
        ssize_t got = recv(fd, text + used, received->size - 1 - used, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return true;
        used += got > 0 ? (size_t)got : 0;
        text[used] = '\0';
        if (is_seen(received))
            return false;
        client_pump(loop, STEP_MS);
    }
    fail_msg("no answer in time; so far: %s", text);
    return false;
}
