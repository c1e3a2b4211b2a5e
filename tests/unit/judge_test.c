/*
 * The judge, by example and by property: random batches over few accounts, so that transfers depend
 * on one another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "protocol/judge.h"

enum
{
    ACCOUNTS = 6,
    TRANSFERS = 24,
};

typedef struct Case
{
    JudgeAccount accounts[ACCOUNTS];
    JudgeTransfer transfers[TRANSFERS];
    JudgeEntry entries[2 * TRANSFERS];
    size_t entry_count;
} Case;

static JudgeAccount account(int64_t balance, int64_t floor)
{
    JudgeAccount state = {.id = "a",
                          .presence = JUDGE_LOCKED,
                          .status = JUDGE_OPEN,
                          .currency = "EUR",
                          .has_floor = true,
                          .floor = floor,
                          .locked_version = 7,
                          .version = 7,
                          .balance = balance};
    return state;
}

static JudgeTransfer transfer(size_t debit, size_t credit, int64_t amount)
{
    return (JudgeTransfer){.debit = debit, .credit = credit, .amount = amount, .currency = "EUR"};
}

static void two_open_accounts(Case *c)
{
    memset(c, 0, sizeof *c);
    c->accounts[0] = account(100, 0);
    c->accounts[1] = account(0, 0);
}

static void judge_first(Case *c, size_t count)
{
    c->entry_count = judge(c->accounts, c->transfers, count, c->entries);
}

static void posts_both_legs_with_running_balances(void **state)
{
    Case c;
    (void)state;
    two_open_accounts(&c);
    c.transfers[0] = transfer(0, 1, 30);
    c.transfers[1] = transfer(0, 1, 70);
    judge_first(&c, 2);
    assert_int_equal(c.entry_count, 4);
    assert_int_equal(c.entries[0].amount, -30);
    assert_int_equal(c.entries[0].balance, 70);
    assert_int_equal(c.entries[0].seq, 8);
    assert_int_equal(c.entries[3].amount, 70);
    assert_int_equal(c.entries[3].balance, 100);
    assert_int_equal(c.entries[3].seq, 9);
    assert_int_equal(c.accounts[0].balance, 0);
    assert_int_equal(c.accounts[0].version, 9);
}

static void a_credit_of_the_same_batch_pays_for_a_later_debit(void **state)
{
    Case c;
    (void)state;
    two_open_accounts(&c);
    c.transfers[0] = transfer(1, 0, 5); /* before the money is there */
    c.transfers[1] = transfer(0, 1, 10);
    c.transfers[2] = transfer(1, 0, 5);
    judge_first(&c, 3);
    assert_int_equal(c.transfers[0].verdict, JUDGE_REFUSED);
    assert_int_equal(c.transfers[0].refusal, ERROR_INSUFFICIENT_FUNDS);
    assert_int_equal(c.transfers[1].verdict, JUDGE_ACCEPTED);
    assert_int_equal(c.transfers[2].verdict, JUDGE_ACCEPTED);
}

typedef struct RefusalCase
{
    const char *what;
    ErrorCode refusal;
    void (*spoil)(Case *c);
} RefusalCase;

static void spoil_funds(Case *c)
{
    c->accounts[0].balance = 9;
}
static void spoil_same(Case *c)
{
    c->transfers[0].credit = 0;
}
static void spoil_missing_credit(Case *c)
{
    c->accounts[1].presence = JUDGE_MISSING;
}
static void spoil_frozen(Case *c)
{
    c->accounts[0].status = JUDGE_FROZEN;
}
static void spoil_closed_debit(Case *c)
{
    c->accounts[0].status = JUDGE_CLOSED;
}
static void spoil_closed_credit(Case *c)
{
    c->accounts[1].status = JUDGE_CLOSED;
}
static void spoil_currency(Case *c)
{
    strcpy(c->accounts[1].currency, "USD");
}
static void spoil_transfer_currency(Case *c)
{
    c->transfers[0].currency = "USD";
}
static void spoil_upper_limit(Case *c)
{
    c->accounts[1].balance = MONEY_MAX - 9;
}
static void spoil_lower_limit(Case *c)
{
    c->accounts[0].has_floor = false;
    c->accounts[0].balance = -MONEY_MAX + 9;
}

