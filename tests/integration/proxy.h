/*
 * A TCP proxy in front of a Postgres server, which can lose exactly the message that a test is
 * about: it follows the protocol (version 3) far enough to know when a chosen statement is executed
 * and when the server is done with it.
 *
 * A statement is "executed" when a simple Query with its text arrives, or a Bind for a statement
 * whose text, or whose name, contains the chosen one. What a client sends up to its Sync goes to
 * the server as it is.
 *
 * The proxy runs in a thread of its own; all functions may be called from the test's thread.
 * Connections are plain TCP: a wish for TLS or GSS is declined.
 */
#ifndef GIRO_TESTS_PROXY_H
#define GIRO_TESTS_PROXY_H

#include <stdbool.h>
#include <stdint.h>

enum
{
    PROXY_STATEMENT_MAX = 128,
    PROXY_CONNECTIONS_MAX = 256,
};

typedef struct Proxy Proxy;

typedef enum ProxyAction
{
    PROXY_PASS,    /* only counts */
    PROXY_SWALLOW, /* the server executes and finishes the group; its reply is lost, both ends are
                      cut when the server is done */
    PROXY_CUT_BEFORE,  /* the statement never arrives; both ends are cut */
    PROXY_CUT_AFTER,   /* the statement arrives and both ends are cut at once */
    PROXY_DELAY,       /* the statement, and what follows it, arrives ms later */
    PROXY_DELAY_REPLY, /* its reply, and what follows it, arrives ms later */
} ProxyAction;

typedef struct ProxyRule
{
    ProxyAction action;
    const char *statement; /* substring of the SQL text or statement name; copied */
    const char *tag;       /* instead: start of the command tag of a reply ("COMMIT PREPARED");
                              PROXY_PASS, PROXY_SWALLOW and PROXY_DELAY_REPLY only */
    int count;             /* how many times; 0 = always */
    int ms;
} ProxyRule;

/* Listens on 127.0.0.1:port (0 = any free one) and connects to 127.0.0.1:server_port for each
 * client. NULL if the port is taken. */
Proxy *proxy_new(int port, int server_port);
void proxy_free(Proxy *proxy); /* cuts all connections; accepts NULL */
int proxy_port(const Proxy *proxy);

/* Replaces the rule and sets the number of hits to 0. NULL takes the rule away. */
void proxy_set_rule(Proxy *proxy, const ProxyRule *rule);
/* How often the rule has been applied. */
int proxy_hits(Proxy *proxy);
/* Waits until it has been applied `hits` times; false after timeout_ms. */
bool proxy_await_hits(Proxy *proxy, int hits, int timeout_ms);

/* A network that loses everything: nothing is forwarded in either direction, nor are connections
 * accepted, until it is switched off; then what was held back goes on. */
void proxy_set_black_hole(Proxy *proxy, bool on);
void proxy_cut_all(Proxy *proxy);
int proxy_connections(Proxy *proxy);

#endif
