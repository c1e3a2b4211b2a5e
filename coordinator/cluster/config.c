/*
 * Reads the cluster description, see config.h.
 *
 * The parser walks the document with a Place, which knows the JSON pointer of the value at hand, so
 * that each check is one line and its message says where. The first mistake ends the parse; what
 * was built until then is freed by config_free, which accepts a half-built Config.
 */
#include "cluster/config.h"

#include "cluster/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    DSN_MAX = 1024,
    TAGS_MAX = 16,
    TAG_MAX = 128,
};

static bool take_database(const Place *object, ConfigDatabase *database)
{
    Place dsn = place_field(object, "dsn");
    Place owner = place_field(object, "owner_dsn");
    if (!place_take_string(&dsn, DSN_MAX, &database->dsn))
    {
        return false;
    }
    return owner.value == NULL || place_take_string(&owner, DSN_MAX, &database->owner_dsn);
}

/* ---- shards ---------------------------------------------------------------------------------- */

static bool take_tags(const Place *object, char **ret_tags)
{
    if (object->value == NULL)
    {
        *ret_tags = base_strdup("{}");
        return true;
    }
    if (!place_check_kind(object, JSON_KIND_OBJECT, "an object of strings"))
    {
        return false;
    }
    if (json_field_count(object->value) > TAGS_MAX)
    {
        return place_complain(object, "has more than %d tags", TAGS_MAX);
    }
    void *position = NULL;
    const char *name = NULL;
    const Json *value = NULL;
    while (json_field_next(object->value, &position, &name, &value))
    {
        Place place = place_field(object, name);
        if (!place_check_kind(&place, JSON_KIND_STRING, "a string"))
        {
            return false;
        }
        if (strlen(name) > TAG_MAX || strlen(json_as_string(value)) > TAG_MAX)
        {
            return place_complain(&place, "is longer than %d bytes", TAG_MAX);
        }
    }
    *ret_tags = json_dump(object->value);
    return true;
}

static bool take_shard(const Place *object, ConfigShard *shard)
{
    static const char *const fields[] = {"name", "ordinal", "dsn", "owner_dsn", "tags"};
    if (!place_check_fields(object, fields, ARRAY_LENGTH(fields)))
    {
        return false;
    }
    Place name = place_field(object, "name");
    Place ordinal = place_field(object, "ordinal");
    Place tags = place_field(object, "tags");
    int64_t number = 0;
    if (!place_take_name(&name, &shard->name) ||
        !place_take_number(&ordinal, CONFIG_ORDINAL_MAX, &number) ||
        !take_database(object, &shard->database))
    {
        return false;
    }
    shard->ordinal = (int)number;
    return take_tags(&tags, &shard->tags);
}

/* Is what the last of `count` shards says of itself said by none before it? */
static bool check_shard_is_new(const Place *object, const ConfigShard *shards, size_t count)
{
    const ConfigShard *last = &shards[count - 1];
    for (const ConfigShard *shard = shards; shard < last; shard++)
    {
        Place name = place_field(object, "name");
        Place ordinal = place_field(object, "ordinal");
        if (strcmp(shard->name, last->name) == 0)
        {
            return place_complain(&name, "'%s' is used twice", last->name);
        }
        if (shard->ordinal == last->ordinal)
        {
            return place_complain(&ordinal, "%d is used twice, by %s too", last->ordinal,
                                  shard->name);
        }
    }
    return true;
}

static int compare_ordinals(const void *a, const void *b)
{
    int left = ((const ConfigShard *)a)->ordinal;
    int right = ((const ConfigShard *)b)->ordinal;
    return (left > right) - (left < right);
}

static bool take_shards(const Place *array, Config *config)
{
    size_t count = 0;
    if (!place_take_count(array, CONFIG_SHARDS_MAX, &count))
    {
        return false;
    }
    config->shards = base_calloc(count, sizeof(*config->shards));
    config->shard_count = count;
    for (size_t i = 0; i < count; i++)
    {
        Place object = place_element(array, i);
        if (!take_shard(&object, &config->shards[i]) ||
            !check_shard_is_new(&object, config->shards, i + 1))
        {
            return false;
        }
    }
    qsort(config->shards, count, sizeof(*config->shards), compare_ordinals);
    return true;
}

/* ---- keyspaces ------------------------------------------------------------------------------- */

/* Bound number i of n is i/n of 2^64. */
static void split_evenly(ConfigKeyspace *keyspace, size_t count)
{
    keyspace->bounds = base_calloc(count, sizeof(*keyspace->bounds));
    keyspace->partition_count = count;
    for (size_t i = 1; i < count; i++)
    {
        ConfigBound *bound = &keyspace->bounds[i];
        uint64_t remainder = i;
        bound->length = 8;
        for (size_t byte = 0; byte < bound->length; byte++)
        {
            remainder *= 256;
            bound->bytes[byte] = (uint8_t)(remainder / count);
            remainder %= count;
        }
    }
}

