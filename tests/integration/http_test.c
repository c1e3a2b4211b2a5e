/*
 * HTTP as clients really send it, against girod and real shards: bodies in pieces, wrong framing,
 * wrong headers, wrong methods, and clients that are slow, many, or gone.
 */
#include "fixture.h"
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    TEXT_MAX = 4096,
    BODY_MAX = 64 * 1024, /* of a request */
    ANSWER_MS = 10000,
    ARRIVE_MS = 10000, /* what girod gives a client for each phase of a request */
};

static Cluster *cluster;
static Client *client;

/* Without --enable-failpoints, as in production. */
static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2, .girod_flags = ""}, &cluster, &client);
    return 0;
}

/* ---- raw requests --------------------------------------------------------------------------- */

/* Two accounts, the first one with money. */
static void open_pair(AccountName ret_debit, AccountName ret_credit)
{
    bank_open(client, 1, 1000, ret_debit);
    bank_open(client, 2, 0, ret_credit);
}

/* The head of a POST of a transfer, up to the end of `framing`; the connection closes after it. */
static size_t print_head(char text[TEXT_MAX], const char *key, const char *framing)
{
    int length = snprintf(text, TEXT_MAX,
                          "POST /v1/transfers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                          "Content-Type: application/json\r\nIdempotency-Key: %s\r\n%s\r\n\r\n",
                          key, framing);
    assert_true(length > 0 && length < TEXT_MAX);
    return (size_t)length;
}

static void send_text(int fd, const char *text)
{
    assert_true(client_send(fd, text, strlen(text)));
}

/* Reads to the end of the stream, which must come, and closes. The status, 0 if there is none. */
static int finish(int fd, char *ret_answer, size_t size)
{
    bool ended = false;
    int status = 0;
    client_receive(fd, ret_answer, size, ANSWER_MS, &ended);
    close(fd);
    check(ended, "the connection stays open: %s", ret_answer);
    return sscanf(ret_answer, "HTTP/1.1 %d ", &status) == 1 ? status : 0;
}

/* Sends all at once and expects the status and a text in the answer, then the end. */
static void exchange(const char *text, size_t length, int status, const char *wanted)
{
    char answer[TEXT_MAX];
    int fd = client_connect(client);
    assert_true(client_send(fd, text, length));
    int got = finish(fd, answer, sizeof answer);
    check(got == status && strstr(answer, wanted) != NULL, "%d, not %d with %s: %s", got, status,
          wanted, answer);
}

/* ---- bodies --------------------------------------------------------------------------------- */

static void a_transfer_may_arrive_byte_by_byte(void **state)
{
    AccountName a;
    AccountName b;
    char text[TEXT_MAX];
    char framing[64];
    char answer[TEXT_MAX];
    (void)state;
    open_pair(a, b);
    char *body = bank_body(&(Payment){a, b, 10, NULL});
    snprintf(framing, sizeof framing, "Content-Length: %zu", strlen(body));
    size_t head = print_head(text, bank_key(), framing);
    snprintf(text + head, sizeof text - head, "%s", body);
    int fd = client_connect(client);
    for (size_t i = 0; text[i] != '\0'; i++)
    {
        assert_true(client_send(fd, &text[i], 1));
        usleep(1000);
    }
    assert_int_equal(finish(fd, answer, sizeof answer), 201);
    free(body);
    assert_int_equal(bank_balance(client, b), 10);
}

static void a_transfer_may_arrive_in_chunks(void **state)
{
    static const size_t sizes[] = {1, 3, 17, 1000};
    AccountName a;
    AccountName b;
    (void)state;
    open_pair(a, b);
    char *body = bank_body(&(Payment){a, b, 10, NULL});
    size_t length = strlen(body);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
    {
        char text[TEXT_MAX];
        size_t used = print_head(text, bank_key(), "Transfer-Encoding: chunked");
        for (size_t at = 0; at < length; at += sizes[i])
        {
            size_t size = length - at < sizes[i] ? length - at : sizes[i];
            used += (size_t)snprintf(text + used, sizeof text - used, "%zx;x=y\r\n%.*s\r\n", size,
                                     (int)size, body + at);
            assert_true(used < sizeof text);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "0\r\n\r\n");
        exchange(text, used, 201, "\"state\":\"posted\"");
    }
    free(body);
    assert_int_equal(bank_balance(client, b), 40);
}

