/* See mode.h. */
#include "shard/mode.h"

#include <string.h>

static const char *const mode_names[MODE_COUNT] = {"auto", "local", "2pc", "saga"};

const char *mode_name(TransferMode mode)
{
    ASSERT(mode >= 0 && mode < MODE_COUNT);
    return mode_names[mode];
}

bool mode_parse(const char *name, TransferMode *ret_mode)
{
    for (int mode = 0; mode < MODE_COUNT; mode++)
    {
        if (strcmp(name, mode_names[mode]) == 0)
        {
            *ret_mode = (TransferMode)mode;
            return true;
        }
    }
    return false;
}
