/*
 * What the rows of both shards say of a transfer. The whole ones of every state have nothing said
 * of them; each row that is taken away, added or changed is named, at the account it is about.
 */
#include "reconcile/evidence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Evidence whole(RecordedState state, TransferMode mode)
{
    bool moved = state == RECORDED_POSTED;
    Evidence evidence = {
        .state = state,
        .mode = mode,
        .is_decided = true,
        .has_debit_account = true,
        .debit = state != RECORDED_REFUSED ? LEG_RIGHT : LEG_NONE,
        .refund = state == RECORDED_REVERSED ? LEG_RIGHT : LEG_NONE,
        .credit = moved ? LEG_RIGHT : LEG_NONE,
        .has_credit_account = true,
        .credit_shard_was_asked = mode != MODE_LOCAL && state != RECORDED_REFUSED,
        .has_leg = moved && mode == MODE_2PC,
    };
    if (mode == MODE_SAGA && moved)
        evidence.receipt = OUTCOME_APPLIED;
    if (state == RECORDED_REVERSED)
        evidence.receipt = OUTCOME_GIVEN_UP;
    return evidence;
}

static void expect(Evidence evidence, const ItemKind *kinds, size_t count)
{
    Judgement judgements[JUDGEMENTS_MAX];
    size_t found = evidence_judge(&evidence, judgements);
    for (size_t i = 0; i < found && i < count; i++)
        assert_int_equal(judgements[i].kind, kinds[i]);
    assert_int_equal(found, count);
}

#define EXPECT(evidence, ...)                                                                      \
    expect(evidence, (const ItemKind[]){__VA_ARGS__},                                              \
           sizeof((const ItemKind[]){__VA_ARGS__}) / sizeof(ItemKind))

static void whole_transfers_are_beyond_doubt(void **state)
{
    (void)state;
    expect(whole(RECORDED_POSTED, MODE_LOCAL), NULL, 0);
    expect(whole(RECORDED_POSTED, MODE_2PC), NULL, 0);
    expect(whole(RECORDED_POSTED, MODE_SAGA), NULL, 0);
    expect(whole(RECORDED_REFUSED, MODE_2PC), NULL, 0);
    expect(whole(RECORDED_REVERSED, MODE_SAGA), NULL, 0);
}

static void what_is_in_flight_is_explained(void **state)
{
    (void)state;
    Evidence saga = whole(RECORDED_PENDING, MODE_SAGA);
    EXPECT(saga, ITEM_IN_TRANSIT);
    saga.credit = LEG_RIGHT;
    saga.receipt = OUTCOME_APPLIED;
    EXPECT(saga, ITEM_IN_TRANSIT);
    saga = whole(RECORDED_PENDING, MODE_SAGA);
    saga.receipt = OUTCOME_GIVEN_UP;
    EXPECT(saga, ITEM_IN_TRANSIT);
    Evidence decided = whole(RECORDED_POSTED, MODE_2PC);
    decided.credit = LEG_NONE;
    decided.has_leg = false;
    decided.is_prepared = true;
    EXPECT(decided, ITEM_NOT_VISIBLE);
}

static void a_lost_credit_is_explained_while_it_is_done_again(void **state)
{
    (void)state;
    Evidence lost = whole(RECORDED_POSTED, MODE_2PC);
    lost.credit = LEG_NONE;
    lost.has_leg = false;
    lost.is_due = true;
    EXPECT(lost, ITEM_CREDIT_DUE);
    lost.receipt = OUTCOME_GIVEN_UP;
    EXPECT(lost, ITEM_CREDIT_MISSING);
}

static void a_prepared_leg_explains_nothing_but_two_phase_transfers(void **state)
{
    (void)state;
    Evidence saga = whole(RECORDED_POSTED, MODE_SAGA);
    saga.credit = LEG_NONE;
    saga.is_prepared = true;
    EXPECT(saga, ITEM_CREDIT_MISSING);
}

static void a_missing_leg_is_named(void **state)
{
    (void)state;
    Evidence posted = whole(RECORDED_POSTED, MODE_2PC);
    posted.credit = LEG_NONE;
    EXPECT(posted, ITEM_CREDIT_MISSING);
    posted = whole(RECORDED_POSTED, MODE_2PC);
    posted.debit = LEG_NONE;
    EXPECT(posted, ITEM_DEBIT_MISSING);
    Evidence reversed = whole(RECORDED_REVERSED, MODE_SAGA);
    reversed.refund = LEG_NONE;
    EXPECT(reversed, ITEM_REFUND_MISSING);
    Evidence pending = whole(RECORDED_PENDING, MODE_SAGA);
    pending.receipt = OUTCOME_APPLIED;
    EXPECT(pending, ITEM_CREDIT_MISSING, ITEM_IN_TRANSIT);
    Evidence local = whole(RECORDED_POSTED, MODE_LOCAL);
    local.credit = LEG_NONE;
    EXPECT(local, ITEM_CREDIT_MISSING);
}

static void a_leg_too_much_is_named(void **state)
{
    (void)state;
    Evidence refused = whole(RECORDED_REFUSED, MODE_2PC);
    refused.debit = LEG_RIGHT;
    EXPECT(refused, ITEM_DEBIT_UNFOUNDED);
    refused = whole(RECORDED_REFUSED, MODE_2PC);
    refused.credit = LEG_WRONG;
    EXPECT(refused, ITEM_CREDIT_UNFOUNDED);
    Evidence posted = whole(RECORDED_POSTED, MODE_SAGA);
    posted.refund = LEG_RIGHT;
    EXPECT(posted, ITEM_REFUND_UNFOUNDED);
    Evidence reversed = whole(RECORDED_REVERSED, MODE_SAGA);
    reversed.credit = LEG_RIGHT;
    EXPECT(reversed, ITEM_CREDIT_UNFOUNDED, ITEM_RECEIPT_CONTRADICTS);
}

