/*
 * The protocol engine: what all batches of a coordinator share, and the loop phase that steps them.
 *
 * The batcher forms batches and is told of their results; everything between is here.
 */
#ifndef GIRO_PROTOCOL_H
#define GIRO_PROTOCOL_H

#include "protocol/batch.h"
#include "protocol/batch_meters.h"
#include "protocol/gid.h"
#include "protocol/recovery.h"
#include "shard/intake.h"

typedef struct ProtocolOptions
{
    const char *instance; /* this coordinator's name, part of every GID: [a-z0-9-] */
    Metrics *metrics;
    const Intake *intake; /* NULL: everything is taken */
    size_t batches_max;
    uint64_t stage_deadline_ms;
    uint64_t session_wait_ms; /* how long a batch waits for a session before it gives up */
    uint64_t visible_wait_ms; /* how long a decided batch waits for its remote leg before clients
                                 are told */
    /* The transfers of the batch have their results. The batch gives them up: it holds none
     * afterwards. Called exactly once per batch, maybe before it has ended (its remote leg may not
     * show yet). */
    void (*report)(void *context, Batch *batch);
    void *context;
} ProtocolOptions;

Protocol *protocol_new(Loop *loop, Directory *directory, const ProtocolOptions *options);
void protocol_free(Protocol *protocol); /* accepts NULL; no batch may be in flight */

/* May another batch be started? */
bool protocol_has_room(const Protocol *protocol);
size_t protocol_batch_count(const Protocol *protocol);

/* ---- recovery -------------------------------------------------------------------------------- */

enum
{
    RECOVERIES_MAX = 64, /* batches of the pool that work on what was left behind */
    PROTOCOL_PASSED_MAX = 1536,
};

/* Takes a batch that was left behind to its end: one that is known to be decided, or one whose leg
 * is prepared. Does nothing if that is under way already or a shard of it is away: then it is found
 * again. False: the same, because there is no room. */
bool protocol_recover(Protocol *protocol, const Gid *gid, bool decided);
/* The batches that recovery need not look for now: those in flight here, and those that do not get
 * on. Copies at most PROTOCOL_PASSED_MAX ids; returns how many. */
size_t protocol_passed(const Protocol *protocol, uint8_t (*ret_ids)[16]);

void protocol_count(Protocol *protocol, RecoveryKind kind, bool done, uint64_t count);
const RecoveryCounts *protocol_recovery_counts(const Protocol *protocol);

/* ---- for the stages -------------------------------------------------------------------------- */

Loop *protocol_loop(const Protocol *protocol);
Directory *protocol_directory(const Protocol *protocol);
const ProtocolOptions *protocol_options(const Protocol *protocol);
BatchMeters *protocol_meters(Protocol *protocol);
/* A scratch buffer for the parameters of one message. */
PgParams *protocol_params(Protocol *protocol);

/* From now on the batch, a two-phase one, is known by its id. */
void protocol_enlist(Batch *batch);

/* Pool of batches. */
Batch *protocol_take_batch(Protocol *protocol);
void protocol_return_batch(Batch *batch);

/* The batch waits for nothing any more: the next phase steps it, unless the driver is at it already
 * (an exchange may fail before anything was sent). */
void protocol_ready(Batch *batch);

/* Writes the results into the transfers and hands them to the batcher. Once per batch; later calls
 * do nothing. */
void protocol_report(Batch *batch);

/* Batches that are committed on both sides: their finished_at is written with a later decide at the
 * same home, or by itself when none comes. Best effort: what is lost, recovery verifies again. */
void protocol_finished(Protocol *protocol, Shard *home, const uint8_t batch_id[16]);
/* Takes up to max ids to be written at this home. */
size_t protocol_take_finished(Protocol *protocol, Shard *home, uint8_t (*ret_ids)[16], size_t max);

#endif
