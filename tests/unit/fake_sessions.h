/*
 * Sessions (shard.h) of the shards of fake_shards, for tests of the protocol and the batcher. Every
 * group is answered in the next turn: with success and the rows of fake_bank, or as the test has
 * scripted it. The conversation is kept as one line per group: "s1: begin lock transfers_by_id".
 */
#ifndef GIRO_FAKE_SESSIONS_H
#define GIRO_FAKE_SESSIONS_H

#include "fake_bank.h"
#include "fake_shards.h"

/* Around every test; starts and stops shards, bank and values too. */
void fake_sessions_start(Loop *loop);
void fake_sessions_stop(void);

typedef enum FakeKind
{
    FAKE_DONE,
    FAKE_ERROR,  /* `text` is the SQLSTATE; the statement fails, the rest is skipped */
    FAKE_TAG,    /* done, but `text` is the tag */
    FAKE_WARNED, /* done, with a warning */
    FAKE_CUT,    /* done, and the session is lost right after the answer */
    FAKE_LOST,   /* the session is lost, the statement may or may not have been executed */
    FAKE_SILENT, /* lost, after the stage's deadline */
} FakeKind;

/* What the next execution of the statement on the shard does; scripts of one statement queue up.
 * `text` is lent. */
void fake_script(Shard *shard, Statement statement, FakeKind kind, const char *text);

/* The conversation so far, a line per group. Lent until the next group. */
const char *fake_conversation(void);
void fake_forget_conversation(void);
/* Sessions that are not given back. */
int fake_sessions_out(void);

#endif
