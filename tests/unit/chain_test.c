/* The chain of an account's entries: what fits on, what does not, and where pages are cut. */
#include "reconcile/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The nth entry of account "a", whose head is (version, balance). */
static ChainRow entry(int64_t seq, int64_t amount, int64_t balance, int64_t version, int64_t head)
{
    return (ChainRow){.account = "a",
                      .balance = head,
                      .version = version,
                      .has_entry = true,
                      .seq = seq,
                      .amount = amount,
                      .entry_balance = balance};
}

static Chain opened(const ChainRow *row)
{
    Chain chain;
    chain_clear(&chain);
    chain_open(&chain, row);
    return chain;
}

static void take(Chain *chain, ChainRow row)
{
    ReportItem fault;
    assert_false(chain_add(chain, &row, &fault));
}

static void expect_fault(Chain *chain, ChainRow row, ItemKind kind, int64_t amount)
{
    ReportItem fault;
    assert_true(chain_add(chain, &row, &fault));
    assert_int_equal(fault.kind, kind);
    assert_int_equal(fault.amount, amount);
    assert_string_equal(fault.account, "a");
    assert_true(chain->faulty);
}

static void expect_end(Chain *chain, ItemKind kind, int64_t amount)
{
    ReportItem fault;
    assert_true(chain_end(chain, &fault));
    assert_int_equal(fault.kind, kind);
    assert_int_equal(fault.amount, amount);
}

static void a_sound_chain_ends_at_the_head(void **state)
{
    (void)state;
    ReportItem fault;
    ChainRow first = entry(1, 10, 10, 2, 7);
    Chain chain = opened(&first);
    take(&chain, first);
    take(&chain, entry(2, -3, 7, 2, 7));
    assert_false(chain_end(&chain, &fault));
    assert_false(chain.faulty);
    assert_int_equal(chain.seq, 2);
    assert_int_equal(chain.balance, 7);
}

static void a_chain_goes_on_where_it_was_proved(void **state)
{
    (void)state;
    ReportItem fault;
    ChainRow row = entry(6, 5, 105, 6, 105);
    row.start_seq = 5;
    row.start_balance = 100;
    Chain chain = opened(&row);
    take(&chain, row);
    assert_false(chain_end(&chain, &fault));
}

static void a_missing_entry_is_named_once_with_its_amount(void **state)
{
    (void)state;
    ReportItem fault;
    ChainRow first = entry(1, 10, 10, 4, 30);
    Chain chain = opened(&first);
    take(&chain, first);
    expect_fault(&chain, entry(3, 5, 22, 4, 30), ITEM_SEQUENCE_GAP, 7);
    take(&chain, entry(4, 8, 30, 4, 30));
    assert_false(chain_end(&chain, &fault));
}

static void the_first_entry_may_be_the_missing_one(void **state)
{
    (void)state;
    ChainRow first = entry(2, 10, 15, 2, 15);
    Chain chain = opened(&first);
    expect_fault(&chain, first, ITEM_SEQUENCE_GAP, 5);
}

static void a_changed_amount_or_balance_does_not_follow(void **state)
{
    (void)state;
    ChainRow first = entry(1, 10, 10, 2, 20);
    Chain chain = opened(&first);
    take(&chain, first);
    expect_fault(&chain, entry(2, 9, 20, 2, 20), ITEM_ENTRY_BALANCE, 1);
}

static void the_last_entry_may_be_missing_or_too_much(void **state)
{
    (void)state;
    ChainRow first = entry(1, 10, 10, 2, 25);
    Chain chain = opened(&first);
    take(&chain, first);
    expect_end(&chain, ITEM_ENTRY_MISSING, 15);
    first = entry(1, 10, 10, 0, 0);
    chain = opened(&first);
    take(&chain, first);
    expect_end(&chain, ITEM_ENTRY_SURPLUS, -10);
}

static void a_changed_balance_is_told_with_the_difference(void **state)
{
    (void)state;
    ChainRow first = entry(1, 10, 10, 1, 11);
    Chain chain = opened(&first);
    take(&chain, first);
    expect_end(&chain, ITEM_BALANCE, 1);
}

static void an_account_without_entries_is_empty(void **state)
{
    (void)state;
    ReportItem fault;
    ChainRow row = {.account = "a"};
    Chain chain = opened(&row);
    take(&chain, row);
    assert_false(chain_end(&chain, &fault));
    row.balance = 3;
    chain = opened(&row);
    take(&chain, row);
    expect_end(&chain, ITEM_BALANCE, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_chain_ends_at_the_head),
        cmocka_unit_test(a_chain_goes_on_where_it_was_proved),
        cmocka_unit_test(a_missing_entry_is_named_once_with_its_amount),
        cmocka_unit_test(the_first_entry_may_be_the_missing_one),
        cmocka_unit_test(a_changed_amount_or_balance_does_not_follow),
        cmocka_unit_test(the_last_entry_may_be_missing_or_too_much),
        cmocka_unit_test(a_changed_balance_is_told_with_the_difference),
        cmocka_unit_test(an_account_without_entries_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
