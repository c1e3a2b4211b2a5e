/*
 * The checker finds nothing in a history that is right, and each kind of violation in one that is
 * wrong in just that: a checker that cannot fail proves nothing.
 *
 * Every case starts from the same three orders: one posted after an unknown answer, one refused,
 * one saga that was pending and then reversed.
 */
#include "check.h"
#include "checker.h"

#include "shard/route.h"

#include <stdlib.h>
#include <string.h>

enum
{
    POSTED,
    REFUSED,
    REVERSED,
    ORDERS,
    REPLAY_US = 1000000,
};

typedef struct Case
{
    History *history;
    BooksTransfer before[ORDERS + 1];
    BooksTransfer after[ORDERS + 1];
    Reading readings[2];
    AccountFact accounts[2];
    SnapshotCounts snapshots[1];
    Evidence evidence;
} Case;

/* ---- what is right --------------------------------------------------------------------------- */

static Answer *answer(Case *c, size_t order, int64_t sent_us, Answer what)
{
    Order *of = history_order(c->history, order);
    what.has_id = true;
    memcpy(what.id, of->id, sizeof(what.id));
    size_t number = history_sent(of, what.verb, 1, sent_us);
    history_answered(of, number, &what, sent_us + 10);
    return &of->answers[number];
}

static Answer posted(int status)
{
    return (Answer){.verdict = VERDICT_POSTED, .status = status};
}

static Answer failed(Verdict verdict, const char *code)
{
    Answer made = {.verdict = verdict, .status = 422};
    snprintf(made.code, sizeof(made.code), "%s", code);
    return made;
}

static void ask(Case *c)
{
    const Order content = {.debit = "a", .credit = "b", .amount = 5};
    for (size_t i = 0; i < ORDERS; i++)
        history_add(c->history, &content);
    answer(c, POSTED, 100, (Answer){.verdict = VERDICT_MAYBE});
    answer(c, POSTED, 200, posted(201));
    answer(c, POSTED, REPLAY_US, posted(200));
    answer(c, REFUSED, 100, failed(VERDICT_REFUSED, "insufficient-funds"));
    answer(c, REFUSED, REPLAY_US, failed(VERDICT_REFUSED, "insufficient-funds"));
    answer(c, REVERSED, 100, (Answer){.verdict = VERDICT_PENDING, .status = 202});
    answer(c, REVERSED, REPLAY_US, failed(VERDICT_REVERSED, "cancelled"));
}

static int compare_transfers(const void *a, const void *b)
{
    return strcmp(((const BooksTransfer *)a)->id, ((const BooksTransfer *)b)->id);
}

static void record(Case *c, size_t order, const char *state, BooksTransfer legs)
{
    BooksTransfer *is = &c->after[order];
    *is = legs;
    is->homes = 1;
    is->amount = 5;
    uuid_format(history_order(c->history, order)->id, is->id);
    snprintf(is->state, sizeof(is->state), "%s", state);
    snprintf(is->debit_account, sizeof(is->debit_account), "a");
    snprintf(is->credit_account, sizeof(is->credit_account), "b");
}

static void sort(Case *c)
{
    qsort(c->before, c->evidence.before_count, sizeof(c->before[0]), compare_transfers);
    qsort(c->after, c->evidence.after_count, sizeof(c->after[0]), compare_transfers);
}

static void begin(Case *c)
{
    *c = (Case){.history = history_new()};
    ask(c);
    record(c, POSTED, "posted", (BooksTransfer){.debits = 1, .credits = 1});
    record(c, REFUSED, "refused", (BooksTransfer){0});
    record(c, REVERSED, "reversed", (BooksTransfer){.debits = 1, .refunds = 1});
    memcpy(c->before, c->after, sizeof(c->before));
    for (size_t i = 0; i < ARRAY_LENGTH(c->readings); i++)
        c->readings[i] = (Reading){.version = 1 + (int64_t)i,
                                   .balance = 7,
                                   .has_floor = true,
                                   .has_entry = true,
                                   .entry_balance = 7};
    c->accounts[0] = (AccountFact){.id = "a", .is_acknowledged = true, .exists = true};
    c->accounts[1] = (AccountFact){.id = "never-answered"};
    c->snapshots[0] = (SnapshotCounts){.taken = 9, .lost = 2};
    c->evidence = (Evidence){.history = c->history,
                             .replay_us = REPLAY_US,
                             .before = c->before,
                             .before_count = ORDERS,
                             .after = c->after,
                             .after_count = ORDERS,
                             .readings = c->readings,
                             .reading_count = ARRAY_LENGTH(c->readings),
                             .accounts = c->accounts,
                             .account_count = ARRAY_LENGTH(c->accounts),
                             .snapshots = c->snapshots,
                             .shard_count = 1};
}

