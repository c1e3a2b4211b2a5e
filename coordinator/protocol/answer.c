/* See answer.h. */
#include "protocol/answer.h"

#include <string.h>

static bool in_class(const char *sqlstate, const char *prefix)
{
    return strncmp(sqlstate, prefix, strlen(prefix)) == 0;
}

AnswerClass answer_of_call(const PgAnswer *answer)
{
    switch (answer->kind)
    {
    case PG_DONE:
        return answer->warned ? ANSWER_UNKNOWN : ANSWER_DONE;
    case PG_LOST:
        return ANSWER_UNKNOWN;
    case PG_ERROR:
    case PG_SKIPPED:
        return ANSWER_NOT_DONE;
    }
    return ANSWER_UNKNOWN;
}

/* Errors that can strike a session after its transaction has ended on disk. */
static bool may_have_ended(const char *sqlstate)
{
    return in_class(sqlstate, "57P") || in_class(sqlstate, "08") || in_class(sqlstate, "58") ||
           in_class(sqlstate, "XX") || sqlstate[0] == '\0';
}

AnswerClass answer_of_ending(const PgAnswer *answer, const char *tag)
{
    switch (answer->kind)
    {
    case PG_DONE:
        if (strcmp(answer->tag, tag) == 0)
            return answer->warned ? ANSWER_UNKNOWN : ANSWER_DONE;
        return strcmp(answer->tag, "ROLLBACK") == 0 ? ANSWER_NOT_DONE : ANSWER_UNKNOWN;
    case PG_ERROR:
        return may_have_ended(answer->sqlstate) ? ANSWER_UNKNOWN : ANSWER_NOT_DONE;
    case PG_SKIPPED:
        return ANSWER_NOT_DONE;
    case PG_LOST:
        return ANSWER_UNKNOWN;
    }
    return ANSWER_UNKNOWN;
}

bool answer_is_contention(const char *sqlstate)
{
    return strcmp(sqlstate, "55P03") == 0 || strcmp(sqlstate, "40P01") == 0 ||
           strcmp(sqlstate, "40001") == 0;
}

bool answer_is_exhaustion(const char *sqlstate)
{
    return strcmp(sqlstate, "53200") == 0;
}

bool answer_is_outage(const char *sqlstate)
{
    return sqlstate[0] == '\0' || in_class(sqlstate, "57P") || in_class(sqlstate, "08") ||
           in_class(sqlstate, "25006") || in_class(sqlstate, "GR004");
}

const PgAnswer *answer_first_not_done(const PgAnswer *answers, size_t count)
{
    size_t i = 0;
    while (i + 1 < count && answers[i].kind == PG_DONE)
        i++;
    return &answers[i];
}
