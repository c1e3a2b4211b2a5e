/*
 * What takes no new transfers, by an operator's wish: a cached copy of the few scopes that are
 * paused, read from the directory about once a second.
 *
 * A pause concerns what is new. What was accepted goes on, and a known key gets its answer: the
 * judge turns new transfers away after their key was looked up. While the directory is down the
 * copy at hand goes on to be used. Until there is a first one nothing new is taken, so that a
 * restart ends no pause. For all that look, a NULL intake is one that takes everything.
 */
#ifndef GIRO_INTAKE_H
#define GIRO_INTAKE_H

#include "shard/clerk.h"
#include "shard/route.h"

typedef struct Intake Intake;

enum
{
    INTAKE_SCOPES_MAX = 64,
    INTAKE_SCOPE_MAX = 8 + ACCOUNT_ID_MAX, /* "account:" and an id */
    INTAKE_REASON_MAX = 1000,
};

/* "all", "shard:<name>" or "account:<id>", with what it may consist of. */
bool intake_scope_is_valid(const char *scope);

typedef struct PausedScope
{
    char scope[INTAKE_SCOPE_MAX + 1];
    char reason[INTAKE_REASON_MAX + 1];
    int64_t since_us;
} PausedScope;

typedef struct IntakeOptions
{
    const char *dsn; /* of the directory database, coordinator's role */
    uint64_t period_ms;
    uint64_t deadline_ms; /* of a statement */
} IntakeOptions;

Intake *intake_new(Loop *loop, const IntakeOptions *options);
void intake_free(Intake *intake); /* accepts NULL; what is under way is forgotten */

/* Has it been read once? */
bool intake_is_loaded(const Intake *intake);
size_t intake_count(const Intake *intake);
const PausedScope *intake_scope(const Intake *intake, size_t place); /* lent until the next turn */

/* What a transfer touches. */
typedef struct IntakeTouch
{
    const char *debit_account;
    const char *credit_account;
    const char *debit_shard;
    const char *credit_shard;
} IntakeTouch;
/* Why such a transfer is not taken, in words that clients may hear; NULL if it is. */
const char *intake_obstacle(const Intake *intake, const IntakeTouch *touch);

/* A change; it is in use here when done is called, and elsewhere within about a second. */
typedef struct IntakeChange
{
    bool pause; /* false: resume */
    const char *scope;
    const char *reason;
    /* Called exactly once, never from inside intake_change. ERROR_NONE; ERROR_STATE_CONFLICT: too
     * many scopes are paused; ERROR_DIRECTORY_UNAVAILABLE: nothing changed; ERROR_OUTCOME_UNKNOWN
     */
    void (*done)(void *context, ErrorCode code, const char *detail);
    void *context; /* must live until done was called */
} IntakeChange;
/* Texts are copied. */
void intake_change(Intake *intake, const IntakeChange *wanted);
/* Changes that are not answered yet. */
size_t intake_changes(const Intake *intake);

#endif
