/*
 * A scripted fake of the shard layer (shard.h, directory.h and the rows of pg.h), for tests of the
 * protocol and the batcher. Its object overrides the members of the archive.
 *
 * Shards own accounts by the first letter of the id. Every group is answered in the next turn: with
 * success (all accounts are there, open, in EUR, with a balance of 100), or as the test has
 * scripted it. The conversation is kept as one line per group: "s1: begin lock transfers_by_id".
 */
#ifndef GIRO_FAKE_SHARD_H
#define GIRO_FAKE_SHARD_H

#include "shard/directory.h"

/* Forgets all shards, scripts and the conversation. Must be called first. */
void fake_reset(Loop *loop);
/* A shard that owns the accounts that start with this letter. */
Shard *fake_shard(const char *name, int ordinal, char letter);
void fake_set_usable(Shard *shard, bool usable);
/* Moves the letter's accounts to another shard, as of the next refresh of the directory. */
void fake_move(char letter, Shard *shard);
/* No session for settling is granted any more, or again. */
void fake_refuse_settling(Shard *shard, bool refuse);

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

/* What the next execution of the statement on the shard does; scripts of one statement queue up. */
void fake_script(Shard *shard, Statement statement, FakeKind kind, const char *text);
/* What `lock` says of an account, from now on: "locked", "busy", "missing", "stale_route",
 * "partition_moving". */
void fake_account(const char *id, const char *state, int64_t balance);
/* What `verdict` answers from now on: "commit" or "abort". */
void fake_verdict(const char *verdict);
/* What the look-ups of `look` answer. */
void fake_look(bool prepared, bool leg);
/* A row that stands under the id: posted, 5 EUR. */
void fake_transfer(const uint8_t id[16], const char *debit, const char *credit, const char *key);

/* The conversation so far, a line per group. Lent until the next group. */
const char *fake_conversation(void);
void fake_forget_conversation(void);
/* Sessions that are not given back. */
int fake_sessions_out(void);

#endif
