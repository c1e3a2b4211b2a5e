/* setbacks: pauses that double up to a limit, and a bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "protocol/setbacks.h"

#include <string.h>

static uint8_t ids[SETBACKS_MAX][16];

static void name(size_t number, uint8_t ret_id[16])
{
    memset(ret_id, 0, 16);
    memcpy(ret_id, &number, sizeof number);
}

static size_t waiting(const Setbacks *setbacks, uint64_t now_ms)
{
    return setbacks_waiting(setbacks, now_ms, ids);
}

static void the_pause_doubles_from_one_second_to_thirty(void **state)
{
    static const uint64_t pauses[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    Setbacks *setbacks = setbacks_new();
    uint8_t id[16];
    uint64_t now_ms = 5;
    (void)state;
    name(1, id);
    for (size_t i = 0; i < ARRAY_LENGTH(pauses); i++)
    {
        setbacks_note(setbacks, id, now_ms);
        assert_int_equal(waiting(setbacks, now_ms + pauses[i] - 1), 1);
        assert_memory_equal(ids[0], id, 16);
        assert_int_equal(waiting(setbacks, now_ms + pauses[i]), 0);
        now_ms += pauses[i];
    }
    setbacks_free(setbacks);
}

static void what_got_on_begins_anew(void **state)
{
    Setbacks *setbacks = setbacks_new();
    uint8_t a[16];
    uint8_t b[16];
    (void)state;
    name(1, a);
    name(2, b);
    setbacks_forget(setbacks, a); /* unknown */
    setbacks_note(setbacks, a, 0);
    setbacks_note(setbacks, a, 0);
    setbacks_note(setbacks, b, 0);
    setbacks_forget(setbacks, a);
    assert_int_equal(waiting(setbacks, 0), 1);
    assert_memory_equal(ids[0], b, 16);
    setbacks_note(setbacks, a, 0);
    assert_int_equal(waiting(setbacks, 999), 2);
    assert_int_equal(waiting(setbacks, 1000), 0);
    setbacks_free(setbacks);
}

static void beyond_the_limit_the_one_that_is_due_first_is_forgotten(void **state)
{
    Setbacks *setbacks = setbacks_new();
    uint8_t id[16];
    (void)state;
    for (size_t i = 0; i < SETBACKS_MAX; i++)
    {
        name(i, id);
        setbacks_note(setbacks, id, i == 7 ? 0 : 1 + i);
    }
    name(SETBACKS_MAX, id);
    setbacks_note(setbacks, id, 5000);
    assert_int_equal(waiting(setbacks, 0), SETBACKS_MAX);
    name(7, id);
    for (size_t i = 0; i < SETBACKS_MAX; i++)
        assert_memory_not_equal(ids[i], id, 16);
    setbacks_free(setbacks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pause_doubles_from_one_second_to_thirty),
        cmocka_unit_test(what_got_on_begins_anew),
        cmocka_unit_test(beyond_the_limit_the_one_that_is_due_first_is_forgotten),
    };
    return cmocka_run_group_tests_name("setbacks", tests, NULL, NULL);
}
