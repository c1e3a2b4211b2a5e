/* See claimer.h. */
#include "batcher/claimer.h"

#include "batcher/flight.h"

#include <stdlib.h>
#include <string.h>

struct Claimer
{
    ClaimerOptions options;
    LoopTimer *timer;
    size_t busy; /* homes that are being asked */
    bool stopped;
};

/* One home that is being asked. */
typedef struct Round
{
    Claimer *claimer;
    Shard *home;
} Round;

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
};

static void fill(void *context, PgParams *params)
{
    const Round *round = context;
    const Directory *directory = round->claimer->options.directory;
    size_t count = directory_shard_count(directory);
    size_t usable = 0;
    for (size_t i = 0; i < count; i++)
        usable += shard_is_usable(directory_shard(directory, i)) ? 1 : 0;
    pg_params_array(params, PG_ELEMENT_TEXT, usable);
    for (size_t i = 0; i < count; i++)
    {
        const Shard *shard = directory_shard(directory, i);
        if (shard_is_usable(shard))
            pg_params_add_text(params, shard_name(shard));
    }
    pg_params_int4(params, (int32_t)round->claimer->options.claims_max);
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
    transfer->giving_up = giving_up != NULL ? error_by_name(giving_up, true) : ERROR_NONE;
    transfer->attempts = pg_int4(rows, row, CLAIM_ATTEMPTS);
    return transfer;
}

static void answered(void *context, const CallResult *result)
{
    Round *round = context;
    Claimer *claimer = round->claimer;
    claimer->busy--;
    for (size_t row = 0; result->code == ERROR_NONE && row < pg_row_count(result->rows); row++)
        claimer->options.claimed(claimer->options.context, read_claim(result->rows, row),
                                 round->home);
    free(round);
    if (claimer->busy == 0 && !claimer->stopped && !loop_timer_running(claimer->timer))
        loop_timer_start(claimer->timer, claimer->options.period_ms);
}

static void ask(Claimer *claimer, Shard *home)
{
    Round *round = base_malloc(sizeof *round);
    *round = (Round){claimer, home};
    Call call = {STATEMENT_CLAIM, fill, answered, round};
    claimer->busy++;
    call_shard(claimer->options.caller, home, &call);
}

static void ask_all(void *context)
{
    Claimer *claimer = context;
    const Directory *directory = claimer->options.directory;
    size_t count = directory_is_loaded(directory) ? directory_shard_count(directory) : 0;
    bool idle = claimer->busy == 0 && claimer->options.has_room(claimer->options.context);
    for (size_t i = 0; idle && i < count; i++)
    {
        Shard *home = directory_shard(directory, i);
        if (shard_is_usable(home))
            ask(claimer, home);
    }
    if (claimer->busy == 0 && !claimer->stopped)
        loop_timer_start(claimer->timer, claimer->options.period_ms);
}

Claimer *claimer_new(const ClaimerOptions *options)
{
    Claimer *claimer = base_calloc(1, sizeof *claimer);
    claimer->options = *options;
    claimer->timer = loop_timer_new(options->loop, ask_all, claimer);
    loop_timer_start(claimer->timer, options->period_ms);
    return claimer;
}

void claimer_free(Claimer *claimer)
{
    if (claimer == NULL)
        return;
    ASSERT(claimer->busy == 0);
    loop_timer_free(claimer->timer);
    free(claimer);
}

void claimer_hurry(Claimer *claimer)
{
    if (claimer->busy == 0 && !claimer->stopped)
        loop_timer_start(claimer->timer, 0);
}

void claimer_stop(Claimer *claimer)
{
    claimer->stopped = true;
    loop_timer_stop(claimer->timer);
}
