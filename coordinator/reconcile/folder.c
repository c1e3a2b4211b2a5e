/* See folder.h. */
#include "reconcile/folder.h"

#include <stdlib.h>

enum
{
    CALLS_MAX = 256,
    CALL_DEADLINE_MS = 5000,
    PARAMETER_BYTES = 64,
};

struct Folder
{
    Directory *directory;
    Caller *caller;
    LoopTimer *timer;
    size_t busy; /* shards that are at it */
    bool full;   /* some step of this round was */
    bool stopping;
    void (*stopped)(void *context);
    void *stopped_context;
};

static void fill(void *context, PgParams *params)
{
    (void)context;
    pg_params_int4(params, FOLDER_MIN);
    pg_params_int4(params, FOLDER_STEP);
}

static void end_round(Folder *folder)
{
    if (!folder->stopping)
        loop_timer_start(folder->timer, folder->full ? FOLDER_HURRY_MS : FOLDER_PERIOD_MS);
    else if (folder->stopped != NULL)
        loop_timer_start(folder->timer, 0);
}

/* A shard that cannot be used now is asked in the next round. */
static void folded(void *context, const CallResult *result)
{
    Folder *folder = context;
    if (result->code == ERROR_NONE && pg_int4(result->rows, 0, 0) >= FOLDER_STEP)
        folder->full = true;
    if (--folder->busy == 0)
        end_round(folder);
}

static void fold(Folder *folder)
{
    const Directory *directory = folder->directory;
    size_t count = directory_is_loaded(directory) ? directory_shard_count(directory) : 0;
    folder->full = false;
    for (size_t i = 0; i < count; i++)
    {
        Shard *shard = directory_shard(directory, i);
        if (!shard_is_usable(shard))
            continue;
        folder->busy++;
        call_shard(folder->caller, shard, &(Call){STATEMENT_FOLD_CLEARING, fill, folded, folder});
    }
    if (folder->busy == 0)
        end_round(folder);
}

static void on_timer(void *context)
{
    Folder *folder = context;
    if (!folder->stopping)
        fold(folder);
    else if (caller_count(folder->caller) == 0)
        folder->stopped(folder->stopped_context);
    else
        loop_timer_start(folder->timer, FOLDER_HURRY_MS);
}

Folder *folder_new(Loop *loop, Directory *directory)
{
    Folder *folder = base_calloc(1, sizeof *folder);
    CallerOptions calls = {
        .calls_max = CALLS_MAX,
        .deadline_ms = CALL_DEADLINE_MS,
        .parameter_bytes = PARAMETER_BYTES,
    };
    folder->directory = directory;
    folder->caller = caller_new(loop, directory, &calls);
    folder->timer = loop_timer_new(loop, on_timer, folder);
    loop_timer_start(folder->timer, FOLDER_PERIOD_MS);
    return folder;
}

void folder_free(Folder *folder)
{
    if (folder == NULL)
        return;
    loop_timer_free(folder->timer);
    caller_free(folder->caller);
    free(folder);
}

void folder_stop(Folder *folder, void (*stopped)(void *context), void *context)
{
    folder->stopping = true;
    folder->stopped = stopped;
    folder->stopped_context = context;
    if (folder->busy == 0)
        loop_timer_start(folder->timer, 0);
}
