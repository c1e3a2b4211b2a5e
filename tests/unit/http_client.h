/*
 * A raw HTTP client in the server's own thread: whenever it waits, the loop runs.
 */
#ifndef GIRO_HTTP_CLIENT_H
#define GIRO_HTTP_CLIENT_H

#include "loop/loop.h"

enum
{
    CLIENT_PATIENCE_MS = 5000,
};

/* A connection to a loopback port, -1 if it is refused. */
int client_open(uint16_t port);
void client_send(int fd, const char *text);
void client_send_bytes(int fd, const char *bytes, size_t length);
void client_pump(Loop *loop, uint64_t ms);

/* Where to read to, and until when. */
typedef struct Received
{
    char *text;
    size_t size;
    const char *marker; /* NULL: until the server closes */
    int count;          /* of the marker */
} Received;

/* Reads until the marker was seen that often and the first answer is whole, or the server closes:
 * true if it closed. Fails the test when neither happens in time. */
bool client_receive(Loop *loop, int fd, const Received *received);

#endif
