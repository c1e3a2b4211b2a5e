/*
 * The API over real sockets, with nothing below it: what is answered to what, to the letter.
 *
 * Fakes: tests/unit/fake_batcher.c tests/unit/fake_shards.c tests/unit/fake_failpoint.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "api/api.h"
#include "fake_batcher.h"
#include "fake_shards.h"
#include "protocol/failpoint.h"
#include "json/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    ANSWER_MAX = 256 * 1024,
    PATIENCE_MS = 3000,
};

#define UUID "aabbccdd-0011-8233-8455-66778899aabb"

typedef struct World
{
    Loop *loop;
    Api *api;
    FakeShards *shards;
    TransferOutcome outcome;
    TransferRecord record;
    char answer[ANSWER_MAX];
    int status;
    const char *body;
    Json *json; /* NULL if the body is empty */
} World;

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    Error error;
    world->loop = loop_new();
    world->shards = fake_shards_reset(world->loop);
    fake_batcher_reset(world->loop, &world->outcome);
    ApiOptions options = {
        .loop = world->loop,
        .address = {"127.0.0.1", 0},
        .connections_max = 100,
        .arrive_timeout_ms = 2000,
        .call_deadline_ms = 1000,
    };
    world->api = api_new(&options, &error);
    assert_non_null(world->api);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    json_free(world->json);
    api_free(world->api);
    fake_batcher_done();
    fake_shards_done();
    loop_free(world->loop);
    free(world);
    return 0;
}

/* ---- a client -----------------------------------------------------------------------------------
 */

static void pump(World *world, uint64_t ms)
{
    static const bool never = false;
    loop_run_until(world->loop, &never, ms);
}

static int open_client(World *world)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(api_port(world->api))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void read_to_end(World *world, int fd)
{
    size_t used = 0;
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 2)
    {
        ssize_t got = recv(fd, world->answer + used, ANSWER_MAX - 1 - used, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            break;
        used += got > 0 ? (size_t)got : 0;
        world->answer[used] = '\0';
        pump(world, 2);
    }
    world->answer[used] = '\0';
}

/* Sends one request and takes the answer apart. `headers` are whole lines. */
static void call(World *world, const char *start, const char *headers, const char *body)
{
    char request[8192];
    Error error;
    int fd = open_client(world);
    int length = snprintf(request, sizeof request,
                          "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Request-Id: r-1\r\n"
                          "%sContent-Length: %zu\r\n\r\n%s",
                          start, headers, strlen(body), body);
    assert_true(length > 0 && (size_t)length < sizeof request);
    assert_int_equal(send(fd, request, (size_t)length, MSG_NOSIGNAL), length);
    read_to_end(world, fd);
    close(fd);
    if (sscanf(world->answer, "HTTP/1.1 %d ", &world->status) != 1)
        fail_msg("%s: no answer: %s", start, world->answer);
    world->body = strstr(world->answer, "\r\n\r\n") + 4;
    assert_non_null(strstr(world->answer, "X-Request-Id: r-1\r\n"));
    json_free(world->json);
    world->json = NULL;
    if (world->body[0] != '\0')
        world->json = json_parse(world->body, strlen(world->body), &error);
    if (world->body[0] != '\0' && world->json == NULL)
        fail_msg("%s: %s", error.text, world->body);
}

static void get(World *world, const char *target)
{
    char start[512];
    snprintf(start, sizeof start, "GET %s", target);
    call(world, start, "", "");
}

static const char *text_field(const World *world, const char *name)
{
    const Json *value = json_field(world->json, name);
    if (value == NULL || json_kind(value) != JSON_KIND_STRING)
        fail_msg("no text %s in %s", name, world->body);
    return json_as_string(value);
}

static bool has_header(const World *world, const char *line)
{
    return strstr(world->answer, line) != NULL && strstr(world->answer, line) < world->body;
}

static void expect(World *world, int status)
{
    if (world->status != status)
        fail_msg("%d, not %d: %s", world->status, status, world->answer);
}

