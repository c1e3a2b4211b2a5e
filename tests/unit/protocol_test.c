/*
 * The stages of local and two-phase batches: what is said to which shard, in which order, whatever
 * goes wrong.
 *
 * Fakes: tests/unit/protocol_world.c tests/unit/fake_sessions.c tests/unit/fake_shards.c
 * Fakes: tests/unit/fake_bank.c tests/unit/fake_values.c
 */
#include "protocol_world.h"

#include <string.h>

static void a_local_transfer_is_one_transaction(void **state)
{
    Client client;
    pay(*state, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_string_equal(fake_conversation(), LOCK_A "s1: apply record commit\n");
}

static void two_phases_prepare_before_they_decide_and_decide_before_they_apply(void **state)
{
    Client client;
    pay(*state, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_B "s2: apply prepare\n"
                                                           "s1: apply record commit\n"
                                                           "s2: commit_prepared\n");
}

static void shards_are_locked_in_ascending_order_whoever_is_home(void **state)
{
    Client client;
    pay(*state, &client, "b1", "a1");
    check_posted(&client, MODE_2PC);
    assert_string_equal(fake_conversation(), "s1: begin lock\n"
                                             "s2: begin lock transfers_by_id\n"
                                             "s1: apply prepare\n"
                                             "s2: apply record commit\n"
                                             "s1: commit_prepared\n");
}

static void a_refusal_is_recorded_at_home_without_a_prepare(void **state)
{
    Client client;
    fake_account("a1", "locked", 4);
    pay(*state, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_RECORDED);
    assert_int_equal(client.state, TRANSFER_REFUSED);
    assert_int_equal(client.refusal, ERROR_INSUFFICIENT_FUNDS);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_B "s1: apply record commit\n");
}

static void a_missing_debit_account_records_nothing(void **state)
{
    Client client;
    fake_account("a1", "missing", 0);
    pay(*state, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_DEBIT_ACCOUNT_NOT_FOUND);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_B);
}

static void a_known_key_is_answered_from_its_row_after_a_commit(void **state)
{
    Client client;
    uint8_t id[16];
    transfer_id_make("a1", "k", id);
    fake_transfer(id, "a1", "b1", "k");
    pay(*state, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    assert_true(client.replayed);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_B "s1: commit\n");
}

static void another_content_under_a_known_key_is_reported_as_reuse(void **state)
{
    Client client;
    uint8_t id[16];
    transfer_id_make("a1", "k", id);
    fake_transfer(id, "a1", "b9", "k");
    pay(*state, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_KEY_REUSED);
    assert_int_equal(client.differing, DIFFERS_CREDIT_ACCOUNT);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void acknowledged_commits_are_noted_on_both_shards(void **state)
{
    World *world = *state;
    Client client;
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    assert_int_equal(world->a->marks, 1);
    assert_int_equal(world->b->marks, 1);
}

static void what_is_not_acknowledged_is_not_noted(void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(world->a, STATEMENT_COMMIT, FAKE_ERROR, "P0001");
    pay(world, &client, "a1", "a2");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(world->a->marks, 0);
}

static void a_verdict_of_commit_is_an_acknowledgement(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_verdict("commit");
    pay(world, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_int_equal(world->a->marks, 1);
}

/* ---- a shard that is fenced off -------------------------------------------------------------- */

static void a_fenced_shard_is_unavailable_and_the_client_hears_why(void **state)
{
    World *world = *state;
    Client client;
    world->b->usable = false;
    world->b->fenced = true;
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_SHARD_UNAVAILABLE);
    assert_string_equal(client.detail, "shard s2: fenced: it is an older copy");
}

static void the_wall_of_a_fenced_shard_is_an_outage_without_effect(void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(world->b, STATEMENT_LOCK, FAKE_ERROR, "GR004");
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_SHARD_UNAVAILABLE);
    assert_null(strstr(fake_conversation(), "prepare"));
}

static void a_fence_is_no_verdict(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_script(world->a, STATEMENT_VERDICT, FAKE_ERROR, "GR004");
    fake_verdict("commit");
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_B "s2: apply prepare\n"
                                                           "s1: apply record commit\n"
                                                           "s1: verdict transfers_by_id\n"
                                                           "s1: verdict transfers_by_id\n"
                                                           "s2: commit_prepared\n");
}

/* ---- failures before the decision ------------------------------------------------------------ */

static void a_failed_prepare_is_tried_again_under_a_fresh_batch(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->b, STATEMENT_PREPARE, FAKE_ERROR, "53200");
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    assert_string_equal(fake_conversation(),
                        LOCK_A LOCK_B "s2: apply prepare\n" LOCK_A LOCK_B "s2: apply prepare\n"
                                      "s1: apply record commit\n"
                                      "s2: commit_prepared\n");
}

