/* See readmit.h. */
#include "cluster/readmit.h"

#include "cluster/setup.h"
#include "shard/history.h"

#include <stdlib.h>
#include <string.h>

enum
{
    WORDS_MAX = 64,
    FENCED_MAX = 512,
};

typedef struct Mark
{
    uint8_t batch[MARK_LENGTH];
    char coordinator[WORDS_MAX];
    char noted_at[WORDS_MAX];
    bool missing;
} Mark;

typedef struct Readmission
{
    const ReadmitOptions *options;
    Site directory;
    Site shard;
    bool is_listed; /* in the directory */
    Incarnation before;
    Mark marks[HISTORY_LISTED_MAX];
    size_t mark_count;
    size_t missing_count;
    bool is_fenced;
    char fenced[FENCED_MAX];
    int64_t epoch; /* the new one */
    bool taken_over;
} Readmission;

static const ConfigShard *find_shard(const Config *config, const char *name)
{
    for (size_t i = 0; i < config->shard_count; i++)
    {
        if (strcmp(config->shards[i].name, name) == 0)
            return &config->shards[i];
    }
    return NULL;
}

/* ---- what is there --------------------------------------------------------------------------- */

static void name_sites(Readmission *readmission, const Config *config, const ConfigShard *shard)
{
    readmission->directory.purpose =
        (Purpose){.cluster = config->cluster, .name = "directory", .may_lose_writes = true};
    readmission->shard.shard = shard;
    readmission->shard.purpose = (Purpose){.cluster = config->cluster,
                                           .name = shard->name,
                                           .ordinal = shard->ordinal,
                                           .may_lose_writes = true};
}

static bool enter(Site *site, Loop *loop, const ConfigDatabase *database, Error *error)
{
    return site_open(site, loop, database, error) && site_look(site, error) &&
           (site->facts.is_set_up || target_complain(site->owner, error, "it is not set up")) &&
           site_enter(site, loop, error);
}

/* The columns of INIT_DIRECTORY_HISTORY. */
static void read_incarnation(void *context, const PgRows *rows)
{
    Readmission *readmission = context;
    Incarnation *before = &readmission->before;
    readmission->is_listed = pg_row_count(rows) == 1;
    if (!readmission->is_listed)
        return;
    snprintf(before->system_identifier, sizeof before->system_identifier, "%s",
             pg_text(rows, 0, 0));
    before->epoch = pg_int8(rows, 0, 1);
    snprintf(before->timeline, sizeof before->timeline, "%s", pg_text(rows, 0, 2));
}

/* The columns of INIT_DIRECTORY_MARKS. */
static void read_marks(void *context, const PgRows *rows)
{
    Readmission *readmission = context;
    for (size_t row = 0; row < pg_row_count(rows) && row < HISTORY_LISTED_MAX; row++)
    {
        Mark *mark = &readmission->marks[readmission->mark_count++];
        memcpy(mark->batch, pg_uuid(rows, row, 0), MARK_LENGTH);
        snprintf(mark->coordinator, sizeof mark->coordinator, "%s", pg_text(rows, row, 1));
        snprintf(mark->noted_at, sizeof mark->noted_at, "%s", pg_text(rows, row, 2));
    }
}

static void note_missing(Readmission *readmission, const uint8_t *batch)
{
    for (size_t i = 0; i < readmission->mark_count; i++)
    {
        if (memcmp(readmission->marks[i].batch, batch, MARK_LENGTH) != 0)
            continue;
        readmission->marks[i].missing = true;
        readmission->missing_count++;
    }
}

/* The columns of INIT_SHARD_HISTORY: one row per missing mark, at least one. */
static void read_history(void *context, const PgRows *rows)
{
    Readmission *readmission = context;
    readmission->is_fenced = !pg_is_null(rows, 0, 0);
    if (readmission->is_fenced)
        snprintf(readmission->fenced, sizeof readmission->fenced, "%s", pg_text(rows, 0, 0));
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        if (!pg_is_null(rows, row, 1))
            note_missing(readmission, pg_uuid(rows, row, 1));
    }
}

static bool ask_directory(Readmission *readmission, Error *error)
{
    Target *target = readmission->directory.owner;
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, readmission->shard.purpose.name);
    bool done =
        target_ask(target, INIT_DIRECTORY_HISTORY, params, read_incarnation, readmission, error) &&
        (readmission->is_listed ||
         target_complain(target, error, "it has no shard %s", readmission->shard.purpose.name)) &&
        target_ask(target, INIT_DIRECTORY_MARKS, params, read_marks, readmission, error);
    pg_params_free(params);
    return done;
}

/* Of all marks, or of those that are missing. */
static void put_marks(PgParams *params, const Readmission *readmission, bool only_missing)
{
    pg_params_array(params, PG_ELEMENT_UUID,
                    only_missing ? readmission->missing_count : readmission->mark_count);
    for (size_t i = 0; i < readmission->mark_count; i++)
    {
        if (!only_missing || readmission->marks[i].missing)
            pg_params_add_uuid(params, readmission->marks[i].batch);
    }
}

