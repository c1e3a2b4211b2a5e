/* See failpoint.h. The switchboard is process-wide, as are the crashes that it causes. */
#include "protocol/failpoint.h"

#include "base/log.h"
#include "protocol/batch.h"
#include "protocol/stage.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum
{
    ARMED_MAX = 64,
};

static bool enabled;
static Failpoint armed[ARMED_MAX];
static size_t armed_count;

static const char *const action_names[FAIL_ACTION_COUNT] = {
    [FAIL_NOTHING] = "nothing", [FAIL_CRASH] = "crash", [FAIL_STOP] = "stop",
    [FAIL_PAUSE] = "pause",     [FAIL_DROP] = "drop",   [FAIL_ERROR] = "error",
};

const char *fail_action_name(FailAction action)
{
    ASSERT(action >= 0 && action < FAIL_ACTION_COUNT);
    return action_names[action];
}

bool fail_action_parse(const char *name, FailAction *ret_action)
{
    for (int action = FAIL_NOTHING + 1; action < FAIL_ACTION_COUNT; action++)
    {
        if (strcmp(name, action_names[action]) == 0)
        {
            *ret_action = (FailAction)action;
            return true;
        }
    }
    return false;
}

void failpoint_enable(void)
{
    enabled = true;
}

bool failpoint_is_enabled(void)
{
    return enabled;
}

typedef struct Search
{
    const char *name;
    bool found;
} Search;

static void compare_place(void *context, const char *mode, const char *stage, const char *side)
{
    static const char *const points[] = {"before", "sent", "after"};
    Search *search = context;
    char name[sizeof armed[0].name];
    for (size_t i = 0; i < ARRAY_LENGTH(points); i++)
    {
        snprintf(name, sizeof name, "%s.%s.%s.%s", mode, stage, side, points[i]);
        search->found = search->found || strcmp(name, search->name) == 0;
    }
}

bool failpoint_exists(const char *name)
{
    Search search = {name, false};
    stage_visit_places(compare_place, &search);
    return search.found;
}

static Failpoint *find(const char *name)
{
    for (size_t i = 0; i < armed_count; i++)
    {
        if (strcmp(armed[i].name, name) == 0)
            return &armed[i];
    }
    return NULL;
}

bool failpoint_set(const Failpoint *failpoint)
{
    Failpoint *place = find(failpoint->name);
    if (!failpoint_exists(failpoint->name) || (place == NULL && armed_count == ARMED_MAX))
        return false;
    if (place == NULL)
        place = &armed[armed_count++];
    *place = *failpoint;
    return true;
}

void failpoint_clear(const char *name)
{
    Failpoint *place = find(name);
    if (place != NULL)
        *place = armed[--armed_count];
}

const Failpoint *failpoint_get(const char *name)
{
    return find(name);
}

/* ---- striking -------------------------------------------------------------------------------- */

static bool debits(const Batch *batch, const char *account)
{
    for (size_t i = 0; i < batch->count; i++)
    {
        if (strcmp(batch->transfers[i]->request.debit_account, account) == 0)
            return true;
    }
    return false;
}

static bool knows(const Failpoint *failpoint, const Batch *batch)
{
    for (size_t i = 0; i < FAILPOINT_BATCHES && i < failpoint->batch_count; i++)
    {
        if (memcmp(failpoint->batches[i], batch->id, sizeof batch->id) == 0)
            return true;
    }
    return false;
}

/* A batch lets go of its transfers before its last stage, and the next one may take them up: so
 * batches are remembered by their ids. */
static void note_batch(const Batch *batch)
{
    for (size_t i = 0; i < armed_count; i++)
    {
        Failpoint *failpoint = &armed[i];
        if (failpoint->account[0] != '\0' && debits(batch, failpoint->account) &&
            !knows(failpoint, batch))
            memcpy(failpoint->batches[failpoint->batch_count++ % FAILPOINT_BATCHES], batch->id,
                   sizeof batch->id);
    }
}

static bool is_meant(const Failpoint *failpoint, const Batch *batch)
{
    return failpoint->count != 0 && (failpoint->account[0] == '\0' || knows(failpoint, batch));
}

static bool lets_pass(Failpoint *failpoint)
{
    if (failpoint->skip == 0)
        return false;
    failpoint->skip--;
    return true;
}

FailAction failpoint_hit(const Batch *batch, const char *side, const char *point, uint64_t *ret_ms)
{
    char name[sizeof armed[0].name];
    note_batch(batch);
    snprintf(name, sizeof name, "%s.%s.%s.%s", mode_name(batch_kind_row(batch->kind)->mode),
             stage_row(batch, batch->stage)->name, side, point);
    Failpoint *place = find(name);
    if (place == NULL || !is_meant(place, batch) || lets_pass(place))
        return FAIL_NOTHING;
    if (place->count > 0)
        place->count--;
    log_warn("failpoint=%s strikes: %s", name, fail_action_name(place->action));
    if (place->action == FAIL_CRASH)
    {
        kill(getpid(), SIGKILL);
        pause();
    }
    if (place->action == FAIL_STOP)
        raise(SIGSTOP);
    *ret_ms = place->ms;
    return place->action;
}
