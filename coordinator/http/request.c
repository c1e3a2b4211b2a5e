/* See request.h. */
#include "http/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum
{
    BODY_FIRST_BYTES = 1024,
};

void request_add_header(HttpRequest *request, const char *name, const char *value)
{
    if (request->header_count < REQUEST_HEADERS_MAX)
        request->headers[request->header_count++] = (HttpHeader){name, value};
    else
        request->headers_dropped++;
}

void http_reply_header(HttpReply *reply, const char *name, const char *value)
{
    ASSERT(reply->header_count < HTTP_REPLY_HEADERS_MAX);
    reply->headers[reply->header_count++] = (HttpHeader){name, value};
}

void request_keep_reply(HttpRequest *request, const HttpReply *reply)
{
    HttpReply *kept = &request->reply;
    *kept = *reply;
    kept->body = NULL;
    kept->given_body = NULL;
    if (reply->content_type != NULL)
        kept->content_type =
            arena_copy(request->arena, reply->content_type, strlen(reply->content_type));
    if (reply->given_body != NULL)
        request->reply_body = reply->given_body;
    else if (reply->body_length > 0)
    {
        request->reply_body = base_malloc(reply->body_length);
        memcpy(request->reply_body, reply->body, reply->body_length);
    }
    for (size_t i = 0; i < kept->header_count; i++)
    {
        const HttpHeader *header = &reply->headers[i];
        kept->headers[i].name = arena_copy(request->arena, header->name, strlen(header->name));
        kept->headers[i].value = arena_copy(request->arena, header->value, strlen(header->value));
    }
}

bool request_check_headers(HttpRequest *request, Error *error)
{
    static const char *const single[] = {"Idempotency-Key", "Authorization", "Content-Length",
                                         "Host"};
    if (request->headers_dropped > 0)
        return error_set(error, ERROR_HEADER_INVALID, "more than %d headers", REQUEST_HEADERS_MAX);
    for (size_t i = 0; i < ARRAY_LENGTH(single); i++)
    {
        if (http_header(request, single[i], 1) != NULL)
            return error_set(error, ERROR_HEADER_INVALID, "%s is repeated", single[i]);
    }
    if (http_header(request, "Content-Length", 0) != NULL &&
        http_header(request, "Transfer-Encoding", 0) != NULL)
        return error_set(error, ERROR_HEADER_INVALID, "Content-Length with Transfer-Encoding");
    return true;
}

bool request_id_is_sane(const char *id)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    size_t length = strlen(id);
    return length > 0 && length <= HTTP_REQUEST_ID_MAX && strspn(id, allowed) == length;
}

/* So many lower-case hexadecimal digits, and not only zeros. */
static bool is_trace_part(const char *at, size_t length)
{
    return strspn(at, "0123456789abcdef") >= length && strspn(at, "0") < length;
}

/* version "-" trace id "-" parent id "-" flags; a later version may go on after another "-". */
static bool traceparent_is_sane(const char *text)
{
    enum
    {
        TRACE_AT = 3,
        PARENT_AT = 36,
        FLAGS_AT = 53,
        END_AT = 55,
    };
    if (strlen(text) < END_AT || strncmp(text, "ff", 2) == 0 ||
        strspn(text, "0123456789abcdef") != 2 || text[TRACE_AT - 1] != '-' ||
        text[PARENT_AT - 1] != '-' || text[FLAGS_AT - 1] != '-')
        return false;
    bool is_first_version = strncmp(text, "00", 2) == 0;
    char end = text[END_AT];
    return is_trace_part(text + TRACE_AT, HTTP_TRACE_ID_LENGTH) &&
           is_trace_part(text + PARENT_AT, FLAGS_AT - 1 - PARENT_AT) &&
           strspn(text + FLAGS_AT, "0123456789abcdef") == END_AT - FLAGS_AT &&
           (end == '\0' || (end == '-' && !is_first_version));
}

void request_read_trace(HttpRequest *request)
{
    const char *parent = http_header(request, "traceparent", 0);
    bool is_alone = http_header(request, "traceparent", 1) == NULL;
    if (parent != NULL && is_alone && traceparent_is_sane(parent))
        memcpy(request->trace_id, strchr(parent, '-') + 1, HTTP_TRACE_ID_LENGTH);
}

size_t request_announced_length(const HttpRequest *request)
{
    const char *length = http_header(request, "Content-Length", 0);
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}

void request_keep_body(HttpRequest *request, const char *bytes, size_t length)
{
    size_t needed = request->body_length + length;
    if (needed + 1 > request->body_size)
    {
        size_t size = request->body_size > 0 ? request->body_size * 2 : BODY_FIRST_BYTES;
        request->body_size = size > needed ? size : needed + 1;
        request->body = base_realloc(request->body, request->body_size);
    }
    memcpy(request->body + request->body_length, bytes, length);
    request->body_length = needed;
    request->body[needed] = '\0';
}

const char *http_method(const HttpRequest *request)
{
    return request->method;
}

const char *http_path(const HttpRequest *request)
{
    return request->path;
}

const Uri *http_uri(const HttpRequest *request)
{
    return &request->uri;
}

const char *http_header(const HttpRequest *request, const char *name, size_t nth)
{
    for (size_t i = 0; i < request->header_count; i++)
    {
        if (strcasecmp(request->headers[i].name, name) == 0 && nth-- == 0)
            return request->headers[i].value;
    }
    return NULL;
}

const char *http_body(const HttpRequest *request, size_t *ret_length)
{
    *ret_length = request->body_length;
    return request->body != NULL ? request->body : "";
}

const char *http_request_id(const HttpRequest *request)
{
    return request->id;
}

const char *http_trace_id(const HttpRequest *request)
{
    return request->trace_id;
}

Arena *http_arena(HttpRequest *request)
{
    return request->arena;
}

static const char *reason_phrase(int status)
{
    switch (status)
    {
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    default:
        return "Service Unavailable";
    }
}

size_t request_print_head(const HttpRequest *request, char *ret_text, size_t size)
{
    const HttpReply *reply = &request->reply;
    int length = snprintf(ret_text, size,
                          "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                          "X-Request-Id: %s\r\nConnection: close\r\n",
                          reply->status, reason_phrase(reply->status), reply->content_type,
                          reply->body_length, request->id);
    for (size_t i = 0; i < reply->header_count; i++)
    {
        ASSERT(length > 0 && (size_t)length < size);
        length += snprintf(ret_text + length, size - (size_t)length, "%s: %s\r\n",
                           reply->headers[i].name, reply->headers[i].value);
    }
    ASSERT(length > 0 && (size_t)length + 2 < size);
    memcpy(ret_text + length, "\r\n", sizeof "\r\n");
    return (size_t)length + 2;
}

uint64_t http_age_us(const HttpRequest *request)
{
    return base_now_us() - request->since_us;
}

void http_set_tag(HttpRequest *request, const void *tag)
{
    request->tag = tag;
}

const void *http_tag(const HttpRequest *request)
{
    return request->tag;
}