static bool ask_shard(Readmission *readmission, Error *error)
{
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    put_marks(params, readmission, false);
    bool done = target_ask(readmission->shard.owner, INIT_SHARD_HISTORY, params, read_history,
                           readmission, error);
    pg_params_free(params);
    return done;
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool is_as_the_directory_says(const Readmission *readmission)
{
    const Facts *facts = &readmission->shard.facts;
    const Incarnation *before = &readmission->before;
    return !readmission->is_fenced && readmission->missing_count == 0 &&
           strcmp(facts->system_identifier, before->system_identifier) == 0 &&
           facts->epoch == before->epoch && strcmp(facts->timeline, before->timeline) == 0;
}

static void say_what_was_found(const Readmission *readmission)
{
    FILE *report = readmission->options->report;
    const char *name = readmission->shard.purpose.name;
    const Facts *facts = &readmission->shard.facts;
    const Incarnation *before = &readmission->before;
    setup_say(report, "%s: fenced: %s\n", name,
              readmission->is_fenced ? readmission->fenced : "no");
    if (strcmp(facts->system_identifier, before->system_identifier) != 0)
        setup_say(report, "%s: system identifier %s, in the directory %s\n", name,
                  facts->system_identifier, before->system_identifier);
    setup_say(report, "%s: epoch %lld, in the directory %lld\n", name, (long long)facts->epoch,
              (long long)before->epoch);
    setup_say(report, "%s: timeline %s, in the directory %s\n", name, facts->timeline,
              before->timeline);
    setup_say(report, "%s: %zu of %zu known acknowledged batches are missing\n", name,
              readmission->missing_count, readmission->mark_count);
    for (size_t i = 0; i < readmission->mark_count; i++)
    {
        const Mark *mark = &readmission->marks[i];
        char batch[UUID_TEXT_MAX + 1];
        uuid_format(mark->batch, batch);
        if (mark->missing)
            setup_say(report, "%s:   batch %s, acknowledged to %s before %s\n", name, batch,
                      mark->coordinator, mark->noted_at);
    }
}

/* ---- the two steps --------------------------------------------------------------------------- */

static void read_epoch(void *context, const PgRows *rows)
{
    Readmission *readmission = context;
    readmission->epoch = pg_int8(rows, 0, 0);
}

static bool decide(Readmission *readmission, Error *error)
{
    const Site *shard = &readmission->shard;
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_text(params, shard->purpose.name);
    pg_params_text(params, shard->database->dsn);
    pg_params_text(params, shard->facts.system_identifier);
    pg_params_int8(params, shard->facts.epoch);
    pg_params_text(params, shard->facts.timeline);
    pg_params_text(params, readmission->is_fenced ? readmission->fenced : NULL);
    put_marks(params, readmission, true);
    pg_params_text(params, readmission->options->reason);
    bool done = target_ask(readmission->directory.owner, INIT_DIRECTORY_READMIT, params, read_epoch,
                           readmission, error) &&
                target_commit(readmission->directory.owner, error);
    pg_params_free(params);
    return done;
}

static void read_taken_over(void *context, const PgRows *rows)
{
    Readmission *readmission = context;
    readmission->taken_over = pg_bool(rows, 0, 0);
}

static bool take_over(Readmission *readmission, Error *error)
{
    Target *target = readmission->shard.owner;
    PgParams *params = pg_params_new(SETUP_PARAMS_MAX);
    pg_params_int8(params, readmission->epoch);
    bool done =
        target_ask(target, INIT_SHARD_READMIT, params, read_taken_over, readmission, error) &&
        (readmission->taken_over ||
         target_complain(target, error, "its epoch is higher already")) &&
        target_commit(target, error);
    pg_params_free(params);
    if (done)
        setup_say(readmission->options->report,
                  "%s: readmitted under epoch %lld; what it may have forgotten of transfers with "
                  "other shards is found by girod reconcile --full\n",
                  readmission->shard.purpose.name, (long long)readmission->epoch);
    return done;
}

/* Both transactions are open, so that neither init nor another readmission comes in between. */
static bool readmit(Readmission *readmission, Error *error)
{
    if (!setup_begin(&readmission->directory, error) || !setup_begin(&readmission->shard, error) ||
        !ask_directory(readmission, error) || !ask_shard(readmission, error))
        return false;
    say_what_was_found(readmission);
    if (is_as_the_directory_says(readmission))
    {
        setup_say(readmission->options->report, "%s: nothing to readmit\n",
                  readmission->shard.purpose.name);
        return true;
    }
    return decide(readmission, error) && take_over(readmission, error);
}

bool readmit_shard(Loop *loop, const Config *config, const ReadmitOptions *options, Error *error)
{
    const ConfigShard *shard = find_shard(config, options->shard);
    if (shard == NULL)
        return error_set(error, ERROR_CONFIG, "the description has no shard %s", options->shard);
    Readmission *readmission = base_calloc(1, sizeof *readmission);
    readmission->options = options;
    name_sites(readmission, config, shard);
    bool done = enter(&readmission->directory, loop, &config->directory, error) &&
                enter(&readmission->shard, loop, &shard->database, error) &&
                readmit(readmission, error);
    site_done(&readmission->directory);
    site_done(&readmission->shard);
    free(readmission);
    return done;
}
