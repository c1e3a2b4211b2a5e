/* See lookup.h. */
#include "api/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Search;

/* One shard that is asked. */
typedef struct Ask
{
    struct Search *search;
    Shard *shard;
} Ask;

typedef struct Search
{
    Lookup lookup;
    size_t outstanding;
    bool told;
    ErrorCode failure; /* of a shard that did not answer; ERROR_NONE = all did */
    char detail[FAULT_DETAIL_MAX + 1];
    Ask asks[];
} Search;

static void fill(void *context, PgParams *params)
{
    const Lookup *lookup = &((const Ask *)context)->search->lookup;
    pg_params_uuid(params, lookup->id);
}

static void tell(Search *search, const LookupResult *result)
{
    if (!search->told)
    {
        search->told = true;
        search->lookup.done(search->lookup.context, result);
    }
}

static void on_answer(void *context, const CallResult *result)
{
    const Ask *ask = context;
    Search *search = ask->search;
    search->outstanding--;
    if (result->code != ERROR_NONE)
    {
        search->failure = result->code;
        snprintf(search->detail, sizeof search->detail, "%s", result->detail);
    }
    else if (pg_row_count(result->rows) > 0)
        tell(search, &(LookupResult){.rows = result->rows, .detail = "", .shard = ask->shard});
    if (search->outstanding > 0)
        return;
    bool all_said_no = search->failure == ERROR_NONE;
    tell(search, &(LookupResult){.code = all_said_no ? ERROR_TRANSFER_NOT_FOUND : search->failure,
                                 .detail = search->detail});
    free(search);
}

static void ask_shards(Api *api, Shard *const *shards, size_t count, const Lookup *lookup)
{
    Search *search = base_calloc(1, sizeof *search + count * sizeof search->asks[0]);
    search->lookup = *lookup;
    search->outstanding = count;
    for (size_t i = 0; i < count; i++)
    {
        Ask *ask = &search->asks[i];
        *ask = (Ask){search, shards[i]};
        call_shard(api->caller, shards[i], &(Call){lookup->statement, fill, on_answer, ask});
    }
}

bool lookup_start(Api *api, const Lookup *lookup)
{
    size_t max = directory_shard_count(api->directory);
    Shard **shards = base_calloc(max + 1, sizeof(Shard *));
    size_t count = directory_candidates(api->directory, lookup->id, shards, max);
    if (count > 0)
        ask_shards(api, shards, count, lookup);
    free(shards);
    return count > 0;
}

void lookup_on_shard(Api *api, Shard *shard, const Lookup *lookup)
{
    ask_shards(api, &shard, 1, lookup);
}

bool path_transfer(HttpRequest *request, uint8_t ret_id[16])
{
    if (uuid_parse(path_segment(request, 2), ret_id))
        return true;
    problem_send(request, ERROR_TRANSFER_NOT_FOUND, "the id is not that of a transfer");
    return false;
}
