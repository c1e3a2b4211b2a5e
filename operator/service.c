/* See service.h. */
#include "service.h"

#include "field.h"
#include "say.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    CONNECT_TIMEOUT_MS = 5000,
    ATTEMPT_TIMEOUT_MS = 45000, /* the server waits for 30 s at most */
    POLL_MS = 1000,
    PAUSE_MS = 250,
    PAUSE_MAX_MS = 5000,
};

struct Service
{
    CURLM *multi;
    CURL *easy; /* one: its connection is kept for the next request */
    char *url;
    char *authorization; /* NULL: none */
    const Interrupt *interrupt;
    bool tells_pauses;
};

static uint64_t now_ms(void)
{
    return base_now_us() / 1000;
}

/* ---- setting up ----------------------------------------------------------------------------- */

static bool is_visible(const char *text)
{
    for (; *text != '\0'; text++)
    {
        if (*text < '!' || *text > '~')
            return false;
    }
    return true;
}

static bool take_token(Service *service, const char *token, Error *error)
{
    static const char scheme[] = "Authorization: Bearer ";
    if (token == NULL)
        return true;
    size_t length = strlen(token);
    if (length == 0 || length > SERVICE_TOKEN_MAX || !is_visible(token))
        return error_set(error, ERROR_CONFIG, "the token is none: 1 to %d visible characters",
                         SERVICE_TOKEN_MAX);
    service->authorization = base_malloc(sizeof scheme + length);
    snprintf(service->authorization, sizeof scheme + length, "%s%s", scheme, token);
    return true;
}

static bool take_url(Service *service, const char *url, Error *error)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(error, ERROR_CONFIG,
                         "the server is an http:// or https:// address, not \"%.100s\"", url);
    if (!is_visible(url) || strpbrk(url, "?#") != NULL)
        return error_set(error, ERROR_CONFIG, "\"%.100s\" is no address of a server", url);
    service->url = base_strdup(url);
    for (size_t length = strlen(url); length > 0 && service->url[length - 1] == '/'; length--)
        service->url[length - 1] = '\0';
    return true;
}

