/* See claimer.h. */
#include "batcher/claimer.h"

#include "batcher/flight.h"
#include "shard/rounds.h"

#include <stdlib.h>
#include <string.h>

struct Claimer
{
    ClaimerOptions options;
    Rounds *rounds;
};

/* Columns of the participant function claim. */
enum
{
    CLAIM_ID,
    CLAIM_DEBIT_ACCOUNT,
    CLAIM_CREDIT_ACCOUNT,
    CLAIM_AMOUNT,
    CLAIM_CURRENCY,
    CLAIM_KEY,
    CLAIM_REFERENCE,
    CLAIM_METADATA,
    CLAIM_GIVING_UP,
    CLAIM_ATTEMPTS,
    CLAIM_CREATED_AT,
    CLAIM_DECIDED_AT, /* of a posted transfer whose credit was lost */
};

static void fill(void *context, PgParams *params)
{
    const ClaimerOptions *options = &((const Claimer *)context)->options;
    rounds_put_shards(options->directory, true, params);
    pg_params_int4(params, (int32_t)options->claims_max);
    pg_params_text(params, options->instance);
}

static Transfer *read_claim(const PgRows *rows, size_t row)
{
    TransferRequest request = {
        .debit_account = pg_text(rows, row, CLAIM_DEBIT_ACCOUNT),
        .credit_account = pg_text(rows, row, CLAIM_CREDIT_ACCOUNT),
        .amount = pg_int8(rows, row, CLAIM_AMOUNT),
        .currency = pg_text(rows, row, CLAIM_CURRENCY),
        .idempotency_key = pg_text(rows, row, CLAIM_KEY),
        .reference = pg_text(rows, row, CLAIM_REFERENCE),
        .metadata = pg_text(rows, row, CLAIM_METADATA),
        .mode = MODE_SAGA,
    };
    const char *giving_up = pg_text(rows, row, CLAIM_GIVING_UP);
    Transfer *transfer = flight_new(pg_uuid(rows, row, CLAIM_ID), &request);
    flight_hold(transfer, pg_timestamp_us(rows, row, CLAIM_CREATED_AT));
    if (!pg_is_null(rows, row, CLAIM_DECIDED_AT))
        flight_redo(transfer, pg_timestamp_us(rows, row, CLAIM_DECIDED_AT));
    transfer->giving_up = giving_up != NULL ? error_by_name(giving_up, true) : ERROR_NONE;
    transfer->attempts = pg_int4(rows, row, CLAIM_ATTEMPTS);
    return transfer;
}

static void answered(void *context, Shard *home, const PgRows *rows)
{
    Claimer *claimer = context;
    const ClaimerOptions *options = &claimer->options;
    for (size_t row = 0; row < pg_row_count(rows); row++)
        options->claimed(options->context, read_claim(rows, row), home);
    if (pg_row_count(rows) >= options->claims_max)
        claimer_hurry(claimer);
}

static bool may_ask(void *context)
{
    const ClaimerOptions *options = &((const Claimer *)context)->options;
    return options->has_room(options->context);
}

Claimer *claimer_new(const ClaimerOptions *options)
{
    Claimer *claimer = base_calloc(1, sizeof *claimer);
    claimer->options = *options;
    RoundsOptions rounds = {
        .loop = options->loop,
        .directory = options->directory,
        .caller = options->caller,
        .statement = STATEMENT_CLAIM,
        .period_ms = options->period_ms,
        .may_ask = may_ask,
        .fill = fill,
        .answered = answered,
        .context = claimer,
    };
    claimer->rounds = rounds_new(&rounds);
    return claimer;
}

void claimer_free(Claimer *claimer)
{
    if (claimer == NULL)
        return;
    rounds_free(claimer->rounds);
    free(claimer);
}

void claimer_hurry(Claimer *claimer)
{
    rounds_hurry(claimer->rounds, 0);
}

void claimer_stop(Claimer *claimer)
{
    rounds_stop(claimer->rounds);
}