/* A complete problem document with this code. */
static void expect_problem(World *world, int status, const char *code)
{
    char type[64];
    expect(world, status);
    if (strcmp(text_field(world, "code"), code) != 0)
        fail_msg("not %s: %s", code, world->body);
    assert_true(has_header(world, "Content-Type: application/problem+json\r\n"));
    snprintf(type, sizeof type, "/problems/%s", code);
    assert_string_equal(text_field(world, "type"), type);
    assert_int_equal(json_as_integer(json_field(world->json, "status")), status);
    assert_string_equal(text_field(world, "request_id"), "r-1");
    assert_true(strlen(text_field(world, "title")) > 0 && strlen(text_field(world, "detail")) > 0);
    bool retryable = json_as_bool(json_field(world->json, "retryable"));
    assert_int_equal(retryable, status == 429 || status == 503);
    assert_int_equal(has_header(world, "Retry-After: "), retryable);
    bool unknown = strcmp(code, "outcome-unknown") == 0;
    assert_string_equal(text_field(world, "effect"), unknown ? "unknown" : "none");
}

#define JSON_TYPE "Content-Type: application/json\r\n"
#define KEY       "Idempotency-Key: \"k1\"\r\n"
#define TRANSFER                                                                                   \
    "{\"debit_account\":\"alice\",\"credit_account\":\"bob\",\"amount\":250,"                      \
    "\"currency\":\"EUR\",\"reference\":\"order 17\"}"

static void post_transfer(World *world)
{
    call(world, "POST /v1/transfers", JSON_TYPE KEY, TRANSFER);
}

static void outcome_is_recorded(World *world, TransferState state, bool replayed)
{
    world->record = (TransferRecord){
        .state = state,
        .mode = MODE_2PC,
        .debit_account = "alice",
        .credit_account = "bob",
        .amount = 250,
        .currency = "EUR",
        .idempotency_key = "k1",
        .metadata = "{}",
        .debit_shard = "s1",
        .credit_shard = "s2",
        .created_at_us = 1769860800000000,
        .decided_at_us = 1769860800000001,
    };
    assert_true(uuid_parse(UUID, world->record.id));
    world->outcome = (TransferOutcome){
        .kind = OUTCOME_RECORDED, .replayed = replayed, .record = &world->record, .detail = ""};
    memcpy(world->outcome.id, world->record.id, 16);
}

/* ---- transfers ----------------------------------------------------------------------------------
 */

static void a_posted_transfer_is_201_with_its_location(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    post_transfer(world);
    expect(world, 201);
    assert_true(has_header(world, "Location: /v1/transfers/" UUID "\r\n"));
    assert_false(has_header(world, "Idempotent-Replayed"));
    assert_string_equal(
        world->body,
        "{\"id\":\"" UUID "\",\"state\":\"posted\",\"final\":true,\"mode\":\"2pc\","
        "\"debit_account\":\"alice\",\"credit_account\":\"bob\",\"amount\":250,"
        "\"currency\":\"EUR\",\"reference\":null,\"metadata\":{},\"idempotency_key\":\"k1\","
        "\"debit_shard\":\"s1\",\"credit_shard\":\"s2\","
        "\"created_at\":\"2026-01-31T12:00:00.000000Z\","
        "\"decided_at\":\"2026-01-31T12:00:00.000001Z\",\"refusal\":null,"
        "\"needs_attention\":false,\"attention\":null,\"attempts\":0,\"next_attempt_at\":null,"
        "\"last_error\":null}");
}

static void what_is_asked_for_reaches_the_batcher(void **state)
{
    World *world = *state;
    const FakeSubmission *last = fake_batcher_last();
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    post_transfer(world);
    assert_string_equal(last->debit_account, "alice");
    assert_string_equal(last->credit_account, "bob");
    assert_string_equal(last->currency, "EUR");
    assert_string_equal(last->key, "k1");
    assert_string_equal(last->reference, "order 17");
    assert_string_equal(last->metadata, "");
    assert_int_equal(last->amount, 250);
    assert_int_equal(last->mode, MODE_AUTO);
    assert_int_equal(last->wait_ms, 5000);
    call(world, "POST /v1/transfers", JSON_TYPE KEY "Prefer: respond-async\r\nPrefer: wait=99\r\n",
         TRANSFER);
    assert_int_equal(last->wait_ms, 30000);
    assert_int_equal(last->count, 2);
}

static void a_replay_is_200_and_says_so(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, true);
    post_transfer(world);
    expect(world, 200);
    assert_true(has_header(world, "Idempotent-Replayed: true\r\n"));
}

