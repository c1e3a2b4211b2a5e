/*
 * The words of a transfer: what a client asks for (TransferRequest), what a home shard's row says
 * of it (TransferRecord), and what a client is told (TransferOutcome). Shared by the protocol, the
 * batcher and the API; knows neither sockets nor JSON nor libpq.
 */
#ifndef GIRO_TRANSFER_H
#define GIRO_TRANSFER_H

#include "base/error.h"
#include "shard/directory.h"
#include "shard/route.h"

#include <stdbool.h>
#include <stdint.h>

/* What is asked for. All strings are lent by the caller until batcher_submit returns, and valid. */
typedef struct TransferRequest
{
    const char *debit_account;
    const char *credit_account;
    int64_t amount; /* 1 … 2^53-1, minor units */
    const char *currency;
    const char *idempotency_key;
    const char *reference; /* NULL if none */
    const char *metadata;  /* JSON object as text; NULL if none */
    TransferMode mode;     /* MODE_AUTO, MODE_2PC or MODE_SAGA */
    int64_t deadline_ms;   /* of a saga: give up if the credit has not applied by then; 0 = never */
} TransferRequest;

typedef enum TransferState
{
    TRANSFER_PENDING,
    TRANSFER_POSTED,
    TRANSFER_REFUSED,
    TRANSFER_REVERSED,
    TRANSFER_STATE_COUNT,
} TransferState;
const char *transfer_state_name(TransferState state);
bool transfer_state_parse(const char *name, TransferState *ret_state) ATTR_MUST_USE;
bool transfer_state_is_final(TransferState state);

/* What the home shard's row says. Strings are lent for as long as the record is. */
typedef struct TransferRecord
{
    uint8_t id[16];
    TransferState state;
    TransferMode mode; /* MODE_LOCAL, MODE_2PC or MODE_SAGA */
    const char *debit_account;
    const char *credit_account;
    int64_t amount;
    const char *currency;
    const char *idempotency_key;
    const char *reference; /* NULL if none */
    const char *metadata;  /* JSON object as text */
    const char *debit_shard;
    const char *credit_shard;
    int64_t created_at_us; /* since the Unix epoch, UTC */
    int64_t decided_at_us; /* 0 while pending */
    ErrorCode refusal;     /* ERROR_NONE, or why it was refused or reversed */
    const char *attention; /* NULL, or why a person is needed */
    int32_t attempts;
    int64_t next_attempt_at_us; /* 0 if none */
    const char *last_error;     /* NULL if none */
    const char *waits_for;      /* the shard, NULL if it waits for none or nobody has said so */
} TransferRecord;

typedef enum OutcomeKind
{
    OUTCOME_RECORDED,     /* the record stands in the home shard, durably */
    OUTCOME_KEY_REUSED,   /* a record with other content stands under the key */
    OUTCOME_NOT_ACCEPTED, /* nothing was recorded by this request; `code` says why */
    OUTCOME_UNKNOWN,      /* in doubt: only a repeat of the request gets the answer */
} OutcomeKind;

/* Fields that may differ under a reused key, as bits of TransferOutcome.differing. */
enum
{
    DIFFERS_CREDIT_ACCOUNT = 1,
    DIFFERS_AMOUNT = 2,
    DIFFERS_CURRENCY = 4,
    DIFFERS_REFERENCE = 8,
};

/* What a waiting client is told. Lent until its callback returns. */
typedef struct TransferOutcome
{
    OutcomeKind kind;
    uint8_t id[16];
    bool replayed;                /* the record was there before this request */
    const TransferRecord *record; /* OUTCOME_RECORDED, OUTCOME_KEY_REUSED */
    unsigned differing;           /* OUTCOME_KEY_REUSED */
    ErrorCode code;               /* OUTCOME_NOT_ACCEPTED, OUTCOME_UNKNOWN */
    const char *detail;           /* for people: names the shard or account; "" if none */
} TransferOutcome;

/* The bits in which a request differs from the record that stands under its key; 0 = an honest
 * repeat. */
unsigned transfer_differences(const TransferRequest *request, const TransferRecord *record);

/* Reads a row of the participant function transfers_by_id. Strings point into the rows.
 * credit_shard and debit_shard are found in the directory. */
void transfer_record_read(TransferRecord *ret_record, const PgRows *rows, size_t row,
                          const Directory *directory);
/* The same of a row of transfer_get or transfers_list, which say what it waits for. */
void transfer_record_read_whole(TransferRecord *ret_record, const PgRows *rows, size_t row,
                                const Directory *directory);

/* What a record says as soon as the request is accepted: its words, pending. Times, mode and shards
 * are the caller's to add. Strings are the request's. */
void transfer_record_start(TransferRecord *ret_record, const uint8_t id[16],
                           const TransferRequest *request);

/* A copy in one heap block that owns its strings; free() it. */
TransferRecord *transfer_record_copy(const TransferRecord *record) ATTR_MUST_USE;

#endif
