/* See probe.h. */
#include "api/probe.h"

#include "api/lookup.h"

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
typedef struct Probing
{
    Api *api;
    Probe probe;
    StepsHome home;
} Probing;

static int64_t time_or_zero(const PgRows *rows, size_t column)
{
    return pg_is_null(rows, 0, column) ? 0 : pg_timestamp_us(rows, 0, column);
}

static void tell(Probing *probing, const StepsRemote *remote)
{
    ProbeResult result = {.detail = "", .home = &probing->home, .remote = remote};
    probing->probe.done(probing->probe.context, &result);
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
    Probing *probing = context;
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
    tell(probing, &remote);
}

static void fill_remote(void *context, PgParams *params)
{
    const Probing *probing = context;
    pg_params_uuid(params, probing->probe.id);
    pg_params_uuid(params, probing->home.batch);
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
static const char *keep(Probing *probing, const PgRows *rows, size_t column)
{
    const char *text = pg_text(rows, 0, column);
    return text != NULL ? arena_copy(http_arena(probing->probe.request), text, strlen(text)) : NULL;
}

static void read_home(Probing *probing, const PgRows *rows, const Shard *shard)
{
    StepsHome *home = &probing->home;
    ASSERT(mode_parse(pg_text(rows, 0, HOME_MODE), &home->mode));
    ASSERT(transfer_state_parse(pg_text(rows, 0, HOME_STATE), &home->state));
    home->shard = shard_name(shard);
    home->refusal = keep(probing, rows, HOME_REFUSAL);
    home->remote_shard = keep(probing, rows, HOME_REMOTE);
    home->giving_up = !pg_is_null(rows, 0, HOME_GIVING_UP);
    home->attempts = pg_int4(rows, 0, HOME_ATTEMPTS);
    home->last_error = keep(probing, rows, HOME_LAST_ERROR);
    home->created_at_us = pg_timestamp_us(rows, 0, HOME_CREATED_AT);
    home->decided_at_us = time_or_zero(rows, HOME_DECIDED_AT);
    memcpy(home->batch, pg_uuid(rows, 0, HOME_BATCH), sizeof home->batch);
    home->coordinator = keep(probing, rows, HOME_COORDINATOR);
    home->finished_at_us = time_or_zero(rows, HOME_FINISHED_AT);
    home->refunded_at_us = time_or_zero(rows, HOME_REFUNDED_AT);
}

static void on_home(void *context, const LookupResult *result)
{
    Probing *probing = context;
    if (result->code != ERROR_NONE)
    {
        probing->probe.done(probing->probe.context,
                            &(ProbeResult){.code = result->code, .detail = result->detail});
        return;
    }
    StepsHome *home = &probing->home;
    read_home(probing, result->rows, result->shard);
    if (!steps_have_remote(home))
    {
        tell(probing, NULL);
        return;
    }
    Shard *shard = remote_shard(probing->api, home, result->rows);
    if (shard == NULL)
    {
        tell(probing, &(StepsRemote){.trouble = "the directory does not know the shard"});
        return;
    }
    home->remote_shard = shard_name(shard);
    call_shard(probing->api->caller, shard,
               &(Call){STATEMENT_STEPS_REMOTE, fill_remote, on_remote, probing});
}

bool probe_start(Api *api, const Probe *probe)
{
    Probing *probing = arena_take(http_arena(probe->request), sizeof *probing);
    Lookup lookup = {.statement = STATEMENT_STEPS_HOME, .done = on_home, .context = probing};
    *probing = (Probing){.api = api, .probe = *probe};
    memcpy(lookup.id, probe->id, sizeof lookup.id);
    if (probe->home == NULL)
        return lookup_start(api, &lookup);
    lookup_on_shard(api, probe->home, &lookup);
    return true;
}
