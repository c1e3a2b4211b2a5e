/*
 * Calls against a scripted shard: this file stands in for the directory, the shards and their
 * sessions. Each attempt takes the next line of the script.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shard/call.h"

#include <stdio.h>
#include <string.h>

enum
{
    DEADLINE_MS = 400,
    LONG_DEADLINE_MS = 1500, /* longer than an unusable shard is waited for */
    PATIENCE_MS = 5000,
    SCRIPT_MAX = 8,
};

/* What the next attempt meets. */
typedef struct Line
{
    bool refused; /* no session is granted */
    PgKind kind;
    const char *sqlstate;
    const char *outcome; /* first column of the only row; NULL: no row */
    uint64_t takes_ms;   /* until the answer; beyond the deadline it is lost */
    bool warned;
} Line;

struct Shard
{
    const char *name;
    const char *excuse;
};

struct Session
{
    bool held;
};

struct PgRows
{
    const char *outcome;
};

/* Everything that the stand-ins know; one test runs at a time. */
static struct
{
    Loop *loop;
    Caller *caller;
    Shard shard;
    Session session;
    bool loaded;
    Statement statement;     /* that is called */
    char sent[256];          /* names of the statements, each with a blank */
    Line script[SCRIPT_MAX]; /* the last line is repeated */
    size_t line_count;
    size_t attempts;
    size_t refreshes;
    size_t suspected;
    size_t fills;
    uint64_t deadline_ms;
    uint64_t pauses_ms; /* before a session is refused */
    LoopTimer *timer;
    ShardWaiter *waiter;
    SessionPurpose purpose; /* of what is acquired */
    PgGroupDone answered;
    bool overdue;
    void *answered_context;
    DirectoryRefreshed refreshed;
    void *refreshed_context;
    bool done;
    CallResult result;
    char outcome[32];
    char detail[256];
    size_t ended; /* of several calls */
    size_t overloaded;
} world;

static const Line *current_line(void)
{
    size_t last = world.line_count - 1;
    return &world.script[world.attempts < last ? world.attempts : last];
}

/* ---- stand-ins ------------------------------------------------------------------------------ */

bool directory_locate(const Directory *directory, const char *account_id, Location *ret_location)
{
    (void)directory;
    (void)account_id;
    if (!world.loaded)
        return false;
    *ret_location = (Location){.shard = &world.shard, .partition = 7, .epoch = 3, .keyspace = ""};
    ret_location->route.length = 8;
    return true;
}

void directory_refresh(Directory *directory, uint64_t deadline_ms, DirectoryRefreshed done,
                       void *context)
{
    (void)directory;
    (void)deadline_ms;
    world.refreshes++;
    world.refreshed = done;
    world.refreshed_context = context;
    loop_timer_start(world.timer, 0);
}

const char *shard_name(const Shard *shard)
{
    return shard->name;
}

bool shard_is_usable(const Shard *shard)
{
    (void)shard;
    return !current_line()->refused;
}

void shard_suspect(Shard *shard, const char *why)
{
    (void)shard;
    (void)why;
    world.suspected++;
}

void shard_acquire(Shard *shard, ShardWaiter *waiter, SessionPurpose purpose, uint64_t deadline_ms)
{
    assert_ptr_equal(shard, &world.shard);
    world.purpose = purpose;
    assert_true(deadline_ms > 0 && deadline_ms <= 2 * world.deadline_ms);
    world.waiter = waiter;
    loop_timer_start(world.timer, current_line()->refused ? world.pauses_ms : 0);
}

void session_release(Session *session)
{
    assert_true(session->held);
    session->held = false;
}

void session_begin(Session *session)
{
    assert_true(session->held);
}

void session_add(Session *session, Statement statement, const PgParams *params)
{
    assert_true(session->held && params != NULL);
    size_t used = strlen(world.sent);
    bool ending = statement == STATEMENT_END_SESSION;
    assert_true(ending || statement == world.statement);
    assert_int_equal(world.purpose, ending ? SESSION_SETTLE : SESSION_TRAFFIC);
    snprintf(world.sent + used, sizeof world.sent - used, "%s ", statement_row(statement)->name);
}