static void a_pending_transfer_is_202(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_PENDING, false);
    world->record.decided_at_us = 0;
    post_transfer(world);
    expect(world, 202);
    assert_true(has_header(world, "Location: /v1/transfers/" UUID "\r\n"));
    assert_true(has_header(world, "Retry-After: "));
    assert_int_equal(json_kind(json_field(world->json, "decided_at")), JSON_KIND_NULL);
    assert_false(json_as_bool(json_field(world->json, "final")));
}

static void a_final_failure_is_422_and_names_the_transfer(void **state)
{
    World *world = *state;
    for (int replayed = 0; replayed <= 1; replayed++)
    {
        outcome_is_recorded(world, TRANSFER_REFUSED, replayed == 1);
        world->record.refusal = ERROR_CREDIT_ACCOUNT_NOT_FOUND;
        post_transfer(world);
        expect_problem(world, 422, "account-not-found");
        assert_string_equal(text_field(world, "transfer_id"), UUID);
        assert_string_equal(text_field(world, "state"), "refused");
        assert_int_equal(has_header(world, "Idempotent-Replayed: true\r\n"), replayed);
    }
}

static void a_reused_key_names_the_fields_that_differ(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, true);
    world->outcome.kind = OUTCOME_KEY_REUSED;
    world->outcome.differing = DIFFERS_AMOUNT | DIFFERS_REFERENCE;
    post_transfer(world);
    expect_problem(world, 422, "idempotency-key-reused");
    const Json *differing = json_field(world->json, "differing_fields");
    assert_int_equal(json_array_length(differing), 2);
    assert_string_equal(json_as_string(json_array_at(differing, 0)), "amount");
    assert_string_equal(json_as_string(json_array_at(differing, 1)), "reference");
    assert_null(json_field(world->json, "state"));
}

static void what_was_not_accepted_is_told_with_its_code(void **state)
{
    static const struct
    {
        ErrorCode code;
        int status;
    } cases[] = {
        {ERROR_DEBIT_ACCOUNT_NOT_FOUND, 404},
        {ERROR_ACCOUNT_BUSY, 429},
        {ERROR_OVERLOADED, 503},
        {ERROR_SHARD_UNAVAILABLE, 503},
        {ERROR_SHARD_ERROR, 503},
        {ERROR_PARTITION_MOVING, 503},
        {ERROR_DRAINING, 503},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        world->outcome = (TransferOutcome){
            .kind = OUTCOME_NOT_ACCEPTED, .code = cases[i].code, .detail = "shard s1"};
        post_transfer(world);
        expect_problem(world, cases[i].status, error_row(cases[i].code)->name);
        assert_string_equal(text_field(world, "detail"), "shard s1");
        assert_null(json_field(world->json, "transfer_id"));
    }
}

static void a_doubt_is_503_with_the_id(void **state)
{
    World *world = *state;
    outcome_is_recorded(world, TRANSFER_POSTED, false);
    world->outcome.kind = OUTCOME_UNKNOWN;
    world->outcome.code = ERROR_OUTCOME_UNKNOWN;
    post_transfer(world);
    expect_problem(world, 503, "outcome-unknown");
    assert_string_equal(text_field(world, "transfer_id"), UUID);
}