static void a_leg_of_another_amount_or_account_is_named(void **state)
{
    (void)state;
    Evidence posted = whole(RECORDED_POSTED, MODE_2PC);
    posted.credit = LEG_WRONG;
    EXPECT(posted, ITEM_CREDIT_WRONG);
    posted = whole(RECORDED_POSTED, MODE_2PC);
    posted.debit = LEG_WRONG;
    EXPECT(posted, ITEM_DEBIT_WRONG);
    Evidence reversed = whole(RECORDED_REVERSED, MODE_SAGA);
    reversed.refund = LEG_WRONG;
    EXPECT(reversed, ITEM_REFUND_WRONG);
}

static void entries_without_a_transfer_or_an_account_are_named(void **state)
{
    (void)state;
    Judgement judgements[JUDGEMENTS_MAX];
    assert_int_equal(evidence_judge(&(Evidence){.credit = LEG_RIGHT}, judgements), 1);
    assert_int_equal(judgements[0].kind, ITEM_TRANSFER_MISSING);
    assert_int_equal(judgements[0].place, PLACE_CREDIT);
    assert_int_equal(evidence_judge(&(Evidence){0}, judgements), 1);
    assert_int_equal(judgements[0].place, PLACE_DEBIT);
    Evidence posted = whole(RECORDED_POSTED, MODE_2PC);
    posted.has_debit_account = false;
    posted.has_credit_account = false;
    EXPECT(posted, ITEM_ACCOUNT_MISSING, ITEM_ACCOUNT_MISSING);
}

static void the_rows_that_decide_must_stand(void **state)
{
    (void)state;
    Evidence posted = whole(RECORDED_POSTED, MODE_2PC);
    posted.is_decided = false;
    EXPECT(posted, ITEM_BATCH_MISSING);
    posted = whole(RECORDED_POSTED, MODE_2PC);
    posted.has_leg = false;
    EXPECT(posted, ITEM_LEG_MISSING);
    posted.receipt = OUTCOME_APPLIED; /* done again, after its leg was rolled back */
    expect(posted, NULL, 0);
    Evidence saga = whole(RECORDED_POSTED, MODE_SAGA);
    saga.receipt = OUTCOME_NONE;
    EXPECT(saga, ITEM_RECEIPT_MISSING);
    saga.receipt = OUTCOME_GIVEN_UP;
    EXPECT(saga, ITEM_RECEIPT_CONTRADICTS);
    Evidence reversed = whole(RECORDED_REVERSED, MODE_SAGA);
    reversed.receipt = OUTCOME_NONE;
    EXPECT(reversed, ITEM_RECEIPT_MISSING);
}

static void what_was_not_asked_for_is_not_missed(void **state)
{
    (void)state;
    Evidence posted = whole(RECORDED_POSTED, MODE_SAGA);
    posted.credit_shard_was_asked = false;
    posted.receipt = OUTCOME_NONE;
    expect(posted, NULL, 0);
}

/* Every combination of what rows can say fits into the judgements. */
static void no_evidence_overflows(void **state)
{
    (void)state;
    Judgement judgements[JUDGEMENTS_MAX];
    for (unsigned bits = 0; bits < 5U * 4 * 27 * 3 * 128; bits++)
    {
        unsigned rest = bits;
        Evidence evidence = {.state = (RecordedState)(rest % 5)};
        rest /= 5;
        evidence.mode = (TransferMode)(rest % 4);
        rest /= 4;
        evidence.debit = (Leg)(rest % 3);
        evidence.refund = (Leg)(rest / 3 % 3);
        evidence.credit = (Leg)(rest / 9 % 3);
        rest /= 27;
        evidence.receipt = (Outcome)(rest % 3);
        rest /= 3;
        evidence.is_decided = (rest & 1) != 0;
        evidence.has_debit_account = (rest & 2) != 0;
        evidence.has_credit_account = (rest & 4) != 0;
        evidence.credit_shard_was_asked = (rest & 8) != 0;
        evidence.is_prepared = (rest & 16) != 0;
        evidence.has_leg = (rest & 32) != 0;
        evidence.is_due = (rest & 64) != 0;
        assert_true(evidence_judge(&evidence, judgements) <= JUDGEMENTS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_transfers_are_beyond_doubt),
        cmocka_unit_test(what_is_in_flight_is_explained),
        cmocka_unit_test(a_lost_credit_is_explained_while_it_is_done_again),
        cmocka_unit_test(a_prepared_leg_explains_nothing_but_two_phase_transfers),
        cmocka_unit_test(a_missing_leg_is_named),
        cmocka_unit_test(a_leg_too_much_is_named),
        cmocka_unit_test(a_leg_of_another_amount_or_account_is_named),
        cmocka_unit_test(entries_without_a_transfer_or_an_account_are_named),
        cmocka_unit_test(the_rows_that_decide_must_stand),
        cmocka_unit_test(what_was_not_asked_for_is_not_missed),
        cmocka_unit_test(no_evidence_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
