/* See readers.h. */
#include "readers.h"

#include "dice.h"
#include "processes.h"
#include "sql.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum
{
    PAUSE_MS = 4,
    TIMEOUT_MS = 3000,
    CHUNK = 1000,
};

struct Reader
{
    pthread_t thread;
    atomic_bool ended;
    const Roster *roster;
    Dice dice;
    Client *clients[CLUSTER_COORDINATORS_MAX];
    int coordinators;
    Reading *readings;
    size_t count;
    size_t size;
};

static void keep(Reader *reader, size_t account, const Response *response)
{
    if (reader->count == reader->size)
    {
        reader->size = 2 * reader->size + 1024;
        reader->readings = base_realloc(reader->readings, reader->size * sizeof(Reading));
    }
    const Json *floor = response_value(response, "floor");
    reader->readings[reader->count++] =
        (Reading){.account = account,
                  .version = response_integer(response, "version"),
                  .balance = response_integer(response, "balance"),
                  .floor = response_integer(response, "floor"),
                  .has_floor = floor != NULL && json_kind(floor) == JSON_KIND_INTEGER};
}

static void read_one(Reader *reader, int turn)
{
    char path[160];
    Response response;
    size_t account = (size_t)dice_between(&reader->dice, 0, (int)roster_count(reader->roster) - 1);
    snprintf(path, sizeof(path), "/v1/accounts/%s", roster_account(reader->roster, account)->id);
    client_call(reader->clients[turn % reader->coordinators],
                &(Request){.path = path, .timeout_ms = TIMEOUT_MS}, &response);
    if (response.status == 200)
    {
        keep(reader, account, &response);
    }
    response_done(&response);
}

static void *run(void *context)
{
    Reader *reader = context;
    for (int turn = 0; !atomic_load(&reader->ended) && reader->count < READINGS_MAX; turn++)
    {
        read_one(reader, turn);
        processes_pause_ms(PAUSE_MS);
    }
    return NULL;
}

Reader *reader_start(const Cluster *cluster, const Roster *roster, uint64_t seed)
{
    Reader *reader = base_calloc(1, sizeof(*reader));
    reader->roster = roster;
    reader->dice = dice_new(seed, 2);
    reader->coordinators = cluster_coordinator_count(cluster);
    for (int i = 0; i < reader->coordinators; i++)
    {
        reader->clients[i] = client_new(cluster_url(cluster, i + 1));
    }
    int status = pthread_create(&reader->thread, NULL, run, reader);
    ASSERT(status == 0);
    return reader;
}

Reading *reader_stop(Reader *reader, size_t *ret_count)
{
    atomic_store(&reader->ended, true);
    pthread_join(reader->thread, NULL);
    for (int i = 0; i < reader->coordinators; i++)
    {
        client_free(reader->clients[i]);
    }
    Reading *readings = reader->readings;
    *ret_count = reader->count;
    free(reader);
    return readings;
}

/* ---- what the entries say -------------------------------------------------------------------- */

/* The entries that some readings speak of, as a list of values: place, account, seq. */
static char *values_of(const Reading *readings, size_t from, size_t to, const Roster *roster)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    ASSERT(stream != NULL);
    for (size_t i = from; i < to; i++)
    {
        fprintf(stream, "%s(%zu, '%s', %" PRId64 "::bigint)", i == from ? "" : ",", i,
                roster_account(roster, readings[i].account)->id, readings[i].version);
    }
    fclose(stream);
    return text;
}

static void resolve_on(const char *dsn, const char *values, Reading *readings)
{
    SqlRows *rows = sql_rows(dsn,
                             "select v.place, e.balance from (values %s) v(place, account, seq)"
                             " join giro.entries e on e.account = v.account and e.seq = v.seq",
                             values);
    for (size_t row = 0; row < sql_row_count(rows); row++)
    {
        Reading *reading = &readings[sql_field_integer(rows, row, 0)];
        reading->has_entry = true;
        reading->entry_balance = sql_field_integer(rows, row, 1);
    }
    sql_rows_free(rows);
}

void readings_resolve(Reading *readings, size_t count, const Cluster *cluster, const Roster *roster)
{
    for (size_t i = 0; i < count; i++)
    {
        readings[i].has_entry = readings[i].version == 0;
        readings[i].entry_balance = 0;
    }
    for (size_t from = 0; from < count; from += CHUNK)
    {
        size_t to = from + CHUNK < count ? from + CHUNK : count;
        char *values = values_of(readings, from, to, roster);
        for (int shard = 1; shard <= cluster_shard_count(cluster); shard++)
        {
            resolve_on(cluster_dsn(cluster, shard), values, readings);
        }
        free(values);
    }
}
