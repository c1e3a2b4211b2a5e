/* See recoverer.h. */
#include "protocol/recoverer.h"

#include "base/log.h"
#include "shard/rounds.h"

#include <stdlib.h>
#include <string.h>

enum
{
    NO_ROOM_MS = 100, /* how soon what found no room is looked for again */
};

struct Recoverer
{
    RecovererOptions options;
    Rounds *rounds;
};

/* Columns of the participant function recovery. */
enum
{
    FOUND_KIND,
    FOUND_GID,
    FOUND_COUNT,
};

static void add_passed(PgParams *params, const Protocol *protocol)
{
    uint8_t ids[PROTOCOL_PASSED_MAX][16];
    size_t count = protocol_passed(protocol, ids);
    pg_params_array(params, PG_ELEMENT_UUID, count);
    for (size_t i = 0; i < count; i++)
        pg_params_add_uuid(params, ids[i]);
}

static void fill(void *context, PgParams *params)
{
    const Recoverer *recoverer = context;
    const Protocol *protocol = recoverer->options.protocol;
    const Directory *directory = protocol_directory(protocol);
    pg_params_text(params, directory_cluster(directory));
    pg_params_text(params, protocol_options(protocol)->instance);
    pg_params_int8(params, RECOVERER_AGE_MS);
    rounds_put_shards(directory, true, params);
    rounds_put_shards(directory, false, params);
    add_passed(params, protocol);
    pg_params_int4(params, RECOVERER_LIMIT);
}

/* A leg is looked at where its name says that it is, a batch at its home: what was copied elsewhere
 * is nobody's. */
static void take_gid(Recoverer *recoverer, const Shard *shard, const char *text, bool decided)
{
    Gid gid;
    if (gid_parse(text, &gid) && strcmp(decided ? gid.home : gid.remote, shard_name(shard)) == 0 &&
        !protocol_recover(recoverer->options.protocol, &gid, decided))
        rounds_hurry(recoverer->rounds, NO_ROOM_MS);
}

static void take_sagas(Recoverer *recoverer, const Shard *shard, int64_t count)
{
    log_info("shard=%s %lld transfers of coordinators that are gone are due", shard_name(shard),
             (long long)count);
    protocol_count(recoverer->options.protocol, RECOVERY_SAGA_TAKEN_OVER, true, (uint64_t)count);
    recoverer->options.due(recoverer->options.context);
    if (count >= RECOVERER_LIMIT)
        rounds_hurry(recoverer->rounds, 0);
}

static void take_sessions(Recoverer *recoverer, const Shard *shard, int64_t count)
{
    log_warn("shard=%s %lld sessions that held locks for a stopped client were ended",
             shard_name(shard), (long long)count);
    protocol_count(recoverer->options.protocol, RECOVERY_SESSION_ENDED, true, (uint64_t)count);
}

static void answered(void *context, Shard *shard, const PgRows *rows)
{
    Recoverer *recoverer = context;
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        const char *kind = pg_text(rows, row, FOUND_KIND);
        if (strcmp(kind, "leg") == 0 || strcmp(kind, "batch") == 0)
            take_gid(recoverer, shard, pg_text(rows, row, FOUND_GID), kind[0] == 'b');
        else if (strcmp(kind, "sagas") == 0)
            take_sagas(recoverer, shard, pg_int8(rows, row, FOUND_COUNT));
        else
            take_sessions(recoverer, shard, pg_int8(rows, row, FOUND_COUNT));
    }
}

Recoverer *recoverer_new(const RecovererOptions *options)
{
    Recoverer *recoverer = base_calloc(1, sizeof *recoverer);
    recoverer->options = *options;
    RoundsOptions rounds = {
        .loop = protocol_loop(options->protocol),
        .directory = protocol_directory(options->protocol),
        .caller = options->caller,
        .statement = STATEMENT_RECOVERY,
        .period_ms = RECOVERER_PERIOD_MS,
        .fill = fill,
        .answered = answered,
        .context = recoverer,
    };
    recoverer->rounds = rounds_new(&rounds);
    return recoverer;
}

void recoverer_free(Recoverer *recoverer)
{
    if (recoverer == NULL)
        return;
    rounds_free(recoverer->rounds);
    free(recoverer);
}

void recoverer_stop(Recoverer *recoverer)
{
    rounds_stop(recoverer->rounds);
}
