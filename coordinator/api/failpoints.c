/* Fault points over HTTP; the routes exist only with --enable-failpoints. See handler.h. */
#include "api/handler.h"

#include "protocol/failpoint.h"

#include <stdio.h>

/* The name in the path, NULL if there is no such place; the request is answered then. */
static const char *path_failpoint(HttpRequest *request)
{
    const char *name = path_segment(request, 2);
    if (failpoint_exists(name))
        return name;
    problem_send(request, ERROR_ROUTE_NOT_FOUND, "there is no such fault point");
    return NULL;
}

static void answer_failpoint(HttpRequest *request, const char *name)
{
    const Failpoint *armed = failpoint_get(name);
    JsonWriter *writer = answer_writer();
    json_begin_object(writer, NULL);
    json_put_string(writer, "name", name);
    json_put_string(writer, "action", armed != NULL ? fail_action_name(armed->action) : NULL);
    json_put_integer(writer, "skip", armed != NULL ? armed->skip : 0);
    json_put_integer(writer, "count", armed != NULL ? armed->count : 0);
    json_put_integer(writer, "ms", armed != NULL ? (int64_t)armed->ms : 0);
    json_put_string(writer, "account",
                    armed != NULL && armed->account[0] != '\0' ? armed->account : NULL);
    json_end_object(writer);
    answer_json(request, 200, writer, &(HttpReply){0});
}

void failpoints_get(Api *api, HttpRequest *request)
{
    (void)api;
    const char *name = path_failpoint(request);
    if (name != NULL)
        answer_failpoint(request, name);
}

static bool read_failpoint(const Json *document, const char *name, Failpoint *ret_failpoint,
                           Fault *fault)
{
    FailpointBody body;
    Failpoint failpoint = {0};
    if (!fields_failpoint(document, &body, fault))
        return false;
    if (!fail_action_parse(body.action, &failpoint.action) || failpoint.action == FAIL_NOTHING)
        return fault_set(fault, ERROR_BODY_INVALID, "action",
                         "an action is \"crash\", \"stop\", \"pause\", \"drop\" or \"error\"");
    failpoint.skip = body.skip;
    failpoint.count = body.count;
    failpoint.ms = body.ms;
    snprintf(failpoint.name, sizeof failpoint.name, "%s", name);
    snprintf(failpoint.account, sizeof failpoint.account, "%s",
             body.account != NULL ? body.account : "");
    *ret_failpoint = failpoint;
    return true;
}

void failpoints_put(Api *api, HttpRequest *request)
{
    (void)api;
    Fault fault;
    Failpoint failpoint;
    const char *name = path_failpoint(request);
    if (name == NULL)
        return;
    Json *document = body_json(request, &fault);
    if (document == NULL || !read_failpoint(document, name, &failpoint, &fault))
        problem_send_fault(request, &fault);
    else if (!failpoint_set(&failpoint))
        problem_send(request, ERROR_ROUTE_NOT_FOUND, "there is no such fault point");
    else
        answer_failpoint(request, name);
    json_free(document);
}

void failpoints_delete(Api *api, HttpRequest *request)
{
    (void)api;
    const char *name = path_failpoint(request);
    if (name == NULL)
        return;
    failpoint_clear(name);
    http_reply(request, &(HttpReply){.status = 204});
}
