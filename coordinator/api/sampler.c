/* See sampler.h. */
#include "api/sampler.h"

#include <stdlib.h>

enum
{
    TICKS_PER_PERIOD = 5,
};

/* Columns of shard_state. */
enum
{
    STATE_ASKED_AT,
    STATE_PENDING,
    STATE_PENDING_SINCE,
    STATE_ATTENTION,
    STATE_ATTENTION_SINCE,
    STATE_UNFINISHED,
    STATE_UNFINISHED_SINCE,
    STATE_PREPARED,
    STATE_PREPARED_MAX,
};

/* Columns of replication_state. */
enum
{
    REPLICATION_STANDBYS,
    REPLICATION_LAG_BYTES,
    REPLICATION_LAG_MS,
};

/* A shard that has been seen; it is kept as long as the sampler. */
typedef struct Place
{
    Sampler *sampler;
    const Shard *shard;
    struct Place *next;
    Shard *asked;         /* the same, while it is asked */
    uint64_t asked_at_ms; /* 0: never */
    bool has_state;
    uint64_t state_at_ms;
    bool has_prepared;
    uint64_t prepared_at_ms;
    bool has_replication;
    uint64_t replication_at_ms;
    ShardSample state;
    ReplicationSample replication;
    PreparedSample prepared;
} Place;

struct Sampler
{
    SamplerOptions options;
    LoopTimer *timer;
    Place *places;
    bool surveying;
    uint64_t surveyed_at_ms; /* 0: never */
};

/* Is it time to ask again? */
static bool is_due(const Sampler *sampler, uint64_t asked_at_ms)
{
    uint64_t now_ms = loop_now_ms(sampler->options.loop);
    return asked_at_ms == 0 || now_ms - asked_at_ms >= sampler->options.period_ms;
}

static Place *find_place(const Sampler *sampler, const Shard *shard)
{
    Place *place = sampler->places;
    while (place != NULL && place->shard != shard)
        place = place->next;
    return place;
}

static Place *place_of(Sampler *sampler, const Shard *shard)
{
    Place *place = find_place(sampler, shard);
    if (place == NULL)
    {
        place = base_calloc(1, sizeof *place);
        place->sampler = sampler;
        place->shard = shard;
        place->next = sampler->places;
        sampler->places = place;
    }
    return place;
}

/* ---- what is unfinished ---------------------------------------------------------------------- */

static Backlog read_backlog(const PgRows *rows, size_t count, size_t since)
{
    Backlog backlog = {.count = pg_int8(rows, 0, count)};
    if (!pg_is_null(rows, 0, since))
        backlog.oldest_ms =
            (pg_timestamp_us(rows, 0, STATE_ASKED_AT) - pg_timestamp_us(rows, 0, since)) / 1000;
    if (backlog.oldest_ms < 0)
        backlog.oldest_ms = 0; /* the times are its coordinator's */
    return backlog;
}

static int64_t known_or_none(const PgRows *rows, size_t column)
{
    return pg_is_null(rows, 0, column) ? -1 : pg_int8(rows, 0, column);
}

static void on_replication(void *context, const CallResult *result)
{
    Place *place = context;
    place->asked = NULL;
    if (result->code != ERROR_NONE)
        return;
    place->replication = (ReplicationSample){
        .standbys = pg_int4(result->rows, 0, REPLICATION_STANDBYS),
        .lag_bytes = known_or_none(result->rows, REPLICATION_LAG_BYTES),
        .lag_ms = known_or_none(result->rows, REPLICATION_LAG_MS),
    };
    place->replication_at_ms = loop_now_ms(place->sampler->options.loop);
    place->has_replication = true;
}

/* Followed by the question about its standbys. */
static void on_state(void *context, const CallResult *result)
{
    Place *place = context;
    if (result->code != ERROR_NONE)
    {
        place->asked = NULL;
        return;
    }
    const PgRows *rows = result->rows;
    place->state = (ShardSample){
        .pending = read_backlog(rows, STATE_PENDING, STATE_PENDING_SINCE),
        .attention = read_backlog(rows, STATE_ATTENTION, STATE_ATTENTION_SINCE),
        .unfinished = read_backlog(rows, STATE_UNFINISHED, STATE_UNFINISHED_SINCE),
        .prepared = pg_int8(rows, 0, STATE_PREPARED),
        .prepared_max = pg_int4(rows, 0, STATE_PREPARED_MAX),
    };
    place->state_at_ms = loop_now_ms(place->sampler->options.loop);
    place->has_state = true;
    call_shard(place->sampler->options.caller, place->asked,
               &(Call){STATEMENT_REPLICATION_STATE, NULL, on_replication, place});
}

