/*
 * A copy of the directory built from cluster descriptions with random keyspaces: their ranges have
 * neither gap nor overlap, every id has exactly one partition, and what does not cover its keyspace
 * is refused. GIRO_TEST_SEED repeats a run.
 * Fakes: tests/unit/fake_values.c
 */
#include "shard/routing.h"

#include "cluster/config.h"
#include "fake_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ROUNDS = 60,
    IDS = 400, /* per round */
    SPLITS_MAX = 12,
    TEXT_MAX = 16384,
    SHARDS = 3,
    TENANT_ACCOUNTS = 20,
    PARTITIONS_MAX = 512,
};

typedef char Id[ACCOUNT_ID_MAX + 1];

/* ---- chance ---------------------------------------------------------------------------------- */

static unsigned chance_seed;
static uint64_t chance_state;

static size_t chance(size_t below)
{
    chance_state = chance_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(chance_state >> 33) % below;
}

/* The prefix and up to 6 characters more, of few kinds, so that ids come near to splits. */
static void random_id(const char *prefix, bool colons, Id ret_id)
{
    static const char letters[] = "abz-.09AZ_@:";
    size_t kinds = sizeof letters - (colons ? 1 : 2);
    size_t more = 1 + chance(6);
    size_t length = strlen(prefix);
    memcpy(ret_id, prefix, length);
    for (size_t i = 0; i < more; i++)
        ret_id[length++] = letters[chance(kinds)];
    ret_id[length] = '\0';
    if (!route_account_id_is_valid(ret_id))
        snprintf(ret_id, sizeof(Id), "%sx", prefix);
}

/* ---- a description --------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void append(char *text, const char *more)
{
    size_t length = strlen(text);
    snprintf(text + length, TEXT_MAX - length, "%s", more);
}

static void append_splits(char *text, const char *prefix, bool colons)
{
    Id splits[SPLITS_MAX];
    size_t count = chance(SPLITS_MAX);
    const char *comma = "";
    append(text, ",\"splits\":[");
    for (size_t i = 0; i < count; i++)
        random_id(prefix, colons, splits[i]);
    qsort(splits, count, sizeof splits[0], compare_ids);
    for (size_t i = 0; i < count; i++)
    {
        if (i > 0 && strcmp(splits[i], splits[i - 1]) == 0)
            continue;
        append(text, comma);
        append(text, "\"");
        append(text, splits[i]);
        append(text, "\"");
        comma = ",";
    }
    append(text, "]");
}

/* Prefixes that contain each other, with and without a colon, and one of them is an id's start. */
static const char *const prefixes[] = {"", "a", "ab", "a:", "a:b:", "z-", "Z:9"};

static Config *random_description(void)
{
    char text[TEXT_MAX] = "{\"cluster\":\"demo\",\"directory\":{\"dsn\":\"d\"},\"shards\":[";
    Error error = {0};
    for (int i = 1; i <= SHARDS; i++)
    {
        char shard[96];
        snprintf(shard, sizeof shard, "%s{\"name\":\"s%d\",\"ordinal\":%d,\"dsn\":\"d\"}",
                 i > 1 ? "," : "", i, i);
        append(text, shard);
    }
    append(text, "],\"keyspaces\":[");
    for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++)
    {
        KeyspaceKind kind = (KeyspaceKind)chance(KEYSPACE_KIND_COUNT);
        char number[48];
        append(text, i > 0 ? ",{\"prefix\":\"" : "{\"prefix\":\"");
        append(text, prefixes[i]);
        append(text, "\",\"kind\":\"");
        append(text, keyspace_kind_name(kind));
        append(text, "\"");
        snprintf(number, sizeof number, ",\"partitions\":%zu", 1 + chance(40));
        if (kind == KEYSPACE_HASH)
            append(text, number);
        else
            append_splits(text, prefixes[i], kind == KEYSPACE_RANGE);
        append(text, "}");
    }
    append(text, "]}");
    Config *config = config_parse(text, strlen(text), &error);
    if (config == NULL)
        fail_msg("seed %u: %s: %s", chance_seed, error.text, text);
    return config;
}

/* ---- what a directory that was set up from it answers ---------------------------------------- */

typedef struct Range
{
    const char *keyspace;
    ConfigBound lo;
    ConfigBound hi;
    bool endless;
    size_t shard;
} Range;

typedef struct Ranges
{
    Range rows[PARTITIONS_MAX];
    size_t count;
} Ranges;

static int compare_keyspaces(const void *a, const void *b)
{
    const ConfigKeyspace *left = a;
    const ConfigKeyspace *right = b;
    return strcmp(left->prefix, right->prefix);
}

