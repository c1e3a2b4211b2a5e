/*
 * The stages of a transfer as JSON, made of what its two shards' rows say. Pure: nothing is asked
 * here.
 */
#ifndef GIRO_STEPS_DOCUMENT_H
#define GIRO_STEPS_DOCUMENT_H

#include "protocol/transfer.h"
#include "json/json_writer.h"

/* What the home shard says. Times are 0 and texts NULL where there are none. */
typedef struct StepsHome
{
    const char *shard;
    TransferMode mode;
    TransferState state;
    const char *refusal;
    const char *remote_shard;
    bool giving_up; /* the saga is to be reversed */
    int32_t attempts;
    const char *last_error;
    int64_t created_at_us;
    int64_t decided_at_us;
    uint8_t batch[16];
    const char *coordinator;
    int64_t finished_at_us; /* of the batch: its leg was seen */
    int64_t refunded_at_us;
} StepsHome;

/* What the credit's shard says. */
typedef struct StepsRemote
{
    const char *trouble; /* why it does not say anything; else NULL */
    const char *receipt; /* "applied", "refused" or "cancelled"; NULL: none, nor the next four */
    const char *refusal;
    const uint8_t *receipt_batch;
    int64_t receipt_at_us;
    const char *receipt_coordinator;
    bool is_prepared; /* the leg of a 2pc batch */
    const char *leg_coordinator;
    int64_t leg_at_us; /* the visible leg of a 2pc batch */
    int64_t credited_at_us;
} StepsRemote;

/* Has another shard anything to say of this transfer? */
bool steps_have_remote(const StepsHome *home);

/* A list of the stages in their order; `remote` is NULL where steps_have_remote is false. */
void steps_document_write(JsonWriter *writer, const StepsHome *home, const StepsRemote *remote);

#endif
