/*
 * See api.h.
 *
 * The route table is the whole surface of the API. A pattern's `{}` stands for one segment that is
 * not empty; the first pattern that matches a path has it for all methods. HEAD is answered
 * wherever GET is; libmicrohttpd leaves the body out.
 */
#include "api/handler.h"

#include "protocol/failpoint.h"

#include <stdlib.h>
#include <string.h>

enum
{
    ALLOW_MAX = 64,
    PARAMETERS_MAX = 16,
    PARAMETER_BYTES = 16 * 1024, /* metadata is the largest */
    BODIES_BYTES_MAX = 256 * 1024 * 1024,
    DRAIN_POLL_MS = 10,
};

typedef struct ApiRoute
{
    const char *method;
    const char *pattern;
    const char *operation; /* as in openapi.json */
    void (*handle)(Api *api, HttpRequest *request);
    const char *parameters[PARAMETERS_MAX]; /* query parameters that are known */
    bool (*exists)(void);                   /* NULL: always */
} ApiRoute;

// clang-format off
static const ApiRoute routes[] = {
    {"POST", "/v1/transfers", "createTransfer", transfers_create, {0}, NULL},
    {"POST", "/v1/transfers/batch", "createTransfers", transfers_batch, {0}, NULL},
    {"GET", "/v1/transfers", "listTransfers", transfers_list,
        {"state", "mode", "shard", "account", "reference", "needs_attention", "unfinished",
         "older_than", "limit", "cursor", "partial", "debit_account", "idempotency_key"}, NULL},
    {"GET", "/v1/transfers/summary", "summarizeTransfers", transfers_summary, {"partial"}, NULL},
    {"GET", "/v1/transfers/{}", "getTransfer", transfers_get, {0}, NULL},
    {"GET", "/v1/transfers/{}/steps", "getTransferSteps", transfers_steps, {0}, NULL},
    {"POST", "/v1/transfers/{}/actions/cancel", "cancelTransfer", transfers_cancel,
        {"dry_run"}, NULL},
    {"POST", "/v1/transfers/{}/actions/retry", "retryTransfer", transfers_retry,
        {"dry_run"}, NULL},
    {"POST", "/v1/transfers/{}/actions/resolve", "resolveTransfer", transfers_resolve,
        {"dry_run"}, NULL},

    {"POST", "/v1/accounts", "createAccount", accounts_create, {0}, NULL},
    {"GET", "/v1/accounts", "listAccounts", accounts_list, {"prefix", "limit", "cursor"}, NULL},
    {"GET", "/v1/accounts/{}", "getAccount", accounts_get, {0}, NULL},
    {"PATCH", "/v1/accounts/{}", "changeAccount", accounts_patch, {0}, NULL},
    {"GET", "/v1/accounts/{}/entries", "listEntries", accounts_entries, {"limit", "cursor"}, NULL},

    {"GET", "/v1/shards", "listShards", shards_list, {0}, NULL},
    {"GET", "/v1/partitions", "listPartitions", partitions_list, {"limit", "cursor"}, NULL},
    {"GET", "/v1/directory", "getDirectory", directory_get, {0}, NULL},
    {"POST", "/v1/intake/actions/pause", "pauseIntake", intake_pause, {0}, NULL},
    {"POST", "/v1/intake/actions/resume", "resumeIntake", intake_resume, {0}, NULL},
    {"GET", "/v1/prepared", "listPrepared", prepared_get, {"limit", "partial"}, NULL},
    {"POST", "/v1/reconciliations", "createReconciliation", reconciliations_create, {0}, NULL},
    {"GET", "/v1/reconciliations", "listReconciliations", reconciliations_list, {0}, NULL},
    {"GET", "/v1/reconciliations/{}", "getReconciliation", reconciliations_get, {0}, NULL},

    {"GET", "/v1/failpoints/{}", "getFailpoint", failpoints_get, {0}, failpoint_is_enabled},
    {"PUT", "/v1/failpoints/{}", "armFailpoint", failpoints_put, {0}, failpoint_is_enabled},
    {"DELETE", "/v1/failpoints/{}", "clearFailpoint", failpoints_delete, {0}, failpoint_is_enabled},

    {"GET", "/livez", "live", health_live, {0}, NULL},
    {"GET", "/readyz", "ready", health_ready, {"verbose"}, NULL},
    {"GET", "/metrics", "metrics", metrics_get, {0}, NULL},
    {"GET", "/metrics/partitions", "partitionMetrics", metrics_get_partitions, {0}, NULL},
    {"GET", "/version", "version", health_version, {0}, NULL},
    {"GET", "/openapi.json", "description", health_openapi, {0}, NULL},
    {"GET", "/problems", "listProblems", health_problems, {0}, NULL},
    {"GET", "/problems/{}", "explainProblem", health_problem, {0}, NULL},
};
// clang-format on

/* ---- helpers of the handlers ---------------------------------------------------------------- */

JsonWriter *answer_writer(void)
{
    return json_writer_new(ANSWER_BYTES_MAX);
}

