/*
 * The cluster description: what is read from a good one, and that every mistake in it is reported
 * with its place.
 */
#include "cluster/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DIRECTORY "\"directory\":{\"dsn\":\"d\",\"owner_dsn\":\"o\"}"
#define SHARD_1   "{\"name\":\"shard-1\",\"ordinal\":1,\"dsn\":\"d1\"}"
#define KEYSPACE  "{\"prefix\":\"\",\"kind\":\"hash\"}"
#define WHOLE(shards, keyspaces)                                                                   \
    "{\"cluster\":\"demo\"," DIRECTORY ",\"shards\":[" shards "],\"keyspaces\":[" keyspaces "]}"

static Config *parse(const char *text)
{
    Error error = {0};
    Config *config = config_parse(text, strlen(text), &error);
    if (config == NULL)
    {
        print_error("%s\n", error.text);
    }
    assert_non_null(config);
    return config;
}

static void expect_mistake(const char *text, const char *message)
{
    Error error = {0};
    Config *config = config_parse(text, strlen(text), &error);
    assert_null(config);
    assert_int_equal(error.code, ERROR_CONFIG);
    assert_string_equal(error.text, message);
}

static void reads_a_whole_description(void **state)
{
    (void)state;
    Config *config = parse(
        WHOLE("{\"name\":\"b\",\"ordinal\":7,\"dsn\":\"db\",\"owner_dsn\":\"ob\","
              "\"tags\":{\"zone\":\"z\",\"disk\":\"d\"}}," SHARD_1,
              "{\"prefix\":\"eu:\",\"kind\":\"compound\",\"default_mode\":\"saga\"}," KEYSPACE));
    assert_string_equal(config->cluster, "demo");
    assert_string_equal(config->directory.dsn, "d");
    assert_string_equal(config->directory.owner_dsn, "o");
    assert_int_equal(config->shard_count, 2);
    assert_string_equal(config->shards[0].name, "shard-1");
    assert_null(config->shards[0].database.owner_dsn);
    assert_string_equal(config->shards[0].tags, "{}");
    assert_int_equal(config->shards[1].ordinal, 7);
    assert_string_equal(config->shards[1].tags, "{\"disk\":\"d\",\"zone\":\"z\"}");
    assert_int_equal(config->keyspace_count, 2);
    assert_int_equal(config->keyspaces[0].kind, KEYSPACE_COMPOUND);
    assert_int_equal(config->keyspaces[0].default_mode, MODE_SAGA);
    assert_int_equal(config->keyspaces[0].partition_count, 1);
    assert_int_equal(config->keyspaces[1].default_mode, MODE_2PC);
    assert_int_equal(config->keyspaces[1].partition_count, CONFIG_PARTITIONS_DEFAULT);
    assert_false(config->keyspaces[0].is_split_stated || config->keyspaces[1].is_split_stated);
    config_free(config);
}

static void splits_a_hash_keyspace_into_equal_parts(void **state)
{
    (void)state;
    Config *config = parse(WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"hash\",\"partitions\":3}"));
    const ConfigBound *bounds = config->keyspaces[0].bounds;
    assert_int_equal(config->keyspaces[0].partition_count, 3);
    assert_true(config->keyspaces[0].is_split_stated);
    assert_int_equal(bounds[0].length, 0);
    assert_int_equal(bounds[1].length, 8);
    assert_memory_equal(bounds[1].bytes, "\x55\x55\x55\x55\x55\x55\x55\x55", 8);
    assert_memory_equal(bounds[2].bytes, "\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa", 8);
    config_free(config);
}

static void every_count_of_partitions_gives_ascending_bounds(void **state)
{
    (void)state;
    for (int count = 1; count <= CONFIG_PARTITIONS_MAX; count += 13)
    {
        char text[512];
        snprintf(text, sizeof(text),
                 WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"hash\",\"partitions\":%d}"), count);
        Config *config = parse(text);
        const ConfigKeyspace *keyspace = &config->keyspaces[0];
        assert_int_equal(keyspace->partition_count, count);
        for (size_t i = 1; i < keyspace->partition_count; i++)
        {
            assert_true(route_compare(keyspace->bounds[i - 1].bytes, keyspace->bounds[i - 1].length,
                                      keyspace->bounds[i].bytes, keyspace->bounds[i].length) < 0);
        }
        config_free(config);
    }
}