static void the_tag_rollback_at_prepare_is_a_failure(void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(world->b, STATEMENT_PREPARE, FAKE_TAG, "ROLLBACK");
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_null(strstr(fake_conversation(), "commit"));
}

static void a_shard_that_keeps_failing_is_an_error_without_effect(void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(world->b, STATEMENT_APPLY, FAKE_ERROR, "P0001");
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_SHARD_ERROR);
    assert_null(strstr(fake_conversation(), "commit"));
}

static void a_lost_lock_is_tried_again(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_LOCK, FAKE_LOST, NULL);
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
}

static void a_session_cut_between_lock_and_decide_is_a_failure_without_effect(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_LOCK, FAKE_CUT, NULL);
    pay(world, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_A "s1: apply record commit\n");
}

static void a_busy_account_is_waited_for_without_holding_anything(void **state)
{
    World *world = *state;
    Client busy;
    Client innocent;
    fake_account("a1", "busy", 0);
    for (int i = 0; i < 16; i++)
        fake_script(world->a, STATEMENT_WAIT_FOR, FAKE_ERROR, "55P03");
    TransferRequest first = request("a1", "b1", 5, "k");
    TransferRequest second = request("a2", "b2", 5, "k");
    submit(world, &busy, &first);
    submit(world, &innocent, &second);
    await(world, &innocent);
    check_posted(&innocent, MODE_2PC);
    await(world, &busy);
    assert_int_equal(busy.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(busy.code, ERROR_ACCOUNT_BUSY);
    assert_non_null(strstr(fake_conversation(), "s1: wait_for\n"));
}

static void who_finds_no_place_to_wait_is_tried_again_soon(void **state)
{
    static const char *const locked[] = {"a1", "a2", "a3", "a4"};
    World *world = *state;
    Client clients[ARRAY_LENGTH(locked)];
    Client innocent;
    fake_account("a5", "busy", 0);
    for (size_t i = 0; i < ARRAY_LENGTH(locked); i++)
    {
        fake_account(locked[i], "busy", 0);
        fake_script(world->a, STATEMENT_WAIT_FOR, FAKE_SILENT, NULL);
        TransferRequest wanted = request(locked[i], "b1", 5, "k");
        submit(world, &clients[i], &wanted);
    }
    TransferRequest wanted = request("a5", "b5", 5, "k");
    submit(world, &innocent, &wanted);
    for (int turn = 0; turn < 8; turn++)
        (void)loop_run_until(world->loop, &innocent.told, 1);
    fake_account("a5", "locked", 100);
    await(world, &innocent);
    check_posted(&innocent, MODE_2PC);
    for (size_t i = 0; i < ARRAY_LENGTH(locked); i++)
        assert_false(clients[i].told);
    for (size_t i = 0; i < ARRAY_LENGTH(locked); i++)
        await(world, &clients[i]);
}

static void a_stale_route_is_tried_again_with_a_fresh_directory(void **state)
{
    World *world = *state;
    Client client;
    fake_account("a1", "stale_route", 0);
    TransferRequest wanted = request("a1", "b1", 5, "k");
    submit(world, &client, &wanted);
    for (int turn = 0; turn < 8; turn++)
        (void)loop_run_until(world->loop, &client.told, 1);
    fake_account("a1", "locked", 100);
    await(world, &client);
    check_posted(&client, MODE_2PC);
}

/* ---- unknown answers ------------------------------------------------------------------------- */

static void a_lost_prepare_is_asked_about_and_cancelled(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->b, STATEMENT_PREPARE, FAKE_LOST, NULL);
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC); /* by the second attempt */
    finish_batches(world);
    const char *said = fake_conversation();
    assert_non_null(strstr(said, "s1: rollback | verdict transfers_by_id\n"));
    assert_non_null(strstr(said, "s2: end_session | rollback_prepared | leg_exists\n"));
}

static void a_lost_decide_that_committed_is_applied_and_answered(void **state)
{
    World *world = *state;
    Client client;
    uint8_t id[16];
    fake_script(world->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_verdict("commit");
    TransferRequest wanted = request("a1", "b1", 5, "k");
    submit(world, &client, &wanted);
    transfer_id_make("a1", "k", id);
    await(world, &client);
    check_posted(&client, MODE_2PC);
    assert_false(client.replayed);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_B "s2: apply prepare\n"
                                                           "s1: apply record commit\n"
                                                           "s1: verdict transfers_by_id\n"
                                                           "s2: commit_prepared\n");
}

static void a_warned_commit_is_asked_about(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_COMMIT, FAKE_WARNED, NULL);
    fake_verdict("commit");
    pay(world, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_non_null(strstr(fake_conversation(), "s1: verdict transfers_by_id\n"));
}

