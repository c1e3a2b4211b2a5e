/*
 * The stages of sagas: what is said to which shard, in which order, whatever goes wrong.
 *
 * Fakes: tests/unit/protocol_world.c tests/unit/fake_sessions.c tests/unit/fake_shards.c
 * Fakes: tests/unit/fake_bank.c tests/unit/fake_values.c
 */
#include "protocol_world.h"

#include <string.h>

#define HOLD   LOCK_A "s1: apply record commit\n"
#define CREDIT "s2: begin lock receipts_by_id\ns2: apply receive commit\n"

static void pay_by_saga(World *world, Client *client)
{
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    submit(world, client, &wanted);
    await(world, client);
}

static void check_reversed(const Client *client, ErrorCode refusal)
{
    assert_int_equal(client->kind, OUTCOME_RECORDED);
    assert_int_equal(client->state, TRANSFER_REVERSED);
    assert_int_equal(client->refusal, refusal);
}

static void a_saga_holds_credits_and_closes(void **state)
{
    Client client;
    pay_by_saga(*state, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(), HOLD CREDIT "s1: settle\n");
}

static void a_credit_that_stands_already_is_not_applied_again(void **state)
{
    Client client;
    fake_receipt("applied");
    pay_by_saga(*state, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(),
                        HOLD "s2: begin lock receipts_by_id\ns2: commit\ns1: settle\n");
}

static void a_refused_credit_leaves_its_receipt_before_the_refund(void **state)
{
    Client client;
    fake_account("b1", "missing", 0);
    pay_by_saga(*state, &client);
    check_reversed(&client, ERROR_CREDIT_ACCOUNT_NOT_FOUND);
    assert_string_equal(fake_conversation(),
                        HOLD "s2: begin lock receipts_by_id\ns2: receive commit\n" LOCK_A
                             "s1: apply settle commit\n");
}

static void a_lost_credit_is_done_again_and_never_asked_about(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->b, STATEMENT_COMMIT, FAKE_LOST, NULL);
    pay_by_saga(world, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(), HOLD CREDIT CREDIT "s1: settle\n");
}

static void a_lost_close_is_done_again(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_SETTLE, FAKE_LOST, NULL);
    pay_by_saga(world, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(), HOLD CREDIT "s1: settle\ns1: settle\n");
}

static void an_unknown_hold_is_asked_about(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_verdict("abort");
    pay_by_saga(world, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(),
                        HOLD "s1: verdict transfers_by_id\n" HOLD CREDIT "s1: settle\n");
}

static void a_credit_that_keeps_failing_is_let_go_and_the_client_told_that_it_is_pending(
    void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(world->b, STATEMENT_RECEIVE, FAKE_ERROR, "P0001");
    pay_by_saga(world, &client);
    assert_int_equal(client.kind, OUTCOME_RECORDED);
    assert_int_equal(client.state, TRANSFER_PENDING);
    finish_batches(world);
    assert_non_null(strstr(fake_conversation(), "s1: postpone\n"));
    assert_null(strstr(fake_conversation(), "settle"));
}

/* Until its deadline has passed. */
static void submit_while_the_credit_shard_is_away(World *world, Client *client,
                                                  const TransferRequest *wanted)
{
    world->b->usable = false;
    submit(world, client, wanted);
    assert_false(loop_run_until(world->loop, &client->told, 150));
    world->b->usable = true;
}

static void giving_up_sets_the_tombstone_before_the_refund(void **state)
{
    World *world = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    wanted.deadline_ms = 1;
    submit_while_the_credit_shard_is_away(world, &client, &wanted);
    await(world, &client);
    check_reversed(&client, ERROR_DEADLINE_PASSED);
    const char *tombstone = strstr(fake_conversation(), "s2: tombstone\n");
    assert_non_null(tombstone);
    assert_string_equal(tombstone, "s2: tombstone\n" LOCK_A "s1: apply settle commit\n");
}

static void a_credit_that_came_before_the_tombstone_goes_forward(void **state)
{
    World *world = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    wanted.deadline_ms = 1;
    fake_receipt("applied");
    submit_while_the_credit_shard_is_away(world, &client, &wanted);
    await(world, &client);
    check_posted(&client, MODE_SAGA);
    assert_non_null(strstr(fake_conversation(), "s2: tombstone\ns1: settle\n"));
    assert_null(strstr(fake_conversation(), "refund"));
}

static void an_async_client_hears_as_soon_as_the_debit_is_durable(void **state)
{
    World *world = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    client = (Client){.waiter = {.told = told, .respond_async = true}};
    batcher_submit(world->batcher, &wanted, &client.waiter, 1000);
    await(world, &client);
    assert_int_equal(client.kind, OUTCOME_RECORDED);
    assert_int_equal(client.state, TRANSFER_PENDING);
    finish_batches(world);
    assert_string_equal(fake_conversation(), HOLD CREDIT "s1: settle\n");
}

static void commits_of_its_steps_are_noted(void **state)
{
    World *world = *state;
    Client client;
    pay_by_saga(world, &client);
    assert_int_equal(world->a->marks, 1); /* the close has no row of its own */
    assert_int_equal(world->b->marks, 1);
}

static void a_credit_that_leaves_no_batch_row_is_not_noted(void **state)
{
    World *world = *state;
    Client client;
    fake_account("b1", "missing", 0);
    pay_by_saga(world, &client);
    assert_int_equal(client.state, TRANSFER_REVERSED);
    assert_int_equal(world->a->marks, 2); /* hold, refund */
    assert_int_equal(world->b->marks, 0); /* only a receipt */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_world(a_saga_holds_credits_and_closes),
        with_world(commits_of_its_steps_are_noted),
        with_world(a_credit_that_leaves_no_batch_row_is_not_noted),
        with_world(a_credit_that_stands_already_is_not_applied_again),
        with_world(a_refused_credit_leaves_its_receipt_before_the_refund),
        with_world(a_lost_credit_is_done_again_and_never_asked_about),
        with_world(a_lost_close_is_done_again),
        with_world(an_unknown_hold_is_asked_about),
        with_world(a_credit_that_keeps_failing_is_let_go_and_the_client_told_that_it_is_pending),
        with_world(giving_up_sets_the_tombstone_before_the_refund),
        with_world(a_credit_that_came_before_the_tombstone_goes_forward),
        with_world(an_async_client_hears_as_soon_as_the_debit_is_durable),
    };
    return cmocka_run_group_tests_name("saga", tests, NULL, NULL);
}