static bool take_split(const Place *place, const ConfigKeyspace *keyspace, ConfigBound *bound)
{
    if (!place_check_kind(place, JSON_KIND_STRING, "a string"))
    {
        return false;
    }
    const char *text = json_as_string(place->value);
    if (!route_account_id_is_valid(text))
    {
        return place_complain(place, "must be 1 to 96 of [A-Za-z0-9._:@-], like an account id");
    }
    size_t prefix_length = strlen(keyspace->prefix);
    if (strncmp(text, keyspace->prefix, prefix_length) != 0)
    {
        return place_complain(place, "must start with the keyspace's prefix '%s'",
                              keyspace->prefix);
    }
    /* A route has a zero byte there, so that the split would be another one than it seems. */
    if (keyspace->kind == KEYSPACE_COMPOUND && strchr(text + prefix_length, ':') != NULL)
    {
        return place_complain(place, "must be a tenant: no ':' behind the keyspace's prefix");
    }
    bound->length = strlen(text);
    memcpy(bound->bytes, text, bound->length);
    const ConfigBound *before = bound - 1;
    return route_compare(before->bytes, before->length, bound->bytes, bound->length) < 0 ||
           place_complain(place, "must come after the split before it, in byte order");
}

static bool take_splits(const Place *array, ConfigKeyspace *keyspace)
{
    size_t count = 0;
    if (array->value != NULL && !(place_check_kind(array, JSON_KIND_ARRAY, "an array") &&
                                  (json_array_length(array->value) == 0 ||
                                   place_take_count(array, CONFIG_PARTITIONS_MAX - 1, &count))))
    {
        return false;
    }
    keyspace->bounds = base_calloc(count + 1, sizeof(*keyspace->bounds));
    keyspace->partition_count = count + 1;
    for (size_t i = 0; i < count; i++)
    {
        Place split = place_element(array, i);
        if (!take_split(&split, keyspace, &keyspace->bounds[i + 1]))
        {
            return false;
        }
    }
    return true;
}

static bool take_bounds(const Place *object, ConfigKeyspace *keyspace)
{
    Place partitions = place_field(object, "partitions");
    Place splits = place_field(object, "splits");
    keyspace->is_split_stated = partitions.value != NULL || splits.value != NULL;
    if (keyspace->kind != KEYSPACE_HASH)
    {
        return partitions.value == NULL
                   ? take_splits(&splits, keyspace)
                   : place_complain(&partitions, "is for hash keyspaces; list \"splits\" instead");
    }
    int64_t count = CONFIG_PARTITIONS_DEFAULT;
    if (splits.value != NULL)
    {
        return place_complain(&splits,
                              "is not for hash keyspaces; say how many \"partitions\" instead");
    }
    if (partitions.value != NULL && !place_take_number(&partitions, CONFIG_PARTITIONS_MAX, &count))
    {
        return false;
    }
    split_evenly(keyspace, (size_t)count);
    return true;
}

static bool take_mode(const Place *place, TransferMode *ret_mode)
{
    *ret_mode = MODE_2PC;
    if (place->value == NULL)
    {
        return true;
    }
    TransferMode mode = MODE_AUTO;
    if (json_kind(place->value) != JSON_KIND_STRING ||
        !mode_parse(json_as_string(place->value), &mode) || (mode != MODE_2PC && mode != MODE_SAGA))
    {
        return place_complain(place, "must be \"2pc\" or \"saga\"");
    }
    *ret_mode = mode;
    return true;
}

static bool take_prefix(const Place *place, char **ret_prefix)
{
    if (!place_check_kind(place, JSON_KIND_STRING, "a string"))
    {
        return false;
    }
    /* With a letter behind it, so that the empty prefix and "." can stand. */
    const char *text = json_as_string(place->value);
    char id[ACCOUNT_ID_MAX + 2];
    int length = snprintf(id, sizeof(id), "%sx", text);
    return length <= ACCOUNT_ID_MAX && route_account_id_is_valid(id)
               ? place_take_string(place, ACCOUNT_ID_MAX, ret_prefix)
               : place_complain(place, "must be up to 95 of [A-Za-z0-9._:@-]");
}

