/*
 * Postgres' protocol, version 3, as far as the proxy needs it: messages in a stream of bytes, the
 * statements that a client has prepared, and non-blocking sockets. No threads, no rules.
 */
#ifndef GIRO_TESTS_WIRE_H
#define GIRO_TESTS_WIRE_H

#include <stdbool.h>
#include <stddef.h>

enum
{
    WIRE_BYTES_MAX = 64 << 20, /* held per stream; more ends the connection */
    WIRE_STATEMENTS_MAX = 64,  /* prepared statements remembered per connection */
};

typedef struct WireBuffer
{
    char *bytes;
    size_t length;
    size_t size;
} WireBuffer;

/* One direction of a connection. Zeroed at first. */
typedef struct WireStream
{
    WireBuffer in;
    WireBuffer out;
    bool typed; /* messages start with a type byte: from a server always, from a client after its
                   startup message */
    bool ended; /* nothing more will be read */
} WireStream;

/* The message in front of `in`; lent until it is forwarded or dropped. */
typedef struct WireMessage
{
    char type; /* 0: one without */
    const char *bytes;
    size_t length; /* with type and length */
    bool is_request_for_encryption;
} WireMessage;

typedef struct WireStatement
{
    char *name;
    char *text;
} WireStatement;

typedef struct WireStatements
{
    WireStatement rows[WIRE_STATEMENTS_MAX];
    size_t count;
} WireStatements;

bool wire_next(WireStream *stream, WireMessage *ret_message);
void wire_forward(WireStream *stream, const WireMessage *message);
void wire_drop(WireStream *stream, const WireMessage *message);
void wire_put(WireStream *stream, const char *bytes, size_t length);
void wire_stream_done(WireStream *stream);

/* Does this message of a client execute a statement with `text` in its text or name? */
bool wire_executes(const WireStatements *statements, const WireMessage *message, const char *text);
/* Remembers the statement of a Parse. */
void wire_note(WireStatements *statements, const WireMessage *message);
void wire_statements_done(WireStatements *statements);
/* Will the server answer this message of a client with ReadyForQuery? */
bool wire_is_synchronisation(const WireMessage *message);
/* Is this message of a server the end of a command, with a tag that starts like this? */
bool wire_has_tag(const WireMessage *message, const char *tag);

/* Sockets on 127.0.0.1; -1 on failure. */
int wire_listen(int port);
int wire_port(int listener);
int wire_connect(int port);
void wire_set_nonblocking(int fd);
/* Reads what is there; false at the end of the stream, on errors, and past WIRE_BYTES_MAX. */
bool wire_read(WireStream *stream, int fd);
/* Writes what can be written now; false on errors. */
bool wire_write(WireStream *stream, int fd);

#endif