/* Straight to the server: no proxy of the environment sees tokens, no redirection is followed. */
static void set_up(Service *service, const char *ca_file)
{
    service->multi = curl_multi_init();
    service->easy = curl_easy_init();
    ASSERT(service->multi != NULL && service->easy != NULL);
    curl_easy_setopt(service->easy, CURLOPT_USERAGENT, "giroctl/" GIRO_VERSION);
    curl_easy_setopt(service->easy, CURLOPT_PROXY, "");
    curl_easy_setopt(service->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(service->easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(service->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(service->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    if (ca_file != NULL)
        curl_easy_setopt(service->easy, CURLOPT_CAINFO, ca_file);
}

Service *service_new(const ServiceOptions *options, Error *error)
{
    Service *service = base_calloc(1, sizeof *service);
    ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    service->interrupt = options->interrupt;
    service->tells_pauses = options->tells_pauses;
    set_up(service, options->ca_file);
    if (take_url(service, options->url, error) && take_token(service, options->token, error))
        return service;
    service_free(service);
    return NULL;
}

void service_free(Service *service)
{
    if (service == NULL)
        return;
    curl_easy_cleanup(service->easy);
    curl_multi_cleanup(service->multi);
    curl_global_cleanup();
    if (service->authorization != NULL)
        explicit_bzero(service->authorization, strlen(service->authorization));
    free(service->authorization);
    free(service->url);
    free(service);
}

const char *service_url(const Service *service)
{
    return service->url;
}

/* ---- one attempt ---------------------------------------------------------------------------- */

typedef struct Attempt
{
    Service *service;
    const ServiceRequest *request;
    char *url;
    struct curl_slist *headers;
    char *body;
    size_t length;
    char trouble[CURL_ERROR_SIZE];
} Attempt;

static size_t receive(char *bytes, size_t size, size_t count, void *context)
{
    Attempt *attempt = context;
    size_t length = size * count;
    if (length > SERVICE_ANSWER_BYTES_MAX - attempt->length)
        return 0;
    attempt->body = base_realloc(attempt->body, attempt->length + length + 1);
    memcpy(attempt->body + attempt->length, bytes, length);
    attempt->length += length;
    return length;
}

static void add_header(Attempt *attempt, const char *name, const char *value)
{
    if (value == NULL)
        return;
    size_t size = strlen(name) + strlen(value) + 3;
    char *line = base_malloc(size);
    snprintf(line, size, "%s: %s", name, value);
    struct curl_slist *headers = curl_slist_append(attempt->headers, line);
    ASSERT(headers != NULL);
    attempt->headers = headers;
    free(line);
}

static void add_headers(Attempt *attempt)
{
    const char *authorization = attempt->service->authorization;
    add_header(attempt, "Accept", "application/json, application/problem+json");
    if (attempt->request->body != NULL)
        add_header(attempt, "Content-Type", "application/json");
    add_header(attempt, "Idempotency-Key", attempt->request->key);
    add_header(attempt, "Prefer", attempt->request->prefer);
    if (authorization != NULL)
    {
        struct curl_slist *headers = curl_slist_append(attempt->headers, authorization);
        ASSERT(headers != NULL);
        attempt->headers = headers;
    }
}

static void prepare(Attempt *attempt, int64_t timeout_ms)
{
    CURL *easy = attempt->service->easy;
    const ServiceRequest *request = attempt->request;
    size_t size = strlen(attempt->service->url) + strlen(request->path) + 1;
    attempt->url = base_malloc(size);
    snprintf(attempt->url, size, "%s%s", attempt->service->url, request->path);
    add_headers(attempt);
    curl_easy_setopt(easy, CURLOPT_URL, attempt->url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, attempt->headers);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    if (request->body != NULL)
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    /* On a connection that was kept, curl would by itself send again what got no answer. */
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->method != NULL ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, attempt);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, attempt->trouble);
    attempt->trouble[0] = '\0';
}

/* Until it has ended, or Ctrl-C. False for the latter. */
static bool drive(Service *service, CURLcode *ret_result)
{
    struct curl_waitfd signal = {.fd = interrupt_fd(service->interrupt),
                                 .events = CURL_WAIT_POLLIN};
    int running = 1;
    for (;;)
    {
        ASSERT(curl_multi_perform(service->multi, &running) == CURLM_OK);
        if (running == 0)
            break;
        ASSERT(curl_multi_poll(service->multi, &signal, 1, POLL_MS, NULL) == CURLM_OK);
        if (interrupt_came(service->interrupt))
            return false;
    }
    int left;
    const CURLMsg *message = curl_multi_info_read(service->multi, &left);
    ASSERT(message != NULL && message->msg == CURLMSG_DONE);
    *ret_result = message->data.result;
    return true;
}

/* curl knows whether a byte of the request has left. */
static bool was_sent(CURL *easy)
{
    long bytes = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes > 0;
}

static void take_answer(Attempt *attempt, Answer *answer)
{
    struct curl_header *header;
    long status = 0;
    CURL *easy = attempt->service->easy;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    answer->status = (int)status;
    answer->replayed =
        curl_easy_header(easy, "Idempotent-Replayed", 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    Error error;
    if (attempt->length == 0)
        return;
    answer->document = json_parse(attempt->body, attempt->length, &error);
    if (answer->document == NULL)
        snprintf(answer->trouble, sizeof answer->trouble,
                 "what answers at %.80s is not girod (status %d, no JSON)", attempt->service->url,
                 answer->status);
}

static void run_attempt(Service *service, const ServiceRequest *request, int64_t timeout_ms,
                        Answer *answer)
{
    Attempt attempt = {.service = service, .request = request};
    CURLcode result = CURLE_OK;
    prepare(&attempt, timeout_ms);
    ASSERT(curl_multi_add_handle(service->multi, service->easy) == CURLM_OK);
    *answer = (Answer){0};
    answer->interrupted = !drive(service, &result);
    answer->was_never_sent = !was_sent(service->easy);
    if (answer->interrupted)
        snprintf(answer->trouble, sizeof answer->trouble, "interrupted");
    else if (result == CURLE_OK)
        take_answer(&attempt, answer);
    else
        snprintf(answer->trouble, sizeof answer->trouble, "%.80s does not answer: %.140s",
                 service->url,
                 attempt.trouble[0] != '\0' ? attempt.trouble : curl_easy_strerror(result));
    curl_multi_remove_handle(service->multi, service->easy);
    curl_easy_setopt(service->easy, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt(service->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(attempt.headers);
    free(attempt.url);
    free(attempt.body);
}

/* ---- all attempts --------------------------------------------------------------------------- */

static bool is_read(const ServiceRequest *request)
{
    return request->method == NULL || request->only_asks;
}

/* Does the answer leave open what an earlier attempt, or this one, has done? */
static bool leaves_in_doubt(const ServiceRequest *request, const Answer *answer, bool before)
{
    if (is_read(request))
        return false;
    if (answer->status == 0)
        return before || !answer->was_never_sent;
    if (field_is(answer->document, "effect", "unknown"))
        return true;
    if (answer->status >= 500 && field_string(answer->document, "effect")[0] == '\0')
        return true; /* of something in between, that knows nothing of effects */
    bool proves_nothing = answer->status >= 500 || answer->status == 429 || answer->status == 401 ||
                          answer->status == 403;
    return before && proves_nothing;
}

/* How long to wait before the next attempt; -1: the answer is the last word. */
static int pause_after(const ServiceRequest *request, const Answer *answer)
{
    if (request->once || answer->interrupted)
        return -1;
    if (answer->status == 0)
        return answer->was_never_sent && !answer->in_doubt ? -1 : PAUSE_MS;
    if (answer->document == NULL)
        return answer->in_doubt ? PAUSE_MS : -1;
    if (!field_bool(answer->document, "retryable"))
        return -1;
    int64_t wanted = field_integer(answer->document, "retry_after_ms");
    if (wanted < PAUSE_MS)
        return PAUSE_MS;
    return wanted < PAUSE_MAX_MS ? (int)wanted : PAUSE_MAX_MS;
}

static void tell_pause(const Service *service, const Answer *answer, bool *told)
{
    if (!service->tells_pauses || *told)
        return;
    *told = true;
    const char *detail = field_string(answer->document, "detail");
    say("%s; trying again", detail[0] != '\0' ? detail : answer->trouble);
}

/* At least a moment: to curl 0 means for ever. */
static int64_t attempt_limit(uint64_t deadline)
{
    uint64_t now = now_ms();
    int64_t left = deadline > now ? (int64_t)(deadline - now) : 1;
    return left < ATTEMPT_TIMEOUT_MS ? left : ATTEMPT_TIMEOUT_MS;
}

void service_call(Service *service, const ServiceRequest *request, Answer *ret_answer)
{
    int64_t limit = request->timeout_ms > 0 ? request->timeout_ms : SERVICE_TIMEOUT_MS;
    uint64_t deadline = now_ms() + (uint64_t)limit;
    bool told = false;
    bool in_doubt = false;
    for (;;)
    {
        run_attempt(service, request, attempt_limit(deadline), ret_answer);
        in_doubt = leaves_in_doubt(request, ret_answer, in_doubt);
        ret_answer->in_doubt = in_doubt;
        int pause = pause_after(request, ret_answer);
        if (pause < 0 || now_ms() + (uint64_t)pause >= deadline)
            return;
        tell_pause(service, ret_answer, &told);
        if (interrupt_wait(service->interrupt, pause))
        {
            ret_answer->interrupted = true;
            return;
        }
        answer_done(ret_answer);
    }
}

void answer_done(Answer *answer)
{
    json_free(answer->document);
    answer->document = NULL;
}
