/* See fixture.h. */
#include "fixture.h"

#include "books.h"

#include <stdio.h>

static struct
{
    Cluster *cluster;
    Client *client;
} fixture;

void fixture_start(const ClusterOptions *options, Cluster **ret_cluster, Client **ret_client)
{
    fixture.cluster = cluster_new(options);
    fixture.client = client_new(cluster_url(fixture.cluster, 1));
    *ret_cluster = fixture.cluster;
    *ret_client = fixture.client;
}

int fixture_stop(void **state)
{
    (void)state;
    client_free(fixture.client);
    cluster_free(fixture.cluster);
    return 0;
}

int fixture_check_books(void **state)
{
    (void)state;
    books_check(fixture.cluster);
    return 0;
}

void fixture_arm(const char *failpoint, const char *action, int ms)
{
    fixture_arm_at(fixture.client, failpoint, action, ms);
}

void fixture_arm_at(Client *client, const char *failpoint, const char *action, int ms)
{
    char path[128];
    char body[128];
    Response response;
    snprintf(path, sizeof path, "/v1/failpoints/%s", failpoint);
    snprintf(body, sizeof body, "{\"action\":\"%s\",\"count\":1,\"ms\":%d}", action, ms);
    client_call(client, &(Request){.method = "PUT", .path = path, .body = body}, &response);
    response_expect(&response, 200, NULL);
    response_done(&response);
}
