/* See prepared.h. */
#include "protocol/prepared.h"

#include "protocol/recoverer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    VERDICTS_MAX = 256, /* that a home is asked for in one call */
    DETAIL_MAX = 160,
};

/* Columns of prepared_list. */
enum
{
    LIST_GID,
    LIST_PREPARED_AT,
    LIST_AGE_MS,
    LIST_OWNER,
    LIST_DATABASE,
    LIST_IS_HERE,
    LIST_IS_OWN,
    LIST_IS_PRESENT,
};

typedef struct Survey
{
    Caller *caller;
    Directory *directory;
    int32_t limit;
    PreparedDone done;
    void *context;
    size_t outstanding; /* calls */
    PreparedItem *items;
    size_t count;
    const Shard **missing;
    char detail[DETAIL_MAX];
    PreparedSurvey result;
} Survey;

/* One call: a shard's list, or the verdicts of a home. */
typedef struct Ask
{
    Survey *survey;
    Shard *shard;
    size_t items[VERDICTS_MAX]; /* places in the survey's */
    size_t count;
} Ask;

static void ask_homes(Survey *survey);

const char *prepared_class_name(PreparedClass class)
{
    static const char *const names[PREPARED_CLASS_COUNT] = {
        [PREPARED_IN_FLIGHT] = "in-flight", [PREPARED_DECIDED] = "decided",
        [PREPARED_ORPHAN] = "orphan",       [PREPARED_IN_DOUBT] = "in-doubt",
        [PREPARED_FOREIGN] = "foreign",
    };
    return names[class];
}

/* ---- the end --------------------------------------------------------------------------------- */

static PreparedClass class_of(const PreparedItem *item)
{
    if (item->class == PREPARED_FOREIGN)
        return PREPARED_FOREIGN;
    if (!item->is_answered)
        return PREPARED_IN_DOUBT;
    if (item->verdict != NULL && strcmp(item->verdict, "commit") == 0)
        return PREPARED_DECIDED;
    bool in_flight = item->is_present && item->age_ms < RECOVERER_AGE_MS;
    return in_flight ? PREPARED_IN_FLIGHT : PREPARED_ORPHAN;
}

static int by_age(const void *left, const void *right)
{
    const PreparedItem *a = left;
    const PreparedItem *b = right;
    if (a->prepared_at_us != b->prepared_at_us)
        return a->prepared_at_us < b->prepared_at_us ? -1 : 1;
    return strcmp(a->gid, b->gid);
}

static void finish(Survey *survey)
{
    for (size_t i = 0; i < survey->count; i++)
        survey->items[i].class = class_of(&survey->items[i]);
    if (survey->count > 0)
        qsort(survey->items, survey->count, sizeof *survey->items, by_age);
    survey->result.items = survey->items;
    survey->result.count = survey->count;
    survey->result.missing = survey->missing;
    survey->result.detail = survey->detail;
    survey->done(survey->context, &survey->result);
    free(survey->missing);
    free(survey->items);
    free(survey);
}

