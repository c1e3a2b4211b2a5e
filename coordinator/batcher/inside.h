/*
 * The inside of a Batcher, for batcher.c (requests, lanes, the phase) and progress.c (what becomes
 * of a transfer after an attempt).
 */
#ifndef GIRO_BATCHER_INSIDE_H
#define GIRO_BATCHER_INSIDE_H

#include "base/map.h"
#include "batcher/batcher.h"
#include "batcher/claimer.h"
#include "batcher/flight.h"
#include "batcher/lane.h"
#include "batcher/postponer.h"
#include "batcher/transfer_meters.h"
#include "batcher/waiting_room.h"
#include "protocol/recoverer.h"

enum
{
    REROUTE_MS = 20, /* pause before a stale route is tried again */
};

TAILQ_HEAD(LaneList, Lane);

struct Batcher
{
    Loop *loop;
    Directory *directory;
    Protocol *protocol;
    BatcherOptions options;
    TransferMeters *meters;
    Map *flights; /* by transfer id */
    Map *lanes;   /* by LaneKey */
    struct LaneList marked;
    struct TransferWaiterList early; /* answers that are known before anything was done */
    struct TransferList rerouting;
    Gate *gate;
    WaitingRoom *waiting_room;
    Caller *caller; /* for what needs no batch */
    Postponer *postponer;
    Claimer *claimer;
    Recoverer *recoverer;
    LoopTimer *sweep;
    LoopTimer *reroute;
    bool refreshing;
    bool draining;
    void (*drained)(void *context);
    void *drained_context;
};

/* batcher.c */

/* The lane has something to do. */
void batcher_mark(Batcher *batcher, Lane *lane);
/* Looks up where the accounts live, by the directory as it is now; false if it has not been read
 * yet. */
bool batcher_locate(Batcher *batcher, Transfer *transfer) ATTR_MUST_USE;
/* Into the lane of its next batch. */
void batcher_enqueue(Batcher *batcher, Transfer *transfer, LaneKind kind);
/* The end of a flight: everybody has been told. */
void batcher_land(Batcher *batcher, Transfer *transfer);
void batcher_land_not_accepted(Batcher *batcher, Transfer *transfer, ErrorCode code,
                               const char *detail);

/* progress.c */

/* Decides from transfer->result what is next. */
void progress_take_result(Batcher *batcher, Transfer *transfer);
/* A transfer whose shard is away and that stands in its lane: it is answered, let go of, or left
 * waiting. */
void progress_take_outage(Batcher *batcher, Transfer *transfer, const Error *error);
/* The account that it waited for has been let go of, or not. */
void progress_try_again(Batcher *batcher, Transfer *transfer);
/* A claimed saga enters its next step. */
void progress_resume(Batcher *batcher, Transfer *transfer);
/* A saga is to be reversed, if its credit is not too far. */
void progress_give_up(Batcher *batcher, Transfer *transfer, ErrorCode reason);
bool progress_is_past_its_deadline(const Batcher *batcher, const Transfer *transfer);

#endif
