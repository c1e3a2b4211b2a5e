/*
 * Looks at what lives on the shards, every few seconds, for the metrics: what is unfinished there
 * (the participant function shard_state), how far its standbys are behind (replication_state), and
 * what is prepared. So a scrape asks no shard, however
 * often it comes, and a shard is asked as often as it is, however many scrape.
 *
 * Each shard is asked by itself. A sample that is older than three periods is none: what one
 * knows no more is not shown.
 */
#ifndef GIRO_SAMPLER_H
#define GIRO_SAMPLER_H

#include "protocol/prepared.h"

typedef struct Sampler Sampler;

enum
{
    SAMPLER_PERIODS_MAX = 3,   /* that a sample is good for */
    SAMPLER_COUNT_MAX = 10000, /* of each kind; more are not counted */
};

/* How many, and how old the oldest is; 0 without one. */
typedef struct Backlog
{
    int64_t count;
    int64_t oldest_ms;
} Backlog;

typedef struct ShardSample
{
    Backlog pending;
    Backlog attention;
    Backlog unfinished;
    int64_t prepared; /* transactions on the server, whosever they are */
    int64_t prepared_max;
} ShardSample;

typedef struct PreparedSample
{
    Backlog by_class[PREPARED_CLASS_COUNT];
} PreparedSample;

typedef struct ReplicationSample
{
    int32_t standbys;
    int64_t lag_bytes; /* of the one furthest behind; -1: not known */
    int64_t lag_ms;    /* the same */
} ReplicationSample;

typedef struct SamplerOptions
{
    Loop *loop;
    Directory *directory;
    Caller *caller;
    uint64_t period_ms; /* 0: never */
} SamplerOptions;

Sampler *sampler_new(const SamplerOptions *options);
/* No call of it may be under way. Accepts NULL. */
void sampler_free(Sampler *sampler);
void sampler_stop(Sampler *sampler);

/* The last samples of a shard; NULL where there is none that is fresh. Lent until the next turn. */
typedef struct Samples
{
    const ShardSample *state;
    const PreparedSample *prepared;
    const ReplicationSample *replication;
    bool is_known;   /* there has been a state, fresh or not */
    uint64_t age_ms; /* how old it is */
} Samples;
Samples sampler_samples(const Sampler *sampler, const Shard *shard);

#endif
