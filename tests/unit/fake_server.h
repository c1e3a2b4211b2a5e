/*
 * The inside of the scripted fake, see fake_pg.h: fake_server.c holds servers, their rules and what
 * they were sent; fake_pg.c is the connections.
 */
#ifndef GIRO_FAKE_SERVER_H
#define GIRO_FAKE_SERVER_H

#include "fake_pg.h"

#include "pg/pg_params.h"

#include <sys/queue.h>

enum
{
    RULES_MAX = 256,
    GROUPS_MAX = 4096,
    CAPTURES_MAX = 64,
};

typedef struct Rule
{
    char *text;
    FakeAnswer answer;
    bool used;
} Rule;

typedef struct Capture
{
    char *text;
    PgParams *params;
} Capture;

struct FakeServer
{
    char *dsn;
    FakeConnect how;
    FakeIdentity identity;
    Rule rules[RULES_MAX];
    size_t rule_count;
    FakeServe serve;
    void *serve_context;
    LIST_HEAD(, Pg) connections;
    size_t connects;
    char *sent[GROUPS_MAX];
    size_t sent_count;
    Capture captures[CAPTURES_MAX];
    size_t capture_count;
};

/* A rule that ends in '*' matches a prefix. */
bool fake_matches(const char *rule, const char *text);
/* Does a group that starts with this message set up a session? */
bool fake_is_set_up(const char *text);
/* What the server answers to a message of the backend with this pid. */
FakeAnswer fake_find_answer(FakeServer *server, int pid, const char *text, const PgParams *params);

int fake_new_pid(void);
PgParams *fake_copy_params(const PgParams *params);
void fake_note_message(FakeServer *server, const char *text, const PgParams *params);
void fake_note_group(FakeServer *server, const char *text);

#endif
