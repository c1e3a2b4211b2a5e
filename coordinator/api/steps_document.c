/* See steps_document.h. */
#include "api/steps_document.h"

#include <string.h>

/* One stage. Times are 0 and texts NULL where there are none. */
typedef struct Step
{
    const char *stage;
    const char *shard;
    const char *outcome;
    const uint8_t *batch; /* NULL if unknown */
    const char *coordinator;
    bool is_current; /* what the attempts and the last error of a saga belong to */
    int64_t at_us;
    const char *error;
} Step;

static bool is_refused(const StepsHome *home)
{
    return home->state == TRANSFER_REFUSED;
}

bool steps_have_remote(const StepsHome *home)
{
    return home->mode != MODE_LOCAL && !is_refused(home);
}

static bool is_receipt(const StepsRemote *remote, const char *word)
{
    return remote->receipt != NULL && strcmp(remote->receipt, word) == 0;
}

static void write_step(JsonWriter *writer, const StepsHome *home, const Step *step)
{
    char batch[UUID_TEXT_MAX + 1];
    if (step->batch != NULL)
        uuid_format(step->batch, batch);
    json_begin_object(writer, NULL);
    json_put_string(writer, "stage", step->stage);
    json_put_string(writer, "shard", step->shard);
    json_put_string(writer, "outcome", step->outcome);
    json_put_string(writer, "batch_id", step->batch != NULL ? batch : NULL);
    json_put_string(writer, "coordinator", step->coordinator);
    if (step->is_current)
        json_put_integer(writer, "attempts", home->attempts);
    else
        json_put_null(writer, "attempts");
    json_put_timestamp(writer, "at", step->at_us);
    const char *error = step->error;
    if (error == NULL && step->is_current)
        error = home->last_error;
    json_put_string(writer, "error", error);
    json_end_object(writer);
}

/* The home's transaction that recorded the transfer: "decide", or "hold" of a saga. */
static void write_recorded(JsonWriter *writer, const StepsHome *home, const char *stage)
{
    Step step = {
        .stage = stage,
        .shard = home->shard,
        .outcome = is_refused(home) ? "refused" : "done",
        .batch = home->batch,
        .coordinator = home->coordinator,
        .at_us = home->created_at_us,
        .error = is_refused(home) ? home->refusal : NULL,
    };
    write_step(writer, home, &step);
}

/* ---- two-phase commit ----------------------------------------------------------------------- */

static void write_prepare(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    bool done = remote->leg_at_us != 0 || remote->is_prepared;
    Step step = {
        .stage = "prepare",
        .shard = home->remote_shard,
        .outcome = remote->trouble != NULL ? "unknown"
                   : done                  ? "done"
                                           : "missing",
        .batch = home->batch,
        .coordinator = remote->leg_coordinator,
        .at_us = remote->leg_at_us,
        .error = remote->trouble,
    };
    write_step(writer, home, &step);
}

/* A leg that was rolled back by somebody is done again as a credit of its own, with a receipt. */
static void write_redone(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    bool done = is_receipt(remote, "applied");
    Step step = {
        .stage = "apply",
        .shard = home->remote_shard,
        .outcome = done ? "done" : remote->receipt,
        .batch = remote->receipt_batch,
        .coordinator = remote->receipt_coordinator,
        .at_us = remote->receipt_at_us,
        .error = remote->refusal,
    };
    write_step(writer, home, &step);
}

static const char *apply_outcome(const StepsHome *home, const StepsRemote *remote)
{
    if (remote->trouble != NULL)
        return home->finished_at_us != 0 ? "done" : "unknown";
    if (remote->leg_at_us != 0)
        return "done";
    return remote->is_prepared ? "pending" : "missing";
}

static void write_apply(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    if (remote->receipt != NULL)
    {
        write_redone(writer, home, remote);
        return;
    }
    const char *outcome = apply_outcome(home, remote);
    bool unknown = strcmp(outcome, "unknown") == 0;
    Step step = {
        .stage = "apply",
        .shard = home->remote_shard,
        .outcome = outcome,
        .batch = home->batch,
        .coordinator = remote->leg_coordinator,
        .at_us = home->finished_at_us,
        .error = unknown ? remote->trouble : NULL,
    };
    write_step(writer, home, &step);
}

static void write_two_phase(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    if (remote != NULL)
        write_prepare(writer, home, remote);
    write_recorded(writer, home, "decide");
    if (remote != NULL)
        write_apply(writer, home, remote);
}

/* ---- saga ----------------------------------------------------------------------------------- */

static const char *credit_outcome(const StepsHome *home, const StepsRemote *remote)
{
    if (remote->trouble != NULL)
        return "unknown";
    if (remote->receipt == NULL)
        return home->state == TRANSFER_PENDING ? "pending" : "missing";
    return is_receipt(remote, "applied") ? "done" : remote->receipt;
}

static void write_credit(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    bool cancelled = is_receipt(remote, "cancelled");
    bool given_up = remote->receipt == NULL && home->giving_up && home->state != TRANSFER_POSTED;
    Step step = {
        .stage = cancelled || given_up ? "cancel" : "credit",
        .shard = home->remote_shard,
        .outcome = credit_outcome(home, remote),
        .batch = remote->receipt_batch,
        .coordinator = remote->receipt_coordinator,
        .is_current = remote->receipt == NULL && home->state == TRANSFER_PENDING,
        .at_us = remote->receipt_at_us,
        .error = remote->trouble != NULL ? remote->trouble : remote->refusal,
    };
    write_step(writer, home, &step);
}

static bool is_refund(const StepsHome *home, const StepsRemote *remote)
{
    if (home->state != TRANSFER_PENDING)
        return home->state == TRANSFER_REVERSED;
    return remote->receipt != NULL ? !is_receipt(remote, "applied") : home->giving_up;
}

static void write_end(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    bool pending = home->state == TRANSFER_PENDING;
    bool paid_back = home->refunded_at_us != 0;
    Step step = {
        .stage = is_refund(home, remote) ? "refund" : "close",
        .shard = home->shard,
        .outcome = pending ? "pending" : "done",
        .is_current = pending && remote->receipt != NULL,
        .at_us = paid_back ? home->refunded_at_us : home->decided_at_us,
    };
    write_step(writer, home, &step);
}

static void write_saga(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    write_recorded(writer, home, "hold");
    if (remote == NULL)
        return;
    write_credit(writer, home, remote);
    write_end(writer, home, remote);
}

void steps_document_write(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote)
{
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    if (home->mode == MODE_LOCAL)
        write_recorded(writer, home, "decide");
    else if (home->mode == MODE_2PC)
        write_two_phase(writer, home, remote);
    else
        write_saga(writer, home, remote);
    json_end_array(writer);
    json_put_null(writer, "next_cursor");
    json_end_object(writer);
}