static void a_wrong_request_consumes_no_key(void **state)
{
    static const struct
    {
        const char *headers;
        const char *body;
        int status;
        const char *code;
    } cases[] = {
        {JSON_TYPE, TRANSFER, 400, "idempotency-key-missing"},
        {JSON_TYPE "Idempotency-Key: \r\n", TRANSFER, 400, "idempotency-key-invalid"},
        {JSON_TYPE "Idempotency-Key: a b\r\n", TRANSFER, 400, "idempotency-key-invalid"},
        {JSON_TYPE KEY KEY, TRANSFER, 400, "header-invalid"},
        {JSON_TYPE KEY "Prefer: wait=x\r\n", TRANSFER, 400, "header-invalid"},
        {KEY, TRANSFER, 415, "media-type"},
        {"Content-Type: text/plain\r\n" KEY, TRANSFER, 415, "media-type"},
        {JSON_TYPE KEY, "", 400, "json-invalid"},
        {JSON_TYPE KEY, "{", 400, "json-invalid"},
        {JSON_TYPE KEY, TRANSFER "x", 400, "json-invalid"},
        {JSON_TYPE KEY, "[]", 400, "body-invalid"},
        {JSON_TYPE KEY, "{\"amount\":1}", 400, "body-invalid"},
        {JSON_TYPE KEY,
         "{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":1.0,\"currency\":\"EUR\"}",
         422, "amount-invalid"},
        {JSON_TYPE KEY,
         "{\"debit_account\":\"a/\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"EUR\"}",
         422, "account-id-invalid"},
        {JSON_TYPE KEY,
         "{\"debit_account\":\"a\",\"credit_account\":\"b\",\"amount\":1,\"currency\":\"e\"}", 422,
         "currency-invalid"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        call(world, "POST /v1/transfers", cases[i].headers, cases[i].body);
        expect_problem(world, cases[i].status, cases[i].code);
    }
    call(world, "POST /v1/transfers?x=1", JSON_TYPE KEY, TRANSFER);
    expect_problem(world, 400, "parameter-invalid");
    assert_int_equal(fake_batcher_last()->count, 0);
}

static void a_fault_points_at_its_field(void **state)
{
    World *world = *state;
    call(world, "POST /v1/transfers", JSON_TYPE KEY, "{\"amount\":1,\"extra\":2}");
    expect_problem(world, 400, "body-invalid");
    const Json *errors = json_field(world->json, "errors");
    assert_int_equal(json_array_length(errors), 1);
    const Json *pointer = json_field(json_array_at(errors, 0), "pointer");
    assert_string_equal(json_as_string(pointer), "/extra");
}

static const FakeRow transfer_row = {{
    {.text = UUID},
    {.text = "s1"},
    {.text = "refused"},
    {.text = "2pc"},
    {.text = "alice"},
    {.text = "bob"},
    {.number = 250},
    {.text = "EUR"},
    {.text = "k1"},
    {.text = "order 17"},
    {.text = "{\"a\": \"b\"}"},
    {.text = "insufficient-funds"},
    {.null = true},
    {.number = 0},
    {.null = true},
    {.null = true},
    {.number = 1769860800000000},
    {.number = 1769860800000000},
}};

static void a_transfer_is_found_on_any_shard(void **state)
{
    World *world = *state;
    world->shards->rows = &transfer_row;
    for (size_t i = 0; i < FAKE_SHARDS; i++)
    {
        memset(world->shards->shard_rows, 0, sizeof world->shards->shard_rows);
        world->shards->shard_rows[i] = 1;
        world->shards->shard_code[(i + 1) % FAKE_SHARDS] = ERROR_SHARD_UNAVAILABLE;
        get(world, "/v1/transfers/" UUID);
        expect(world, 200);
        assert_string_equal(text_field(world, "id"), UUID);
        const Json *refusal = json_field(world->json, "refusal");
        assert_string_equal(json_as_string(json_field(refusal, "code")), "insufficient-funds");
        world->shards->shard_code[(i + 1) % FAKE_SHARDS] = ERROR_NONE;
    }
    assert_int_equal(world->shards->last_statement, STATEMENT_TRANSFERS_BY_ID);
}

static void not_found_takes_an_answer_from_every_shard(void **state)
{
    World *world = *state;
    get(world, "/v1/transfers/" UUID);
    expect_problem(world, 404, "transfer-not-found");
    assert_int_equal(world->shards->calls, FAKE_SHARDS);
    world->shards->shard_code[1] = ERROR_SHARD_UNAVAILABLE;
    get(world, "/v1/transfers/" UUID);
    expect_problem(world, 503, "shard-unavailable");
    world->shards->loaded = false;
    get(world, "/v1/transfers/" UUID);
    expect_problem(world, 503, "directory-unavailable");
    get(world, "/v1/transfers/nonsense");
    expect_problem(world, 404, "transfer-not-found");
}

static void a_key_finds_one_or_none(void **state)
{
    World *world = *state;
    world->shards->rows = &transfer_row;
    for (size_t i = 0; i < FAKE_SHARDS; i++)
        world->shards->shard_rows[i] = 1;
    get(world, "/v1/transfers?debit_account=alice&idempotency_key=%22k1%22");
    expect(world, 200);
    assert_int_equal(json_array_length(json_field(world->json, "items")), 1);
    assert_int_equal(json_kind(json_field(world->json, "next_cursor")), JSON_KIND_NULL);
    assert_int_equal(world->shards->calls, 1); /* the home only */
    get(world, "/v1/transfers?debit_account=alice&idempotency_key=k2");
    expect(world, 200);
    assert_string_equal(world->body, "{\"items\":[],\"next_cursor\":null}");
}

static void a_search_by_key_needs_both_parameters(void **state)
{
    static const struct
    {
        const char *query;
        int status;
        const char *code;
    } cases[] = {
        {"", 400, "parameter-invalid"},
        {"?debit_account=alice", 400, "parameter-invalid"},
        {"?idempotency_key=k1", 400, "parameter-invalid"},
        {"?debit_account=alice&idempotency_key=k1&state=posted", 400, "parameter-invalid"},
        {"?debit_account=alice&debit_account=alice&idempotency_key=k1", 400, "parameter-invalid"},
        {"?debit_account=a%2Fb&idempotency_key=k1", 422, "account-id-invalid"},
        {"?debit_account=alice&idempotency_key=a+b", 400, "idempotency-key-invalid"},
        {"?debit_account=alice&idempotency_key=", 400, "idempotency-key-invalid"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        char target[256];
        snprintf(target, sizeof target, "/v1/transfers%s", cases[i].query);
        get(world, target);
        expect_problem(world, cases[i].status, cases[i].code);
    }
    assert_int_equal(world->shards->calls, 0);
}

/* ---- accounts -----------------------------------------------------------------------------------
 */

static FakeRow account_row(const char *outcome)
{
    return (FakeRow){{
        {.text = outcome},
        {.text = "alice"},
        {.text = "EUR"},
        {.number = -5},
        {.null = true},
        {.text = "open"},
        {.number = 7},
        {.number = 0},
        {.text = "{\"a\": \"b\"}"},
        {.number = 1769860800000000},
    }};
}

static void accounts_answer_by_the_outcome(void **state)
{
    static const struct
    {
        const char *outcome;
        int status;
        const char *code;
    } cases[] = {
        {"created", 201, NULL},
        {"exists", 200, NULL},
        {"found", 200, NULL},
        {"changed", 200, NULL},
        {"conflict", 409, "account-exists"},
        {"missing", 404, "account-not-found"},
        {"not_empty", 409, "state-conflict"},
        {"in_transit", 409, "state-conflict"},
        {"below_floor", 409, "state-conflict"},
        {"closed", 409, "state-conflict"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        FakeRow row = account_row(cases[i].outcome);
        world->shards->rows = &row;
        world->shards->row_count = 1;
        call(world, "POST /v1/accounts", JSON_TYPE, "{\"id\":\"alice\",\"currency\":\"EUR\"}");
        if (cases[i].code != NULL)
            expect_problem(world, cases[i].status, cases[i].code);
        else
            expect(world, cases[i].status);
        assert_int_equal(has_header(world, "Location: /v1/accounts/alice\r\n"),
                         cases[i].status == 201);
    }
}

static void an_account_is_shown_whole(void **state)
{
    World *world = *state;
    FakeRow row = account_row("found");
    world->shards->rows = &row;
    world->shards->row_count = 1;
    get(world, "/v1/accounts/tenant:alice%40x");
    expect(world, 200);
    assert_string_equal(world->shards->last_account, "tenant:alice@x");
    assert_int_equal(world->shards->last_statement, STATEMENT_ACCOUNT_GET);
    assert_string_equal(
        world->body,
        "{\"id\":\"alice\",\"currency\":\"EUR\",\"balance\":-5,\"floor\":null,\"status\":\"open\","
        "\"version\":7,\"in_transit\":0,"
        "\"route\":{\"keyspace\":\"\",\"partition\":42,\"shard\":\"s2\"},"
        "\"metadata\":{\"a\": \"b\"},\"created_at\":\"2026-01-31T12:00:00.000000Z\"}");
}

static void accounts_can_be_changed_with_a_reason(void **state)
{
    World *world = *state;
    FakeRow row = account_row("changed");
    world->shards->rows = &row;
    world->shards->row_count = 1;
    call(world, "PATCH /v1/accounts/alice", JSON_TYPE,
         "{\"reason\":\"asked\\nby the owner\",\"status\":\"frozen\",\"floor\":-3}");
    expect(world, 200);
    assert_int_equal(world->shards->last_statement, STATEMENT_ACCOUNT_PATCH);
    call(world, "PATCH /v1/accounts/alice", JSON_TYPE, "{\"reason\":\"why\",\"floor\":-3}");
    expect_problem(world, 400, "body-invalid");
    call(world, "PATCH /v1/accounts/alice", "", "{\"reason\":\"a good reason\",\"floor\":-3}");
    expect_problem(world, 415, "media-type");
    assert_int_equal(world->shards->calls, 1);
}

static void ids_that_are_none_are_422(void **state)
{
    static const char *const ids[] = {"a%2Fb", ".", "..", "a%20b", "%C3%A9", "a+b"};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
    {
        char target[128];
        snprintf(target, sizeof target, "/v1/accounts/%s", ids[i]);
        get(world, target);
        expect_problem(world, 422, "account-id-invalid");
        snprintf(target, sizeof target, "/v1/accounts/%s/entries", ids[i]);
        get(world, target);
        expect_problem(world, 422, "account-id-invalid");
    }
    assert_int_equal(world->shards->calls, 0);
}

static void a_shard_in_trouble_is_told(void **state)
{
    static const ErrorCode codes[] = {ERROR_SHARD_UNAVAILABLE, ERROR_PARTITION_MOVING,
                                      ERROR_SHARD_ERROR, ERROR_DIRECTORY_UNAVAILABLE,
                                      ERROR_OVERLOADED};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
    {
        world->shards->code = codes[i];
        get(world, "/v1/accounts/alice");
        expect_problem(world, 503, error_row(codes[i])->name);
        assert_string_equal(text_field(world, "detail"), "a reason");
    }
}

static FakeRow entry_row(int64_t seq)
{
    return (FakeRow){{
        {.text = "entry"},
        {.number = seq},
        {.text = UUID},
        {.number = -250},
        {.number = 1000},
        {.text = "bob"},
        {.null = true},
        {.number = 1769860800000000},
    }};
}

static void entries_come_in_pages(void **state)
{
    World *world = *state;
    FakeRow rows[] = {entry_row(3), entry_row(2)};
    world->shards->rows = rows;
    world->shards->row_count = 2;
    get(world, "/v1/accounts/alice/entries?limit=2");
    expect(world, 200);
    const Json *items = json_field(world->json, "items");
    assert_int_equal(json_array_length(items), 2);
    assert_int_equal(json_as_integer(json_field(json_array_at(items, 1), "seq")), 2);
    assert_non_null(strstr(world->body, "{\"seq\":3,\"transfer_id\":\"" UUID "\",\"amount\":-250,"
                                        "\"balance\":1000,\"counterparty\":\"bob\","
                                        "\"reference\":null,"
                                        "\"at\":\"2026-01-31T12:00:00.000000Z\"}"));
    char target[128];
    snprintf(target, sizeof target, "/v1/accounts/alice/entries?cursor=%s",
             text_field(world, "next_cursor"));
    rows[0] = entry_row(1);
    world->shards->row_count = 1;
    get(world, target);
    expect(world, 200);
    assert_int_equal(json_kind(json_field(world->json, "next_cursor")), JSON_KIND_NULL);
}

static void lists_of_entries_may_be_empty_or_of_no_account(void **state)
{
    World *world = *state;
    FakeRow none = {{{.text = "none"}}};
    FakeRow missing = {{{.text = "missing"}}};
    world->shards->rows = &none;
    world->shards->row_count = 1;
    get(world, "/v1/accounts/alice/entries");
    assert_string_equal(world->body, "{\"items\":[],\"next_cursor\":null}");
    world->shards->rows = &missing;
    get(world, "/v1/accounts/alice/entries");
    expect_problem(world, 404, "account-not-found");
    get(world, "/v1/accounts/alice/entries?limit=0");
    expect_problem(world, 400, "parameter-invalid");
    get(world, "/v1/accounts/alice/entries?cursor=x");
    expect_problem(world, 400, "cursor-invalid");
    get(world, "/v1/accounts/alice/entries?offset=1");
    expect_problem(world, 400, "parameter-invalid");
}

/* ---- the surface --------------------------------------------------------------------------------
 */

static void other_paths_are_404(void **state)
{
    static const char *const targets[] = {"/",
                                          "/v1",
                                          "/v1/",
                                          "/v1/transfer",
                                          "/v1/transfers/",
                                          "/V1/accounts",
                                          "/v1/accounts/",
                                          "/v1//transfers",
                                          "/v1/accounts/a/entries/",
                                          "/livez/x",
                                          "/problems/",
                                          "/problems/none",
                                          "/problems/config",
                                          "/v1/failpoints/x"};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(targets); i++)
    {
        get(world, targets[i]);
        expect_problem(world, 404, "route-not-found");
    }
}

static void other_methods_are_405_with_allow(void **state)
{
    static const struct
    {
        const char *start;
        const char *allow;
    } cases[] = {
        {"DELETE /v1/transfers", "Allow: POST, GET, HEAD\r\n"},
        {"GET /v1/accounts", "Allow: POST\r\n"},
        {"HEAD /v1/accounts", "Allow: POST\r\n"},
        {"POST /v1/accounts/alice", "Allow: GET, HEAD, PATCH\r\n"},
        {"OPTIONS /v1/transfers/" UUID, "Allow: GET, HEAD\r\n"},
        {"POST /livez", "Allow: GET, HEAD\r\n"},
        {"get /livez", "Allow: GET, HEAD\r\n"},
    };
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        call(world, cases[i].start, "", "");
        expect(world, 405);
        if (!has_header(world, cases[i].allow))
            fail_msg("%s", world->answer);
    }
}

static void head_is_get_without_the_body(void **state)
{
    World *world = *state;
    call(world, "HEAD /livez", "", "");
    expect(world, 200);
    assert_string_equal(world->body, "");
}

static void one_dead_shard_does_not_unready(void **state)
{
    World *world = *state;
    world->shards->usable[1] = false;
    get(world, "/readyz");
    assert_string_equal(world->body, "{\"status\":\"ready\"}");
    get(world, "/readyz?verbose");
    expect(world, 200);
    const Json *shard = json_array_at(json_field(world->json, "shards"), 1);
    assert_false(json_as_bool(json_field(shard, "usable")));
    assert_string_equal(json_as_string(json_field(shard, "trouble")), "connection refused");
    world->shards->usable[0] = false;
    world->shards->usable[2] = false;
    get(world, "/readyz");
    expect_problem(world, 503, "shard-unavailable");
    get(world, "/readyz?verbose=true");
    expect(world, 503);
    assert_string_equal(text_field(world, "status"), "shard-unavailable");
    world->shards->loaded = false;
    get(world, "/readyz?verbose=false");
    expect_problem(world, 503, "directory-unavailable");
    get(world, "/readyz?verbose=1");
    expect_problem(world, 400, "parameter-invalid");
    get(world, "/livez");
    expect(world, 200);
}

static void every_code_explains_itself(void **state)
{
    World *world = *state;
    for (int code = ERROR_NONE + 1; code < ERROR_CONFIG; code++)
    {
        char target[128];
        const char *name = error_row((ErrorCode)code)->name;
        snprintf(target, sizeof target, "/problems/%s", name);
        get(world, target);
        expect(world, 200);
        size_t meanings = json_array_length(json_field(world->json, "meanings"));
        assert_int_equal(meanings, strcmp(name, "account-not-found") == 0 ? 2 : 1);
    }
}

static void version_and_description_are_served(void **state)
{
    World *world = *state;
    get(world, "/version");
    assert_string_equal(text_field(world, "version"), GIRO_VERSION);
    get(world, "/openapi.json");
    expect(world, 200);
    assert_string_equal(text_field(world, "openapi"), "3.1.0");
    const Json *version = json_field(json_field(world->json, "info"), "version");
    assert_string_equal(json_as_string(version), GIRO_VERSION);
}

/* Every operation of the description is routed, and says which methods its path has. */
static void the_description_and_the_routes_agree(void **state)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    static const char *const fields[] = {"get", "post", "put", "patch", "delete"};
    World *world = *state;
    Error error;
    void *position = NULL;
    const char *path;
    const Json *item;
    failpoint_enable();
    get(world, "/openapi.json");
    Json *description = json_parse(world->body, strlen(world->body), &error);
    size_t paths = 0;
    while (json_field_next(json_field(description, "paths"), &position, &path, &item))
    {
        char start[256];
        char target[128];
        size_t used = 0;
        for (const char *at = path; *at != '\0'; at++)
        {
            if (*at == '{')
            {
                target[used++] = 'x';
                at = strchr(at, '}');
            }
            else
                target[used++] = *at;
        }
        target[used] = '\0';
        snprintf(start, sizeof start, "TRACE %s", target);
        call(world, start, "", "");
        if (world->status != 405)
            fail_msg("%s: %s", path, world->answer);
        const char *allow = strstr(world->answer, "Allow: ");
        assert_non_null(allow);
        for (size_t i = 0; i < ARRAY_LENGTH(methods); i++)
        {
            char line[128];
            snprintf(line, sizeof line, "%.*s", (int)strcspn(allow, "\r"), allow);
            bool allowed = strstr(line, methods[i]) != NULL;
            if (allowed != (json_field(item, fields[i]) != NULL))
                fail_msg("%s %s: %s", methods[i], path, line);
        }
        paths++;
    }
    json_free(description);
    assert_int_equal(paths, 11);
}

