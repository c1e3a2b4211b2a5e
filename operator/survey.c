/* See survey.h. */
#include "survey.h"

#include "field.h"
#include "list.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Tally *find_tally(Survey *survey, const char *shard, const char *class)
{
    for (size_t i = 0; i < survey->tally_count; i++)
    {
        Tally *tally = &survey->tallies[i];
        if (strcmp(tally->shard, shard) == 0 && strcmp(tally->class, class) == 0)
            return tally;
    }
    if (survey->tally_count == SURVEY_TALLIES_MAX)
        return NULL;
    Tally *fresh = &survey->tallies[survey->tally_count++];
    *fresh = (Tally){.count = 0};
    snprintf(fresh->shard, sizeof fresh->shard, "%s", shard);
    snprintf(fresh->class, sizeof fresh->class, "%s", class);
    return fresh;
}

static bool take_prepared(void *closure, const Json *item)
{
    int64_t age_ms = field_integer(item, "age_ms");
    Tally *tally = find_tally(closure, field_string(item, "shard"), field_string(item, "class"));
    if (tally == NULL)
        return false;
    tally->count++;
    if (age_ms > tally->oldest_ms)
        tally->oldest_ms = age_ms;
    return true;
}

/* Not ready is an answer like any other here. */
static ExitCode read_readiness(const Context *context, Survey *survey)
{
    context_get(context, "/readyz?verbose", &survey->readiness);
    if (field_string(survey->readiness.document, "status")[0] != '\0')
        return EXIT_CODE_DONE;
    return answer_report(&survey->readiness);
}

/* What a server can tell only by its copy of the directory. */
static ExitCode read_rest(const Context *context, Survey *survey)
{
    List prepared = {.path = "/v1/prepared",
                     .parameters = {{"limit", "1000"}, {"partial", "true"}},
                     .is_whole = true};
    if (!field_bool(survey->readiness.document, "directory.loaded"))
        return EXIT_CODE_DONE;
    context_get(context, "/v1/directory", &survey->directory);
    ExitCode code = answer_report(&survey->directory);
    if (code == EXIT_CODE_DONE)
        code = list_each(context, &prepared, take_prepared, survey, NULL);
    return code;
}

ExitCode survey_read(const Context *context, Survey *ret_survey)
{
    *ret_survey = (Survey){.tallies = base_calloc(SURVEY_TALLIES_MAX, sizeof(Tally))};
    context_get(context, "/version", &ret_survey->version);
    ExitCode code = answer_report(&ret_survey->version);
    if (code == EXIT_CODE_DONE)
        code = read_readiness(context, ret_survey);
    if (code == EXIT_CODE_DONE)
        code = read_rest(context, ret_survey);
    return code;
}

void survey_done(Survey *survey)
{
    answer_done(&survey->version);
    answer_done(&survey->readiness);
    answer_done(&survey->directory);
    free(survey->tallies);
}
