/*
 * What recovery has done, counted by kind and result: for people.
 */
#ifndef GIRO_RECOVERY_H
#define GIRO_RECOVERY_H

#include <stdint.h>

typedef enum RecoveryKind
{
    RECOVERY_LEG_APPLIED,     /* prepared and decided: COMMIT PREPARED */
    RECOVERY_LEG_CANCELLED,   /* prepared and given up, or not known to be decided yet */
    RECOVERY_BATCH_FINISHED,  /* decided, and its leg was found visible */
    RECOVERY_LEG_REDONE,      /* decided, and its leg was lost: its credits are due again */
    RECOVERY_SAGA_TAKEN_OVER, /* let go of for a coordinator that is gone */
    RECOVERY_SESSION_ENDED,   /* held locks for a client that was stopped */
    RECOVERY_KIND_COUNT,
} RecoveryKind;

const char *recovery_kind_name(RecoveryKind kind); /* "leg_applied" */

typedef struct RecoveryCounts
{
    uint64_t done[RECOVERY_KIND_COUNT];
    uint64_t failed[RECOVERY_KIND_COUNT]; /* tries that were given up; they are made again */
} RecoveryCounts;

#endif
