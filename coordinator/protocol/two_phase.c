/*
 * A transfer between two shards, by two-phase commit. The home shard owns the debit accounts; it
 * never prepares: its COMMIT is the decision (the "last agent" of the literature).
 *
 * The orderings that everything rests on:
 *   1. prepare is done (exact tag, no warning) before decide is sent: a decision never lacks its
 *      remote leg.
 *   2. The batch row at home, verdict commit, is inserted by decide's transaction. The first row
 *      under the batch id decides: either decide's or the abort row that `verdict` inserts; whoever
 *      comes second fails or reads it.
 *   3. COMMIT PREPARED is sent only under a commit verdict that is durable: decide done, or
 *      `verdict` said so.
 *   4. ROLLBACK PREPARED is sent only under an abort verdict, or never sent at all.
 *   5. Clients are told "posted" after 2, and of nothing else than what the row says.
 *   6. Fresh ids only: a late message of an earlier attempt matches nothing.
 *
 * What a crash leaves: in lock, judge: open transactions, which their sessions' end rolls back.
 * After prepare: a prepared leg whose GID names home and batch; anyone asks the home. After decide:
 * the commit row and the leg; anyone applies it. After apply: nothing but `finished_at` to write.
 *
 * Recovery enters at ask with a prepared leg, and at look with a decided batch that is not
 * finished. Once its clients have been told, a batch that does not get on is let go of (stuck):
 * recovery finds it again.
 */
#include "protocol/modes.h"

const StageRow *two_phase_stages(void)
{
    enum
    {
        BOTH = SIDE_HOME | SIDE_REMOTE,
    };
    // clang-format off
    static const StageRow rows[STAGE_COUNT] = {
        [STAGE_ACQUIRE] = {"acquire", 0,           acquire_send, acquire_settle,
            {STAGE_ACQUIRE, STAGE_LOCK, STAGE_RELEASE}},
        [STAGE_LOCK]    = {"lock",    BOTH,        lock_send,    lock_settle,
            {STAGE_LOCK, STAGE_JUDGE, STAGE_RELEASE}},
        [STAGE_JUDGE]   = {"judge",   0,           judge_send,   judge_settle_two_phase,
            {STAGE_PREPARE, STAGE_DECIDE, STAGE_RELEASE}},
        [STAGE_PREPARE] = {"prepare", SIDE_REMOTE, prepare_send, prepare_settle,
            {STAGE_DECIDE, STAGE_ASK, STAGE_RELEASE}},
        [STAGE_DECIDE]  = {"decide",  SIDE_HOME,   decide_send,  decide_settle_two_phase,
            {STAGE_APPLY, STAGE_ASK, STAGE_RELEASE}},
        [STAGE_APPLY]   = {"apply",   SIDE_REMOTE, apply_send,   apply_settle,
            {STAGE_RELEASE, STAGE_APPLY, STAGE_LOOK, STAGE_FINISH, STAGE_STUCK}},
        [STAGE_ASK]     = {"ask",     SIDE_HOME,   ask_send,     ask_settle_two_phase,
            {STAGE_APPLY, STAGE_CANCEL, STAGE_ASK, STAGE_RELEASE, STAGE_STUCK}},
        [STAGE_CANCEL]  = {"cancel",  SIDE_REMOTE, cancel_send,  cancel_settle,
            {STAGE_RELEASE, STAGE_CANCEL, STAGE_STUCK}},
        [STAGE_LOOK]    = {"look",    SIDE_REMOTE, look_send,    look_settle,
            {STAGE_FINISH, STAGE_APPLY, STAGE_LOOK, STAGE_MISSING, STAGE_STUCK}},
        [STAGE_MISSING] = {"missing", SIDE_HOME,   missing_send, missing_settle,
            {STAGE_RELEASE, STAGE_MISSING, STAGE_STUCK}},
        [STAGE_FINISH]  = {"finish",  SIDE_HOME,   finish_send,  finish_settle,
            {STAGE_RELEASE}},
        [STAGE_STUCK]   = {"stuck",   SIDE_HOME,   stuck_send,   stuck_settle,
            {STAGE_RELEASE}},
        [STAGE_RELEASE] = {"release", 0,           release_send, NULL,
            {STAGE_NONE}},
    };
    // clang-format on
    return rows;
}