/* 200 clients send a body of their own, one byte each in turn. */
static void interleaved_bodies_stay_apart(void **state)
{
    enum
    {
        CLIENTS = 200
    };
    AccountName a;
    AccountName b;
    int fds[CLIENTS];
    char *texts[CLIENTS];
    bool more = true;
    (void)state;
    bank_open(client, 1, 100000, a);
    bank_open(client, 2, 0, b);
    for (int i = 0; i < CLIENTS; i++)
    {
        char framing[64];
        char *body = bank_body(&(Payment){a, b, i + 1, NULL});
        texts[i] = calloc(1, TEXT_MAX);
        snprintf(framing, sizeof framing, "Content-Length: %zu", strlen(body));
        size_t head = print_head(texts[i], bank_key(), framing);
        snprintf(texts[i] + head, TEXT_MAX - head, "%s", body);
        free(body);
        fds[i] = client_connect(client);
    }
    for (size_t at = 0; more; at++)
    {
        more = false;
        for (int i = 0; i < CLIENTS; i++)
        {
            if (at >= strlen(texts[i]))
                continue;
            assert_true(client_send(fds[i], texts[i] + at, 1));
            more = true;
        }
    }
    for (int i = 0; i < CLIENTS; i++)
    {
        char answer[TEXT_MAX];
        char amount[32];
        snprintf(amount, sizeof amount, "\"amount\":%d,", i + 1);
        int status = finish(fds[i], answer, sizeof answer);
        check(status == 201 && strstr(answer, amount) != NULL, "%d %s", i, answer);
        free(texts[i]);
    }
    assert_int_equal(bank_balance(client, b), CLIENTS * (CLIENTS + 1) / 2);
}

/* A transfer of that many bytes, filled up with blanks; free() it. */
static char *padded_body(const Payment *payment, size_t bytes)
{
    char *body = bank_body(payment);
    char *padded = malloc(bytes + 1);
    snprintf(padded, bytes + 1, "%-*s", (int)bytes, body);
    free(body);
    return padded;
}

static void a_body_has_up_to_64_kib(void **state)
{
    AccountName a;
    AccountName b;
    Response response;
    (void)state;
    open_pair(a, b);
    char *body = padded_body(&(Payment){a, b, 10, NULL}, BODY_MAX);
    const char *key = bank_key();
    client_call(client, &(Request){.path = "/v1/transfers", .body = body, .key = key}, &response);
    response_expect(&response, 201, NULL);
    response_done(&response);
    free(body);
    body = padded_body(&(Payment){a, b, 20, NULL}, BODY_MAX + 1);
    key = bank_key();
    client_call(client, &(Request){.path = "/v1/transfers", .body = body, .key = key}, &response);
    response_expect(&response, 413, "body-too-large");
    response_done(&response);
    free(body);
    bank_expect(client, &(Payment){a, b, 30, key}, 201, NULL, NULL); /* the key is still free */
    assert_int_equal(bank_balance(client, b), 40);
}