static void miss(Survey *survey, const Shard *shard, const CallResult *result)
{
    for (size_t i = 0; i < survey->result.missing_count; i++)
    {
        if (survey->missing[i] == shard)
            return;
    }
    if (survey->result.missing_count == 0)
    {
        survey->result.code = result->code;
        snprintf(survey->detail, sizeof survey->detail, "%s", result->detail);
    }
    size_t count = ++survey->result.missing_count;
    survey->missing = base_realloc(survey->missing, count * sizeof(const Shard *));
    survey->missing[count - 1] = shard;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool is_of_cluster(const Survey *survey, const char *text, Gid *ret_gid)
{
    return gid_parse(text, ret_gid) &&
           strcmp(ret_gid->cluster, directory_cluster(survey->directory)) == 0;
}

/* The leg of another shard that shares the server: that shard lists it. */
static bool is_of_neighbour(const Survey *survey, const Ask *ask, const PreparedItem *item)
{
    Gid gid;
    return is_of_cluster(survey, item->gid, &gid) &&
           strcmp(gid.remote, shard_name(ask->shard)) != 0 &&
           directory_shard_by_name(survey->directory, gid.remote) != NULL;
}

static void take_row(Survey *survey, const Ask *ask, const PgRows *rows, size_t row)
{
    PreparedItem *item = &survey->items[survey->count];
    bool is_here = pg_bool(rows, row, LIST_IS_HERE);
    *item = (PreparedItem){
        .shard = ask->shard,
        .class = PREPARED_FOREIGN,
        .prepared_at_us = pg_timestamp_us(rows, row, LIST_PREPARED_AT),
        .age_ms = pg_int8(rows, row, LIST_AGE_MS),
        .is_present = pg_bool(rows, row, LIST_IS_PRESENT),
    };
    snprintf(item->gid, sizeof item->gid, "%s", pg_text(rows, row, LIST_GID));
    snprintf(item->owner, sizeof item->owner, "%s", pg_text(rows, row, LIST_OWNER));
    snprintf(item->database, sizeof item->database, "%s", pg_text(rows, row, LIST_DATABASE));
    if (!is_here && is_of_neighbour(survey, ask, item))
        return;
    survey->count++;
    if (is_here && pg_bool(rows, row, LIST_IS_OWN) &&
        is_of_cluster(survey, item->gid, &item->parts) &&
        strcmp(item->parts.remote, shard_name(ask->shard)) == 0)
    {
        item->class = PREPARED_IN_DOUBT;
        item->home = directory_shard_by_name(survey->directory, item->parts.home);
    }
}

static void take_list(Survey *survey, const Ask *ask, const PgRows *rows)
{
    size_t count = pg_row_count(rows);
    if (count > (size_t)survey->limit)
    {
        survey->result.truncated = true;
        count = (size_t)survey->limit;
    }
    survey->items = base_realloc(survey->items, (survey->count + count) * sizeof *survey->items);
    for (size_t row = 0; row < count; row++)
        take_row(survey, ask, rows, row);
}

static void on_list(void *context, const CallResult *result)
{
    Ask *ask = context;
    Survey *survey = ask->survey;
    if (result->code == ERROR_NONE)
        take_list(survey, ask, result->rows);
    else
        miss(survey, ask->shard, result);
    free(ask);
    if (--survey->outstanding == 0)
        ask_homes(survey);
}

static void fill_list(void *context, PgParams *params)
{
    const Ask *ask = context;
    pg_params_int4(params, ask->survey->limit + 1);
}

void prepared_survey(Caller *caller, Directory *directory, int32_t limit, PreparedDone done,
                     void *context)
{
    Survey *survey = base_calloc(1, sizeof *survey);
    survey->caller = caller;
    survey->directory = directory;
    survey->limit = limit;
    survey->done = done;
    survey->context = context;
    survey->outstanding = directory_shard_count(directory);
    ASSERT(survey->outstanding > 0 && limit > 0 && limit <= PREPARED_LIMIT_MAX);
    for (size_t i = 0; i < directory_shard_count(directory); i++)
    {
        Ask *ask = base_calloc(1, sizeof *ask);
        ask->survey = survey;
        ask->shard = directory_shard(directory, i);
        call_shard(caller, ask->shard, &(Call){STATEMENT_PREPARED_LIST, fill_list, on_list, ask});
    }
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void take_verdict(Ask *ask, const uint8_t batch[16], const char *verdict)
{
    for (size_t i = 0; i < ask->count; i++)
    {
        PreparedItem *item = &ask->survey->items[ask->items[i]];
        if (memcmp(item->parts.batch, batch, sizeof item->parts.batch) == 0)
            item->verdict = strcmp(verdict, "commit") == 0 ? "commit" : "abort";
    }
}

static void on_verdicts(void *context, const CallResult *result)
{
    Ask *ask = context;
    Survey *survey = ask->survey;
    if (result->code == ERROR_NONE)
    {
        for (size_t i = 0; i < ask->count; i++)
            survey->items[ask->items[i]].is_answered = true;
        for (size_t row = 0; row < pg_row_count(result->rows); row++)
            take_verdict(ask, pg_uuid(result->rows, row, 0), pg_text(result->rows, row, 1));
    }
    else
        miss(survey, ask->shard, result);
    free(ask);
    if (--survey->outstanding == 0)
        finish(survey);
}

static void fill_verdicts(void *context, PgParams *params)
{
    const Ask *ask = context;
    pg_params_array(params, PG_ELEMENT_UUID, ask->count);
    for (size_t i = 0; i < ask->count; i++)
        pg_params_add_uuid(params, ask->survey->items[ask->items[i]].parts.batch);
}

/* Asks the home of the first that has not been asked about, for as many as one call may hold. */
static void ask_home(Survey *survey, size_t first)
{
    Ask *ask = base_calloc(1, sizeof *ask);
    ask->survey = survey;
    ask->shard = survey->items[first].home;
    for (size_t i = first; i < survey->count && ask->count < VERDICTS_MAX; i++)
    {
        PreparedItem *item = &survey->items[i];
        if (item->home != ask->shard || item->is_asked)
            continue;
        item->is_asked = true;
        ask->items[ask->count++] = i;
    }
    survey->outstanding++;
    call_shard(survey->caller, ask->shard,
               &(Call){STATEMENT_VERDICTS_BY_ID, fill_verdicts, on_verdicts, ask});
}

static void ask_homes(Survey *survey)
{
    for (size_t i = 0; i < survey->count; i++)
    {
        if (survey->items[i].home != NULL && !survey->items[i].is_asked)
            ask_home(survey, i);
    }
    if (survey->outstanding == 0)
        finish(survey);
}
