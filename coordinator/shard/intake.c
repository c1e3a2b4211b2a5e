/* See intake.h. */
#include "shard/intake.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    CALLS_MAX = 64,
    PARAMETER_BYTES = 4096,
};

static const char shard_prefix[] = "shard:";
static const char account_prefix[] = "account:";

struct Intake
{
    Clerk *clerk;
    LoopTimer *next_read;
    uint64_t period_ms;
    bool loaded;
    bool away; /* the last reading failed; logged once */
    size_t count;
    size_t changes;
    PausedScope scopes[INTAKE_SCOPES_MAX];
};

/* Of the heap, until it is answered. */
typedef struct Change
{
    Intake *intake;
    IntakeChange change;
    char scope[INTAKE_SCOPE_MAX + 1];
    char reason[INTAKE_REASON_MAX + 1];
} Change;

/* ---- scopes --------------------------------------------------------------------------------- */

/* What follows the prefix; NULL if it does not stand there. */
static const char *behind(const char *scope, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(scope, prefix, length) == 0 ? scope + length : NULL;
}

bool intake_scope_is_valid(const char *scope)
{
    const char *shard = behind(scope, shard_prefix);
    const char *account = behind(scope, account_prefix);
    return strcmp(scope, "all") == 0 || (shard != NULL && route_name_is_valid(shard)) ||
           (account != NULL && route_account_id_is_valid(account));
}

static bool covers(const char *scope, const IntakeTouch *touch)
{
    const char *shard = behind(scope, shard_prefix);
    const char *account = behind(scope, account_prefix);
    if (shard != NULL)
        return strcmp(shard, touch->debit_shard) == 0 || strcmp(shard, touch->credit_shard) == 0;
    if (account != NULL)
        return strcmp(account, touch->debit_account) == 0 ||
               strcmp(account, touch->credit_account) == 0;
    return true;
}

const char *intake_obstacle(const Intake *intake, const IntakeTouch *touch)
{
    if (intake == NULL)
        return NULL;
    if (!intake->loaded)
        return "whether intake is paused is not known yet";
    for (size_t i = 0; i < intake->count; i++)
    {
        const char *scope = intake->scopes[i].scope;
        if (!covers(scope, touch))
            continue;
        return behind(scope, shard_prefix) != NULL     ? "intake of a shard of it is paused"
               : behind(scope, account_prefix) != NULL ? "intake of an account of it is paused"
                                                       : "intake is paused";
    }
    return NULL;
}

bool intake_is_loaded(const Intake *intake)
{
    return intake == NULL || intake->loaded;
}

size_t intake_count(const Intake *intake)
{
    return intake != NULL ? intake->count : 0;
}

const PausedScope *intake_scope(const Intake *intake, size_t place)
{
    ASSERT(place < intake->count);
    return &intake->scopes[place];
}

/* ---- reading -------------------------------------------------------------------------------- */

/* scope, reason, since; the directory holds no more than INTAKE_SCOPES_MAX. */
static void take_copy(Intake *intake, const PgRows *rows)
{
    size_t count = pg_row_count(rows);
    intake->count = count < INTAKE_SCOPES_MAX ? count : INTAKE_SCOPES_MAX;
    for (size_t i = 0; i < intake->count; i++)
    {
        PausedScope *paused = &intake->scopes[i];
        snprintf(paused->scope, sizeof paused->scope, "%s", pg_text(rows, i, 0));
        snprintf(paused->reason, sizeof paused->reason, "%s", pg_text(rows, i, 1));
        paused->since_us = pg_timestamp_us(rows, i, 2);
    }
    intake->loaded = true;
}

static void read_result(Intake *intake, const ClerkResult *result)
{
    bool done = result->outcome == CLERK_DONE;
    if (done)
        take_copy(intake, result->rows);
    else if (!intake->away)
        log_warn("intake cannot be read: %s", result->text);
    intake->away = !done;
}

static void on_read(void *context, const ClerkResult *result)
{
    Intake *intake = context;
    read_result(intake, result);
    loop_timer_start(intake->next_read, intake->period_ms);
}

static void read_due(void *context)
{
    Intake *intake = context;
    clerk_ask(intake->clerk,
              &(ClerkCall){.statement = STATEMENT_READ_INTAKE, .done = on_read, .context = intake});
}

/* ---- changes -------------------------------------------------------------------------------- */

static void tell(Change *change, ErrorCode code, const char *detail)
{
    change->intake->changes--;
    change->change.done(change->change.context, code, detail);
    free(change);
}

/* The change stands whether or not it could be read: the next reading shows it. */
static void on_reread(void *context, const ClerkResult *result)
{
    Change *change = context;
    read_result(change->intake, result);
    tell(change, ERROR_NONE, "");
}

static void on_changed(void *context, const ClerkResult *result)
{
    Change *change = context;
    static const ErrorCode codes[] = {
        [CLERK_REFUSED] = ERROR_DIRECTORY_UNAVAILABLE,
        [CLERK_AWAY] = ERROR_DIRECTORY_UNAVAILABLE,
        [CLERK_UNKNOWN] = ERROR_OUTCOME_UNKNOWN,
    };
    if (result->outcome != CLERK_DONE)
    {
        log_warn("intake cannot be changed: %s", result->text);
        tell(change, codes[result->outcome], "");
        return;
    }
    if (change->change.pause && !pg_bool(result->rows, 0, 0))
    {
        tell(change, ERROR_STATE_CONFLICT, "as many scopes as there can be are paused");
        return;
    }
    log_info("intake %s scope=%s", change->change.pause ? "paused" : "resumed", change->scope);
    clerk_ask(
        change->intake->clerk,
        &(ClerkCall){.statement = STATEMENT_READ_INTAKE, .done = on_reread, .context = change});
}

static void fill_change(void *context, PgParams *params)
{
    const Change *change = context;
    pg_params_text(params, change->scope);
    if (change->change.pause)
        pg_params_text(params, change->reason);
}

void intake_change(Intake *intake, const IntakeChange *wanted)
{
    Change *change = base_calloc(1, sizeof *change);
    change->intake = intake;
    change->change = *wanted;
    snprintf(change->scope, sizeof change->scope, "%s", wanted->scope);
    snprintf(change->reason, sizeof change->reason, "%s", wanted->reason);
    intake->changes++;
    clerk_ask(intake->clerk, &(ClerkCall){.statement = wanted->pause ? STATEMENT_PAUSE_INTAKE
                                                                     : STATEMENT_RESUME_INTAKE,
                                          .fill = fill_change,
                                          .done = on_changed,
                                          .context = change});
}

size_t intake_changes(const Intake *intake)
{
    return intake != NULL ? intake->changes : 0;
}

/* ---- life ----------------------------------------------------------------------------------- */

Intake *intake_new(Loop *loop, const IntakeOptions *options)
{
    Intake *intake = base_calloc(1, sizeof *intake);
    ClerkOptions clerk = {
        .dsn = options->dsn,
        .calls_max = CALLS_MAX,
        .parameter_bytes = PARAMETER_BYTES,
        .deadline_ms = options->deadline_ms,
    };
    intake->clerk = clerk_new(loop, &clerk);
    intake->period_ms = options->period_ms;
    intake->next_read = loop_timer_new(loop, read_due, intake);
    loop_timer_start(intake->next_read, 0);
    return intake;
}

void intake_free(Intake *intake)
{
    if (intake == NULL)
        return;
    clerk_free(intake->clerk);
    loop_timer_free(intake->next_read);
    free(intake);
}
