/*
 * The stages of a transfer, as the shards' rows tell them: GET /v1/transfers/{id}/steps. See
 * handler.h.
 *
 * The home shard says how the transfer was recorded, the shard of the credit the other half. If
 * that one does not answer, its stages are "unknown", with the reason, and the rest is shown all
 * the same. Nothing is inferred beyond the rows: a leg that is neither prepared nor visible is
 * "missing", whatever the home says.
 */
#include "api/handler.h"

#include "api/lookup.h"
#include "api/probe.h"

static void on_probed(void *context, const ProbeResult *result)
{
    HttpRequest *request = context;
    if (result->code != ERROR_NONE)
    {
        problem_send(request, result->code, result->detail);
        return;
    }
    JsonWriter *writer = answer_writer();
    steps_document_write(writer, result->home, result->remote);
    answer_json(request, 200, writer, &(HttpReply){0});
}

void transfers_steps(Api *api, HttpRequest *request)
{
    Probe probe = {.request = request, .done = on_probed, .context = request};
    if (path_transfer(request, probe.id) && !probe_start(api, &probe))
        problem_send(request, ERROR_DIRECTORY_UNAVAILABLE, NULL);
}