static bool take_keyspace(const Place *object, ConfigKeyspace *keyspace)
{
    static const char *const fields[] = {"prefix", "kind", "partitions", "splits", "default_mode"};
    if (!place_check_fields(object, fields, ARRAY_LENGTH(fields)))
    {
        return false;
    }
    Place prefix = place_field(object, "prefix");
    Place kind = place_field(object, "kind");
    Place mode = place_field(object, "default_mode");
    if (!take_prefix(&prefix, &keyspace->prefix) ||
        !place_check_kind(&kind, JSON_KIND_STRING, "a string"))
    {
        return false;
    }
    if (!keyspace_kind_parse(json_as_string(kind.value), &keyspace->kind))
    {
        return place_complain(&kind, "must be \"hash\", \"range\" or \"compound\"");
    }
    return take_bounds(object, keyspace) && take_mode(&mode, &keyspace->default_mode);
}

static bool take_keyspaces(const Place *array, Config *config)
{
    size_t count = 0;
    if (!place_take_count(array, CONFIG_KEYSPACES_MAX, &count))
    {
        return false;
    }
    config->keyspaces = base_calloc(count, sizeof(*config->keyspaces));
    config->keyspace_count = count;
    bool has_default = false;
    for (size_t i = 0; i < count; i++)
    {
        Place object = place_element(array, i);
        if (!take_keyspace(&object, &config->keyspaces[i]))
        {
            return false;
        }
        const char *prefix = config->keyspaces[i].prefix;
        for (size_t before = 0; before < i; before++)
        {
            if (strcmp(config->keyspaces[before].prefix, prefix) == 0)
            {
                Place place = place_field(&object, "prefix");
                return place_complain(&place, "'%s' is used twice", prefix);
            }
        }
        has_default = has_default || prefix[0] == '\0';
    }
    return has_default || place_complain(array, "one keyspace must have the empty prefix");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool take_document(const Place *document, Config *config)
{
    static const char *const fields[] = {"cluster", "directory", "shards", "keyspaces"};
    static const char *const database[] = {"dsn", "owner_dsn"};
    if (!place_check_fields(document, fields, ARRAY_LENGTH(fields)))
    {
        return false;
    }
    Place cluster = place_field(document, "cluster");
    Place directory = place_field(document, "directory");
    Place shards = place_field(document, "shards");
    Place keyspaces = place_field(document, "keyspaces");
    return place_take_name(&cluster, &config->cluster) &&
           place_check_fields(&directory, database, ARRAY_LENGTH(database)) &&
           take_database(&directory, &config->directory) && take_shards(&shards, config) &&
           take_keyspaces(&keyspaces, config);
}

Config *config_parse(const char *text, size_t length, Error *error)
{
    Error cause = {0};
    Json *document = json_parse(text, length, &cause);
    if (document == NULL)
    {
        /* What it quotes may be a DSN. */
        char *quoted = strstr(cause.text, " near ");
        if (quoted != NULL)
            *quoted = '\0';
        error_set(error, ERROR_CONFIG, "no JSON: %s", cause.text);
        return NULL;
    }
    Config *config = base_calloc(1, sizeof(*config));
    Place place = {.value = document, .error = error};
    bool valid = take_document(&place, config);
    json_free(document);
    if (!valid)
    {
        config_free(config);
        return NULL;
    }
    return config;
}

Config *config_read(const char *path, Error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
    {
        error_set(error, ERROR_CONFIG, "%s cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    char *text = base_malloc(CONFIG_BYTES_MAX + 1);
    size_t length = fread(text, 1, CONFIG_BYTES_MAX + 1, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    Config *config = NULL;
    Error cause = {0};
    if (failed)
    {
        error_set(error, ERROR_CONFIG, "%s cannot be read", path);
    }
    else if (length > CONFIG_BYTES_MAX)
    {
        error_set(error, ERROR_CONFIG, "%s is longer than %d bytes", path, CONFIG_BYTES_MAX);
    }
    else if ((config = config_parse(text, length, &cause)) == NULL)
    {
        error_set(error, ERROR_CONFIG, "%s: %.200s", path, cause.text);
    }
    free(text);
    return config;
}

static void free_database(ConfigDatabase *database)
{
    free(database->dsn);
    free(database->owner_dsn);
}

void config_free(Config *config)
{
    if (config == NULL)
    {
        return;
    }
    for (size_t i = 0; i < config->shard_count; i++)
    {
        free(config->shards[i].name);
        free(config->shards[i].tags);
        free_database(&config->shards[i].database);
    }
    for (size_t i = 0; i < config->keyspace_count; i++)
    {
        free(config->keyspaces[i].prefix);
        free(config->keyspaces[i].bounds);
    }
    free(config->shards);
    free(config->keyspaces);
    free_database(&config->directory);
    free(config->cluster);
    free(config);
}
