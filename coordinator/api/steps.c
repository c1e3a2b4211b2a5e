/*
 * The stages of a transfer, as the shards' rows tell them: GET /v1/transfers/{id}/steps. See
 * handler.h.
 *
 * First the home shard is found and says how the transfer was recorded; then the shard of the
 * credit is asked for the other half. If that one does not answer, its stages are "unknown", with
 * the reason, and the rest is shown all the same. Nothing is inferred beyond the rows: a leg that
 * is neither prepared nor visible is "missing", whatever the home says.
 */
#include "api/handler.h"

#include "api/lookup.h"
#include "api/steps_document.h"

#include <stdio.h>
#include <string.h>

/* Columns of steps_home. */
enum
{
    HOME_MODE,
    HOME_STATE,
    HOME_REFUSAL,
    HOME_REMOTE,
    HOME_CREDIT_ACCOUNT,
    HOME_GIVING_UP,
    HOME_ATTEMPTS,
    HOME_LAST_ERROR,
    HOME_CREATED_AT,
    HOME_DECIDED_AT,
    HOME_BATCH,
    HOME_COORDINATOR,
    HOME_FINISHED_AT,
    HOME_REFUNDED_AT,
};

/* Columns of steps_remote. */
enum
{
    REMOTE_RECEIPT,
    REMOTE_REFUSAL,
    REMOTE_RECEIPT_BATCH,
    REMOTE_RECEIPT_AT,
    REMOTE_RECEIPT_COORDINATOR,
    REMOTE_IS_PREPARED,
    REMOTE_LEG_COORDINATOR,
    REMOTE_LEG_AT,
    REMOTE_CREDITED_AT,
};

/* Lives in the request's arena. */
typedef struct StepsCall
{
    Api *api;
    HttpRequest *request;
    uint8_t id[16];
    StepsHome home;
} StepsCall;

static int64_t time_or_zero(const PgRows *rows, size_t column)
{
    return pg_is_null(rows, 0, column) ? 0 : pg_timestamp_us(rows, 0, column);
}

static void answer(StepsCall *call, const StepsRemote *remote)
{
    JsonWriter *writer = answer_writer();
    steps_document_write(writer, &call->home, remote);
    answer_json(call->request, 200, writer, &(HttpReply){0});
}

/* ---- the credit's shard --------------------------------------------------------------------- */

static void read_receipt(StepsRemote *remote, const PgRows *rows)
{
    remote->receipt = pg_text(rows, 0, REMOTE_RECEIPT);
    if (remote->receipt == NULL)
        return;
    remote->refusal = pg_text(rows, 0, REMOTE_REFUSAL);
    remote->receipt_batch = pg_uuid(rows, 0, REMOTE_RECEIPT_BATCH);
    remote->receipt_at_us = pg_timestamp_us(rows, 0, REMOTE_RECEIPT_AT);
    remote->receipt_coordinator = pg_text(rows, 0, REMOTE_RECEIPT_COORDINATOR);
}

static void on_remote(void *context, const CallResult *result)
{
    StepsCall *call = context;
    StepsRemote remote = {.trouble = result->detail};
    if (result->code == ERROR_NONE)
    {
        const PgRows *rows = result->rows;
        remote.trouble = NULL;
        remote.is_prepared = pg_bool(rows, 0, REMOTE_IS_PREPARED);
        remote.leg_coordinator = pg_text(rows, 0, REMOTE_LEG_COORDINATOR);
        remote.leg_at_us = time_or_zero(rows, REMOTE_LEG_AT);
        remote.credited_at_us = time_or_zero(rows, REMOTE_CREDITED_AT);
        read_receipt(&remote, rows);
    }
    answer(call, &remote);
}

static void fill_remote(void *context, PgParams *params)
{
    const StepsCall *call = context;
    pg_params_uuid(params, call->id);
    pg_params_uuid(params, call->home.batch);
}

/* A leg stays where it was prepared; a receipt moves with the credit account. */
static Shard *remote_shard(const Api *api, const StepsHome *home, const PgRows *rows)
{
    Location location;
    if (home->mode == MODE_2PC)
        return directory_shard_by_name(api->directory, home->remote_shard);
    bool known = directory_locate(api->directory, pg_text(rows, 0, HOME_CREDIT_ACCOUNT), &location);
    return known ? location.shard : NULL;
}

/* ---- the home shard ------------------------------------------------------------------------- */

/* Rows are lent, the call is not. */
static const char *keep(StepsCall *call, const PgRows *rows, size_t column)
{
    const char *text = pg_text(rows, 0, column);
    return text != NULL ? arena_copy(http_arena(call->request), text, strlen(text)) : NULL;
}

static void read_home(StepsCall *call, const PgRows *rows, const Shard *shard)
{
    StepsHome *home = &call->home;
    ASSERT(mode_parse(pg_text(rows, 0, HOME_MODE), &home->mode));
    ASSERT(transfer_state_parse(pg_text(rows, 0, HOME_STATE), &home->state));
    home->shard = shard_name(shard);
    home->refusal = keep(call, rows, HOME_REFUSAL);
    home->remote_shard = keep(call, rows, HOME_REMOTE);
    home->giving_up = !pg_is_null(rows, 0, HOME_GIVING_UP);
    home->attempts = pg_int4(rows, 0, HOME_ATTEMPTS);
    home->last_error = keep(call, rows, HOME_LAST_ERROR);
    home->created_at_us = pg_timestamp_us(rows, 0, HOME_CREATED_AT);
    home->decided_at_us = time_or_zero(rows, HOME_DECIDED_AT);
    memcpy(home->batch, pg_uuid(rows, 0, HOME_BATCH), sizeof home->batch);
    home->coordinator = keep(call, rows, HOME_COORDINATOR);
    home->finished_at_us = time_or_zero(rows, HOME_FINISHED_AT);
    home->refunded_at_us = time_or_zero(rows, HOME_REFUNDED_AT);
}

static void on_home(void *context, const LookupResult *result)
{
    StepsCall *call = context;
    if (result->code != ERROR_NONE)
    {
        problem_send(call->request, result->code, result->detail);
        return;
    }
    StepsHome *home = &call->home;
    read_home(call, result->rows, result->shard);
    if (!steps_have_remote(home))
    {
        answer(call, NULL);
        return;
    }
    Shard *shard = remote_shard(call->api, home, result->rows);
    if (shard == NULL)
    {
        answer(call, &(StepsRemote){.trouble = "the directory does not know the shard"});
        return;
    }
    home->remote_shard = shard_name(shard);
    call_shard(call->api->caller, shard,
               &(Call){STATEMENT_STEPS_REMOTE, fill_remote, on_remote, call});
}

void transfers_steps(Api *api, HttpRequest *request)
{
    Lookup lookup = {.statement = STATEMENT_STEPS_HOME, .done = on_home};
    if (!path_transfer(request, lookup.id))
        return;
    StepsCall *call = arena_take(http_arena(request), sizeof *call);
    call->api = api;
    call->request = request;
    memcpy(call->id, lookup.id, sizeof call->id);
    lookup.context = call;
    if (!lookup_start(api, &lookup))
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
}