static void a_lost_local_commit_that_did_not_happen_is_done_again(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_verdict("abort");
    pay(world, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_string_equal(fake_conversation(),
                        LOCK_A "s1: apply record commit\n"
                               "s1: verdict transfers_by_id\n" LOCK_A "s1: apply record commit\n");
}

static void a_failed_decide_cancels_the_leg_only_under_an_abort_row(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_RECORD, FAKE_ERROR, "23505");
    pay(world, &client, "a1", "b1");
    finish_batches(world);
    const char *said = fake_conversation();
    const char *verdict = strstr(said, "s1: rollback | verdict transfers_by_id\n");
    const char *cancel = strstr(said, "s2: rollback_prepared | leg_exists\n");
    assert_non_null(verdict);
    assert_non_null(cancel);
    assert_true(verdict < cancel);
    check_posted(&client, MODE_2PC);
}

static void while_the_home_is_away_the_outcome_is_unknown(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    world->a->refuses_settling = true;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    client = (Client){.waiter = {.told = told}};
    batcher_submit(world->batcher, &wanted, &client.waiter, 100);
    await(world, &client);
    assert_int_equal(client.kind, OUTCOME_UNKNOWN);
    assert_int_equal(client.code, ERROR_OUTCOME_UNKNOWN);
    world->a->refuses_settling = false;
}

/* ---- after the decision ---------------------------------------------------------------------- */

static void a_silent_remote_does_not_keep_the_client_waiting(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_SILENT, NULL);
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    world->b->usable = true;
}

static void a_busy_leg_is_applied_again_until_it_is_done(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "55000");
    fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_WARNED, NULL);
    pay(world, &client, "a1", "b1");
    finish_batches(world);
    check_posted(&client, MODE_2PC);
    const char *first = strstr(fake_conversation(), "s2: commit_prepared\n");
    const char *second = strstr(first + 1, "s2: commit_prepared\n");
    assert_non_null(strstr(second + 1, "s2: commit_prepared\n"));
}

static void a_leg_that_does_not_exist_is_looked_for_before_it_counts_as_done(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "42704");
    fake_look(false, true);
    pay(world, &client, "a1", "b1");
    finish_batches(world);
    check_posted(&client, MODE_2PC);
    assert_non_null(strstr(fake_conversation(), "s2: prepared_exists | leg_exists\n"));
    assert_null(strstr(fake_conversation(), "missing_leg"));
}

static void a_leg_that_was_rolled_back_raises_the_alarm_at_home(void **state)
{
    World *world = *state;
    Client client;
    fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "42704");
    fake_look(false, false);
    pay(world, &client, "a1", "b1");
    finish_batches(world);
    assert_non_null(strstr(fake_conversation(), "s1: missing_leg\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_world(a_local_transfer_is_one_transaction),
        with_world(two_phases_prepare_before_they_decide_and_decide_before_they_apply),
        with_world(shards_are_locked_in_ascending_order_whoever_is_home),
        with_world(a_refusal_is_recorded_at_home_without_a_prepare),
        with_world(a_missing_debit_account_records_nothing),
        with_world(a_known_key_is_answered_from_its_row_after_a_commit),
        with_world(another_content_under_a_known_key_is_reported_as_reuse),
        with_world(acknowledged_commits_are_noted_on_both_shards),
        with_world(what_is_not_acknowledged_is_not_noted),
        with_world(a_verdict_of_commit_is_an_acknowledgement),
        with_world(a_fenced_shard_is_unavailable_and_the_client_hears_why),
        with_world(the_wall_of_a_fenced_shard_is_an_outage_without_effect),
        with_world(a_fence_is_no_verdict),
        with_world(a_failed_prepare_is_tried_again_under_a_fresh_batch),
        with_world(the_tag_rollback_at_prepare_is_a_failure),
        with_world(a_shard_that_keeps_failing_is_an_error_without_effect),
        with_world(a_lost_lock_is_tried_again),
        with_world(a_session_cut_between_lock_and_decide_is_a_failure_without_effect),
        with_world(a_busy_account_is_waited_for_without_holding_anything),
        with_world(who_finds_no_place_to_wait_is_tried_again_soon),
        with_world(a_stale_route_is_tried_again_with_a_fresh_directory),
        with_world(a_lost_prepare_is_asked_about_and_cancelled),
        with_world(a_lost_decide_that_committed_is_applied_and_answered),
        with_world(a_warned_commit_is_asked_about),
        with_world(a_lost_local_commit_that_did_not_happen_is_done_again),
        with_world(a_failed_decide_cancels_the_leg_only_under_an_abort_row),
        with_world(while_the_home_is_away_the_outcome_is_unknown),
        with_world(a_silent_remote_does_not_keep_the_client_waiting),
        with_world(a_busy_leg_is_applied_again_until_it_is_done),
        with_world(a_leg_that_does_not_exist_is_looked_for_before_it_counts_as_done),
        with_world(a_leg_that_was_rolled_back_raises_the_alarm_at_home),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
