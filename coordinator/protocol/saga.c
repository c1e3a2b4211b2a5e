/*
 * A transfer between two shards as a saga: idempotent steps, each a local transaction and a batch
 * of its own, with the money visibly in transit in between.
 *
 *   hold      home: the transfer, pending, and its debit. From here on the answer is "accepted" at
 *             least.
 *   credit    the credit account's shard: the receipt (applied or refused) and, if applied, the
 *             credit. The first receipt of a transfer decides what becomes of it; everyone else
 *             reads it.
 *   close     home, under an applied receipt: posted.
 *   cancel    the credit account's shard: a cancelled receipt unless one stands. Giving up goes
 *             this way first, always: "I do not see the credit" permits nothing.
 *   refund    home, under a refused or cancelled receipt: the money back by a new entry, reversed.
 *
 * Every step may be repeated, by anybody: credit finds its receipt, close and refund find the final
 * state, cancel reads what stands. So only an unknown hold has to be asked about; the others are
 * simply done again. A crash between two steps leaves a pending row at home, which is claimed again
 * when it is due (claim).
 */
#include "protocol/modes.h"

const StageRow *saga_stages(void)
{
    enum
    {
        BOTH = SIDE_HOME | SIDE_REMOTE,
    };
    // clang-format off
    static const StageRow rows[STAGE_COUNT] = {
        [STAGE_ACQUIRE] = {"acquire", 0,           acquire_send,   saga_acquire_settle,
            {STAGE_LOCK, STAGE_CLOSE, STAGE_CANCEL, STAGE_RELEASE}},
        [STAGE_LOCK]    = {"lock",    BOTH,        lock_send,      lock_settle,
            {STAGE_JUDGE, STAGE_RELEASE}},
        [STAGE_JUDGE]   = {"judge",   0,           judge_send,     saga_judge_settle,
            {STAGE_HOLD, STAGE_CREDIT, STAGE_REFUND, STAGE_RELEASE}},
        [STAGE_HOLD]    = {"hold",    SIDE_HOME,   decide_send,    decide_settle_local,
            {STAGE_ASK, STAGE_RELEASE}},
        [STAGE_ASK]     = {"ask",     SIDE_HOME,   ask_send,       ask_settle_local,
            {STAGE_ASK, STAGE_RELEASE}},
        [STAGE_CREDIT]  = {"credit",  SIDE_REMOTE, credit_send,    step_settle,
            {STAGE_RELEASE}},
        [STAGE_CLOSE]   = {"close",   SIDE_HOME,   close_send,     step_settle,
            {STAGE_RELEASE}},
        [STAGE_CANCEL]  = {"cancel",  SIDE_REMOTE, tombstone_send, step_settle,
            {STAGE_RELEASE}},
        [STAGE_REFUND]  = {"refund",  SIDE_HOME,   refund_send,    step_settle,
            {STAGE_RELEASE}},
        [STAGE_RELEASE] = {"release", 0,           release_send,   NULL,
            {STAGE_NONE}},
    };
    // clang-format on
    return rows;
}
