/*
 * From requests to batches: what travels together, who waits for whom, and who is turned away.
 *
 * Fakes: tests/unit/protocol_world.c tests/unit/fake_sessions.c tests/unit/fake_shards.c
 * Fakes: tests/unit/fake_bank.c tests/unit/fake_values.c
 */
#include "protocol_world.h"

#include <stdio.h>
#include <string.h>

static int count_words(const char *words)
{
    int count = 0;
    for (const char *at = fake_conversation(); (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

static void what_queues_behind_a_batch_forms_the_next_one(void **state)
{
    World *world = *state;
    Client clients[5];
    char keys[5][16];
    for (int i = 0; i < 5; i++)
    {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        TransferRequest wanted = request("a1", "a2", 1, keys[i]);
        submit(world, &clients[i], &wanted);
        if (i == 0)
            (void)loop_run_until(world->loop, &clients[0].told, 0);
    }
    for (int i = 0; i < 5; i++)
        await(world, &clients[i]);
    assert_string_equal(fake_conversation(),
                        LOCK_A "s1: apply record commit\n" LOCK_A "s1: apply record commit\n");
}

/* Behind a batch of one wait three, which is not all that fit; the fourth fills the next one. */
static void a_full_batch_does_not_wait_for_the_one_before(void **state)
{
    World *world = *state;
    const char *pairs[5][2] = {
        {"a1", "a2"}, {"a3", "a4"}, {"a5", "a6"}, {"a7", "a8"}, {"a9", "a10"}};
    Client clients[5];
    char keys[5][16];
    for (int i = 0; i < 5; i++)
    {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        TransferRequest wanted = request(pairs[i][0], pairs[i][1], 1, keys[i]);
        submit(world, &clients[i], &wanted);
        if (i == 1 || i == 2)
            continue;
        (void)loop_run_until(world->loop, &clients[i].told, 0);
        assert_int_equal(batcher_counts(world->batcher).batches, i < 4 ? 1 : 2);
    }
    for (int i = 0; i < 5; i++)
        await(world, &clients[i]);
    assert_int_equal(count_words("commit"), 2);
}

static void twins_wait_for_one_transfer_and_a_rival_is_told_what_differs(void **state)
{
    World *world = *state;
    Client first;
    Client twin;
    Client rival;
    TransferRequest wanted = request("a1", "a2", 5, "k");
    TransferRequest other = request("a1", "a2", 6, "k");
    submit(world, &first, &wanted);
    submit(world, &twin, &wanted);
    submit(world, &rival, &other);
    await(world, &first);
    check_posted(&first, MODE_LOCAL);
    check_posted(&twin, MODE_LOCAL);
    assert_true(rival.told);
    assert_int_equal(rival.kind, OUTCOME_KEY_REUSED);
    assert_int_equal(rival.differing, DIFFERS_AMOUNT);
    assert_string_equal(fake_conversation(), LOCK_A "s1: apply record commit\n");
}

static void beyond_the_bound_a_request_is_told_at_once(void **state)
{
    World *world = *state;
    Client clients[7];
    char keys[7][16];
    for (int i = 0; i < 7; i++)
    {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        TransferRequest wanted = request("a1", "a2", 1, keys[i]);
        submit(world, &clients[i], &wanted);
    }
    for (int i = 0; i < 7; i++)
        await(world, &clients[i]);
    check_posted(&clients[5], MODE_LOCAL);
    assert_int_equal(clients[6].kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(clients[6].code, ERROR_OVERLOADED);
}

/* The lane a -> b is at work on a1 and b1 when three come for b -> a: of these only the one that
 * meets neither goes at once. */
static void batches_that_would_meet_on_an_account_go_one_after_the_other(void **state)
{
    World *world = *state;
    Client clients[4];
    const char *pairs[4][2] = {{"a1", "b1"}, {"b1", "a2"}, {"b2", "a1"}, {"b3", "a3"}};
    char keys[4][16];
    for (int i = 0; i < 4; i++)
    {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        TransferRequest wanted = request(pairs[i][0], pairs[i][1], 1, keys[i]);
        submit(world, &clients[i], &wanted);
    }
    await(world, &clients[3]);
    assert_false(clients[1].told);
    assert_false(clients[2].told);
    await(world, &clients[1]);
    await(world, &clients[2]);
    for (int i = 0; i < 4; i++)
        check_posted(&clients[i], MODE_2PC);
    assert_int_equal(count_words("record"), 3);
}

static void a_shard_that_has_no_room_is_tried_again_after_a_rest(void **state)
{
    World *world = *state;
    Client client;
    Client local;
    TransferRequest between = request("a1", "b1", 5, "k");
    TransferRequest inside = request("b2", "b3", 5, "l");
    fake_script(world->b, STATEMENT_PREPARE, FAKE_ERROR, "53200");
    fake_script(world->b, STATEMENT_PREPARE, FAKE_ERROR, "53200");
    submit(world, &client, &between);
    submit(world, &local, &inside);
    await(world, &local);
    check_posted(&local, MODE_LOCAL);
    assert_false(client.told);
    await(world, &client);
    check_posted(&client, MODE_2PC);
    assert_int_equal(count_words("s2: apply prepare\n"), 3);
}

static void a_shard_that_never_has_room_is_overloaded_without_effect(void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 24; i++)
        fake_script(world->b, STATEMENT_PREPARE, FAKE_ERROR, "53200");
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_OVERLOADED);
    assert_in_range(count_words("s2: apply prepare\n"), 2, 8);
}

static void no_batch_is_formed_for_a_suspect_shard(void **state)
{
    World *world = *state;
    Client client;
    world->b->usable = false;
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_SHARD_UNAVAILABLE);
    assert_string_equal(fake_conversation(), "");
}

static void a_draining_coordinator_takes_nothing_new(void **state)
{
    World *world = *state;
    Client client;
    finish_batches(world);
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.code, ERROR_DRAINING);
}

static void finished_batches_are_noted_with_the_next_decide(void **state)
{
    World *world = *state;
    Client client;
    pay(world, &client, "a1", "b1");
    fake_forget_conversation();
    TransferRequest wanted = request("a1", "b1", 5, "k2");
    submit(world, &client, &wanted);
    await(world, &client);
    assert_non_null(strstr(fake_conversation(), "s1: apply record finish commit\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_world(what_queues_behind_a_batch_forms_the_next_one),
        with_world(a_full_batch_does_not_wait_for_the_one_before),
        with_world(twins_wait_for_one_transfer_and_a_rival_is_told_what_differs),
        with_world(beyond_the_bound_a_request_is_told_at_once),
        with_world(batches_that_would_meet_on_an_account_go_one_after_the_other),
        with_world(a_shard_that_has_no_room_is_tried_again_after_a_rest),
        with_world(a_shard_that_never_has_room_is_overloaded_without_effect),
        with_world(no_batch_is_formed_for_a_suspect_shard),
        with_world(a_draining_coordinator_takes_nothing_new),
        with_world(finished_batches_are_noted_with_the_next_decide),
    };
    return cmocka_run_group_tests_name("batcher", tests, NULL, NULL);
}