int session_backend_pid(const Session *session)
{
    assert_true(session->held);
    return 4711;
}

int64_t session_backend_start_us(const Session *session)
{
    assert_true(session->held);
    return 1;
}

void session_send(Session *session, uint64_t deadline_ms, PgGroupDone done, void *context)
{
    bool is_write = statement_row(world.statement)->kind == STATEMENT_IS_CALL;
    bool is_ending = world.purpose == SESSION_SETTLE;
    uint64_t percent = is_ending ? 200 : is_write ? 70 : 100; /* a write leaves time for its end */
    assert_true(session->held && deadline_ms <= world.deadline_ms * percent / 100);
    world.answered = done;
    world.answered_context = context;
    uint64_t takes_ms = current_line()->takes_ms;
    world.overdue = takes_ms > deadline_ms;
    loop_timer_start(world.timer, world.overdue ? deadline_ms : takes_ms);
}

const char *shard_excuse(const Shard *shard)
{
    return shard->excuse;
}

size_t pg_row_count(const PgRows *rows)
{
    return rows != NULL && rows->outcome != NULL ? 1 : 0;
}

const char *pg_text(const PgRows *rows, size_t row, size_t column)
{
    assert_true(row == 0 && column == 0);
    return rows->outcome;
}

bool pg_bool(const PgRows *rows, size_t row, size_t column)
{
    assert_true(row == 0 && column == 0);
    return strcmp(rows->outcome, "gone") == 0;
}

/* ---- the script runs ------------------------------------------------------------------------ */

static void grant(void)
{
    ShardWaiter *waiter = world.waiter;
    bool refused = current_line()->refused;
    world.waiter = NULL;
    if (refused)
        world.attempts++;
    else
        world.session.held = true;
    waiter->granted(waiter, refused ? NULL : &world.session);
}

static void answer(void)
{
    const Line *line = current_line();
    PgRows rows = {line->outcome};
    PgAnswer answers[1] = {
        {.kind = line->kind, .warned = line->warned, .rows = line->kind == PG_DONE ? &rows : NULL}};
    PgGroupDone answered = world.answered;
    if (world.overdue)
        answers[0].kind = PG_LOST;
    else if (line->sqlstate != NULL)
        snprintf(answers[0].sqlstate, sizeof answers[0].sqlstate, "%s", line->sqlstate);
    world.answered = NULL;
    world.attempts++;
    answered(world.answered_context, answers, 1, PG_TRANSACTION_IDLE);
    assert_false(world.session.held);
}

static void on_timer(void *context)
{
    (void)context;
    if (world.waiter != NULL)
        grant();
    else if (world.answered != NULL)
        answer();
    else if (world.refreshed != NULL)
    {
        DirectoryRefreshed refreshed = world.refreshed;
        world.refreshed = NULL;
        refreshed(world.refreshed_context, true);
    }
}

static void use_deadline(uint64_t deadline_ms)
{
    CallerOptions options = {.calls_max = 2, .deadline_ms = deadline_ms, .parameter_bytes = 1024};
    caller_free(world.caller);
    world.deadline_ms = deadline_ms;
    world.caller = caller_new(world.loop, NULL, &options);
}

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.loop = loop_new();
    world.timer = loop_timer_new(world.loop, on_timer, NULL);
    world.shard.name = "s1";
    world.shard.excuse = "does not answer";
    world.loaded = true;
    world.statement = STATEMENT_ACCOUNT_GET;
    use_deadline(DEADLINE_MS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    caller_free(world.caller);
    loop_timer_free(world.timer);
    loop_free(world.loop);
    return 0;
}

static void fill(void *context, PgParams *params)
{
    assert_ptr_equal(context, &world);
    world.fills++;
    pg_params_int4(params, 1);
}

static void on_done(void *context, const CallResult *result)
{
    assert_ptr_equal(context, &world);
    assert_false(world.done);
    world.done = true;
    world.result = *result;
    snprintf(world.detail, sizeof world.detail, "%s", result->detail);
    if (result->code == ERROR_NONE && result->rows != NULL && result->rows->outcome != NULL)
        snprintf(world.outcome, sizeof world.outcome, "%s", result->rows->outcome);
}