static void a_huge_body_is_413_without_being_read(void **state)
{
    char text[TEXT_MAX];
    char answer[TEXT_MAX];
    (void)state;
    size_t length = print_head(text, bank_key(), "Content-Length: 1000000000");
    exchange(text, length, 413, "body-too-large");
    /* An endless one in chunks: what we send after the answer is nobody's any more. */
    static char chunk[BODY_MAX + 16];
    snprintf(chunk, sizeof chunk, "%x\r\n%-*s\r\n", BODY_MAX, BODY_MAX, "");
    length = print_head(text, bank_key(), "Transfer-Encoding: chunked");
    int fd = client_connect(client);
    assert_true(client_send(fd, text, length));
    size_t sent = 0;
    while (sent < 1000 && client_send(fd, chunk, strlen(chunk)))
        sent++;
    check(sent < 1000, "%zu chunks of 64 KiB were taken", sent);
    client_receive(fd, answer, sizeof answer, 100, NULL);
    close(fd);
    check(answer[0] == '\0' || strstr(answer, " 413 ") != NULL, "%s", answer);
}

static void a_body_must_be_announced_as_json(void **state)
{
    static const char *const right[] = {"application/json", "Application/JSON",
                                        "application/json; charset=utf-8", "application/json ;x=y"};
    static const char *const wrong[] = {"text/plain",
                                        "application/jsonx",
                                        "application/x-json",
                                        "application/problem+json",
                                        "application/x-www-form-urlencoded",
                                        "json",
                                        ""};
    AccountName a;
    AccountName b;
    (void)state;
    open_pair(a, b);
    char *body = bank_body(&(Payment){a, b, 1, NULL});
    for (size_t i = 0; i < ARRAY_LENGTH(right) + ARRAY_LENGTH(wrong) + 1; i++)
    {
        bool good = i < ARRAY_LENGTH(right);
        char type[128] = "";
        char text[TEXT_MAX];
        if (i < ARRAY_LENGTH(right) + ARRAY_LENGTH(wrong))
            snprintf(type, sizeof type, "Content-Type: %s\r\n",
                     good ? right[i] : wrong[i - ARRAY_LENGTH(right)]);
        int length = snprintf(text, sizeof text,
                              "POST /v1/transfers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s"
                              "Idempotency-Key: %s\r\nContent-Length: %zu\r\n\r\n%s",
                              type, bank_key(), strlen(body), body);
        exchange(text, (size_t)length, good ? 201 : 415, good ? "posted" : "media-type");
    }
    free(body);
    assert_int_equal(bank_balance(client, b), ARRAY_LENGTH(right));
}

/* ---- headers -------------------------------------------------------------------------------- */

static void doubtful_headers_are_400_and_close_the_connection(void **state)
{
    static const char *const doubtful[] = {
        "Idempotency-Key: one\r\nIdempotency-Key: one\r\nContent-Length: %zu",
        "Idempotency-Key: one\r\nidempotency-key: two\r\nContent-Length: %zu",
        "Idempotency-Key: one\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n"
        "Content-Length: %zu",
        "Idempotency-Key: one\r\nContent-Length: %zu\r\nContent-Length: 1",
        "Idempotency-Key: one\r\nHost: y\r\nContent-Length: %zu",
        "Idempotency-Key: one\r\nTransfer-Encoding: chunked\r\nContent-Length: %zu",
    };
    AccountName a;
    AccountName b;
    (void)state;
    open_pair(a, b);
    char *body = bank_body(&(Payment){a, b, 1, NULL});
    for (size_t i = 0; i < ARRAY_LENGTH(doubtful); i++)
    {
        char headers[512];
        char text[TEXT_MAX];
        /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the table above */
        int length = snprintf(headers, sizeof headers, doubtful[i], strlen(body));
        assert_true(length > 0 && (size_t)length < sizeof headers);
        /* A second request behind it must not be seen, whatever the framing is taken for. */
        length = snprintf(text, sizeof text,
                          "POST /v1/transfers HTTP/1.1\r\nHost: x\r\n"
                          "Content-Type: application/json\r\n%s\r\n\r\n%s"
                          "GET /version HTTP/1.1\r\nHost: x\r\n\r\n",
                          headers, body);
        char answer[TEXT_MAX];
        int fd = client_connect(client);
        assert_true(client_send(fd, text, (size_t)length));
        int status = finish(fd, answer, sizeof answer);
        check(status == 400 && strstr(answer, "girod") == NULL, "%s: %s", headers, answer);
        check(strstr(answer, "header-invalid") != NULL, "%s: %s", headers, answer);
    }
    free(body);
    assert_int_equal(bank_balance(client, b), 0);
}

