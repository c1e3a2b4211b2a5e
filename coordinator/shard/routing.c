/* See routing.h. */
#include "shard/routing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    CANDIDATE_PREFIX = 4, /* bytes of a transfer id that are those of the debit account's hash */
};

/* ---- building -------------------------------------------------------------------------------- */

static bool read_cluster(Routing *routing, const PgRows *rows, Error *error)
{
    if (pg_row_count(rows) != 1)
        return error_set(error, ERROR_SETUP, "the directory is not set up");
    int32_t format = pg_int4(rows, 0, 1);
    if (format != FORMAT_VERSION)
        return error_set(error, ERROR_SETUP, "its format version is %d, not %d", format,
                         FORMAT_VERSION);
    routing->cluster = base_strdup(pg_text(rows, 0, 0));
    routing->version = pg_int8(rows, 0, 2);
    return true;
}

/* False if init has not noted it, or it cannot be one. */
static bool read_incarnation(const PgRows *rows, size_t row, Incarnation *ret_incarnation)
{
    const char *identifier = pg_text(rows, row, 3);
    const char *timeline = pg_text(rows, row, 5);
    Incarnation *read = ret_incarnation;
    read->epoch = pg_int8(rows, row, 4);
    snprintf(read->system_identifier, sizeof read->system_identifier, "%s", identifier);
    snprintf(read->timeline, sizeof read->timeline, "%s", timeline);
    return read->epoch > 0 && timeline[0] != '\0' && strcmp(read->timeline, timeline) == 0 &&
           strcmp(read->system_identifier, identifier) == 0;
}

static bool read_shards(Routing *routing, const PgRows *rows, Error *error)
{
    size_t count = pg_row_count(rows);
    if (count == 0 || count > ROUTING_SHARDS_MAX)
        return error_set(error, ERROR_SETUP, "it has %zu shards, not 1 to %d", count,
                         ROUTING_SHARDS_MAX);
    routing->shards = base_calloc(count, sizeof *routing->shards);
    routing->shard_count = count;
    for (size_t i = 0; i < count; i++)
    {
        RoutingShard *shard = &routing->shards[i];
        shard->name = base_strdup(pg_text(rows, i, 0));
        shard->ordinal = pg_int4(rows, i, 1);
        shard->dsn = base_strdup(pg_text(rows, i, 2));
        if (!route_name_is_valid(shard->name))
            return error_set(error, ERROR_SETUP, "a shard has the name '%s'", shard->name);
        if (!read_incarnation(rows, i, &shard->incarnation))
            return error_set(error, ERROR_SETUP,
                             "it does not know the timeline of shard %s (see girod init)",
                             shard->name);
        if (i > 0 && shard->ordinal <= shard[-1].ordinal)
            return error_set(error, ERROR_SETUP, "the ordinal of shard %s does not ascend",
                             shard->name);
    }
    return true;
}

static int by_prefix_length(const void *left, const void *right)
{
    const RoutingKeyspace *a = left;
    const RoutingKeyspace *b = right;
    if (a->prefix_length != b->prefix_length)
        return a->prefix_length < b->prefix_length ? 1 : -1;
    return strcmp(a->prefix, b->prefix);
}

static bool read_keyspaces(Routing *routing, const PgRows *rows, Error *error)
{
    size_t count = pg_row_count(rows);
    if (count == 0 || count > ROUTING_KEYSPACES_MAX)
        return error_set(error, ERROR_SETUP, "it has %zu keyspaces, not 1 to %d", count,
                         ROUTING_KEYSPACES_MAX);
    routing->keyspaces = base_calloc(count, sizeof *routing->keyspaces);
    routing->keyspace_count = count;
    for (size_t i = 0; i < count; i++)
    {
        RoutingKeyspace *keyspace = &routing->keyspaces[i];
        keyspace->prefix = base_strdup(pg_text(rows, i, 0));
        keyspace->prefix_length = strlen(keyspace->prefix);
        if (!keyspace_kind_parse(pg_text(rows, i, 1), &keyspace->kind) ||
            !mode_parse(pg_text(rows, i, 2), &keyspace->default_mode) ||
            (keyspace->default_mode != MODE_2PC && keyspace->default_mode != MODE_SAGA))
            return error_set(error, ERROR_SETUP, "keyspace '%s' has kind '%s' and mode '%s'",
                             keyspace->prefix, pg_text(rows, i, 1), pg_text(rows, i, 2));
    }
    qsort(routing->keyspaces, count, sizeof *routing->keyspaces, by_prefix_length);
    if (routing->keyspaces[count - 1].prefix_length != 0)
        return error_set(error, ERROR_SETUP, "no keyspace has the empty prefix");
    return true;
}