/* By keyspace and lower bound, as read_partitions answers. */
static void list_ranges(Config *config, Ranges *ret_ranges)
{
    ret_ranges->count = 0;
    qsort(config->keyspaces, config->keyspace_count, sizeof *config->keyspaces, compare_keyspaces);
    for (size_t k = 0; k < config->keyspace_count; k++)
    {
        const ConfigKeyspace *keyspace = &config->keyspaces[k];
        for (size_t i = 0; i < keyspace->partition_count; i++)
        {
            Range *row = &ret_ranges->rows[ret_ranges->count++];
            *row = (Range){.keyspace = keyspace->prefix,
                           .lo = keyspace->bounds[i],
                           .endless = i + 1 == keyspace->partition_count,
                           .shard = i % SHARDS};
            if (!row->endless)
                row->hi = keyspace->bounds[i + 1];
        }
    }
}

static const PgRows *shard_rows(void)
{
    FakeRows *rows = fake_rows_new(6);
    for (int i = 1; i <= SHARDS; i++)
    {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        fake_text(rows, name);
        fake_int4(rows, i);
        fake_text(rows, "d");
        fake_text(rows, "7000000000000000001");
        fake_int8(rows, 1);
        fake_text(rows, "00000001");
    }
    return fake_lend(rows);
}

static const PgRows *partition_rows(const Ranges *ranges)
{
    FakeRows *rows = fake_rows_new(6);
    for (size_t i = 0; i < ranges->count; i++)
    {
        const Range *range = &ranges->rows[i];
        char name[16];
        snprintf(name, sizeof name, "s%zu", range->shard + 1);
        fake_int4(rows, (int32_t)i);
        fake_text(rows, range->keyspace);
        fake_bytes(rows, range->lo.bytes, range->lo.length);
        if (range->endless)
            fake_null(rows);
        else
            fake_bytes(rows, range->hi.bytes, range->hi.length);
        fake_text(rows, name);
        fake_int8(rows, 1);
    }
    return fake_lend(rows);
}

static Routing *route_by(const Config *config, const Ranges *ranges, Error *error)
{
    FakeRows *cluster = fake_rows_new(3);
    FakeRows *keyspaces = fake_rows_new(3);
    fake_text(cluster, "demo");
    fake_int4(cluster, 1);
    fake_int8(cluster, 1);
    for (size_t i = 0; i < config->keyspace_count; i++)
    {
        fake_text(keyspaces, config->keyspaces[i].prefix);
        fake_text(keyspaces, keyspace_kind_name(config->keyspaces[i].kind));
        fake_text(keyspaces, mode_name(config->keyspaces[i].default_mode));
    }
    RoutingSource source = {fake_lend(cluster), shard_rows(), fake_lend(keyspaces),
                            partition_rows(ranges)};
    return routing_new(&source, error);
}

/* A random cluster and its routing. */
typedef struct World
{
    Config *config;
    Ranges ranges;
    Routing *routing;
} World;

static void world_make(World *ret_world)
{
    Error error = {0};
    ret_world->config = random_description();
    list_ranges(ret_world->config, &ret_world->ranges);
    ret_world->routing = route_by(ret_world->config, &ret_world->ranges, &error);
    if (ret_world->routing == NULL)
        fail_msg("seed %u: %s", chance_seed, error.text);
}

static void world_done(World *world)
{
    routing_free(world->routing);
    config_free(world->config);
    fake_values_stop();
}

/* ---- what holds ------------------------------------------------------------------------------ */

static bool holds(const RoutingPartition *partition, const Route *route)
{
    return route_compare(partition->lo.bytes, partition->lo.length, route->bytes, route->length) <=
               0 &&
           (partition->endless || route_compare(route->bytes, route->length, partition->hi.bytes,
                                                partition->hi.length) < 0);
}

/* The longest of all prefixes that the id starts with, found without any order among them. */
static const char *longest_prefix(const char *id)
{
    const char *longest = "";
    for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++)
    {
        if (strncmp(id, prefixes[i], strlen(prefixes[i])) == 0 &&
            strlen(prefixes[i]) > strlen(longest))
            longest = prefixes[i];
    }
    return longest;
}

static const RoutingPartition *partition_of(const Routing *routing, const char *id)
{
    Route route;
    const RoutingKeyspace *keyspace = routing_keyspace(routing, id);
    route_make(keyspace->kind, keyspace->prefix_length, id, &route);
    return routing_partition(routing, keyspace, &route);
}

static void check_id(const Routing *routing, const char *id)
{
    Route route;
    size_t holders = 0;
    const RoutingKeyspace *keyspace = routing_keyspace(routing, id);
    const RoutingPartition *found = partition_of(routing, id);
    assert_string_equal(keyspace->prefix, longest_prefix(id));
    route_make(keyspace->kind, keyspace->prefix_length, id, &route);
    for (size_t i = keyspace->first; i < keyspace->first + keyspace->count; i++)
    {
        if (!holds(&routing->partitions[i], &route))
            continue;
        holders++;
        assert_ptr_equal(&routing->partitions[i], found);
    }
    if (holders != 1)
        fail_msg("seed %u: %s is in %zu partitions", chance_seed, id, holders);
}