static void fill_state(void *context, PgParams *params)
{
    (void)context;
    pg_params_int4(params, SAMPLER_COUNT_MAX);
}

static void ask_state(Sampler *sampler, Shard *shard)
{
    Place *place = place_of(sampler, shard);
    if (place->asked != NULL || !shard_is_usable(shard) || !is_due(sampler, place->asked_at_ms))
        return;
    place->asked = shard;
    place->asked_at_ms = loop_now_ms(sampler->options.loop);
    call_shard(sampler->options.caller, shard,
               &(Call){STATEMENT_SHARD_STATE, fill_state, on_state, place});
}

/* ---- what is prepared ------------------------------------------------------------------------ */

static bool is_missing(const PreparedSurvey *survey, const Shard *shard)
{
    for (size_t i = 0; i < survey->missing_count; i++)
    {
        if (survey->missing[i] == shard)
            return true;
    }
    return false;
}

static void add_item(Sampler *sampler, const PreparedItem *item)
{
    Backlog *backlog = &place_of(sampler, item->shard)->prepared.by_class[item->class];
    backlog->count++;
    if (item->age_ms > backlog->oldest_ms)
        backlog->oldest_ms = item->age_ms;
}

static void on_survey(void *context, const PreparedSurvey *survey)
{
    Sampler *sampler = context;
    sampler->surveying = false;
    for (Place *place = sampler->places; place != NULL; place = place->next)
    {
        place->prepared = (PreparedSample){0};
        place->prepared_at_ms = loop_now_ms(sampler->options.loop);
        place->has_prepared = !is_missing(survey, place->shard);
    }
    for (size_t i = 0; i < survey->count; i++)
        add_item(sampler, &survey->items[i]);
}

static void survey(Sampler *sampler)
{
    if (sampler->surveying || !is_due(sampler, sampler->surveyed_at_ms))
        return;
    sampler->surveying = true;
    sampler->surveyed_at_ms = loop_now_ms(sampler->options.loop);
    prepared_survey(sampler->options.caller, sampler->options.directory, PREPARED_LIMIT_MAX,
                    on_survey, sampler);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* A tick is short, so that a shard is asked as soon as it can be used. */
static void tick(void *context)
{
    Sampler *sampler = context;
    size_t count = directory_shard_count(sampler->options.directory);
    for (size_t i = 0; i < count; i++)
        ask_state(sampler, directory_shard(sampler->options.directory, i));
    if (count > 0)
        survey(sampler);
    loop_timer_start(sampler->timer, sampler->options.period_ms / TICKS_PER_PERIOD);
}

Sampler *sampler_new(const SamplerOptions *options)
{
    Sampler *sampler = base_calloc(1, sizeof *sampler);
    sampler->options = *options;
    sampler->timer = loop_timer_new(options->loop, tick, sampler);
    if (options->period_ms > 0)
        loop_timer_start(sampler->timer, options->period_ms / TICKS_PER_PERIOD);
    return sampler;
}

void sampler_free(Sampler *sampler)
{
    if (sampler == NULL)
        return;
    for (Place *place; (place = sampler->places) != NULL;)
    {
        sampler->places = place->next;
        free(place);
    }
    loop_timer_free(sampler->timer);
    free(sampler);
}

void sampler_stop(Sampler *sampler)
{
    loop_timer_stop(sampler->timer);
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool is_fresh(const Sampler *sampler, uint64_t age_ms)
{
    return age_ms <= SAMPLER_PERIODS_MAX * sampler->options.period_ms;
}

Samples sampler_samples(const Sampler *sampler, const Shard *shard)
{
    const Place *place = find_place(sampler, shard);
    uint64_t now_ms = loop_now_ms(sampler->options.loop);
    Samples samples = {0};
    if (place != NULL && place->has_state)
    {
        samples.is_known = true;
        samples.age_ms = now_ms - place->state_at_ms;
        samples.state = is_fresh(sampler, samples.age_ms) ? &place->state : NULL;
    }
    if (place != NULL && place->has_prepared && is_fresh(sampler, now_ms - place->prepared_at_ms))
        samples.prepared = &place->prepared;
    if (place != NULL && place->has_replication &&
        is_fresh(sampler, now_ms - place->replication_at_ms))
        samples.replication = &place->replication;
    return samples;
}
