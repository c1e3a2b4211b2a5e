/*
 * Looking at the whole service, for `status` and `doctor`: the documents that they read, and what
 * is prepared, counted per shard and class.
 */
#ifndef GIROCTL_SURVEY_H
#define GIROCTL_SURVEY_H

#include "context.h"

enum
{
    SURVEY_TALLIES_MAX = 2048, /* 256 shards, 5 classes, and some */
    SURVEY_NAME_MAX = 64,
};

typedef struct Tally
{
    char shard[SURVEY_NAME_MAX];
    char class[SURVEY_NAME_MAX];
    int64_t count;
    int64_t oldest_ms;
} Tally;

typedef struct Survey
{
    Answer version;
    Answer readiness; /* with its shards; 503 too */
    Answer directory; /* with what is paused; empty while the server has not read it */
    Tally *tallies;
    size_t tally_count;
} Survey;

/* Reads all of it. Whatever it returns, survey_done() it. */
ExitCode survey_read(const Context *context, Survey *ret_survey);
void survey_done(Survey *survey);

#endif
