/*
 * Reconciliation by request: POST, GET and GET by id of /v1/reconciliations. See handler.h.
 *
 * A pass takes long, so a POST only asks for one; its report is read by id while it goes on and
 * afterwards, at the coordinator that was asked.
 */
#include "api/handler.h"

#include "reconcile/reconciler.h"

#include <stdio.h>

static bool read_body(const HttpRequest *request, bool *ret_full, Fault *fault)
{
    Json *document = body_json(request, fault);
    bool sound = document != NULL && fields_reconciliation(document, ret_full, fault);
    json_free(document);
    return sound;
}

void reconciliations_create(Api *api, HttpRequest *request)
{
    Fault fault;
    Run run;
    bool full;
    char location[LOCATION_MAX];
    HttpReply reply = {0};
    if (!read_body(request, &full, &fault))
    {
        problem_send_fault(request, &fault);
        return;
    }
    if (directory_shard_count(api->directory) == 0)
    {
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
        return;
    }
    if (!reconciler_request(api->options.reconciler, full, &run))
    {
        problem_send(request, ERROR_OVERLOADED, "too many reconciliations wait for their turn");
        return;
    }
    snprintf(location, sizeof location, "/v1/reconciliations/%s", run.id);
    http_reply_header(&reply, "Location", location);
    JsonWriter *writer = answer_writer();
    run_write_json(&run, writer, true);
    answer_json(request, 202, writer, &reply);
}

void reconciliations_list(Api *api, HttpRequest *request)
{
    const Reconciler *reconciler = api->options.reconciler;
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_begin_array(writer, "items");
    for (size_t i = 0; i < reconciler_count(reconciler); i++)
    {
        Run run = reconciler_run(reconciler, i);
        run_write_json(&run, writer, true);
    }
    json_end_array(writer);
    json_put_null(writer, "next_cursor");
    json_end_object(writer);
    answer_json(request, 200, writer, &(HttpReply){0});
}

void reconciliations_get(Api *api, HttpRequest *request)
{
    Run run;
    if (!reconciler_find(api->options.reconciler, path_segment(request, 2), &run))
    {
        problem_send(request, ERROR_ROUTE_NOT_FOUND,
                     "this coordinator keeps no reconciliation with this id");
        return;
    }
    JsonWriter *writer = answer_writer();
    run_write_json(&run, writer, false);
    answer_json(request, 200, writer, &(HttpReply){0});
}