static bool read_bound(const PgRows *rows, size_t row, size_t column, Route *ret_bound)
{
    size_t length = 0;
    const uint8_t *bytes = pg_bytes(rows, row, column, &length);
    if (bytes == NULL || length > ROUTE_MAX)
        return false;
    memcpy(ret_bound->bytes, bytes, length);
    ret_bound->length = (uint8_t)length;
    return true;
}

static bool find_shard(const Routing *routing, const char *name, size_t *ret_place)
{
    for (size_t i = 0; i < routing->shard_count; i++)
    {
        if (strcmp(routing->shards[i].name, name) == 0)
        {
            *ret_place = i;
            return true;
        }
    }
    return false;
}

static RoutingKeyspace *find_keyspace(const Routing *routing, const char *prefix)
{
    for (size_t i = 0; i < routing->keyspace_count; i++)
    {
        if (strcmp(routing->keyspaces[i].prefix, prefix) == 0)
            return &routing->keyspaces[i];
    }
    return NULL;
}

static bool read_partition(Routing *routing, const PgRows *rows, size_t row, Error *error)
{
    RoutingPartition *partition = &routing->partitions[row];
    partition->id = pg_int4(rows, row, 0);
    partition->epoch = pg_int8(rows, row, 5);
    partition->endless = pg_is_null(rows, row, 3);
    if (!read_bound(rows, row, 2, &partition->lo) ||
        (!partition->endless && !read_bound(rows, row, 3, &partition->hi)))
        return error_set(error, ERROR_SETUP, "partition %d has an impossible bound", partition->id);
    if (!find_shard(routing, pg_text(rows, row, 4), &partition->shard))
        return error_set(error, ERROR_SETUP, "partition %d belongs to the unknown shard '%s'",
                         partition->id, pg_text(rows, row, 4));
    return true;
}

static int compare_bounds(const Route *a, const Route *b)
{
    return route_compare(a->bytes, a->length, b->bytes, b->length);
}

/* The ranges of one keyspace must start at the empty route, meet, and have no upper end. */
static bool check_cover(const Routing *routing, const RoutingKeyspace *keyspace, Error *error)
{
    const RoutingPartition *partitions = routing->partitions + keyspace->first;
    size_t count = keyspace->count;
    if (count == 0 || partitions[0].lo.length != 0)
        return error_set(error, ERROR_SETUP, "keyspace '%s' has a gap at the start",
                         keyspace->prefix);
    for (size_t i = 0; i + 1 < count; i++)
    {
        if (partitions[i].endless || compare_bounds(&partitions[i].lo, &partitions[i].hi) >= 0 ||
            compare_bounds(&partitions[i].hi, &partitions[i + 1].lo) != 0)
            return error_set(error, ERROR_SETUP,
                             "keyspace '%s': partitions %d and %d overlap or leave a gap",
                             keyspace->prefix, partitions[i].id, partitions[i + 1].id);
    }
    if (!partitions[count - 1].endless)
        return error_set(error, ERROR_SETUP, "keyspace '%s' has a gap at the end",
                         keyspace->prefix);
    return true;
}

