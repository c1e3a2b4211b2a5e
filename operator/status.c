/*
 * `status`: the service at a glance.
 */
#include "commands.h"
#include "field.h"
#include "finding.h"
#include "list.h"
#include "survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    TEXT_MAX = 512,
    SECOND_MS = 1000,
    WAITS_MAX = 257,       /* shards, and none */
    TRANSFERS_MAX = 10000, /* that are counted */
};

static void put_service(const Context *context, const Survey *survey)
{
    const Json *ready = survey->readiness.document;
    char detail[TEXT_MAX];
    snprintf(detail, sizeof detail,
             "version %s at %s; %" PRId64 " transfers and %" PRId64 " batches under way",
             field_string(survey->version.document, "version"), service_url(context->service),
             field_integer(ready, "transfers_in_flight"),
             field_integer(ready, "batches_in_flight"));
    finding_put(context->output,
                &(Finding){"girod", "service", field_string(ready, "status"), detail});
    bool reachable = field_bool(ready, "directory.reachable");
    snprintf(detail, sizeof detail, "cluster %s, routing version %" PRId64,
             field_string(ready, "directory.cluster"), field_integer(ready, "directory.version"));
    finding_put(context->output,
                &(Finding){"directory", "database", reachable ? "usable" : "down", detail});
}

static void put_shard(const Context *context, const Json *shard)
{
    char detail[TEXT_MAX];
    bool usable = field_bool(shard, "usable");
    snprintf(detail, sizeof detail,
             "%" PRId64 " sessions, %" PRId64 " busy, %" PRId64 " works wait for one",
             field_integer(shard, "sessions_open"), field_integer(shard, "sessions_busy"),
             field_integer(shard, "waiting"));
    finding_put(context->output,
                &(Finding){field_string(shard, "name"), "database", usable ? "usable" : "down",
                           usable ? detail : field_string(shard, "trouble")});
}

static void put_prepared(const Context *context, const Survey *survey)
{
    for (size_t i = 0; i < survey->tally_count; i++)
    {
        const Tally *tally = &survey->tallies[i];
        char detail[TEXT_MAX];
        snprintf(detail, sizeof detail, "%" PRId64 ", the oldest for %" PRId64 " s", tally->count,
                 tally->oldest_ms / SECOND_MS);
        finding_put(context->output, &(Finding){tally->shard, "prepared", tally->class, detail});
    }
}

/* ---- transfers ------------------------------------------------------------------------------ */

/* What waits for one shard. */
typedef struct Wait
{
    char shard[SURVEY_NAME_MAX];
    char oldest[SURVEY_NAME_MAX];
    int64_t count;
    int64_t need_person;
} Wait;

typedef struct Waits
{
    Wait items[WAITS_MAX];
    size_t count;
    int64_t left; /* how many more are counted */
} Waits;

static Wait *find_wait(Waits *waits, const char *shard)
{
    for (size_t i = 0; i < waits->count; i++)
    {
        if (strcmp(waits->items[i].shard, shard) == 0)
            return &waits->items[i];
    }
    if (waits->count == WAITS_MAX)
        return NULL;
    Wait *fresh = &waits->items[waits->count++];
    snprintf(fresh->shard, sizeof fresh->shard, "%s", shard);
    return fresh;
}

/* They come newest first: the last one is the oldest. */
static bool take_transfer(void *closure, const Json *transfer)
{
    Waits *waits = closure;
    Wait *wait = find_wait(waits, field_string(transfer, "waits_for"));
    if (wait == NULL || waits->left == 0)
        return false;
    waits->left--;
    wait->count++;
    wait->need_person += field_bool(transfer, "needs_attention");
    snprintf(wait->oldest, sizeof wait->oldest, "%.19sZ", field_string(transfer, "created_at"));
    return true;
}

static void put_wait(const Context *context, const Wait *wait, bool is_all)
{
    char detail[TEXT_MAX];
    snprintf(detail, sizeof detail,
             "%s%" PRId64 " wait for it, %" PRId64 " of them need a person, one since %s",
             is_all ? "" : "at least ", wait->count, wait->need_person, wait->oldest);
    finding_put(context->output, &(Finding){wait->shard[0] != '\0' ? wait->shard : "nobody",
                                            "transfers", "pending", detail});
}

static ExitCode put_transfers(const Context *context)
{
    List list = {.path = "/v1/transfers",
                 .parameters = {{"unfinished", "true"}, {"older_than", "1s"}, {"partial", "true"}}};
    Waits *waits = base_calloc(1, sizeof *waits);
    waits->left = TRANSFERS_MAX;
    ExitCode code = list_each(context, &list, take_transfer, waits, NULL);
    for (size_t i = 0; i < waits->count; i++)
        put_wait(context, &waits->items[i], waits->left > 0);
    if (code == EXIT_CODE_DONE && waits->count == 0)
        finding_put(context->output,
                    &(Finding){"transfers", "unfinished", "ok", "none is older than a second"});
    free(waits);
    return code;
}

/* ---- intake --------------------------------------------------------------------------------- */

static void put_intake(const Context *context, const Json *directory)
{
    const Json *paused = field_at(directory, "intake.paused");
    for (size_t i = 0; i < field_count(directory, "intake.paused"); i++)
    {
        const Json *item = json_array_at(paused, i);
        char detail[TEXT_MAX];
        snprintf(detail, sizeof detail, "since %.19sZ: %.300s", field_string(item, "since"),
                 field_string(item, "reason"));
        finding_put(context->output,
                    &(Finding){"intake", field_string(item, "scope"), "paused", detail});
    }
}

ExitCode run_status(Context *context)
{
    Survey survey;
    ExitCode code = survey_read(context, &survey);
    if (code == EXIT_CODE_DONE)
    {
        const Json *shards = field_at(survey.readiness.document, "shards");
        finding_begin(context->output);
        put_service(context, &survey);
        for (size_t i = 0; i < field_count(survey.readiness.document, "shards"); i++)
            put_shard(context, json_array_at(shards, i));
        put_intake(context, survey.directory.document);
        put_prepared(context, &survey);
        if (field_bool(survey.readiness.document, "directory.loaded"))
            code = put_transfers(context);
        finding_end(context->output);
    }
    survey_done(&survey);
    return code;
}