/* ---- what is wrong with it ------------------------------------------------------------------- */

static void without_its_credit(Case *c)
{
    c->after[POSTED].credits = 0;
}

static void without_its_row(Case *c)
{
    c->after[POSTED].homes = 0;
}

static void made_true_by_the_repeat(Case *c)
{
    c->before[POSTED] = c->before[--c->evidence.before_count];
}

static void pending_and_gone(Case *c)
{
    c->evidence.before_count--; /* the saga's */
}

static void refused_and_done(Case *c)
{
    c->after[REFUSED].debits = 1;
    c->after[REFUSED].credits = 1;
}

static void reversed_without_its_refund(Case *c)
{
    c->after[REVERSED].refunds = 0;
}

static void refused_and_posted(Case *c)
{
    answer(c, REFUSED, REPLAY_US + 100, posted(200));
}

static void refused_for_two_reasons(Case *c)
{
    answer(c, REFUSED, REPLAY_US + 100, failed(VERDICT_REFUSED, "account-frozen"));
}

static void pending_after_posted(Case *c)
{
    answer(c, POSTED, 500, (Answer){.verdict = VERDICT_PENDING, .status = 202});
}

static void created_after_posted(Case *c)
{
    answer(c, POSTED, 500, posted(201));
}

static void absent_after_pending(Case *c)
{
    answer(c, REVERSED, 500, (Answer){.verb = VERB_LOOK, .verdict = VERDICT_ABSENT, .status = 404});
}

static void no_payer_for_what_is_there(Case *c)
{
    answer(c, POSTED, REPLAY_US + 100, failed(VERDICT_NONE, "debit-account-not-found"));
}

static void no_effect_and_done(Case *c)
{
    Order *order = history_order(c->history, REFUSED);
    order->answers[0].verdict = VERDICT_NONE;
}

static void of_another_id(Case *c)
{
    answer(c, POSTED, 500, posted(200))->id[15] ^= 1;
}

static void an_internal_error(Case *c)
{
    answer(c, POSTED, 500, (Answer){.verdict = VERDICT_WRONG, .status = 500});
}

static void no_answer_for_good(Case *c)
{
    answer(c, POSTED, REPLAY_US + 100, (Answer){.verdict = VERDICT_NONE, .status = 503});
}

static void pending_at_the_end(Case *c)
{
    snprintf(c->after[REVERSED].state, sizeof(c->after[REVERSED].state), "pending");
}

static void to_another_account(Case *c)
{
    snprintf(c->after[POSTED].credit_account, sizeof(c->after[POSTED].credit_account), "c");
}

static void of_another_amount(Case *c)
{
    c->after[POSTED].amount++;
}

static void on_two_homes(Case *c)
{
    c->after[POSTED].homes = 2;
}

static void credited_twice(Case *c)
{
    c->after[POSTED].credits = 2;
}

static void reversed_by_the_repeat(Case *c)
{
    snprintf(c->before[REVERSED].state, sizeof(c->before[REVERSED].state), "posted");
}

static void out_of_the_blue(Case *c)
{
    BooksTransfer *more = &c->after[c->evidence.after_count++];
    *more = c->after[POSTED];
    snprintf(more->id, sizeof(more->id), "00000000-0000-8000-8000-000000000000");
}

static void read_below_the_floor(Case *c)
{
    c->readings[1].balance = c->readings[1].entry_balance = -1;
}

static void snapshot_below_the_floor(Case *c)
{
    c->snapshots[0].below_floor = 1;
}

static void read_backwards(Case *c)
{
    c->readings[1].version = 0;
}

static void read_what_never_was(Case *c)
{
    c->readings[0].balance++;
}

static void read_beyond_the_entries(Case *c)
{
    c->readings[1].has_entry = false;
}

static void unbalanced(Case *c)
{
    c->snapshots[0].unbalanced = 1;
}

static void no_snapshot(Case *c)
{
    c->snapshots[0].failed = 1;
}

static void without_its_account(Case *c)
{
    c->accounts[0].exists = false;
}

static void with_pending_ones(Case *c)
{
    c->evidence.left_pending = 1;
}

static void with_prepared_ones(Case *c)
{
    c->evidence.left_prepared = 1;
}

