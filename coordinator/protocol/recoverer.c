/* See recoverer.h. */
#include "protocol/recoverer.h"

#include "base/log.h"
#include "protocol/gid.h"

#include <stdlib.h>

struct Recoverer
{
    Protocol *protocol;
    Caller *caller;
    LoopTimer *timer;
    size_t asking; /* shards that are being asked */
    bool stopped;
};

/* One shard that is being asked. */
typedef struct Round
{
    Recoverer *recoverer;
    Shard *shard;
} Round;

static void fill(void *context, PgParams *params)
{
    const Round *round = context;
    const Protocol *protocol = round->recoverer->protocol;
    pg_params_text(params, directory_cluster(protocol_directory(protocol)));
    pg_params_int8(params, RECOVERER_AGE_MS);
    pg_params_int4(params, RECOVERER_LIMIT);
}

static void recover(Recoverer *recoverer, Shard *remote, const char *text)
{
    Gid gid;
    if (!gid_parse(text, &gid))
        return;
    Shard *home = directory_shard_by_name(protocol_directory(recoverer->protocol), gid.home);
    if (home == NULL)
        log_error("gid=%s names a home that the directory does not know", text);
    else
        protocol_recover(recoverer->protocol, home, remote, text);
}

static void start_timer(Recoverer *recoverer)
{
    if (!recoverer->stopped)
        loop_timer_start(recoverer->timer, RECOVERER_PERIOD_MS);
}

static void answered(void *context, const CallResult *result)
{
    Round *round = context;
    Recoverer *recoverer = round->recoverer;
    size_t count = result->code == ERROR_NONE ? pg_row_count(result->rows) : 0;
    for (size_t row = 0; row < count; row++)
        recover(recoverer, round->shard, pg_text(result->rows, row, 0));
    free(round);
    if (--recoverer->asking == 0)
        start_timer(recoverer);
}

static void ask(Recoverer *recoverer, Shard *shard)
{
    Round *round = base_malloc(sizeof *round);
    *round = (Round){recoverer, shard};
    Call call = {STATEMENT_LEGS_IN_DOUBT, fill, answered, round};
    recoverer->asking++;
    call_shard(recoverer->caller, shard, &call);
}

static void ask_all(void *context)
{
    Recoverer *recoverer = context;
    const Directory *directory = protocol_directory(recoverer->protocol);
    size_t count = directory_is_loaded(directory) ? directory_shard_count(directory) : 0;
    for (size_t i = 0; i < count; i++)
    {
        Shard *shard = directory_shard(directory, i);
        if (shard_is_usable(shard))
            ask(recoverer, shard);
    }
    if (recoverer->asking == 0)
        start_timer(recoverer);
}

Recoverer *recoverer_new(Protocol *protocol, Caller *caller)
{
    Recoverer *recoverer = base_calloc(1, sizeof *recoverer);
    recoverer->protocol = protocol;
    recoverer->caller = caller;
    recoverer->timer = loop_timer_new(protocol_loop(protocol), ask_all, recoverer);
    start_timer(recoverer);
    return recoverer;
}

void recoverer_free(Recoverer *recoverer)
{
    if (recoverer == NULL)
        return;
    ASSERT(recoverer->asking == 0);
    loop_timer_free(recoverer->timer);
    free(recoverer);
}

void recoverer_stop(Recoverer *recoverer)
{
    recoverer->stopped = true;
    loop_timer_stop(recoverer->timer);
}
