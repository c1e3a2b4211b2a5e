/* See snapshots.h. */
#include "snapshots.h"

#include "processes.h"
#include "sql.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ABSENCE_MS = 50, /* until a shard that is away is tried again */
};

typedef struct Watch
{
    pthread_t thread;
    Snapshots *all;
    char *dsn;
    SnapshotCounts counts;
} Watch;

struct Snapshots
{
    atomic_bool ended;
    int pause_ms;
    int count;
    Watch watches[CLUSTER_SHARDS_MAX];
};

/* Has the server, or somebody there, ended the session? */
static bool is_lost(const char *sqlstate)
{
    return strncmp(sqlstate, "08", 2) == 0 || strncmp(sqlstate, "57P", 3) == 0;
}

/* Runs one statement; *ret_some says whether it answered any row. */
static bool look(Watch *watch, SqlSession *session, const char *query, bool *ret_some)
{
    char sqlstate[6];
    char tag[40];
    sql_session_run(session, query, NULL, sqlstate, tag);
    *ret_some = strcmp(tag, "SELECT 0") != 0;
    if (sqlstate[0] == '\0')
    {
        return true;
    }
    watch->counts.lost += is_lost(sqlstate) ? 1 : 0;
    watch->counts.failed += is_lost(sqlstate) ? 0 : 1;
    memcpy(watch->counts.trouble, sqlstate, sizeof(sqlstate));
    return false;
}

static bool take_one(Watch *watch, SqlSession *session)
{
    bool ignored;
    bool unbalanced;
    bool below;
    bool transit;
    if (!look(watch, session, "begin isolation level repeatable read read only", &ignored) ||
        !look(watch, session, "select from giro.books() where balances + clearing <> 0",
              &unbalanced) ||
        !look(watch, session, "select from giro.accounts where balance < floor", &below) ||
        !look(watch, session, "select from giro.transfers where state = 'pending'", &transit) ||
        !look(watch, session, "rollback", &ignored))
    {
        return false;
    }
    watch->counts.taken++;
    watch->counts.unbalanced += unbalanced ? 1 : 0;
    watch->counts.below_floor += below ? 1 : 0;
    watch->counts.with_transit += transit ? 1 : 0;
    return true;
}

static void *watch_books(void *context)
{
    Watch *watch = context;
    SqlSession *session = NULL;
    while (!atomic_load(&watch->all->ended))
    {
        if (session == NULL)
        {
            session = sql_session_new(watch->dsn);
        }
        bool taken = session != NULL && take_one(watch, session);
        if (!taken)
        {
            sql_session_free(session);
            session = NULL;
        }
        processes_pause_ms(taken ? watch->all->pause_ms : ABSENCE_MS);
    }
    sql_session_free(session);
    return NULL;
}

Snapshots *snapshots_start(const Cluster *cluster, int pause_ms)
{
    Snapshots *snapshots = base_calloc(1, sizeof(*snapshots));
    snapshots->pause_ms = pause_ms;
    snapshots->count = cluster_shard_count(cluster);
    for (int i = 0; i < snapshots->count; i++)
    {
        Watch *watch = &snapshots->watches[i];
        watch->all = snapshots;
        watch->dsn = base_strdup(cluster_dsn(cluster, i + 1));
        int status = pthread_create(&watch->thread, NULL, watch_books, watch);
        ASSERT(status == 0);
    }
    return snapshots;
}

void snapshots_stop(Snapshots *snapshots, SnapshotCounts *ret_counts)
{
    atomic_store(&snapshots->ended, true);
    for (int i = 0; i < snapshots->count; i++)
    {
        Watch *watch = &snapshots->watches[i];
        pthread_join(watch->thread, NULL);
        ret_counts[i] = watch->counts;
        free(watch->dsn);
    }
    free(snapshots);
}