static const struct
{
    Violation violation;
    void (*spoil)(Case *c);
} cases[] = {
    {POSTED_IS_LOST, without_its_credit},
    {POSTED_IS_LOST, without_its_row},
    {POSTED_IS_LOST, made_true_by_the_repeat},
    {ACCEPTED_IS_LOST, pending_and_gone},
    {FAILURE_MOVED_MONEY, refused_and_done},
    {FAILURE_MOVED_MONEY, reversed_without_its_refund},
    {ANSWERS_CONTRADICT, refused_and_posted},
    {ANSWERS_CONTRADICT, refused_for_two_reasons},
    {WENT_BACK, pending_after_posted},
    {POSTED_AGAIN, created_after_posted},
    {FORGOTTEN, absent_after_pending},
    {FORGOTTEN, no_payer_for_what_is_there},
    {NONE_HAPPENED, no_effect_and_done},
    {OTHER_TRANSFER, of_another_id},
    {WRONG_ANSWER, an_internal_error},
    {NOT_FINAL, no_answer_for_good},
    {NOT_FINAL, pending_at_the_end},
    {CONTENT_DIFFERS, to_another_account},
    {CONTENT_DIFFERS, of_another_amount},
    {HAPPENED_TWICE, on_two_homes},
    {HAPPENED_TWICE, credited_twice},
    {CHANGED_BY_REPEAT, reversed_by_the_repeat},
    {UNASKED, out_of_the_blue},
    {BELOW_FLOOR, read_below_the_floor},
    {BELOW_FLOOR, snapshot_below_the_floor},
    {VERSION_WENT_BACK, read_backwards},
    {READ_DIFFERS, read_what_never_was},
    {READ_DIFFERS, read_beyond_the_entries},
    {OUT_OF_BALANCE, unbalanced},
    {LOOK_FAILED, no_snapshot},
    {ACCOUNT_IS_LOST, without_its_account},
    {LEFT_BEHIND, with_pending_ones},
    {LEFT_BEHIND, with_prepared_ones},
};

/* ---- tests ----------------------------------------------------------------------------------- */

static size_t count_after(void (*spoil)(Case *c), Violation violation)
{
    Case c;
    Findings findings;
    begin(&c);
    if (spoil != NULL)
        spoil(&c);
    sort(&c);
    checker_check(&c.evidence, &findings);
    size_t count = violation == VIOLATION_COUNT ? findings.count : findings.of_kind[violation];
    if (spoil == NULL)
        findings_print(&findings, stderr);
    history_free(c.history);
    return count;
}

static void nothing_is_found_where_nothing_is_wrong(void **state)
{
    (void)state;
    assert_int_equal(count_after(NULL, VIOLATION_COUNT), 0);
}

static void every_violation_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        check(count_after(cases[i].spoil, cases[i].violation) > 0, "case %zu, %s, is not found", i,
              violation_name(cases[i].violation));
}

static void every_kind_of_violation_has_a_case(void **state)
{
    (void)state;
    for (int violation = 0; violation < VIOLATION_COUNT; violation++)
    {
        size_t i = 0;
        while (i < ARRAY_LENGTH(cases) && (int)cases[i].violation != violation)
            i++;
        check(i < ARRAY_LENGTH(cases), "%s has no case", violation_name((Violation)violation));
    }
}

static void what_proves_nothing_is_no_violation(void **state)
{
    Case c;
    Findings findings;
    (void)state;
    begin(&c);
    /* A twin that was on its way when posted was received, and others that met a dead shard. */
    answer(&c, POSTED, 205, (Answer){.verdict = VERDICT_POSTED, .status = 201});
    answer(&c, POSTED, 500, (Answer){.verdict = VERDICT_NONE, .status = 503});
    answer(&c, POSTED, REPLAY_US + 100, posted(200));
    answer(&c, REVERSED, 500, (Answer){.verdict = VERDICT_MAYBE});
    answer(&c, REVERSED, 50, (Answer){.verb = VERB_LOOK, .verdict = VERDICT_ABSENT});
    answer(&c, REVERSED, REPLAY_US + 100, failed(VERDICT_REVERSED, "cancelled"));
    sort(&c);
    checker_check(&c.evidence, &findings);
    findings_print(&findings, stderr);
    assert_int_equal(findings.count, 0);
    history_free(c.history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_where_nothing_is_wrong),
        cmocka_unit_test(every_violation_is_named),
        cmocka_unit_test(every_kind_of_violation_has_a_case),
        cmocka_unit_test(what_proves_nothing_is_no_violation),
    };
    route_library_init();
    return cmocka_run_group_tests_name("checker", tests, NULL, NULL);
}