/* The split itself, what is just above it, and what is just below it. */
static void check_at_split(const Routing *routing, const ConfigBound *bound)
{
    Id id;
    memcpy(id, bound->bytes, bound->length);
    id[bound->length] = '\0';
    check_id(routing, id);
    if (bound->length < ACCOUNT_ID_MAX)
    {
        id[bound->length] = '-';
        id[bound->length + 1] = '\0';
        check_id(routing, id);
        id[bound->length] = '\0';
    }
    for (char last = '-'; last < id[bound->length - 1]; last++)
    {
        Id below;
        memcpy(below, id, sizeof below);
        below[bound->length - 1] = last;
        if (route_account_id_is_valid(below))
            check_id(routing, below);
    }
}

static void every_id_has_exactly_one_partition(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
    {
        World world;
        world_make(&world);
        for (int i = 0; i < IDS; i++)
        {
            Id id;
            random_id(prefixes[chance(ARRAY_LENGTH(prefixes))], true, id);
            check_id(world.routing, id);
        }
        world_done(&world);
    }
}

static void an_id_at_a_split_belongs_above_it_and_its_neighbours_where_they_sort(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
    {
        World world;
        world_make(&world);
        for (size_t k = 0; k < world.config->keyspace_count; k++)
        {
            const ConfigKeyspace *keyspace = &world.config->keyspaces[k];
            for (size_t i = 1; i < keyspace->partition_count; i++)
            {
                if (keyspace->kind != KEYSPACE_HASH)
                    check_at_split(world.routing, &keyspace->bounds[i]);
            }
        }
        world_done(&world);
    }
}

static void described_splits_never_cut_a_tenant(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
    {
        World world;
        world_make(&world);
        for (size_t k = 0; k < world.routing->keyspace_count; k++)
        {
            const RoutingKeyspace *keyspace = &world.routing->keyspaces[k];
            Id tenant;
            random_id(keyspace->prefix, false, tenant);
            if (keyspace->kind != KEYSPACE_COMPOUND ||
                routing_keyspace(world.routing, tenant) != keyspace)
                continue;
            const RoutingPartition *home = partition_of(world.routing, tenant);
            for (int i = 0; i < TENANT_ACCOUNTS; i++)
            {
                char id[ACCOUNT_ID_MAX + 8];
                snprintf(id, sizeof id, "%s:%d", tenant, i);
                if (routing_keyspace(world.routing, id) == keyspace)
                    assert_ptr_equal(partition_of(world.routing, id), home);
            }
        }
        world_done(&world);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refusal(const World *world, const Ranges *broken)
{
    Error error = {0};
    Routing *routing = route_by(world->config, broken, &error);
    if (routing != NULL)
        fail_msg("seed %u: ranges with a gap or an overlap were taken", chance_seed);
    assert_int_equal(error.code, ERROR_SETUP);
}

static void a_gap_or_an_overlap_is_refused_wherever_it_is(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
    {
        World world;
        Ranges broken;
        world_make(&world);
        size_t at = chance(world.ranges.count);

        broken = world.ranges; /* one is missing */
        memmove(&broken.rows[at], &broken.rows[at + 1],
                (broken.count - at - 1) * sizeof broken.rows[0]);
        broken.count--;
        expect_refusal(&world, &broken);

        broken = world.ranges; /* one ends too late or too early */
        broken.rows[at].endless = false;
        broken.rows[at].hi = broken.rows[at].lo;
        broken.rows[at].hi.bytes[broken.rows[at].hi.length++] = '\x01';
        expect_refusal(&world, &broken);

        broken = world.ranges; /* one starts too late */
        broken.rows[at].lo.bytes[broken.rows[at].lo.length++] = '\0';
        expect_refusal(&world, &broken);
        world_done(&world);
    }
}

static int setup(void **state)
{
    (void)state;
    const char *seed = getenv("GIRO_TEST_SEED");
    route_library_init();
    if (seed != NULL)
        chance_seed = (unsigned)strtoul(seed, NULL, 10);
    else
        random_bytes(&chance_seed, sizeof chance_seed);
    chance_state = chance_seed;
    print_message("seed %u\n", chance_seed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_id_has_exactly_one_partition),
        cmocka_unit_test(an_id_at_a_split_belongs_above_it_and_its_neighbours_where_they_sort),
        cmocka_unit_test(described_splits_never_cut_a_tenant),
        cmocka_unit_test(a_gap_or_an_overlap_is_refused_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