static void a_head_has_up_to_8_kib(void **state)
{
    char header[8 * 1024 - 256];
    const char *headers[] = {header, NULL};
    Response response;
    (void)state;
    int length = snprintf(header, sizeof header, "X-Other: ");
    memset(header + length, 'x', sizeof header - (size_t)length - 1);
    header[sizeof header - 1] = '\0';
    client_call(client, &(Request){.path = "/version", .headers = headers}, &response);
    assert_int_equal(response.status, 200);
    response_done(&response);
}

static void a_sane_request_id_is_echoed_and_another_is_replaced(void **state)
{
    static const struct
    {
        const char *header;
        const char *echo; /* NULL: a fresh one */
    } cases[] = {
        {"X-Request-Id: 0af7651916cd43dd-8448.eb211_C", "0af7651916cd43dd-8448.eb211_C"},
        {"X-Request-Id: two words", NULL},
        {"X-Request-Id: \"quoted\"", NULL},
        {"X-Request-Id: caf\xc3\xa9", NULL},
        {"X-Other: 1", NULL},
    };
    (void)state;
    char last[160] = "";
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        static const char *const paths[] = {"/version", "/v1/accounts/nobody-at-all"};
        for (size_t n = 0; n < ARRAY_LENGTH(paths); n++)
        {
            const char *headers[] = {cases[i].header, NULL};
            char id[160];
            Response response;
            client_call(client, &(Request){.path = paths[n], .headers = headers}, &response);
            assert_true(response_header(&response, "X-Request-Id", id, sizeof id));
            if (cases[i].echo != NULL)
                assert_string_equal(id, cases[i].echo);
            else
                assert_string_not_equal(id, last);
            if (response.status == 404)
                assert_string_equal(response_string(&response, "request_id"), id);
            response_done(&response);
            snprintf(last, sizeof last, "%s", id);
        }
    }
}

/* ---- routes --------------------------------------------------------------------------------- */