static void failpoints_are_armed_and_cleared(void **state)
{
    static const char name[] = "/v1/failpoints/2pc.decide.home.sent";
    char start[128];
    World *world = *state;
    failpoint_enable();
    get(world, name);
    expect(world, 200);
    assert_int_equal(json_kind(json_field(world->json, "action")), JSON_KIND_NULL);
    snprintf(start, sizeof start, "PUT %s", name);
    call(world, start, JSON_TYPE, "{\"action\":\"pause\",\"ms\":50,\"count\":2}");
    expect(world, 200);
    get(world, name);
    assert_string_equal(world->body, "{\"name\":\"2pc.decide.home.sent\",\"action\":\"pause\","
                                     "\"count\":2,\"ms\":50}");
    call(world, start, JSON_TYPE, "{\"action\":\"nothing\"}");
    expect_problem(world, 400, "body-invalid");
    snprintf(start, sizeof start, "DELETE %s", name);
    call(world, start, "", "");
    expect(world, 204);
    assert_string_equal(world->body, "");
    get(world, name);
    assert_int_equal(json_kind(json_field(world->json, "action")), JSON_KIND_NULL);
    get(world, "/v1/failpoints/2pc.nowhere.home.sent");
    expect_problem(world, 404, "route-not-found");
}

static void only_loopback_is_served_without_tokens(void **state)
{
    static const char *const hosts[] = {"0.0.0.0", "::", "192.0.2.1", "localhost", ""};
    World *world = *state;
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++)
    {
        Error error;
        ApiOptions options = {.loop = world->loop, .address = {hosts[i], 0}};
        assert_null(api_new(&options, &error));
        assert_int_equal(error.code, ERROR_CONFIG);
    }
}

