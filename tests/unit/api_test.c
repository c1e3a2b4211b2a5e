/*
 * The surface of the API: routes, methods, health, problems, description, fault points.
 *
 * Fakes: tests/unit/api_world.c tests/unit/http_client.c tests/unit/fake_batcher.c
 * Fakes: tests/unit/fake_calls.c tests/unit/fake_shards.c tests/unit/fake_values.c
 * Fakes: tests/unit/fake_failpoint.c
 */
#include "api_world.h"

#include "protocol/failpoint.h"

#include <stdio.h>

static void other_paths_are_404(void **state)
{
    static const char *const targets[] = {"/",
                                          "/v1",
                                          "/v1/",
                                          "/v1/transfer",
                                          "/v1/transfers/",
                                          "/V1/accounts",
                                          "/v1/accounts/",
                                          "/v1//transfers",
                                          "/v1/accounts/a/entries/",
                                          "/livez/x",
                                          "/problems/",
                                          "/problems/none",
                                          "/problems/config",
                                          "/v1/failpoints/x"};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(targets); i++)
    {
        get(world, targets[i]);
        expect_problem(world, 404, "route-not-found");
    }
}

static void other_methods_are_405_with_allow(void **state)
{
    static const struct
    {
        const char *start;
        const char *allow;
    } cases[] = {
        {"DELETE /v1/transfers", "Allow: POST, GET, HEAD\r\n"},
        {"PUT /v1/accounts", "Allow: POST, GET, HEAD\r\n"},
        {"GET /v1/transfers/batch", "Allow: POST\r\n"},
        {"POST /v1/accounts/alice", "Allow: GET, HEAD, PATCH\r\n"},
        {"OPTIONS /v1/transfers/" UUID, "Allow: GET, HEAD\r\n"},
        {"POST /livez", "Allow: GET, HEAD\r\n"},
        {"get /livez", "Allow: GET, HEAD\r\n"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        call(world, cases[i].start, "", "");
        expect(world, 405);
        if (!has_header(world, cases[i].allow))
            fail_msg("%s", world->answer);
    }
}

static void head_is_get_without_the_body(void **state)
{
    World *world = *state;
    call(world, "HEAD /livez", "", "");
    expect(world, 200);
    assert_string_equal(world->body, "");
}

static void one_dead_shard_does_not_unready(void **state)
{
    World *world = *state;
    world->calls->shards[1]->usable = false;
    get(world, "/readyz");
    assert_string_equal(world->body, "{\"status\":\"ready\"}");
    get(world, "/readyz?verbose");
    expect(world, 200);
    assert_false(has_header(world, "Retry-After: "));
    const Json *shard = json_array_at(json_field(world->json, "shards"), 1);
    assert_false(json_as_bool(json_field(shard, "usable")));
    assert_string_equal(json_as_string(json_field(shard, "trouble")), "connection refused");
    world->calls->shards[0]->usable = false;
    world->calls->shards[2]->usable = false;
    get(world, "/readyz");
    expect_problem(world, 503, "shard-unavailable");
    get(world, "/readyz?verbose=true");
    expect(world, 503);
    assert_true(has_header(world, "Retry-After: "));
    assert_string_equal(text_field(world, "status"), "shard-unavailable");
    fake_unload_directory();
    get(world, "/readyz?verbose=false");
    expect_problem(world, 503, "directory-unavailable");
    get(world, "/readyz?verbose=0");
    expect_problem(world, 503, "directory-unavailable");
    get(world, "/readyz?verbose=1");
    expect(world, 503);
    assert_string_equal(text_field(world, "status"), "directory-unavailable");
    get(world, "/readyz?verbose=2");
    expect_problem(world, 400, "parameter-invalid");
    get(world, "/livez");
    expect(world, 200);
}

static void every_code_explains_itself(void **state)
{
    World *world = *state;
    for (int code = ERROR_NONE + 1; code < ERROR_CONFIG; code++)
    {
        char target[128];
        const char *name = error_row((ErrorCode)code)->name;
        snprintf(target, sizeof target, "/problems/%s", name);
        get(world, target);
        expect(world, 200);
        size_t meanings = json_array_length(json_field(world->json, "meanings"));
        assert_int_equal(meanings, strcmp(name, "account-not-found") == 0 ? 2 : 1);
    }
}

static void all_codes_are_listed_with_advice(void **state)
{
    World *world = *state;
    get(world, "/problems");
    expect(world, 200);
    const Json *items = json_field(world->json, "items");
    assert_int_equal(json_array_length(items), ERROR_CONFIG - ERROR_NONE - 1);
    for (size_t i = 0; i < json_array_length(items); i++)
    {
        const Json *item = json_array_at(items, i);
        const char *advice = json_as_string(json_field(item, "advice"));
        bool retryable = json_as_bool(json_field(item, "retryable"));
        bool is_refusal = json_as_bool(json_field(item, "refusal"));
        assert_true(strlen(advice) > 20 && advice[strlen(advice) - 1] == '.');
        assert_int_equal(json_field(item, "retry_after_ms") != NULL, retryable);
        if (is_refusal && strstr(advice, "new key") == NULL)
            fail_msg("%s", advice);
    }
}

static void version_and_description_are_served(void **state)
{
    World *world = *state;
    get(world, "/version");
    assert_string_equal(text_field(world, "version"), GIRO_VERSION);
    get(world, "/openapi.json");
    expect(world, 200);
    assert_string_equal(text_field(world, "openapi"), "3.1.0");
    const Json *version = json_field(json_field(world->json, "info"), "version");
    assert_string_equal(json_as_string(version), GIRO_VERSION);
}

/* Every operation of the description is routed, and says which methods its path has. */
static void the_description_and_the_routes_agree(void **state)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    static const char *const fields[] = {"get", "post", "put", "patch", "delete"};
    World *world = *state;
    Error error;
    void *position = NULL;
    const char *path;
    const Json *item;
    failpoint_enable();
    get(world, "/openapi.json");
    Json *description = json_parse(world->body, strlen(world->body), &error);
    size_t paths = 0;
    while (json_field_next(json_field(description, "paths"), &position, &path, &item))
    {
        char start[256];
        char target[128];
        size_t used = 0;
        for (const char *at = path; *at != '\0'; at++)
        {
            if (*at == '{')
            {
                target[used++] = 'x';
                at = strchr(at, '}');
            }
            else
                target[used++] = *at;
        }
        target[used] = '\0';
        snprintf(start, sizeof start, "TRACE %s", target);
        call(world, start, "", "");
        if (world->status != 405)
            fail_msg("%s: %s", path, world->answer);
        const char *allow = strstr(world->answer, "Allow: ");
        assert_non_null(allow);
        for (size_t i = 0; i < ARRAY_LENGTH(methods); i++)
        {
            char line[128];
            snprintf(line, sizeof line, "%.*s", (int)strcspn(allow, "\r"), allow);
            bool allowed = strstr(line, methods[i]) != NULL;
            if (allowed != (json_field(item, fields[i]) != NULL))
                fail_msg("%s %s: %s", methods[i], path, line);
        }
        paths++;
    }
    json_free(description);
    assert_true(paths > 20); /* it was walked through */
}