static void refuses_for_every_reason_and_moves_nothing(void **state)
{
    static const RefusalCase cases[] = {
        {"funds", ERROR_INSUFFICIENT_FUNDS, spoil_funds},
        {"same account", ERROR_SAME_ACCOUNT, spoil_same},
        {"missing credit account", ERROR_CREDIT_ACCOUNT_NOT_FOUND, spoil_missing_credit},
        {"frozen", ERROR_ACCOUNT_FROZEN, spoil_frozen},
        {"closed debit", ERROR_ACCOUNT_CLOSED, spoil_closed_debit},
        {"closed credit", ERROR_ACCOUNT_CLOSED, spoil_closed_credit},
        {"currency", ERROR_CURRENCY_MISMATCH, spoil_currency},
        {"currency of the transfer", ERROR_CURRENCY_MISMATCH, spoil_transfer_currency},
        {"upper limit", ERROR_BALANCE_LIMIT, spoil_upper_limit},
        {"lower limit", ERROR_BALANCE_LIMIT, spoil_lower_limit},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Case c;
        two_open_accounts(&c);
        c.transfers[0] = transfer(0, 1, 10);
        cases[i].spoil(&c);
        Case before = c;
        judge_first(&c, 1);
        if (c.transfers[0].refusal != cases[i].refusal)
            fail_msg("%s: %s", cases[i].what, error_row(c.transfers[0].refusal)->name);
        assert_int_equal(c.transfers[0].verdict, JUDGE_REFUSED);
        assert_int_equal(c.entry_count, 0);
        assert_memory_equal(c.accounts, before.accounts, sizeof c.accounts);
    }
}

static void contention_is_never_a_refusal(void **state)
{
    static const struct
    {
        JudgePresence presence;
        JudgeVerdict verdict;
    } cases[] = {
        {JUDGE_BUSY, JUDGE_IS_BUSY},
        {JUDGE_STALE_ROUTE, JUDGE_IS_STALE},
        {JUDGE_PARTITION_MOVING, JUDGE_IS_MOVING},
        {JUDGE_UNSEEN, JUDGE_IS_BUSY},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        for (size_t side = 0; side < 2; side++)
        {
            Case c;
            two_open_accounts(&c);
            c.accounts[0].balance = 0; /* it would be refused */
            c.transfers[0] = transfer(0, 1, 10);
            c.accounts[side].presence = cases[i].presence;
            judge_first(&c, 1);
            assert_int_equal(c.transfers[0].verdict, cases[i].verdict);
            assert_int_equal(c.transfers[0].refusal, ERROR_NONE);
        }
    }
}

static void a_missing_debit_account_leaves_no_home_for_a_record(void **state)
{
    Case c;
    (void)state;
    two_open_accounts(&c);
    c.accounts[0].presence = JUDGE_MISSING;
    c.transfers[0] = transfer(0, 1, 10);
    judge_first(&c, 1);
    assert_int_equal(c.transfers[0].verdict, JUDGE_NO_DEBIT_ACCOUNT);
    assert_false(judge_is_recorded(&c.transfers[0]));
}

static void frozen_accounts_take_credits(void **state)
{
    Case c;
    (void)state;
    two_open_accounts(&c);
    c.accounts[1].status = JUDGE_FROZEN;
    c.transfers[0] = transfer(0, 1, 10);
    judge_first(&c, 1);
    assert_int_equal(c.transfers[0].verdict, JUDGE_ACCEPTED);
}

static void a_replay_is_not_judged_again(void **state)
{
    Case c;
    (void)state;
    two_open_accounts(&c);
    c.transfers[0] = transfer(0, 1, 10);
    c.transfers[0].skip = true;
    judge_first(&c, 1);
    assert_int_equal(c.entry_count, 0);
    assert_int_equal(c.accounts[0].balance, 100);
}

/* ---- properties ------------------------------------------------------------------------------ */

static int64_t pick(unsigned *seed, int64_t below)
{
    return (int64_t)((unsigned)rand_r(seed)) % below;
}

static void random_case(Case *c, unsigned *seed)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < ACCOUNTS; i++)
    {
        c->accounts[i] = account(pick(seed, 40), -pick(seed, 2) * 10);
        c->accounts[i].has_floor = pick(seed, 8) != 0;
        if (pick(seed, 12) == 0)
            c->accounts[i].presence = (JudgePresence)(1 + pick(seed, JUDGE_PRESENCE_COUNT - 1));
        if (pick(seed, 12) == 0)
            c->accounts[i].status = (JudgeStatus)pick(seed, JUDGE_STATUS_COUNT);
    }
    for (size_t i = 0; i < TRANSFERS; i++)
    {
        c->transfers[i] = transfer((size_t)pick(seed, ACCOUNTS), (size_t)pick(seed, ACCOUNTS),
                                   1 + pick(seed, 25));
        c->transfers[i].skip = pick(seed, 10) == 0;
    }
}

