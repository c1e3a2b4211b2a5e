/*
 * Postgres' protocol for the proxy, see wire.h.
 */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    REQUEST_SSL = 80877103,
    REQUEST_GSS = 80877104,
};

static uint32_t read_uint32(const char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return ntohl(value);
}

static void buffer_append(WireBuffer *buffer, const char *bytes, size_t length)
{
    if (buffer->length + length > buffer->size)
    {
        buffer->size = 2 * (buffer->length + length) + 4096;
        buffer->bytes = realloc(buffer->bytes, buffer->size);
        if (buffer->bytes == NULL)
        {
            abort();
        }
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

static void buffer_consume(WireBuffer *buffer, size_t length)
{
    buffer->length -= length;
    memmove(buffer->bytes, buffer->bytes + length, buffer->length);
}

/* ---- messages ------------------------------------------------------------------------------- */

bool wire_next(WireStream *stream, WireMessage *ret_message)
{
    const WireBuffer *in = &stream->in;
    size_t head = stream->typed ? 1 : 0;
    if (in->length < head + 4)
    {
        return false;
    }
    size_t length = head + read_uint32(in->bytes + head);
    if (in->length < length || length < head + 4)
    {
        return false;
    }
    uint32_t code = !stream->typed && length >= 8 ? read_uint32(in->bytes + 4) : 0;
    *ret_message = (WireMessage){
        .type = stream->typed ? in->bytes[0] : '\0',
        .bytes = in->bytes,
        .length = length,
        .is_request_for_encryption = code == REQUEST_SSL || code == REQUEST_GSS,
    };
    return true;
}

void wire_forward(WireStream *stream, const WireMessage *message)
{
    size_t length = message->length;
    stream->typed = true;
    buffer_append(&stream->out, message->bytes, length);
    buffer_consume(&stream->in, length);
}

void wire_drop(WireStream *stream, const WireMessage *message)
{
    buffer_consume(&stream->in, message->length);
}

void wire_put(WireStream *stream, const char *bytes, size_t length)
{
    buffer_append(&stream->out, bytes, length);
}

void wire_stream_done(WireStream *stream)
{
    free(stream->in.bytes);
    free(stream->out.bytes);
}

/* ---- statements ----------------------------------------------------------------------------- */

/* String number `index` of a message's body; "" if there is none. */
static const char *string_at(const WireMessage *message, int index)
{
    const char *at = message->bytes + 5;
    const char *end = message->bytes + message->length;
    for (; index > 0 && at < end; index--)
    {
        const char *zero = memchr(at, '\0', (size_t)(end - at));
        if (zero == NULL)
        {
            return "";
        }
        at = zero + 1;
    }
    return at < end && memchr(at, '\0', (size_t)(end - at)) != NULL ? at : "";
}

static const char *text_of(const WireStatements *statements, const char *name)
{
    for (size_t i = 0; i < statements->count; i++)
    {
        if (strcmp(statements->rows[i].name, name) == 0)
        {
            return statements->rows[i].text;
        }
    }
    return "";
}

bool wire_executes(const WireStatements *statements, const WireMessage *message, const char *text)
{
    if (message->type == 'Q')
    {
        return strstr(string_at(message, 0), text) != NULL;
    }
    if (message->type != 'B')
    {
        return false;
    }
    const char *name = string_at(message, 1);
    return strstr(name, text) != NULL || strstr(text_of(statements, name), text) != NULL;
}

void wire_note(WireStatements *statements, const WireMessage *message)
{
    if (message->type != 'P')
    {
        return;
    }
    const char *name = string_at(message, 0);
    size_t place = 0;
    while (place < statements->count && strcmp(statements->rows[place].name, name) != 0)
    {
        place++;
    }
    if (place == WIRE_STATEMENTS_MAX)
    {
        abort(); /* raise the limit */
    }
    WireStatement *row = &statements->rows[place];
    if (place == statements->count)
    {
        statements->count++;
        row->name = strdup(name);
    }
    free(row->text);
    row->text = strdup(string_at(message, 1));
}

void wire_statements_done(WireStatements *statements)
{
    for (size_t i = 0; i < statements->count; i++)
    {
        free(statements->rows[i].name);
        free(statements->rows[i].text);
    }
}

bool wire_is_synchronisation(const WireMessage *message)
{
    return message->type == 'Q' || message->type == 'S' || message->type == 'F';
}

bool wire_has_tag(const WireMessage *message, const char *tag)
{
    return message->type == 'C' && strncmp(string_at(message, 0), tag, strlen(tag)) == 0;
}

/* ---- sockets -------------------------------------------------------------------------------- */

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

int wire_listen(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    struct sockaddr_in address = loopback(port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 128) != 0)
    {
        close(fd);
        return -1;
    }
    wire_set_nonblocking(fd);
    return fd;
}

int wire_port(int listener)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    return getsockname(listener, (struct sockaddr *)&address, &length) == 0
               ? ntohs(address.sin_port)
               : -1;
}

int wire_connect(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    struct sockaddr_in address = loopback(port);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
    {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

void wire_set_nonblocking(int fd)
{
    int on = 1;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool wire_read(WireStream *stream, int fd)
{
    char bytes[65536];
    ssize_t got;
    while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
    {
        if (stream->in.length + (size_t)got > WIRE_BYTES_MAX)
        {
            return false;
        }
        buffer_append(&stream->in, bytes, (size_t)got);
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

bool wire_write(WireStream *stream, int fd)
{
    while (stream->out.length > 0)
    {
        ssize_t sent = send(fd, stream->out.bytes, stream->out.length, MSG_NOSIGNAL);
        if (sent < 0)
        {
            return errno == EAGAIN || errno == EINTR;
        }
        buffer_consume(&stream->out, (size_t)sent);
    }
    return true;
}