static void takes_the_splits_of_range_and_compound_keyspaces(void **state)
{
    (void)state;
    Config *config =
        parse(WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"range\",\"splits\":[\"g\",\"go\",\"p\"]},"
                             "{\"prefix\":\"t:\",\"kind\":\"compound\",\"splits\":[\"t:m\"]}"));
    assert_int_equal(config->keyspaces[0].partition_count, 4);
    assert_int_equal(config->keyspaces[0].bounds[2].length, 2);
    assert_memory_equal(config->keyspaces[0].bounds[2].bytes, "go", 2);
    assert_int_equal(config->keyspaces[1].partition_count, 2);
    config_free(config);
}

static void every_mistake_is_reported_with_its_place(void **state)
{
    (void)state;
    static const struct
    {
        const char *text;
        const char *message;
    } rows[] = {
        {"[]", "the document: must be an object"},
        {"{}", "/cluster: is missing, a string is needed"},
        {"{\"cluster\":\"demo\",\"color\":1}", "/color: is not a known field"},
        {"{\"cluster\":\"De mo\"}", "/cluster: must be 1 to 40 of [a-z0-9-]"},
        {"{\"cluster\":\"demo\"}", "/directory: is missing, an object is needed"},
        {"{\"cluster\":\"demo\",\"directory\":{}}",
         "/directory/dsn: is missing, a string is needed"},
        {"{\"cluster\":\"demo\",\"directory\":{\"dsn\":1}}", "/directory/dsn: must be a string"},
        {"{\"cluster\":\"demo\",\"directory\":{\"dsn\":\"d\",\"x\":1}}",
         "/directory/x: is not a known field"},
        {"{\"cluster\":\"demo\"," DIRECTORY "}", "/shards: is missing, an array is needed"},
        {WHOLE("", KEYSPACE), "/shards: must have 1 to 256 elements"},
        {WHOLE("1", KEYSPACE), "/shards/0: must be an object"},
        {WHOLE(SHARD_1 ",{\"name\":\"b\"}", KEYSPACE),
         "/shards/1/ordinal: is missing, an integer is needed"},
        {WHOLE("{\"name\":\"b\",\"ordinal\":0,\"dsn\":\"d\"}", KEYSPACE),
         "/shards/0/ordinal: must be from 1 to 1000000"},
        {WHOLE("{\"name\":\"b\",\"ordinal\":1.5,\"dsn\":\"d\"}", KEYSPACE),
         "/shards/0/ordinal: must be an integer"},
        {WHOLE(SHARD_1 ",{\"name\":\"shard-1\",\"ordinal\":2,\"dsn\":\"d\"}", KEYSPACE),
         "/shards/1/name: 'shard-1' is used twice"},
        {WHOLE(SHARD_1 ",{\"name\":\"b\",\"ordinal\":1,\"dsn\":\"d\"}", KEYSPACE),
         "/shards/1/ordinal: 1 is used twice, by shard-1 too"},
        {WHOLE("{\"name\":\"b\",\"ordinal\":1,\"dsn\":\"d\",\"tags\":{\"zone\":3}}", KEYSPACE),
         "/shards/0/tags/zone: must be a string"},
        {WHOLE("{\"name\":\"b\",\"ordinal\":1,\"dsn\":\"d\",\"tags\":[]}", KEYSPACE),
         "/shards/0/tags: must be an object of strings"},
        {WHOLE(SHARD_1, ""), "/keyspaces: must have 1 to 256 elements"},
        {WHOLE(SHARD_1, "{\"kind\":\"hash\"}"),
         "/keyspaces/0/prefix: is missing, a string is needed"},
        {WHOLE(SHARD_1, "{\"prefix\":\"a b\",\"kind\":\"hash\"}"),
         "/keyspaces/0/prefix: must be up to 95 of [A-Za-z0-9._:@-]"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"list\"}"),
         "/keyspaces/0/kind: must be \"hash\", \"range\" or \"compound\""},
        {WHOLE(SHARD_1, "{\"prefix\":\"a\",\"kind\":\"hash\"}"),
         "/keyspaces: one keyspace must have the empty prefix"},
        {WHOLE(SHARD_1, KEYSPACE "," KEYSPACE), "/keyspaces/1/prefix: '' is used twice"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"hash\",\"partitions\":0}"),
         "/keyspaces/0/partitions: must be from 1 to 4096"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"hash\",\"splits\":[]}"),
         "/keyspaces/0/splits: is not for hash keyspaces; say how many \"partitions\" instead"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"range\",\"partitions\":2}"),
         "/keyspaces/0/partitions: is for hash keyspaces; list \"splits\" instead"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"range\",\"splits\":[\"b\",\"b\"]}"),
         "/keyspaces/0/splits/1: must come after the split before it, in byte order"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"range\",\"splits\":[\"\"]}"),
         "/keyspaces/0/splits/0: must be 1 to 96 of [A-Za-z0-9._:@-], like an account id"},
        {WHOLE(SHARD_1, KEYSPACE ",{\"prefix\":\"r:\",\"kind\":\"range\",\"splits\":[\"s\"]}"),
         "/keyspaces/1/splits/0: must start with the keyspace's prefix 'r:'"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"compound\",\"splits\":[\"a:b\"]}"),
         "/keyspaces/0/splits/0: must be a tenant: no ':' behind the keyspace's prefix"},
        {WHOLE(SHARD_1, KEYSPACE ",{\"prefix\":\"t:\",\"kind\":\"compound\",\"splits\":[\"m\"]}"),
         "/keyspaces/1/splits/0: must start with the keyspace's prefix 't:'"},
        {WHOLE(SHARD_1, "{\"prefix\":\"\",\"kind\":\"hash\",\"default_mode\":\"auto\"}"),
         "/keyspaces/0/default_mode: must be \"2pc\" or \"saga\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
    {
        expect_mistake(rows[i].text, rows[i].message);
    }
}

