/*
 * A transfer inside one shard: one local transaction.
 *
 *   decide    the legs, the transfers and the batch row (verdict commit) become durable together
 *   ask       only after an unknown COMMIT: `verdict` inserts an abort row unless the batch row
 *             stands, and so says for ever which of the two happened
 *
 * A crash before decide leaves nothing; after it, everything.
 */
#include "protocol/modes.h"

const StageRow *local_stages(void)
{
    // clang-format off
    static const StageRow rows[STAGE_COUNT] = {
        [STAGE_ACQUIRE] = {"acquire", 0,         acquire_send, acquire_settle,
            {STAGE_LOCK, STAGE_RELEASE}},
        [STAGE_LOCK]    = {"lock",    SIDE_HOME, lock_send,    lock_settle,
            {STAGE_JUDGE, STAGE_RELEASE}},
        [STAGE_JUDGE]   = {"judge",   0,         judge_send,   judge_settle_local,
            {STAGE_DECIDE, STAGE_RELEASE}},
        [STAGE_DECIDE]  = {"decide",  SIDE_HOME, decide_send,  decide_settle_local,
            {STAGE_ASK, STAGE_RELEASE}},
        [STAGE_ASK]     = {"ask",     SIDE_HOME, ask_send,     ask_settle_local,
            {STAGE_ASK, STAGE_RELEASE}},
        [STAGE_RELEASE] = {"release", 0,         release_send, NULL,
            {STAGE_NONE}},
    };
    // clang-format on
    return rows;
}
