/* See failpoint.h. The switchboard is process-wide, as are the crashes that it causes. */
#include "protocol/failpoint.h"

#include "base/log.h"
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
    [FAIL_NOTHING] = "nothing", [FAIL_CRASH] = "crash", [FAIL_PAUSE] = "pause",
    [FAIL_DROP] = "drop",       [FAIL_ERROR] = "error",
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

FailAction failpoint_hit(const char *mode, const char *stage, const char *side, const char *point,
                         uint64_t *ret_ms)
{
    char name[sizeof armed[0].name];
    snprintf(name, sizeof name, "%s.%s.%s.%s", mode, stage, side, point);
    Failpoint *place = find(name);
    if (place == NULL || place->count == 0)
        return FAIL_NOTHING;
    if (place->count > 0)
        place->count--;
    log_warn("failpoint=%s strikes: %s", name, fail_action_name(place->action));
    if (place->action == FAIL_CRASH)
    {
        kill(getpid(), SIGKILL);
        pause();
    }
    *ret_ms = place->ms;
    return place->action;
}
