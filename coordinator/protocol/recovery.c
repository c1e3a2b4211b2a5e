/* See recovery.h. */
#include "protocol/recovery.h"

#include "base/base.h"

const char *recovery_kind_name(RecoveryKind kind)
{
    static const char *const names[RECOVERY_KIND_COUNT] = {
        [RECOVERY_LEG_APPLIED] = "leg_applied",         [RECOVERY_LEG_CANCELLED] = "leg_cancelled",
        [RECOVERY_BATCH_FINISHED] = "batch_finished",   [RECOVERY_LEG_REDONE] = "leg_redone",
        [RECOVERY_SAGA_TAKEN_OVER] = "saga_taken_over", [RECOVERY_SESSION_ENDED] = "session_ended",
    };
    ASSERT(kind >= 0 && kind < RECOVERY_KIND_COUNT);
    return names[kind];
}
