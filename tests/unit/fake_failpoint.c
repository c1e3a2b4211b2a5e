/* Fault points without the protocol: one place exists, 2pc.decide.home.sent. */
#include "protocol/failpoint.h"

#include <string.h>

static bool enabled;
static bool armed;
static Failpoint point;
static const char *const actions[FAIL_ACTION_COUNT] = {"nothing", "crash", "stop",
                                                       "pause",   "drop",  "error"};

const char *fail_action_name(FailAction action)
{
    return actions[action];
}

bool fail_action_parse(const char *name, FailAction *ret_action)
{
    for (int action = FAIL_CRASH; action < FAIL_ACTION_COUNT; action++)
    {
        if (strcmp(actions[action], name) == 0)
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

bool failpoint_exists(const char *name)
{
    return strcmp(name, "2pc.decide.home.sent") == 0;
}

bool failpoint_set(const Failpoint *failpoint)
{
    point = *failpoint;
    armed = failpoint_exists(failpoint->name);
    return armed;
}

void failpoint_clear(const char *name)
{
    armed = armed && strcmp(name, point.name) != 0;
}

const Failpoint *failpoint_get(const char *name)
{
    return armed && strcmp(name, point.name) == 0 ? &point : NULL;
}