static void run(bool routed, const Line *lines, size_t count)
{
    Call call = {world.statement, fill, on_done, &world};
    memcpy(world.script, lines, count * sizeof *lines);
    world.line_count = count;
    if (routed)
        call_account(world.caller, "alice", &call);
    else
        call_shard(world.caller, &world.shard, &call);
    assert_false(world.done); /* never from inside */
    assert_true(loop_run_until(world.loop, &world.done, PATIENCE_MS));
    bool never = false;
    for (int i = 0; i < PATIENCE_MS / 10 && caller_count(world.caller) > 0; i++)
        assert_false(loop_run_until(world.loop, &never, 10));
    assert_int_equal(caller_count(world.caller), 0);
}

static void expect(ErrorCode code, size_t attempts)
{
    if (world.result.code != code)
        fail_msg("%s", error_row(world.result.code)->name);
    assert_int_equal(world.attempts, attempts);
}

static const Line found = {.kind = PG_DONE, .outcome = "found"};
static const Line stale = {.kind = PG_DONE, .outcome = "stale_route"};
static const Line moving = {.kind = PG_DONE, .outcome = "partition_moving"};
static const Line lost = {.kind = PG_LOST};
static const Line refused = {.refused = true};
static const Line changed = {.kind = PG_DONE, .outcome = "changed"};
static const Line told = {.kind = PG_DONE, .outcome = "told"}; /* to go, but not gone yet */
static const Line gone = {.kind = PG_DONE, .outcome = "gone"};