/* The rows come in the order of (keyspace, lo), so each keyspace's partitions lie side by side. */
static bool read_partitions(Routing *routing, const PgRows *rows, Error *error)
{
    size_t count = pg_row_count(rows);
    if (count > ROUTING_PARTITIONS_MAX)
        return error_set(error, ERROR_SETUP, "it has more than %d partitions",
                         ROUTING_PARTITIONS_MAX);
    routing->partitions = base_calloc(count, sizeof *routing->partitions);
    routing->partition_count = count;
    for (size_t i = 0; i < count; i++)
    {
        RoutingKeyspace *keyspace = find_keyspace(routing, pg_text(rows, i, 1));
        if (!read_partition(routing, rows, i, error))
            return false;
        if (keyspace == NULL || (keyspace->count > 0 && keyspace->first + keyspace->count != i))
            return error_set(error, ERROR_SETUP, "partition %d is out of place",
                             routing->partitions[i].id);
        if (keyspace->count++ == 0)
            keyspace->first = i;
    }
    for (size_t i = 0; i < routing->keyspace_count; i++)
    {
        if (!check_cover(routing, &routing->keyspaces[i], error))
            return false;
    }
    return true;
}

Routing *routing_new(const RoutingSource *source, Error *error)
{
    Routing *routing = base_calloc(1, sizeof *routing);
    if (read_cluster(routing, source->cluster, error) &&
        read_shards(routing, source->shards, error) &&
        read_keyspaces(routing, source->keyspaces, error) &&
        read_partitions(routing, source->partitions, error))
        return routing;
    routing_free(routing);
    return NULL;
}

void routing_free(Routing *routing)
{
    if (routing == NULL)
        return;
    for (size_t i = 0; i < routing->shard_count; i++)
    {
        free(routing->shards[i].name);
        free(routing->shards[i].dsn);
    }
    for (size_t i = 0; i < routing->keyspace_count; i++)
        free(routing->keyspaces[i].prefix);
    free(routing->shards);
    free(routing->keyspaces);
    free(routing->partitions);
    free(routing->cluster);
    free(routing);
}

/* ---- looking up ------------------------------------------------------------------------------ */

const RoutingKeyspace *routing_keyspace(const Routing *routing, const char *account_id)
{
    size_t i = 0;
    while (strncmp(account_id, routing->keyspaces[i].prefix, routing->keyspaces[i].prefix_length) !=
           0)
        i++;
    return &routing->keyspaces[i];
}

/* The last partition whose lo is not above the route. */
const RoutingPartition *routing_partition(const Routing *routing, const RoutingKeyspace *keyspace,
                                          const Route *route)
{
    size_t low = keyspace->first;
    size_t high = keyspace->first + keyspace->count;
    while (high - low > 1)
    {
        size_t middle = low + (high - low) / 2;
        if (compare_bounds(&routing->partitions[middle].lo, route) <= 0)
            low = middle;
        else
            high = middle;
    }
    return &routing->partitions[low];
}

/* Can the partition hold a hash route that starts with these bytes? */
static bool may_hold(const RoutingPartition *partition, const Route *first, const Route *last)
{
    return compare_bounds(&partition->lo, last) <= 0 &&
           (partition->endless || compare_bounds(first, &partition->hi) < 0);
}

void routing_candidates(const Routing *routing, const uint8_t transfer_id[16], bool *marks)
{
    Route first = {.length = 8};
    Route last = {.length = 8};
    memset(last.bytes, 0xff, last.length);
    memcpy(first.bytes, transfer_id, CANDIDATE_PREFIX);
    memcpy(last.bytes, transfer_id, CANDIDATE_PREFIX);
    for (size_t k = 0; k < routing->keyspace_count; k++)
    {
        const RoutingKeyspace *keyspace = &routing->keyspaces[k];
        for (size_t i = keyspace->first; i < keyspace->first + keyspace->count; i++)
        {
            const RoutingPartition *partition = &routing->partitions[i];
            if (keyspace->kind != KEYSPACE_HASH || may_hold(partition, &first, &last))
                marks[partition->shard] = true;
        }
    }
}
