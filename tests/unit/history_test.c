/*
 * What is known of a shard's past, and what a server that says something else of itself is. How
 * sessions act upon it: session_test.c, shard_test.c.
 */
#include "shard/history.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const Incarnation first = {"7000000000000000001", 1, "00000001"};

static void note(History *history, uint8_t number)
{
    const uint8_t batch[MARK_LENGTH] = {number};
    history_note(history, batch);
}

static void list(History *history, uint8_t number)
{
    const uint8_t batch[MARK_LENGTH] = {number};
    history_list(history, batch);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void the_newest_marks_are_kept(void **state)
{
    History history = {0};
    uint8_t marks[HISTORY_MARKS_MAX][MARK_LENGTH];
    bool seen[256] = {false};
    (void)state;
    history_expect(&history, &first);
    assert_int_equal(history_marks(&history, marks), 0);
    for (int i = 1; i <= 40; i++)
        note(&history, (uint8_t)i);
    assert_int_equal(history_marks(&history, marks), HISTORY_NOTED_MAX);
    for (int i = 0; i < HISTORY_NOTED_MAX; i++)
        seen[marks[i][0]] = true;
    for (int i = 1; i <= 40; i++)
        assert_int_equal(seen[i], i > 40 - HISTORY_NOTED_MAX);
}

static void what_the_directory_lists_is_bounded_and_replaced(void **state)
{
    History history = {0};
    uint8_t marks[HISTORY_MARKS_MAX][MARK_LENGTH];
    (void)state;
    history_expect(&history, &first);
    note(&history, 100);
    for (int i = 0; i < HISTORY_LISTED_MAX + 5; i++)
        list(&history, (uint8_t)i);
    assert_int_equal(history_marks(&history, marks), 1 + HISTORY_LISTED_MAX);
    history_forget_listed(&history);
    list(&history, 7);
    assert_int_equal(history_marks(&history, marks), 2);
    assert_int_equal(marks[0][0], 100);
    assert_int_equal(marks[1][0], 7);
}

static void the_newest_are_taken_until_they_are_written(void **state)
{
    History history = {0};
    uint8_t marks[HISTORY_TAKEN_MAX][MARK_LENGTH];
    (void)state;
    history_expect(&history, &first);
    assert_int_equal(history_take(&history, marks), 0);
    for (int i = 1; i <= 20; i++)
        note(&history, (uint8_t)i);
    assert_int_equal(history_take(&history, marks), HISTORY_TAKEN_MAX);
    for (int i = 0; i < HISTORY_TAKEN_MAX; i++)
        assert_int_equal(marks[i][0], 20 - HISTORY_TAKEN_MAX + 1 + i);
    assert_int_equal(history_take(&history, marks), HISTORY_TAKEN_MAX);
    note(&history, 21); /* after the taking: not written with it */
    history_written(&history);
    assert_int_equal(history_take(&history, marks), 1);
    assert_int_equal(marks[0][0], 21);
    history_written(&history);
    assert_int_equal(history_take(&history, marks), 0);
}

static void another_incarnation_starts_without_marks(void **state)
{
    History history = {0};
    Incarnation second = {"7000000000000000001", 2, "00000001"};
    uint8_t marks[HISTORY_MARKS_MAX][MARK_LENGTH];
    (void)state;
    assert_false(history_expect(&history, &first));
    note(&history, 1);
    list(&history, 2);
    assert_false(history_expect(&history, &first));
    assert_int_equal(history_marks(&history, marks), 2);
    assert_true(history_expect(&history, &second));
    assert_int_equal(history_marks(&history, marks), 0);
    assert_int_equal(history_take(&history, marks), 0);
}

/* ---- judging --------------------------------------------------------------------------------- */

static void expect_verdict(const HistoryReport *report, HistoryVerdict verdict, const char *why)
{
    static const Incarnation expected = {"7000000000000000001", 5, "00000002"};
    char text[256] = "";
    assert_int_equal(history_judge(&expected, report, text, sizeof text), verdict);
    assert_string_equal(text, why);
}

static void what_is_as_expected_is_intact(void **state)
{
    (void)state;
    expect_verdict(&(HistoryReport){{"7000000000000000001", 5, "00000002"}, NULL, 9, 0},
                   HISTORY_INTACT, "");
}

static void losses_are_told_apart(void **state)
{
    (void)state;
    expect_verdict(&(HistoryReport){{"7000000000000000001", 5, "00000002"}, NULL, 9, 4},
                   HISTORY_LOST,
                   "4 of 9 batches that it has acknowledged are missing: it is an older copy, or a "
                   "failover has lost them");
    expect_verdict(&(HistoryReport){{"7000000000000000001", 5, "00000003"}, NULL, 9, 0},
                   HISTORY_LOST,
                   "its timeline is 00000003, not 00000002: it was promoted, or restored");
    expect_verdict(&(HistoryReport){{"7000000000000000001", 4, "00000002"}, NULL, 9, 0},
                   HISTORY_LOST, "its epoch is 4, not 5: another server has taken its place");
}

static void what_is_to_be_left_alone_is_told_apart(void **state)
{
    (void)state;
    expect_verdict(&(HistoryReport){{"7000000000000000001", 6, "00000003"}, NULL, 9, 9},
                   HISTORY_OTHER, "its epoch is 6, and the directory knows only 5");
    expect_verdict(&(HistoryReport){{"8", 5, "00000002"}, "lost", 9, 9}, HISTORY_OTHER,
                   "another server answers: its system identifier is 8, not 7000000000000000001");
    expect_verdict(&(HistoryReport){{"7000000000000000001", 4, "00000003"}, "lost", 9, 9},
                   HISTORY_FENCED, "lost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_marks_are_kept),
        cmocka_unit_test(what_the_directory_lists_is_bounded_and_replaced),
        cmocka_unit_test(the_newest_are_taken_until_they_are_written),
        cmocka_unit_test(another_incarnation_starts_without_marks),
        cmocka_unit_test(what_is_as_expected_is_intact),
        cmocka_unit_test(losses_are_told_apart),
        cmocka_unit_test(what_is_to_be_left_alone_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