static void set_true(void *context)
{
    *(bool *)context = true;
}

static void drains(void **state)
{
    World *world = *state;
    bool drained = false;
    api_drain(world->api, set_true, &drained);
    assert_false(drained);
    assert_true(loop_run_until(world->loop, &drained, PATIENCE_MS));
}

#define API_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        API_TEST(a_posted_transfer_is_201_with_its_location),
        API_TEST(what_is_asked_for_reaches_the_batcher),
        API_TEST(a_replay_is_200_and_says_so),
        API_TEST(a_pending_transfer_is_202),
        API_TEST(a_final_failure_is_422_and_names_the_transfer),
        API_TEST(a_reused_key_names_the_fields_that_differ),
        API_TEST(what_was_not_accepted_is_told_with_its_code),
        API_TEST(a_doubt_is_503_with_the_id),
        API_TEST(a_wrong_request_consumes_no_key),
        API_TEST(a_fault_points_at_its_field),
        API_TEST(a_transfer_is_found_on_any_shard),
        API_TEST(not_found_takes_an_answer_from_every_shard),
        API_TEST(a_key_finds_one_or_none),
        API_TEST(a_search_by_key_needs_both_parameters),
        API_TEST(accounts_answer_by_the_outcome),
        API_TEST(an_account_is_shown_whole),
        API_TEST(accounts_can_be_changed_with_a_reason),
        API_TEST(ids_that_are_none_are_422),
        API_TEST(a_shard_in_trouble_is_told),
        API_TEST(entries_come_in_pages),
        API_TEST(lists_of_entries_may_be_empty_or_of_no_account),
        API_TEST(other_paths_are_404),
        API_TEST(other_methods_are_405_with_allow),
        API_TEST(head_is_get_without_the_body),
        API_TEST(one_dead_shard_does_not_unready),
        API_TEST(every_code_explains_itself),
        API_TEST(version_and_description_are_served),
        API_TEST(the_description_and_the_routes_agree),
        API_TEST(failpoints_are_armed_and_cleared),
        API_TEST(only_loopback_is_served_without_tokens),
        API_TEST(drains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
