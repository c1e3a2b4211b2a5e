/*
 * The HTTP client of tests, see client.h: curl's multi interface for everything, also for one
 * request. Handles are kept in a pool, connections inside curl.
 */
#include "client.h"

#include "check.h"
#include "wire.h"

#include "base/base.h"

#include <curl/curl.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A request under way. */
typedef struct Call
{
    CURL *handle;
    struct curl_slist *headers;
    char *url;
    char trouble[CURL_ERROR_SIZE];
    Response response;
    size_t index;
    bool is_used;
} Call;

struct Client
{
    char *base_url;
    CURLM *multi;
    Call calls[CLIENT_PARALLEL_MAX];
};

Client *client_new(const char *base_url)
{
    Client *client = base_calloc(1, sizeof(*client));
    client->base_url = base_strdup(base_url);
    client->multi = curl_multi_init();
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)CLIENT_PARALLEL_MAX);
    return client;
}

void client_free(Client *client)
{
    if (client == NULL)
    {
        return;
    }
    for (size_t i = 0; i < CLIENT_PARALLEL_MAX; i++)
    {
        curl_easy_cleanup(client->calls[i].handle);
    }
    curl_multi_cleanup(client->multi);
    free(client->base_url);
    free(client);
}

/* ---- one call -------------------------------------------------------------------------------- */

static void append(char **text, size_t *length, const char *bytes, size_t count)
{
    *text = base_realloc(*text, *length + count + 1);
    memcpy(*text + *length, bytes, count);
    *length += count;
    (*text)[*length] = '\0';
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    Response *response = context;
    append(&response->body, &response->length, bytes, size * count);
    return size * count;
}

/* A status line starts the headers anew: an interim answer may stand before the real one. */
static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    Response *response = context;
    size_t length = strlen(response->headers);
    if (size * count > 5 && strncmp(bytes, "HTTP/", 5) == 0)
    {
        length = 0;
    }
    append(&response->headers, &length, bytes, size * count);
    return size * count;
}

static void set_headers(Call *call, const Request *request)
{
    char line[512];
    call->headers = curl_slist_append(NULL, "Expect:");
    if (request->body != NULL)
    {
        call->headers = curl_slist_append(call->headers, "Content-Type: application/json");
    }
    if (request->key != NULL)
    {
        snprintf(line, sizeof(line), "Idempotency-Key: %s", request->key);
        call->headers = curl_slist_append(call->headers, line);
    }
    for (const char *const *more = request->headers; more != NULL && *more != NULL; more++)
    {
        call->headers = curl_slist_append(call->headers, *more);
    }
    curl_easy_setopt(call->handle, CURLOPT_HTTPHEADER, call->headers);
}

static void set_body(CURL *handle, const Request *request)
{
    if (request->body != NULL)
    {
        size_t length = request->body_length == 0 ? strlen(request->body) : request->body_length;
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
        curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, request->body);
    }
    if (request->method != NULL)
    {
        curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method);
        curl_easy_setopt(handle, CURLOPT_NOBODY, strcmp(request->method, "HEAD") == 0 ? 1L : 0L);
    }
}

static void begin(Client *client, Call *call, size_t index, const Request *request)
{
    if (call->handle == NULL)
    {
        call->handle = curl_easy_init();
    }
    CURL *handle = call->handle;
    curl_easy_reset(handle);
    call->is_used = true;
    call->index = index;
    call->trouble[0] = '\0';
    call->response = (Response){.body = base_strdup(""), .headers = base_strdup("")};
    int length = asprintf(&call->url, "%s%s", client->base_url, request->path);
    ASSERT(length > 0);
    curl_easy_setopt(handle, CURLOPT_URL, call->url);
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, call->trouble);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, call);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &call->response);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &call->response);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                     (long)(request->timeout_ms == 0 ? CLIENT_TIMEOUT_MS : request->timeout_ms));
    set_body(handle, request);
    set_headers(call, request);
    curl_multi_add_handle(client->multi, handle);
}

static void finish(Client *client, Call *call, CURLcode code)
{
    Response *response = &call->response;
    long status = 0;
    curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(call->handle, CURLINFO_TOTAL_TIME, &response->seconds);
    response->status = code == CURLE_OK ? (int)status : 0;
    if (code != CURLE_OK)
    {
        snprintf(response->trouble, sizeof(response->trouble), "%s",
                 call->trouble[0] == '\0' ? curl_easy_strerror(code) : call->trouble);
    }
    response->json = json_parse(response->body, response->length, NULL);
    curl_multi_remove_handle(client->multi, call->handle);
    curl_slist_free_all(call->headers);
    free(call->url);
    call->is_used = false;
}

/* ---- many ------------------------------------------------------------------------------------ */

static Call *free_call(Client *client)
{
    for (size_t i = 0; i < CLIENT_PARALLEL_MAX; i++)
    {
        if (!client->calls[i].is_used)
        {
            return &client->calls[i];
        }
    }
    ASSERT(!"more requests than CLIENT_PARALLEL_MAX at once");
    return NULL;
}

static void send_next(Client *client, const ClientLoop *loop, size_t index)
{
    Request request = {0};
    loop->make(loop->context, index, &request);
    begin(client, free_call(client), index, &request);
}

