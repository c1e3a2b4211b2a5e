/*
 * What answers of a shard mean. The cases are those that PostgreSQL 15 was seen to give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/answer.h"

static PgAnswer tagged(const char *tag, bool warned)
{
    PgAnswer answer = {.kind = PG_DONE, .warned = warned};
    snprintf(answer.tag, sizeof answer.tag, "%s", tag);
    return answer;
}

static PgAnswer failed(const char *sqlstate)
{
    PgAnswer answer = {.kind = PG_ERROR};
    snprintf(answer.sqlstate, sizeof answer.sqlstate, "%s", sqlstate);
    return answer;
}

static AnswerClass ending(PgAnswer answer, const char *tag)
{
    return answer_of_ending(&answer, tag);
}

static void only_the_exact_tag_is_done(void **state)
{
    (void)state;
    assert_int_equal(ending(tagged("COMMIT", false), "COMMIT"), ANSWER_DONE);
    assert_int_equal(ending(tagged("PREPARE TRANSACTION", false), "PREPARE TRANSACTION"),
                     ANSWER_DONE);
    assert_int_equal(ending(tagged("COMMIT PREPARED", false), "COMMIT"), ANSWER_UNKNOWN);
    assert_int_equal(ending(tagged("COMMIT", false), "COMMIT PREPARED"), ANSWER_UNKNOWN);
}

static void the_tag_rollback_without_an_error_is_not_done(void **state)
{
    (void)state;
    assert_int_equal(ending(tagged("ROLLBACK", false), "COMMIT"), ANSWER_NOT_DONE);
    assert_int_equal(ending(tagged("ROLLBACK", false), "PREPARE TRANSACTION"), ANSWER_NOT_DONE);
}

/* A verdict that stands alone commits at its Sync, and may have to wait for a standby. */
static void a_call_with_a_warning_is_unknown(void **state)
{
    PgAnswer warned = {.kind = PG_DONE, .tag = "SELECT 1", .warned = true};
    (void)state;
    assert_int_equal(answer_of_call(&warned), ANSWER_UNKNOWN);
    warned.warned = false;
    assert_int_equal(answer_of_call(&warned), ANSWER_DONE);
}

static void a_warning_with_the_right_tag_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(ending(tagged("COMMIT", true), "COMMIT"), ANSWER_UNKNOWN);
    assert_int_equal(ending(tagged("COMMIT PREPARED", true), "COMMIT PREPARED"), ANSWER_UNKNOWN);
}

static void a_session_that_ends_at_the_commit_leaves_it_unknown(void **state)
{
    static const char *const sqlstates[] = {"57P01", "57P02", "08006", "58030", "XX000", ""};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(sqlstates); i++)
        assert_int_equal(ending(failed(sqlstates[i]), "COMMIT"), ANSWER_UNKNOWN);
}

static void other_errors_are_definite(void **state)
{
    static const char *const sqlstates[] = {"23505", "40001", "53200", "0A000", "42501", "GR002"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(sqlstates); i++)
        assert_int_equal(ending(failed(sqlstates[i]), "COMMIT"), ANSWER_NOT_DONE);
    PgAnswer skipped = {.kind = PG_SKIPPED};
    assert_int_equal(answer_of_ending(&skipped, "COMMIT"), ANSWER_NOT_DONE);
    assert_int_equal(answer_of_call(&skipped), ANSWER_NOT_DONE);
}

static void no_answer_is_unknown(void **state)
{
    PgAnswer lost = {.kind = PG_LOST};
    (void)state;
    assert_int_equal(answer_of_ending(&lost, "COMMIT"), ANSWER_UNKNOWN);
    assert_int_equal(answer_of_call(&lost), ANSWER_UNKNOWN);
}

static void locks_and_deadlocks_are_contention(void **state)
{
    (void)state;
    assert_true(answer_is_contention("55P03"));
    assert_true(answer_is_contention("40P01"));
    assert_false(answer_is_contention("23514"));
    assert_false(answer_is_contention(""));
}

static void a_lost_or_read_only_server_is_an_outage(void **state)
{
    (void)state;
    assert_true(answer_is_outage(""));
    assert_true(answer_is_outage("57P03"));
    assert_true(answer_is_outage("25006"));
    assert_true(answer_is_outage("GR004"));
    assert_false(answer_is_outage("P0001"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_exact_tag_is_done),
        cmocka_unit_test(the_tag_rollback_without_an_error_is_not_done),
        cmocka_unit_test(a_call_with_a_warning_is_unknown),
        cmocka_unit_test(a_warning_with_the_right_tag_is_unknown),
        cmocka_unit_test(a_session_that_ends_at_the_commit_leaves_it_unknown),
        cmocka_unit_test(other_errors_are_definite),
        cmocka_unit_test(no_answer_is_unknown),
        cmocka_unit_test(locks_and_deadlocks_are_contention),
        cmocka_unit_test(a_lost_or_read_only_server_is_an_outage),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
