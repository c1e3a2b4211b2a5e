/* See side.h. */
#include "protocol/side.h"

#include "protocol/failpoint.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <string.h>

static void proceed(Side *side);
static void transmit(Side *side);

static void expect(Side *side)
{
    side->batch->pending++;
    side->batch->last = side;
    side->outcome = ANSWER_NONE;
    side->sqlstate[0] = '\0';
    side->text[0] = '\0';
    side->lose_answer = false;
}

static void settle_expectation(Side *side)
{
    ASSERT(side->batch->pending > 0);
    if (--side->batch->pending == 0)
        protocol_ready(side->batch);
}

/* Clients see it. So they learn what the shard said of a statement, but nothing of a connection,
 * which would tell its address; those are in the log, under the shard's name. */
static const char *cause_text(const Side *side)
{
    if (!answer_is_outage(side->sqlstate))
        return side->text;
    return shard_is_usable(side->shard) ? "no connection, or it was lost"
                                        : shard_excuse(side->shard);
}

/* Keeps the first thing that went wrong: what follows it is only its consequence. */
static void keep_cause(Side *side)
{
    Error *cause = &side->batch->cause;
    bool outage = answer_is_outage(side->sqlstate);
    ErrorCode code = outage                                 ? ERROR_SHARD_UNAVAILABLE
                     : answer_is_exhaustion(side->sqlstate) ? ERROR_OVERLOADED
                                                            : ERROR_SHARD_ERROR;
    if (cause->code != ERROR_NONE || side->outcome == ANSWER_DONE)
        return;
    error_set(cause, code, "shard %s: %s", shard_name(side->shard), cause_text(side));
    memcpy(cause->sqlstate, side->sqlstate, sizeof cause->sqlstate);
}

static void fail(Side *side, AnswerClass outcome, const char *text)
{
    side->outcome = outcome;
    snprintf(side->text, sizeof side->text, "%s", text);
    keep_cause(side);
    settle_expectation(side);
}

void side_record(Side *side, AnswerClass outcome, const PgAnswer *cause)
{
    side->outcome = outcome;
    if (cause == NULL)
        return;
    memcpy(side->sqlstate, cause->sqlstate, sizeof side->sqlstate);
    snprintf(side->text, sizeof side->text, "%s", cause->text);
}

void side_note_mark(const Side *side)
{
    if (side->session != NULL)
        session_note_mark(side->session, side->batch->id);
}

void side_record_calls(Side *side, const PgAnswer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        AnswerClass outcome = answer_of_call(&answers[i]);
        if (outcome != ANSWER_DONE)
        {
            side_record(side, outcome, &answers[i]);
            return;
        }
    }
    side_record(side, ANSWER_DONE, NULL);
}

static FailAction strike(Side *side, const char *point, uint64_t *ret_ms)
{
    if (!failpoint_is_enabled())
        return FAIL_NOTHING;
    return failpoint_hit(side->batch, side_role_name(side->role), point, ret_ms);
}

static void proceed_paused(Batch *batch)
{
    Side *side = batch->paused;
    batch->paused = NULL;
    proceed(side);
}

static void start(Side *side, SideCompose compose, SideRead read, bool own_session)
{
    uint64_t ms = 0;
    expect(side);
    side->compose = compose;
    side->read = read;
    side->own_session = own_session;
    switch (strike(side, "before", &ms))
    {
    case FAIL_PAUSE:
        side->batch->paused = side;
        stage_pause(side->batch, ms, proceed_paused);
        return;
    case FAIL_DROP:
        if (side->session != NULL)
            session_cut(side->session);
        break;
    case FAIL_ERROR:
        memcpy(side->sqlstate, "XX000", sizeof side->sqlstate);
        fail(side, ANSWER_NOT_DONE, "failpoint");
        return;
    default:
        break;
    }
    proceed(side);
}

void side_send_in_transaction(Side *side, SideCompose compose, SideRead read)
{
    start(side, compose, read, true);
}