static void other_methods_are_405_with_allow(void **state)
{
    static const struct
    {
        const char *method;
        const char *path;
        const char *allow;
    } cases[] = {
        {"DELETE", "/v1/transfers", "POST, GET, HEAD"},
        {"POST", "/v1/transfers/x", "GET, HEAD"},
        {"DELETE", "/v1/accounts", "POST, GET, HEAD"},
        {"PUT", "/v1/accounts/x", "GET, HEAD, PATCH"},
        {"DELETE", "/v1/accounts/x", "GET, HEAD, PATCH"},
        {"POST", "/v1/accounts/x/entries", "GET, HEAD"},
        {"POST", "/livez", "GET, HEAD"},
        {"OPTIONS", "/version", "GET, HEAD"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char allow[64];
        Response response;
        client_call(client, &(Request){.method = cases[i].method, .path = cases[i].path},
                    &response);
        response_expect(&response, 405, "method-not-allowed");
        assert_true(response_header(&response, "Allow", allow, sizeof allow));
        assert_string_equal(allow, cases[i].allow);
        response_done(&response);
    }
}

/* The routes of fault points among them: they exist with --enable-failpoints only. */
static void other_paths_are_404(void **state)
{
    static const char *const paths[] = {"/",
                                        "/v1",
                                        "/v1/",
                                        "/v2/transfers",
                                        "/V1/transfers",
                                        "/v1/transfers/",
                                        "/v1//transfers",
                                        "/v1/accounts/x/entries/y",
                                        "/v1/%61ccounts%2Fx",
                                        "/livez/",
                                        "/v1/failpoints/2pc.decide.home.sent"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
    {
        Response response;
        client_call(client, &(Request){.path = paths[i]}, &response);
        check(response.status == 404, "%s: %d", paths[i], response.status);
        response_expect(&response, 404, "route-not-found");
        response_done(&response);
    }
    static const char *const methods[] = {"PUT", "DELETE"};
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++)
    {
        Response response;
        client_call(client,
                    &(Request){.method = methods[i],
                               .path = "/v1/failpoints/2pc.decide.home.sent",
                               .body = "{\"action\":\"crash\"}"},
                    &response);
        response_expect(&response, 404, "route-not-found");
        response_done(&response);
    }
}

static void head_is_get_without_a_body(void **state)
{
    char length[16];
    Response response;
    (void)state;
    client_call(client, &(Request){.method = "HEAD", .path = "/version"}, &response);
    response_expect(&response, 200, NULL);
    assert_int_equal(response.length, 0);
    assert_true(response_header(&response, "Content-Length", length, sizeof length));
    assert_true(strtol(length, NULL, 10) > 0);
    response_done(&response);
}

/* ---- clients that are slow ------------------------------------------------------------------ */

static long open_files(void)
{
    char text[32];
    assert_int_equal(cluster_shell(cluster, "ls /proc/$GIRO_PID/fd | wc -l", text, sizeof text), 0);
    return strtol(text, NULL, 10);
}

/* 300 clients that say nothing, say half a head, or stop in their body; others are served as ever,
 * and girod is rid of the slow ones when their time is up. */
static void slow_clients_hinder_nobody_and_are_closed(void **state)
{
    enum
    {
        SLOW = 300
    };
    static const char half_head[] = "POST /v1/transfers HTTP/1.1\r\nHost: x\r\nIdemp";
    AccountName a;
    AccountName b;
    int fds[SLOW];
    char text[TEXT_MAX];
    (void)state;
    open_pair(a, b);
    long files = open_files();
    for (int i = 0; i < SLOW; i++)
    {
        fds[i] = client_connect(client);
        if (i % 3 == 1)
            send_text(fds[i], half_head);
        if (i % 3 == 2)
        {
            print_head(text, bank_key(), "Content-Length: 100");
            send_text(fds[i], text);
            send_text(fds[i], "{\"debit_account\"");
        }
    }
    for (int i = 0; i < 50; i++)
    {
        Response response;
        bank_pay(client, &(Payment){a, b, 1, bank_key()}, &response);
        response_expect(&response, 201, NULL);
        check(response.seconds < 2, "%.1f s", response.seconds);
        response_done(&response);
    }
    for (int i = 0; i < SLOW; i++)
    {
        char answer[TEXT_MAX];
        bool ended = false;
        client_receive(fds[i], answer, sizeof answer, ARRIVE_MS * 3 / 2, &ended);
        close(fds[i]);
        check(ended, "connection %d stays open", i);
        check(i % 3 != 2 || strstr(answer, "request-timeout") != NULL, "%d: %s", i, answer);
    }
    for (int i = 0; i < 100 && open_files() > files + 2; i++)
        processes_pause_ms(50);
    check(open_files() <= files + 2, "%ld files instead of %ld", open_files(), files);
    assert_int_equal(bank_balance(client, b), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(a_transfer_may_arrive_byte_by_byte),
        with_books(a_transfer_may_arrive_in_chunks),
        with_books(interleaved_bodies_stay_apart),
        with_books(a_body_has_up_to_64_kib),
        with_books(a_huge_body_is_413_without_being_read),
        with_books(a_body_must_be_announced_as_json),
        with_books(doubtful_headers_are_400_and_close_the_connection),
        with_books(a_head_has_up_to_8_kib),
        with_books(a_sane_request_id_is_echoed_and_another_is_replaced),
        with_books(other_methods_are_405_with_allow),
        with_books(other_paths_are_404),
        with_books(head_is_get_without_a_body),
        with_books(slow_clients_hinder_nobody_and_are_closed),
    };
    return cmocka_run_group_tests_name("http", tests, start, fixture_stop);
}
