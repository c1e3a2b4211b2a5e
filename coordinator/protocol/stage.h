/*
 * The stages of a batch, and what a stage is: a row in a table.
 *
 * One enum, one table per mode (local.c, two_phase.c), one setter that logs every transition and
 * insists that the table allows it, one driver. A stage sends; answers, time-outs and lost links
 * are all recorded as answers; when none is outstanding the stage settles: a pure look at what was
 * recorded, which names the next stage. A self-edge is a retry, with its back-off as one more thing
 * waited for. Recovery enters the same tables.
 */
#ifndef GIRO_STAGE_H
#define GIRO_STAGE_H

#include "base/base.h"

#include <stdint.h>
#include <stdio.h>

typedef enum Stage
{
    STAGE_NONE,
    STAGE_ACQUIRE, /* a session of each shard, ascending */
    STAGE_LOCK,  /* each shard, ascending: BEGIN, fence, lock accounts; at home: look the transfers
                    up */
    STAGE_JUDGE, /* here, on the locked states of both shards */
    STAGE_PREPARE, /* remote: legs, batch row, PREPARE TRANSACTION */
    STAGE_DECIDE,  /* home: legs, transfers, batch row, COMMIT: the decision, durable */
    STAGE_APPLY,   /* remote: COMMIT PREPARED */
    STAGE_ASK,     /* home: verdict(batch), after an unknown answer */
    STAGE_CANCEL,  /* remote: ROLLBACK PREPARED, only under an abort verdict; saga: a tombstone */
    STAGE_HOLD,    /* home: saga: debits, pending transfers, batch row, COMMIT: accepted, durably */
    STAGE_CREDIT,  /* remote: saga: receipts and credits, COMMIT: the outcome, durable */
    STAGE_CLOSE,   /* home: saga: posted */
    STAGE_REFUND,  /* home: saga: reversed, with the money back */
    STAGE_LOOK,    /* remote: prepared list, then the batch row, after "does not exist" */
    STAGE_MISSING, /* home: the remote leg was rolled back behind our back: its credits are due */
    STAGE_STUCK,   /* home: it does not get on; note that on the transfers, and let go of it */
    STAGE_FINISH,  /* home: the remote leg was found visible, or made so for somebody else */
    STAGE_RELEASE, /* report, give sessions back: the end */
    STAGE_COUNT,
} Stage;

struct Batch;

enum
{
    STAGE_SUCCESSORS_MAX = 5,
};

typedef struct StageRow
{
    const char *name;
    unsigned sides;                       /* of SideRole: whom it talks to */
    void (*send)(struct Batch *batch);    /* only sends */
    Stage (*settle)(struct Batch *batch); /* pure: names the next stage */
    Stage then[STAGE_SUCCESSORS_MAX];     /* the only legal successors */
} StageRow;

/* The table of a mode; a row without a name does not exist in it. */
const StageRow *stage_row(const struct Batch *batch, Stage stage);

/* Enters a stage: logs it, checks that it is a legal successor, and sends. */
void stage_enter(struct Batch *batch, Stage next);
/* Makes the batch wait for ms; then `then` is called (NULL = nothing but going on). One pause at a
 * time: a second one is not taken. */
void stage_pause(struct Batch *batch, uint64_t ms, void (*then)(struct Batch *batch));
/* For the pool: the callback of the batch's timer. */
void stage_pause_over(void *context);
/* Settles and enters until the batch waits for something or has ended. */
void stage_drive(struct Batch *batch);

/* Prints the tables of all modes, one line per stage: for people and for the docs. */
void stage_print(FILE *out);
/* Calls visit for every place where a failpoint can strike: mode, stage and side ("home",
 * "remote"). */
typedef void (*StageVisitor)(void *context, const char *mode, const char *stage, const char *side);
void stage_visit_places(StageVisitor visit, void *context);

#endif