/* The plain meaning: one transfer after another, each on what the earlier ones left. */
static void compare_with_one_at_a_time(const Case *before, const Case *after)
{
    Case single = *before;
    size_t entries = 0;
    for (size_t i = 0; i < TRANSFERS; i++)
    {
        JudgeTransfer one = before->transfers[i];
        JudgeEntry legs[2];
        size_t count = judge(single.accounts, &one, 1, legs);
        assert_int_equal(one.verdict, after->transfers[i].verdict);
        assert_int_equal(one.refusal, after->transfers[i].refusal);
        for (size_t leg = 0; leg < count; leg++, entries++)
        {
            assert_int_equal(legs[leg].account, after->entries[entries].account);
            assert_int_equal(legs[leg].balance, after->entries[entries].balance);
            assert_int_equal(legs[leg].seq, after->entries[entries].seq);
            assert_int_equal(after->entries[entries].transfer, i);
        }
    }
    assert_int_equal(entries, after->entry_count);
}

static void check_accounts(const Case *before, const Case *after)
{
    int64_t sum = 0;
    for (size_t i = 0; i < ACCOUNTS; i++)
    {
        const JudgeAccount *was = &before->accounts[i];
        const JudgeAccount *is = &after->accounts[i];
        int64_t balance = was->balance;
        int64_t seq = was->version;
        for (size_t e = 0; e < after->entry_count; e++)
        {
            const JudgeEntry *entry = &after->entries[e];
            if (entry->account != i)
                continue;
            balance += entry->amount;
            assert_int_equal(entry->seq, ++seq);
            assert_int_equal(entry->balance, balance);
            if (entry->amount < 0 && is->has_floor)
                assert_true(entry->balance >= is->floor);
        }
        assert_int_equal(is->balance, balance);
        assert_int_equal(is->version, seq);
        sum += is->balance - was->balance;
    }
    assert_int_equal(sum, 0);
}

/* A refusal for lack of funds stands on its own: with the accepted legs before it, and only those,
 * the money is really not there. */
static void check_refusals(const Case *before, const Case *after)
{
    for (size_t i = 0; i < TRANSFERS; i++)
    {
        const JudgeTransfer *transfer = &after->transfers[i];
        if (transfer->skip || transfer->refusal != ERROR_INSUFFICIENT_FUNDS)
            continue;
        int64_t balance = before->accounts[transfer->debit].balance;
        for (size_t e = 0; e < after->entry_count; e++)
        {
            const JudgeEntry *entry = &after->entries[e];
            if (entry->transfer < i && entry->account == transfer->debit)
                balance += entry->amount;
        }
        assert_true(balance - transfer->amount < before->accounts[transfer->debit].floor);
    }
}

static void random_batches_keep_every_promise(void **state)
{
    const char *given = getenv("GIRO_TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : 20260131;
    (void)state;
    printf("seed %u\n", seed);
    for (int round = 0; round < 20000; round++)
    {
        Case before;
        random_case(&before, &seed);
        Case after = before;
        judge_first(&after, TRANSFERS);
        check_accounts(&before, &after);
        check_refusals(&before, &after);
        compare_with_one_at_a_time(&before, &after);
    }
}

static void what_is_closed_is_turned_away_and_changes_nothing(void **state)
{
    Case c;
    (void)state;
    two_open_accounts(&c);
    c.transfers[0] = transfer(0, 1, 60);
    c.transfers[0].is_closed = true;
    c.transfers[1] = transfer(0, 1, 60);
    judge_first(&c, 2);
    assert_int_equal(c.transfers[0].verdict, JUDGE_IS_CLOSED);
    assert_false(judge_is_recorded(&c.transfers[0]));
    assert_int_equal(c.transfers[1].verdict, JUDGE_ACCEPTED);
    assert_int_equal(c.entry_count, 2);
    /* Where it is at home has to be known first: its key may stand there. */
    static const JudgePresence presences[] = {JUDGE_STALE_ROUTE, JUDGE_PARTITION_MOVING, JUDGE_BUSY,
                                              JUDGE_MISSING};
    static const JudgeVerdict verdicts[] = {JUDGE_IS_STALE, JUDGE_IS_MOVING, JUDGE_IS_CLOSED,
                                            JUDGE_IS_CLOSED};
    for (size_t i = 0; i < ARRAY_LENGTH(presences); i++)
    {
        two_open_accounts(&c);
        c.accounts[0].presence = presences[i];
        c.transfers[0] = transfer(0, 1, 60);
        c.transfers[0].is_closed = true;
        judge_first(&c, 1);
        assert_int_equal(c.transfers[0].verdict, verdicts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_closed_is_turned_away_and_changes_nothing),
        cmocka_unit_test(posts_both_legs_with_running_balances),
        cmocka_unit_test(a_credit_of_the_same_batch_pays_for_a_later_debit),
        cmocka_unit_test(refuses_for_every_reason_and_moves_nothing),
        cmocka_unit_test(contention_is_never_a_refusal),
        cmocka_unit_test(a_missing_debit_account_leaves_no_home_for_a_record),
        cmocka_unit_test(frozen_accounts_take_credits),
        cmocka_unit_test(a_replay_is_not_judged_again),
        cmocka_unit_test(random_batches_keep_every_promise),
    };
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
