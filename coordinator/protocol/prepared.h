/*
 * The prepared transactions of all shards, and what each of them is: for people and metrics.
 *
 * Every shard is asked for its list; then the homes that the GIDs name are asked what they have
 * decided. A home is only looked at, never made to decide: who looks must not abort what runs. So
 * "not decided" may be out of date as soon as it is said, "decided" never.
 *
 * A leg of ours is one that this role has prepared in the shard's own database under a GID of this
 * cluster that names this shard as its remote side. Everything else is foreign. Shards that share a
 * server see each other's legs; each is listed under its own shard only.
 */
#ifndef GIRO_PREPARED_H
#define GIRO_PREPARED_H

#include "protocol/gid.h"
#include "shard/call.h"

enum
{
    PREPARED_LIMIT_MAX = 1000, /* per shard */
    POSTGRES_NAME_MAX = 63,    /* of roles and databases */
};

typedef enum PreparedClass
{
    PREPARED_IN_FLIGHT, /* not decided; its coordinator is present, and it is young */
    PREPARED_DECIDED,   /* its home says commit: it will be applied */
    PREPARED_ORPHAN,    /* not decided, or given up; its coordinator is gone, or it is old */
    PREPARED_IN_DOUBT,  /* its home does not answer, or is not known */
    PREPARED_FOREIGN,   /* none of ours: never touched */
    PREPARED_CLASS_COUNT,
} PreparedClass;
const char *prepared_class_name(PreparedClass class); /* "in-flight" */

typedef struct PreparedItem
{
    const Shard *shard;
    PreparedClass class;
    char gid[GID_MAX + 1];
    int64_t prepared_at_us;
    int64_t age_ms; /* by the shard's clock */
    char owner[POSTGRES_NAME_MAX + 1];
    char database[POSTGRES_NAME_MAX + 1];
    const char *verdict; /* "commit", "abort"; NULL: none stands, or it is not known */
    Gid parts;           /* all but foreign ones */
    Shard *home;         /* NULL: foreign, or the directory does not know it */
    bool is_present;     /* its coordinator has a session at the shard */
    bool is_asked;       /* private: its home has been */
    bool is_answered;    /* private */
} PreparedItem;

typedef struct PreparedSurvey
{
    const PreparedItem *items; /* the oldest first */
    size_t count;
    bool truncated; /* a shard has more than the limit */
    /* The shards that did not answer: their transactions are not listed, or their verdicts not
     * known. */
    const Shard *const *missing;
    size_t missing_count;
    ErrorCode code; /* of the first of them; ERROR_NONE: none is missing */
    const char *detail;
} PreparedSurvey;

/* The survey is lent until done returns. */
typedef void (*PreparedDone)(void *context, const PreparedSurvey *survey);

/* Asks for at most `limit` of each shard. Done is called exactly once, in a later turn. The
 * directory must know a shard. */
void prepared_survey(Caller *caller, Directory *directory, int32_t limit, PreparedDone done,
                     void *context);

#endif