void side_send(Side *side, SideCompose compose, SideRead read)
{
    start(side, compose, read, false);
}

static void granted_to_send(ShardWaiter *waiter, Session *session)
{
    Side *side = container_of(waiter, Side, waiter);
    side->session = session;
    if (session == NULL)
        fail(side, ANSWER_NOT_DONE, "no session");
    else
        transmit(side);
}

/* After the failpoint "before", or when its pause is over. */
static void proceed(Side *side)
{
    bool open = side->session != NULL && session_is_open(side->session);
    if (side->own_session)
    {
        /* COMMIT without a transaction answers COMMIT, and work without one commits by itself. */
        if (!open || session_transaction(side->session) != PG_TRANSACTION_OPEN)
            fail(side, ANSWER_NOT_DONE, "the session was lost before anything was sent");
        else
            transmit(side);
        return;
    }
    if (open)
    {
        transmit(side);
        return;
    }
    side_release(side);
    side->waiter.granted = granted_to_send;
    shard_acquire(side->shard, &side->waiter, SESSION_SETTLE,
                  protocol_options(side->batch->protocol)->session_wait_ms);
}

static void suspect_if_late(Side *side)
{
    Protocol *protocol = side->batch->protocol;
    uint64_t waited_ms = loop_now_ms(protocol_loop(protocol)) - side->sent_at_ms;
    if (waited_ms >= protocol_options(protocol)->stage_deadline_ms)
        shard_suspect(side->shard, "a stage deadline passed");
}

static void answered(void *context, const PgAnswer *answers, size_t count,
                     PgTransaction transaction)
{
    Side *side = context;
    uint64_t ms = 0;
    (void)transaction;
    batch_meters_answer(protocol_meters(side->batch->protocol), side);
    if (count > 0 && answers[count - 1].kind == PG_LOST)
        suspect_if_late(side);
    side->read(side, answers, count);

    FailAction action = strike(side, "after", &ms);
    if (action == FAIL_DROP && side->session != NULL)
        session_cut(side->session);
    if (action == FAIL_ERROR || side->lose_answer)
        side_record(side, ANSWER_UNKNOWN, NULL);
    keep_cause(side);
    if (action == FAIL_PAUSE)
        stage_pause(side->batch, ms, NULL);
    settle_expectation(side);
}

static void transmit(Side *side)
{
    uint64_t ms = 0;
    const ProtocolOptions *options = protocol_options(side->batch->protocol);
    side->sent_at_ms = loop_now_ms(protocol_loop(side->batch->protocol));
    side->sent_at_us = base_now_us();
    session_begin(side->session);
    side->compose(side);
    session_send(side->session, options->stage_deadline_ms, answered, side);
    switch (strike(side, "sent", &ms))
    {
    case FAIL_DROP:
        session_cut(side->session);
        break;
    case FAIL_ERROR:
        side->lose_answer = true;
        break;
    case FAIL_PAUSE:
        stage_pause(side->batch, ms, NULL);
        break;
    default:
        break;
    }
}

static void granted_to_hold(ShardWaiter *waiter, Session *session)
{
    Side *side = container_of(waiter, Side, waiter);
    batch_meters_answer(protocol_meters(side->batch->protocol), side);
    side->session = session;
    if (session == NULL)
    {
        fail(side, ANSWER_NOT_DONE, "no session");
        return;
    }
    side->backend_pid = session_backend_pid(session);
    side->backend_start_us = session_backend_start_us(session);
    side->outcome = ANSWER_DONE;
    settle_expectation(side);
}

void side_acquire(Side *side)
{
    expect(side);
    side->sent_at_us = base_now_us();
    side->waiter.granted = granted_to_hold;
    shard_acquire(side->shard, &side->waiter, SESSION_TRAFFIC,
                  protocol_options(side->batch->protocol)->session_wait_ms);
}

void side_release(Side *side)
{
    if (side->session != NULL)
        session_release(side->session);
    side->session = NULL;
}