void answer_json(HttpRequest *request, int status, JsonWriter *writer, HttpReply *reply)
{
    reply->status = status;
    reply->content_type = "application/json";
    reply->given_body = json_writer_take(writer, &reply->body_length);
    if (reply->given_body != NULL)
        http_reply(request, reply);
    else
        problem_send(request, ERROR_INTERNAL, "the answer is too large");
}

const char *query_value(const HttpRequest *request, const char *name)
{
    const Uri *uri = http_uri(request);
    for (size_t i = 0; i < uri->parameter_count; i++)
    {
        if (strcmp(uri->parameters[i].name, name) == 0)
            return uri->parameters[i].value;
    }
    return NULL;
}

bool query_flag(HttpRequest *request, const char *name, bool *ret_flag)
{
    const char *value = query_value(request, name);
    bool no = value == NULL || strcmp(value, "false") == 0 || strcmp(value, "0") == 0;
    bool yes = !no && (value[0] == '\0' || strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
    if (!no && !yes)
    {
        Fault fault;
        fault_set(&fault, ERROR_PARAMETER_INVALID, NULL,
                  "%.60s is true, 1, false, 0 or without value", name);
        problem_send_fault(request, &fault);
        return false;
    }
    *ret_flag = yes;
    return true;
}

const char *path_segment(const HttpRequest *request, size_t n)
{
    const Uri *uri = http_uri(request);
    ASSERT(n < uri->segment_count);
    return uri->segments[n];
}

Json *body_json(const HttpRequest *request, Fault *fault)
{
    if (!fields_is_json(http_header(request, "Content-Type", 0)))
    {
        fault_set(fault, ERROR_MEDIA_TYPE, NULL, "Content-Type must be application/json");
        return NULL;
    }
    size_t length;
    const char *body = http_body(request, &length);
    Error error;
    Json *document = json_parse(body, length, &error);
    if (document == NULL)
        fault_set(fault, error.code, NULL, "%.150s", error.text);
    return document;
}

bool read_preferences(const HttpRequest *request, Preferences *ret_preferences, Fault *fault)
{
    Preferences preferences = {.wait_s = WAIT_S_DEFAULT};
    const char *header;
    for (size_t i = 0; (header = http_header(request, "Prefer", i)) != NULL; i++)
    {
        if (!fields_prefer(header, &preferences, fault))
            return false;
    }
    *ret_preferences = preferences;
    return true;
}

bool path_account(HttpRequest *request, const char **ret_id)
{
    const char *id = path_segment(request, 2);
    if (!route_account_id_is_valid(id))
    {
        problem_send(request, ERROR_ACCOUNT_ID_INVALID, NULL);
        return false;
    }
    *ret_id = id;
    return true;
}

/* ---- dispatch ------------------------------------------------------------------------------- */

static bool matches(const char *pattern, const Uri *uri)
{
    const char *at = pattern;
    for (size_t i = 0; i < uri->segment_count; i++)
    {
        const char *segment = uri->segments[i];
        if (*at != '/')
            return false;
        at++;
        size_t length = strcspn(at, "/");
        bool any = length == 2 && strncmp(at, "{}", 2) == 0;
        if (any ? segment[0] == '\0'
                : strlen(segment) != length || strncmp(segment, at, length) != 0)
            return false;
        at += length;
    }
    return *at == '\0';
}

static const char *routed_method(const HttpRequest *request)
{
    const char *method = http_method(request);
    return strcmp(method, "HEAD") == 0 ? "GET" : method;
}

static void add_allowed(char *allow, const char *method)
{
    size_t used = strlen(allow);
    ASSERT(used + strlen(method) + sizeof ", , HEAD" < ALLOW_MAX);
    if (used > 0)
        strncat(allow, ", ", ALLOW_MAX - used - 1);
    strncat(allow, method, ALLOW_MAX - strlen(allow) - 1);
    if (strcmp(method, "GET") == 0)
        strncat(allow, ", HEAD", ALLOW_MAX - strlen(allow) - 1);
}

/* The route of the request; if there is none, the methods that its path has ("" = no such path). */
static const ApiRoute *find_route(const HttpRequest *request, char ret_allow[ALLOW_MAX])
{
    const char *method = routed_method(request);
    const char *pattern = NULL;
    ret_allow[0] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(routes); i++)
    {
        const ApiRoute *route = &routes[i];
        if (!matches(route->pattern, http_uri(request)) ||
            (route->exists != NULL && !route->exists()) ||
            (pattern != NULL && strcmp(route->pattern, pattern) != 0))
            continue;
        pattern = route->pattern;
        if (strcmp(route->method, method) == 0)
            return route;
        add_allowed(ret_allow, route->method);
    }
    return NULL;
}

static bool is_known(const ApiRoute *route, const char *parameter)
{
    for (size_t i = 0; i < PARAMETERS_MAX && route->parameters[i] != NULL; i++)
    {
        if (strcmp(route->parameters[i], parameter) == 0)
            return true;
    }
    return false;
}

