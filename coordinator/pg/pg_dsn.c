/* See pg_dsn.h. */
#include "pg/pg_dsn.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

typedef struct Setting
{
    const char *keyword;
    const char *value;
} Setting;

/* Replace what the DSN says: the layers above count on them. */
static const Setting forced[] = {
    {"client_encoding", "UTF8"},
};

/* Hold unless the DSN says otherwise. A server that is in recovery or read-only is not the one that
 * is looked for, so that the next host is tried; Kerberos look-ups may block, so they must be asked
 * for. */
static const Setting defaults[] = {
    {"application_name", "girod"}, {"target_session_attrs", "read-write"},
    {"gssencmode", "disable"},     {"keepalives", "1"},
    {"keepalives_idle", "10"},     {"keepalives_interval", "5"},
    {"keepalives_count", "3"},     {"tcp_user_timeout", "15000"},
};

static bool is_one_of(const char *keyword, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        if (strcmp(keyword, list[i]) == 0)
            return true;
    }
    return false;
}

static bool is_given(const PgDsn *dsn, const char *keyword)
{
    return is_one_of(keyword, (const char *const *)dsn->keywords, dsn->setting_count);
}

static void put(PgDsn *dsn, const char *keyword, const char *value)
{
    ASSERT(dsn->setting_count + 1 < PG_SETTINGS_MAX);
    dsn->keywords[dsn->setting_count] = base_strdup(keyword);
    dsn->values[dsn->setting_count] = base_strdup(value);
    dsn->setting_count++;
}

static void put_settings(PgDsn *dsn, const PQconninfoOption *options)
{
    static const char *const apart[] = {"host", "hostaddr", "port", "connect_timeout"};
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
    {
        bool replaced = is_one_of(option->keyword, apart, ARRAY_LENGTH(apart));
        for (size_t i = 0; i < ARRAY_LENGTH(forced); i++)
            replaced = replaced || strcmp(option->keyword, forced[i].keyword) == 0;
        if (option->val != NULL && option->val[0] != '\0' && !replaced)
            put(dsn, option->keyword, option->val);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(forced); i++)
        put(dsn, forced[i].keyword, forced[i].value);
    for (size_t i = 0; i < ARRAY_LENGTH(defaults); i++)
    {
        if (!is_given(dsn, defaults[i].keyword))
            put(dsn, defaults[i].keyword, defaults[i].value);
    }
}

static const char *option_value(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword != NULL; options++)
    {
        if (strcmp(options->keyword, keyword) == 0)
            return options->val != NULL && options->val[0] != '\0' ? options->val : NULL;
    }
    return NULL;
}

static size_t item_count(const char *list)
{
    size_t count = list != NULL ? 1 : 0;
    for (const char *at = list; at != NULL && *at != '\0'; at++)
        count += *at == ',' ? 1 : 0;
    return count;
}

/* A copy of the item at `position` of a comma list; NULL when it is empty or the list is. */
static char *item_copy(const char *list, size_t position)
{
    if (list == NULL)
        return NULL;
    for (; position > 0; position--)
        list = strchr(list, ',') + 1;
    size_t length = strcspn(list, ",");
    return length > 0 ? strndup(list, length) : NULL;
}

static bool put_endpoints(PgDsn *dsn, const PQconninfoOption *options, Error *error)
{
    const char *addresses = option_value(options, "hostaddr");
    const char *hosts = option_value(options, "host");
    const char *ports = option_value(options, "port");
    if (hosts == NULL && addresses == NULL)
        hosts = getenv("PGHOST");
    size_t count = item_count(addresses != NULL ? addresses : hosts);
    size_t port_count = item_count(ports);
    if (count == 0)
        count = 1;
    if (count > PG_ENDPOINTS_MAX)
        return error_set(error, ERROR_CONFIG, "the DSN names more than %d hosts", PG_ENDPOINTS_MAX);
    if (addresses != NULL && hosts != NULL && item_count(hosts) != count)
        return error_set(error, ERROR_CONFIG, "host and hostaddr of the DSN differ in number");
    if (port_count > 1 && port_count != count)
        return error_set(error, ERROR_CONFIG, "host and port of the DSN differ in number");
    dsn->endpoint_count = count;
    for (size_t i = 0; i < count; i++)
    {
        dsn->endpoints[i].host = item_copy(hosts, hosts != NULL ? i : 0);
        dsn->endpoints[i].address = item_copy(addresses, addresses != NULL ? i : 0);
        dsn->endpoints[i].port = item_copy(ports, port_count > 1 ? i : 0);
    }
    return true;
}

bool pg_dsn_init(PgDsn *ret_dsn, const char *text, Error *error)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(text, &message);
    PQfreemem(message);
    if (options == NULL)
        return error_set(error, ERROR_CONFIG, "the DSN is not a connection string of libpq");
    PgDsn dsn = {0};
    bool fits = option_value(options, "service") == NULL
                    ? put_endpoints(&dsn, options, error)
                    : error_set(error, ERROR_CONFIG, "a DSN must not name a service");
    if (fits)
    {
        put_settings(&dsn, options);
        *ret_dsn = dsn;
    }
    PQconninfoFree(options);
    return fits;
}

void pg_dsn_done(PgDsn *dsn)
{
    for (size_t i = 0; i < dsn->endpoint_count; i++)
    {
        free(dsn->endpoints[i].host);
        free(dsn->endpoints[i].address);
        free(dsn->endpoints[i].port);
    }
    for (size_t i = 0; i < dsn->setting_count; i++)
    {
        free(dsn->keywords[i]);
        free(dsn->values[i]);
    }
    *dsn = (PgDsn){0};
}

bool pg_endpoint_is_direct(const PgEndpoint *endpoint)
{
    struct in6_addr ignored;
    return endpoint->address != NULL || endpoint->host == NULL || endpoint->host[0] == '/' ||
           endpoint->host[0] == '@' || inet_pton(AF_INET, endpoint->host, &ignored) == 1 ||
           inet_pton(AF_INET6, endpoint->host, &ignored) == 1;
}