static void run_write(const Line *lines, size_t count)
{
    world.statement = STATEMENT_ACCOUNT_PATCH;
    run(true, lines, count);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void hands_on_the_rows(void **state)
{
    (void)state;
    run(true, (Line[]){found}, 1);
    expect(ERROR_NONE, 1);
    assert_string_equal(world.outcome, "found");
    assert_non_null(world.result.location);
    assert_int_equal(world.fills, 1);
}

static void no_rows_are_rows_too(void **state)
{
    (void)state;
    run(false, (Line[]){{.kind = PG_DONE}}, 1);
    expect(ERROR_NONE, 1);
    assert_null(world.result.location);
}

static void a_stale_route_leads_to_a_fresh_look_at_the_directory(void **state)
{
    (void)state;
    run(true, (Line[]){stale, moving, found}, 3);
    expect(ERROR_NONE, 3);
    assert_int_equal(world.refreshes, 2);
    assert_int_equal(world.fills, 3);
}

static void the_fence_says_nothing_about_a_given_shard(void **state)
{
    (void)state;
    run(false, (Line[]){stale}, 1);
    expect(ERROR_NONE, 1);
    assert_int_equal(world.refreshes, 0);
}

static void a_partition_that_keeps_moving_ends_at_the_deadline(void **state)
{
    (void)state;
    run(true, (Line[]){moving}, 1);
    assert_int_equal(world.result.code, ERROR_PARTITION_MOVING);
    assert_in_range(world.attempts, 3, 12); /* with pauses, no tight loop */
}

static void a_lost_connection_is_tried_again(void **state)
{
    (void)state;
    run(true, (Line[]){lost, {.kind = PG_SKIPPED}, found}, 3);
    expect(ERROR_NONE, 3);
}

static void passing_errors_are_tried_again(void **state)
{
    static const char *const sqlstates[] = {"55P03", "40001", "40P01", "57P01", "57P03",
                                            "57014", "08006", "25006", "GR004"};
    for (size_t i = 0; i < ARRAY_LENGTH(sqlstates); i++)
    {
        run(true, (Line[]){{.kind = PG_ERROR, .sqlstate = sqlstates[i]}, found}, 2);
        expect(ERROR_NONE, 2);
        tear_down(state);
        set_up(state);
    }
}

/* The deadline never cuts a wait for a lock: that would make the shard suspect. */
static void a_row_that_stays_locked_is_busy_as_soon_as_no_time_is_left_to_wait(void **state)
{
    (void)state;
    use_deadline(LONG_DEADLINE_MS);
    run(true, (Line[]){{.kind = PG_ERROR, .sqlstate = "55P03", .takes_ms = 400}}, 1);
    expect(ERROR_ACCOUNT_BUSY, 3);
    assert_int_equal(world.suspected, 0);
}

static void other_errors_end_the_call(void **state)
{
    static const char *const sqlstates[] = {"42501", "42883", "XX000", "GR001", "53200"};
    for (size_t i = 0; i < ARRAY_LENGTH(sqlstates); i++)
    {
        run(true, (Line[]){{.kind = PG_ERROR, .sqlstate = sqlstates[i]}}, 1);
        expect(ERROR_SHARD_ERROR, 1);
        tear_down(state);
        set_up(state);
    }
}

static void a_shard_without_sessions_is_waited_for_a_moment_only_and_excused(void **state)
{
    (void)state;
    use_deadline(LONG_DEADLINE_MS);
    world.shard.excuse = "fenced: it is an older copy";
    uint64_t began_ms = loop_now_ms(world.loop);
    run(true, (Line[]){refused}, 1);
    assert_int_equal(world.result.code, ERROR_SHARD_UNAVAILABLE);
    assert_string_equal(world.detail, "shard s1: fenced: it is an older copy");
    assert_true(loop_now_ms(world.loop) - began_ms < LONG_DEADLINE_MS);
}

static void a_shard_that_comes_back_at_once_is_used(void **state)
{
    (void)state;
    run(true, (Line[]){refused, refused, found}, 3);
    expect(ERROR_NONE, 3);
}

static void without_routing_there_is_no_call(void **state)
{
    (void)state;
    world.loaded = false;
    run(true, (Line[]){found}, 1);
    expect(ERROR_DIRECTORY_UNAVAILABLE, 0);
}

static void a_lost_write_is_sent_again_only_when_its_backend_is_gone(void **state)
{
    (void)state;
    run_write((Line[]){lost, told, told, gone, changed}, 5);
    expect(ERROR_NONE, 5);
    assert_string_equal(world.sent,
                        "account_patch end_session end_session end_session account_patch ");
}

/* The time that an attempt took in vain says nothing of how long the ending takes. */
static void a_write_that_is_overdue_has_its_backend_ended_before_the_answer(void **state)
{
    Line overdue = {.kind = PG_LOST, .takes_ms = 10 * LONG_DEADLINE_MS};
    (void)state;
    use_deadline(LONG_DEADLINE_MS);
    run_write((Line[]){overdue, overdue, gone, changed}, 4);
    expect(ERROR_NONE, 4);
    assert_string_equal(world.sent, "account_patch end_session end_session account_patch ");
}

static void a_lost_write_whose_backend_stays_is_unknown(void **state)
{
    (void)state;
    run_write((Line[]){lost, told}, 2);
    assert_int_equal(world.result.code, ERROR_OUTCOME_UNKNOWN);
    assert_int_equal(strncmp(world.sent, "account_patch end_session end_session ", 38), 0);
    assert_null(strstr(world.sent + 1, "account_patch"));
}

static void the_ending_of_a_backend_outlasts_the_answer(void **state)
{
    (void)state;
    world.pauses_ms = DEADLINE_MS / 4; /* of what is waited for in vain */
    run_write((Line[]){lost, refused, refused, refused, refused, gone}, 6);
    expect(ERROR_OUTCOME_UNKNOWN, 6);
    assert_string_equal(world.sent, "account_patch end_session ");
}

static void whatever_fails_after_a_lost_write_is_unknown(void **state)
{
    const Line failures[] = {refused,
                             moving,
                             lost,
                             {.kind = PG_SKIPPED},
                             {.kind = PG_ERROR, .sqlstate = "55P03"},
                             {.kind = PG_ERROR, .sqlstate = "42501"}};
    for (size_t i = 0; i < ARRAY_LENGTH(failures); i++)
    {
        run_write((Line[]){lost, gone, failures[i]}, 3);
        assert_int_equal(world.result.code, ERROR_OUTCOME_UNKNOWN);
        tear_down(state);
        set_up(state);
    }
}

static void a_write_that_was_never_executed_is_not_unknown(void **state)
{
    static const struct
    {
        Line line;
        ErrorCode code;
    } cases[] = {
        {{.refused = true}, ERROR_SHARD_UNAVAILABLE},
        {{.kind = PG_SKIPPED}, ERROR_SHARD_UNAVAILABLE},
        {{.kind = PG_ERROR, .sqlstate = "57014"}, ERROR_SHARD_UNAVAILABLE},
        {{.kind = PG_ERROR, .sqlstate = "55P03"}, ERROR_ACCOUNT_BUSY},
        {{.kind = PG_ERROR, .sqlstate = "42501"}, ERROR_SHARD_ERROR},
        {{.kind = PG_DONE, .outcome = "partition_moving"}, ERROR_PARTITION_MOVING},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        run_write(&cases[i].line, 1);
        assert_int_equal(world.result.code, cases[i].code);
        assert_null(strstr(world.sent, "end_session"));
        tear_down(state);
        set_up(state);
    }
}

static void a_write_that_no_standby_confirmed_is_repeated(void **state)
{
    const Line unconfirmed = {.kind = PG_DONE, .outcome = "changed", .warned = true};
    run_write((Line[]){unconfirmed, changed}, 2);
    expect(ERROR_NONE, 2);
    assert_string_equal(world.sent, "account_patch account_patch ");
    tear_down(state);
    set_up(state);
    run_write(&unconfirmed, 1);
    assert_int_equal(world.result.code, ERROR_OUTCOME_UNKNOWN);
}

static void count_done(void *context, const CallResult *result)
{
    (void)context;
    world.overloaded += result->code == ERROR_OVERLOADED ? 1 : 0;
    world.done = ++world.ended == 5;
}

static void the_number_of_calls_is_bounded(void **state)
{
    (void)state;
    Call call = {STATEMENT_ACCOUNT_GET, fill, count_done, &world};
    world.loaded = false; /* so that the first two end in the next turn */
    for (int i = 0; i < 5; i++)
        call_account(world.caller, "alice", &call);
    assert_int_equal(world.ended, 0);
    assert_true(loop_run_until(world.loop, &world.done, PATIENCE_MS));
    assert_int_equal(world.overloaded, 3);
}

#define CALL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    route_library_init();
    const struct CMUnitTest tests[] = {
        CALL_TEST(hands_on_the_rows),
        CALL_TEST(no_rows_are_rows_too),
        CALL_TEST(a_stale_route_leads_to_a_fresh_look_at_the_directory),
        CALL_TEST(the_fence_says_nothing_about_a_given_shard),
        CALL_TEST(a_partition_that_keeps_moving_ends_at_the_deadline),
        CALL_TEST(a_lost_connection_is_tried_again),
        CALL_TEST(passing_errors_are_tried_again),
        CALL_TEST(a_row_that_stays_locked_is_busy_as_soon_as_no_time_is_left_to_wait),
        CALL_TEST(other_errors_end_the_call),
        CALL_TEST(a_shard_without_sessions_is_waited_for_a_moment_only_and_excused),
        CALL_TEST(a_shard_that_comes_back_at_once_is_used),
        CALL_TEST(a_lost_write_is_sent_again_only_when_its_backend_is_gone),
        CALL_TEST(a_write_that_is_overdue_has_its_backend_ended_before_the_answer),
        CALL_TEST(a_lost_write_whose_backend_stays_is_unknown),
        CALL_TEST(the_ending_of_a_backend_outlasts_the_answer),
        CALL_TEST(whatever_fails_after_a_lost_write_is_unknown),
        CALL_TEST(a_write_that_was_never_executed_is_not_unknown),
        CALL_TEST(a_write_that_no_standby_confirmed_is_repeated),
        CALL_TEST(without_routing_there_is_no_call),
        CALL_TEST(the_number_of_calls_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