static bool check_parameters(const ApiRoute *route, HttpRequest *request)
{
    const Uri *uri = http_uri(request);
    for (size_t i = 0; i < uri->parameter_count; i++)
    {
        Fault fault;
        if (is_known(route, uri->parameters[i].name))
            continue;
        fault_set(&fault, ERROR_PARAMETER_INVALID, NULL, "the query parameter %.60s is unknown",
                  uri->parameters[i].name);
        problem_send_fault(request, &fault);
        return false;
    }
    return true;
}

static void handle(void *context, HttpRequest *request)
{
    Api *api = context;
    char allow[ALLOW_MAX];
    const ApiRoute *route = find_route(request, allow);
    http_set_tag(request, route);
    if (route != NULL)
    {
        if (check_parameters(route, request))
            route->handle(api, request);
        return;
    }
    if (allow[0] == '\0')
    {
        problem_send(request, ERROR_ROUTE_NOT_FOUND, NULL);
        return;
    }
    HttpReply reply = {0};
    http_reply_header(&reply, "Allow", allow);
    problem_reply(request, &(Problem){.code = ERROR_METHOD_NOT_ALLOWED}, &reply);
}

static size_t body_max(void *context, const HttpRequest *request)
{
    (void)context;
    char allow[ALLOW_MAX];
    const ApiRoute *route = find_route(request, allow);
    bool is_batch = route != NULL && route->handle == transfers_batch;
    return is_batch ? BATCH_BODY_BYTES_MAX : BODY_BYTES_MAX;
}

static void reject(void *context, HttpRequest *request, const Error *error)
{
    (void)context;
    problem_send(request, error->code, error->text);
}

/* ---- what is counted ------------------------------------------------------------------------- */

static void make_meters(Api *api)
{
    api->meters = base_calloc(ARRAY_LENGTH(routes) + 1, sizeof *api->meters);
    for (size_t i = 0; i < ARRAY_LENGTH(routes); i++)
        answer_meters_make(&api->meters[i], api->options.metrics, routes[i].operation);
    answer_meters_make(&api->meters[ARRAY_LENGTH(routes)], api->options.metrics, "none");
}

static void count_answer(void *context, const HttpRequest *request, int status)
{
    Api *api = context;
    const ApiRoute *route = http_tag(request);
    size_t i = route != NULL ? (size_t)(route - routes) : ARRAY_LENGTH(routes);
    answer_meters_count(&api->meters[i], status, http_age_us(request));
}

/* ---- life ----------------------------------------------------------------------------------- */

/* Reads may outlast their request: an answer is sent as soon as it is known. */
static void on_drain_timer(void *context)
{
    Api *api = context;
    if (caller_count(api->caller) > 0 || intake_changes(api->options.intake) > 0)
        loop_timer_start(api->drain_timer, DRAIN_POLL_MS);
    else
        api->drained(api->drained_context);
}

static void on_http_drained(void *context)
{
    on_drain_timer(context);
}

Api *api_new(const ApiOptions *options, Error *error)
{
    if (!listen_is_loopback(options->address.host))
    {
        error_set(error, ERROR_CONFIG,
                  "without tokens only a loopback address may be served, not %.60s",
                  options->address.host);
        return NULL;
    }
    Api *api = base_calloc(1, sizeof *api);
    api->options = *options;
    api->started_at_us = base_wall_clock_us();
    api->directory = options->directory;
    api->batcher = options->batcher;
    HttpOptions http = {
        .address = options->address,
        .connections_max = options->connections_max,
        .bodies_max = BODIES_BYTES_MAX,
        .arrive_timeout_ms = options->arrive_timeout_ms,
        .body_max = body_max,
        .handle = handle,
        .reject = reject,
        .replied = count_answer,
        .context = api,
    };
    make_meters(api);
    api->server = http_server_new(options->loop, &http, error);
    if (api->server == NULL)
    {
        free(api->meters);
        free(api);
        return NULL;
    }
    CallerOptions calls = {
        .calls_max = options->connections_max,
        .deadline_ms = options->call_deadline_ms,
        .parameter_bytes = PARAMETER_BYTES,
    };
    api->caller = caller_new(options->loop, options->directory, &calls);
    SamplerOptions sampler = {
        .loop = options->loop,
        .directory = options->directory,
        .caller = api->caller,
        .period_ms = options->sample_period_ms,
    };
    api->sampler = sampler_new(&sampler);
    api->drain_timer = loop_timer_new(options->loop, on_drain_timer, api);
    return api;
}

void api_free(Api *api)
{
    if (api == NULL)
        return;
    http_server_free(api->server);
    sampler_free(api->sampler);
    free(api->meters);
    caller_free(api->caller);
    loop_timer_free(api->drain_timer);
    free(api);
}

uint16_t api_port(const Api *api)
{
    return http_server_port(api->server);
}

void api_drain(Api *api, void (*drained)(void *context), void *context)
{
    ASSERT(!api->draining);
    api->draining = true;
    sampler_stop(api->sampler);
    api->drained = drained;
    api->drained_context = context;
    http_server_drain(api->server, on_http_drained, api);
}