static size_t settle(Client *client, const ClientLoop *loop)
{
    size_t settled = 0;
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left)) != NULL;)
    {
        if (message->msg != CURLMSG_DONE)
        {
            continue;
        }
        Call *call = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        finish(client, call, code);
        loop->done(loop->context, call->index, &call->response);
        settled++;
    }
    return settled;
}

static ClientPace next_pace(const ClientLoop *loop, size_t sent)
{
    if (sent == loop->total)
    {
        return CLIENT_ENDS;
    }
    return loop->pace == NULL ? CLIENT_GOES : loop->pace(loop->context);
}

void client_run_loop(Client *client, const ClientLoop *loop)
{
    size_t sent = 0;
    size_t settled = 0;
    ClientPace pace = CLIENT_GOES;
    ASSERT(loop->clients <= CLIENT_PARALLEL_MAX);
    for (;;)
    {
        while (sent - settled < loop->clients && (pace = next_pace(loop, sent)) == CLIENT_GOES)
        {
            send_next(client, loop, sent++);
        }
        if (settled == sent && pace == CLIENT_ENDS)
        {
            return;
        }
        int running = 0;
        curl_multi_perform(client->multi, &running);
        size_t now = settle(client, loop);
        settled += now;
        if (now == 0)
        {
            curl_multi_poll(client->multi, NULL, 0, pace == CLIENT_WAITS ? 5 : 1000, NULL);
        }
    }
}

typedef struct All
{
    const Request *requests;
    Response *responses;
} All;

static void make_one_of_all(void *context, size_t index, Request *ret_request)
{
    const All *all = context;
    *ret_request = all->requests[index];
}

static void keep_one_of_all(void *context, size_t index, const Response *response)
{
    const All *all = context;
    all->responses[index] = *response;
}

void client_call_all(Client *client, const Request *requests, size_t count, Response *ret_responses)
{
    All all = {.requests = requests, .responses = ret_responses};
    ClientLoop loop = {.clients = count,
                       .total = count,
                       .make = make_one_of_all,
                       .done = keep_one_of_all,
                       .context = &all};
    client_run_loop(client, &loop);
}

void client_call(Client *client, const Request *request, Response *ret_response)
{
    client_call_all(client, request, 1, ret_response);
}

void response_done(Response *response)
{
    free(response->body);
    free(response->headers);
    json_free(response->json);
    *response = (Response){0};
}

void responses_done(Response *responses, size_t count)
{
    for (size_t i = 0; i < count; i++)
    {
        response_done(&responses[i]);
    }
}

/* ---- looking at answers ---------------------------------------------------------------------- */

const Json *response_value(const Response *response, const char *path)
{
    const Json *value = response->json;
    char name[128];
    while (value != NULL && *path != '\0')
    {
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        path += path[length] == '.' ? length + 1 : length;
        if (json_kind(value) == JSON_KIND_ARRAY)
        {
            size_t index = strtoul(name, NULL, 10);
            value = index < json_array_length(value) ? json_array_at(value, index) : NULL;
        }
        else
        {
            value = json_kind(value) == JSON_KIND_OBJECT ? json_field(value, name) : NULL;
        }
    }
    return value;
}

const char *response_string(const Response *response, const char *path)
{
    const Json *value = response_value(response, path);
    return value != NULL && json_kind(value) == JSON_KIND_STRING ? json_as_string(value) : "";
}

int64_t response_integer(const Response *response, const char *path)
{
    const Json *value = response_value(response, path);
    return value != NULL && json_kind(value) == JSON_KIND_INTEGER ? json_as_integer(value)
                                                                  : INT64_MIN;
}

bool response_header(const Response *response, const char *name, char *ret_value, size_t size)
{
    size_t length = strlen(name);
    for (const char *line = response->headers; *line != '\0';)
    {
        const char *end = line + strcspn(line, "\r\n");
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
        {
            const char *value = line + length + 1;
            value += strspn(value, " \t");
            snprintf(ret_value, size, "%.*s", (int)(end - value), value);
            return true;
        }
        line = end + strspn(end, "\r\n");
    }
    return false;
}

void response_expect(const Response *response, int status, const char *code)
{
    bool is_wanted = response->status == status &&
                     (code == NULL || strcmp(response_string(response, "code"), code) == 0);
    check(is_wanted, "status %d %s instead of %d %s: %s%s", response->status,
          response_string(response, "code"), status, code == NULL ? "" : code, response->body,
          response->trouble);
}

/* ---- raw bytes ------------------------------------------------------------------------------- */

int client_connect(const Client *client)
{
    int fd = wire_connect(atoi(strrchr(client->base_url, ':') + 1));
    check(fd >= 0, "no connection to %s", client->base_url);
    return fd;
}

bool client_send(int fd, const char *bytes, size_t length)
{
    while (length > 0)
    {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
        {
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

size_t client_receive(int fd, char *ret_bytes, size_t size, int timeout_ms, bool *ret_ended)
{
    size_t length = 0;
    bool ended = false;
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    while (!ended && length < size - 1 && poll(&polled, 1, timeout_ms) > 0)
    {
        ssize_t got = recv(fd, ret_bytes + length, size - 1 - length, 0);
        ended = got <= 0;
        length += got > 0 ? (size_t)got : 0;
    }
    ret_bytes[length] = '\0';
    if (ret_ended != NULL)
    {
        *ret_ended = ended;
    }
    return length;
}