static void failpoints_are_armed_and_cleared(void **state)
{
    static const char name[] = "/v1/failpoints/2pc.decide.home.sent";
    char start[128];
    World *world = *state;
    failpoint_enable();
    get(world, name);
    expect(world, 200);
    assert_int_equal(json_kind(json_field(world->json, "action")), JSON_KIND_NULL);
    snprintf(start, sizeof start, "PUT %s", name);
    call(world, start, JSON_TYPE,
         "{\"action\":\"pause\",\"ms\":50,\"skip\":1,\"count\":2,\"account\":\"alice\"}");
    expect(world, 200);
    get(world, name);
    assert_string_equal(world->body, "{\"name\":\"2pc.decide.home.sent\",\"action\":\"pause\","
                                     "\"skip\":1,\"count\":2,\"ms\":50,\"account\":\"alice\"}");
    call(world, start, JSON_TYPE, "{\"action\":\"nothing\"}");
    expect_problem(world, 400, "body-invalid");
    snprintf(start, sizeof start, "DELETE %s", name);
    call(world, start, "", "");
    expect(world, 204);
    assert_string_equal(world->body, "");
    get(world, name);
    assert_int_equal(json_kind(json_field(world->json, "action")), JSON_KIND_NULL);
    get(world, "/v1/failpoints/2pc.nowhere.home.sent");
    expect_problem(world, 404, "route-not-found");
}

static void only_loopback_is_served_without_tokens(void **state)
{
    static const char *const hosts[] = {"0.0.0.0", "::", "192.0.2.1", "localhost", ""};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++)
    {
        Error error;
        ApiOptions options = {
            .loop = world->loop, .metrics = world->metrics, .address = {hosts[i], 0}};
        assert_null(api_new(&options, &error));
        assert_int_equal(error.code, ERROR_CONFIG);
    }
}

static void set_true(void *context)
{
    *(bool *)context = true;
}

static void drains(void **state)
{
    World *world = *state;
    bool drained = false;
    api_drain(world->api, set_true, &drained);
    assert_false(drained);
    assert_true(loop_run_until(world->loop, &drained, PATIENCE_MS));
}

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(other_paths_are_404),
        API_TEST(other_methods_are_405_with_allow),
        API_TEST(head_is_get_without_the_body),
        API_TEST(one_dead_shard_does_not_unready),
        API_TEST(every_code_explains_itself),
        API_TEST(all_codes_are_listed_with_advice),
        API_TEST(version_and_description_are_served),
        API_TEST(the_description_and_the_routes_agree),
        API_TEST(failpoints_are_armed_and_cleared),
        API_TEST(only_loopback_is_served_without_tokens),
        API_TEST(drains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
