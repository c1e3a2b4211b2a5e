/*
 * Inside the API: what handlers share. A handler gets a request whose query parameters are known
 * ones, and answers it exactly once, now or later.
 */
#ifndef GIRO_HANDLER_H
#define GIRO_HANDLER_H

#include "api/api.h"
#include "api/fields.h"
#include "api/problem.h"
#include "api/sampler.h"
#include "base/metrics.h"
#include "http/http.h"
#include "shard/call.h"
#include "json/json_writer.h"

enum
{
    ANSWER_BYTES_MAX =
        8 * 1024 * 1024, /* the largest: 1,000 accounts with all the metadata they may have */
    LOCATION_MAX = 160,
    ANSWER_CLASS_COUNT = 3, /* 2xx, 4xx, 5xx */
};

/* What is counted of the answers to an operation. */
typedef struct AnswerMeters
{
    Counter *answers[ANSWER_CLASS_COUNT];
    Histogram *duration;
} AnswerMeters;

struct Api
{
    ApiOptions options;
    Directory *directory;
    Batcher *batcher;
    Caller *caller;
    Sampler *sampler;
    AnswerMeters *meters;    /* one per route, and one for what has none */
    size_t transfer_batches; /* under way */
    HttpServer *server;
    LoopTimer *drain_timer;
    int64_t started_at_us; /* by the clock on the wall */
    bool draining;
    void (*drained)(void *context);
    void *drained_context;
};

/* exposition.c */
void answer_meters_make(AnswerMeters *ret_meters, Metrics *metrics, const char *operation);
void answer_meters_count(AnswerMeters *meters, int status, uint64_t duration_us);

/* process_metrics.c: what Prometheus' clients tell of every process. */
void process_metrics_set(Metrics *metrics, int64_t started_at_us);

/* ---- helpers -------------------------------------------------------------------------------- */

/* Answers with the writer's document and frees it. `reply` holds the headers already, or none. */
void answer_json(HttpRequest *request, int status, JsonWriter *writer, HttpReply *reply);
JsonWriter *answer_writer(void) ATTR_MUST_USE;

/* The value of a query parameter, NULL if it is not given. */
const char *query_value(const HttpRequest *request, const char *name);
/* The nth segment of the path. */
const char *path_segment(const HttpRequest *request, size_t n);

/* The request's body as JSON. NULL with a fault if it is none or not announced as such. */
Json *body_json(const HttpRequest *request, Fault *fault) ATTR_MUST_USE;

/* What all Prefer headers of the request say. */
bool read_preferences(const HttpRequest *request, Preferences *ret_preferences,
                      Fault *fault) ATTR_MUST_USE;

/* The value of a query parameter that is true or false; false if it is not given. False if it is
 * neither; the request is answered then. */
bool query_flag(HttpRequest *request, const char *name, bool *ret_flag) ATTR_MUST_USE;

/* The account id in the path. False if it was not acceptable; the request is answered then. */
bool path_account(HttpRequest *request, const char **ret_id) ATTR_MUST_USE;

/* ---- handlers, one per row of the route table ----------------------------------------------- */

void accounts_create(Api *api, HttpRequest *request);
void accounts_list(Api *api, HttpRequest *request);
void accounts_get(Api *api, HttpRequest *request);
void accounts_patch(Api *api, HttpRequest *request);
void accounts_entries(Api *api, HttpRequest *request);

void transfers_create(Api *api, HttpRequest *request);
void transfers_batch(Api *api, HttpRequest *request);
void transfers_get(Api *api, HttpRequest *request);
void transfers_list(Api *api, HttpRequest *request);
/* The same path, by debit account and key. */
void transfers_find(Api *api, HttpRequest *request);
void transfers_summary(Api *api, HttpRequest *request);
void transfers_steps(Api *api, HttpRequest *request);
void transfers_cancel(Api *api, HttpRequest *request);
void transfers_retry(Api *api, HttpRequest *request);
void transfers_resolve(Api *api, HttpRequest *request);

void reconciliations_create(Api *api, HttpRequest *request);
void reconciliations_list(Api *api, HttpRequest *request);
void reconciliations_get(Api *api, HttpRequest *request);

void shards_list(Api *api, HttpRequest *request);
void partitions_list(Api *api, HttpRequest *request);
void intake_pause(Api *api, HttpRequest *request);
void intake_resume(Api *api, HttpRequest *request);
void directory_get(Api *api, HttpRequest *request);
void prepared_get(Api *api, HttpRequest *request);
void metrics_get(Api *api, HttpRequest *request);
void metrics_get_partitions(Api *api, HttpRequest *request);

void failpoints_get(Api *api, HttpRequest *request);
void failpoints_put(Api *api, HttpRequest *request);
void failpoints_delete(Api *api, HttpRequest *request);

void health_live(Api *api, HttpRequest *request);
void health_ready(Api *api, HttpRequest *request);
void health_version(Api *api, HttpRequest *request);
void health_openapi(Api *api, HttpRequest *request);
void health_problems(Api *api, HttpRequest *request);
void health_problem(Api *api, HttpRequest *request);

#endif