static void what_is_no_json_is_said_to_be_none(void **state)
{
    (void)state;
    Error error = {0};
    assert_null(config_parse("{\"cluster\":", 11, &error));
    assert_int_equal(error.code, ERROR_CONFIG);
    assert_memory_equal(error.text, "no JSON: ", 9);
}

/* What is near a mistake in the file may be a password. */
static void a_mistake_in_the_file_quotes_nothing_of_it(void **state)
{
    static const char *const texts[] = {
        "{\"directory\": {\"dsn\" \"host=db password=sekret\"}}",
        "{\"dsn\": \"host=db password=sekret\" \"x\": 1}",
        "{\"dsn\": password=sekret}",
        "{\"password=sekret\": 1, \"password=sekret\": 2}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
    {
        Error error = {0};
        assert_null(config_parse(texts[i], strlen(texts[i]), &error));
        assert_memory_equal(error.text, "no JSON: line ", 14);
        if (strstr(error.text, "sekret") != NULL)
            fail_msg("%s", error.text);
    }
}

static void a_pointer_that_is_too_long_is_cut(void **state)
{
    (void)state;
    char text[2048];
    char name[1000];
    Error error = {0};
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(text, sizeof(text), "{\"%s\":1}", name);
    assert_null(config_parse(text, strlen(text), &error));
    assert_int_equal(error.code, ERROR_CONFIG);
}

static void a_file_that_is_missing_is_reported(void **state)
{
    (void)state;
    Error error = {0};
    assert_null(config_read("/nowhere/cluster.json", &error));
    assert_string_equal(error.text,
                        "/nowhere/cluster.json cannot be opened: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_whole_description),
        cmocka_unit_test(splits_a_hash_keyspace_into_equal_parts),
        cmocka_unit_test(every_count_of_partitions_gives_ascending_bounds),
        cmocka_unit_test(takes_the_splits_of_range_and_compound_keyspaces),
        cmocka_unit_test(every_mistake_is_reported_with_its_place),
        cmocka_unit_test(what_is_no_json_is_said_to_be_none),
        cmocka_unit_test(a_mistake_in_the_file_quotes_nothing_of_it),
        cmocka_unit_test(a_pointer_that_is_too_long_is_cut),
        cmocka_unit_test(a_file_that_is_missing_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
