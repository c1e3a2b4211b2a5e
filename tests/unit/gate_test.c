/* One batch at a time on an account: who is admitted, and when the gate is free again. */
#include "batcher/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static Transfer transfer(const char *debit, const char *credit, BatchKind work)
{
    Transfer result = {.request = {.debit_account = debit, .credit_account = credit}, .work = work};
    gate_name_places(&result);
    return result;
}

static void an_account_admits_one_batch_at_a_time(void **state)
{
    Gate *gate = gate_new();
    Transfer first = transfer("a", "b", BATCH_TWO_PHASE);
    Transfer second = transfer("b", "c", BATCH_TWO_PHASE);
    Transfer third = transfer("c", "d", BATCH_TWO_PHASE);
    Transfer *members[] = {&first};
    Batch batch = {.kind = BATCH_TWO_PHASE, .transfers = members, .count = 1};
    (void)state;
    assert_true(gate_admits(gate, &first, NULL));
    gate_enter(gate, &first, &batch);
    assert_false(gate_admits(gate, &second, NULL));
    assert_true(gate_admits(gate, &second, &batch));
    assert_true(gate_admits(gate, &third, NULL));
    gate_leave(gate, &batch);
    assert_true(gate_admits(gate, &second, NULL));
    gate_free(gate);
}

static void an_account_that_several_of_a_batch_name_is_free_after_all_of_them(void **state)
{
    Gate *gate = gate_new();
    Transfer first = transfer("a", "hot", BATCH_LOCAL);
    Transfer second = transfer("b", "hot", BATCH_LOCAL);
    Transfer waiting = transfer("c", "hot", BATCH_LOCAL);
    Transfer *members[] = {&first, &second};
    Batch batch = {.kind = BATCH_LOCAL, .transfers = members, .count = 2};
    (void)state;
    gate_enter(gate, &first, &batch);
    gate_enter(gate, &second, &batch);
    assert_false(gate_admits(gate, &waiting, NULL));
    gate_leave(gate, &batch);
    assert_true(gate_admits(gate, &waiting, NULL));
    gate_free(gate);
}

/* A hold works on the debit account, a credit on the other one, a close on none. */
static void only_the_accounts_that_the_work_locks_count(void **state)
{
    Gate *gate = gate_new();
    Transfer held = transfer("a", "b", BATCH_HOLD);
    Transfer credited = transfer("a", "b", BATCH_CREDIT);
    Transfer again = transfer("a", "z", BATCH_HOLD);
    Transfer closed = transfer("a", "b", BATCH_CLOSE);
    Transfer *members[] = {&held};
    Batch batch = {.kind = BATCH_HOLD, .transfers = members, .count = 1};
    (void)state;
    gate_enter(gate, &held, &batch);
    assert_true(gate_admits(gate, &credited, NULL));
    assert_false(gate_admits(gate, &again, NULL));
    assert_true(gate_admits(gate, &closed, NULL));
    gate_leave(gate, &batch);
    gate_free(gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_admits_one_batch_at_a_time),
        cmocka_unit_test(an_account_that_several_of_a_batch_name_is_free_after_all_of_them),
        cmocka_unit_test(only_the_accounts_that_the_work_locks_count),
    };
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
