/*
 * Fault points: named places in the protocol at which a test makes something go wrong.
 *
 * A name is `<mode>.<stage>.<home|remote>.<before|sent|after>`: before the stage's messages go out
 * to that shard, after they went out, and after the answer came. They exist in the normal binary
 * but do nothing unless girod runs with --enable-failpoints.
 *
 * A failpoint may be meant for the transfers of one debit account: then it lets batches without one
 * of them pass, and work that is recovered for others.
 */
#ifndef GIRO_FAILPOINT_H
#define GIRO_FAILPOINT_H

#include "base/base.h"
#include "shard/route.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum FailAction
{
    FAIL_NOTHING,
    FAIL_CRASH, /* the process ends at once, as by kill -9 */
    FAIL_STOP,  /* the process stops, as by SIGSTOP, until SIGCONT */
    FAIL_PAUSE, /* this batch goes on only after `ms`; everything else goes on */
    FAIL_DROP,  /* the connection to the shard is cut */
    FAIL_ERROR, /* before: nothing is sent, the answer is an error; later: the answer is lost */
    FAIL_ACTION_COUNT,
} FailAction;

enum
{
    FAILPOINT_BATCHES = 4,
};

typedef struct Failpoint
{
    char name[64];
    FailAction action;
    int skip;  /* how often it lets pass first */
    int count; /* how often it still strikes; < 0 = for ever */
    uint64_t ms;
    char account[ACCOUNT_ID_MAX + 1];       /* the debit account that it is meant for; "" = all */
    uint8_t batches[FAILPOINT_BATCHES][16]; /* internal: the last ones with a transfer of it */
    unsigned batch_count;                   /* internal: so many there were */
} Failpoint;

struct Batch;

const char *fail_action_name(FailAction action);
bool fail_action_parse(const char *name, FailAction *ret_action) ATTR_MUST_USE;

void failpoint_enable(void);
bool failpoint_is_enabled(void);

/* Is there such a place in the stage tables? */
bool failpoint_exists(const char *name);
/* Arms a place; false if there is no such place. */
bool failpoint_set(const Failpoint *failpoint) ATTR_MUST_USE;
void failpoint_clear(const char *name);
/* The armed failpoint of that name, or NULL. Lent until the next call here. */
const Failpoint *failpoint_get(const char *name);

/* The batch has come to a point of its stage: counts down and returns what strikes now; sets
 * *ret_ms for FAIL_PAUSE. FAIL_CRASH does not return, FAIL_STOP returns once the process goes on.
 */
FailAction failpoint_hit(const struct Batch *batch, const char *side, const char *point,
                         uint64_t *ret_ms);

#endif
