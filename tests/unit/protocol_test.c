/*
 * The stages of local and two-phase batches: what is said to which shard, in which order, whatever
 * goes wrong.
 *
 * Fakes: tests/unit/fake_sessions.c tests/unit/fake_shards.c
 * Fakes: tests/unit/fake_bank.c tests/unit/fake_values.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "batcher/batcher.h"
#include "fake_sessions.h"

typedef struct Client
{
    TransferWaiter waiter;
    bool told;
    OutcomeKind kind;
    ErrorCode code;
    TransferState state;
    TransferMode mode;
    ErrorCode refusal;
    bool replayed;
    unsigned differing;
} Client;

typedef struct Fixture
{
    Loop *loop;
    Shard *a; /* ordinal 1: accounts a… */
    Shard *b; /* ordinal 2: accounts b… */
    Batcher *batcher;
} Fixture;

static int set_up(void **state)
{
    static Fixture fixture;
    route_library_init();
    fixture.loop = loop_new();
    fake_sessions_start(fixture.loop);
    fixture.a = fake_shard("s1", 1, 'a');
    fixture.b = fake_shard("s2", 2, 'b');
    BatcherOptions options = {
        .instance = "me",
        .transfers_max = 6,
        .batches_max = 8,
        .batch_transfers = 4,
        .stage_deadline_ms = 60,
        .session_wait_ms = 50,
        .visible_wait_ms = 30,
    };
    fixture.batcher = batcher_new(fixture.loop, NULL, &options);
    *state = &fixture;
    return 0;
}

static void drained(void *context)
{
    *(bool *)context = true;
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    bool done = false;
    batcher_drain(fixture->batcher, drained, &done);
    assert_true(loop_run_until(fixture->loop, &done, 5000));
    batcher_free(fixture->batcher);
    assert_int_equal(fake_sessions_out(), 0);
    fake_sessions_stop();
    loop_free(fixture->loop);
    return 0;
}

static void told(TransferWaiter *waiter, const TransferOutcome *outcome)
{
    Client *client = container_of(waiter, Client, waiter);
    assert_false(client->told);
    client->told = true;
    client->kind = outcome->kind;
    client->code = outcome->code;
    client->replayed = outcome->replayed;
    client->differing = outcome->differing;
    if (outcome->record != NULL)
    {
        client->state = outcome->record->state;
        client->mode = outcome->record->mode;
        client->refusal = outcome->record->refusal;
    }
}

static TransferRequest request(const char *debit, const char *credit, int64_t amount,
                               const char *key)
{
    return (TransferRequest){.debit_account = debit,
                             .credit_account = credit,
                             .amount = amount,
                             .currency = "EUR",
                             .idempotency_key = key,
                             .mode = MODE_AUTO};
}

static void submit(Fixture *fixture, Client *client, const TransferRequest *wanted)
{
    *client = (Client){.waiter = {.told = told}};
    batcher_submit(fixture->batcher, wanted, &client->waiter, 1000);
    assert_false(client->told);
}

static void await(Fixture *fixture, Client *client)
{
    assert_true(loop_run_until(fixture->loop, &client->told, 3000));
}

static void pay(Fixture *fixture, Client *client, const char *debit, const char *credit)
{
    TransferRequest wanted = request(debit, credit, 5, "k");
    submit(fixture, client, &wanted);
    await(fixture, client);
}

static void finish_batches(Fixture *fixture)
{
    bool done = false;
    batcher_drain(fixture->batcher, drained, &done);
    assert_true(loop_run_until(fixture->loop, &done, 5000));
}

static void check_posted(const Client *client, TransferMode mode)
{
    assert_int_equal(client->kind, OUTCOME_RECORDED);
    assert_int_equal(client->state, TRANSFER_POSTED);
    assert_int_equal(client->mode, mode);
}

#define LOCK_A "s1: begin lock transfers_by_id\n"
#define LOCK_B "s2: begin lock\n"

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

/* ---- failures before the decision ------------------------------------------------------------ */

static void a_failed_prepare_is_tried_again_under_a_fresh_batch(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->b, STATEMENT_PREPARE, FAKE_ERROR, "53200");
    pay(fixture, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    assert_string_equal(fake_conversation(),
                        LOCK_A LOCK_B "s2: apply prepare\n" LOCK_A LOCK_B "s2: apply prepare\n"
                                      "s1: apply record commit\n"
                                      "s2: commit_prepared\n");
}

static void the_tag_rollback_at_prepare_is_a_failure(void **state)
{
    Fixture *fixture = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(fixture->b, STATEMENT_PREPARE, FAKE_TAG, "ROLLBACK");
    pay(fixture, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_null(strstr(fake_conversation(), "commit"));
}

static void a_shard_that_keeps_failing_is_an_error_without_effect(void **state)
{
    Fixture *fixture = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(fixture->b, STATEMENT_APPLY, FAKE_ERROR, "P0001");
    pay(fixture, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_SHARD_ERROR);
    assert_null(strstr(fake_conversation(), "commit"));
}

static void a_lost_lock_is_tried_again(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_LOCK, FAKE_LOST, NULL);
    pay(fixture, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
}

static void a_session_cut_between_lock_and_decide_is_a_failure_without_effect(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_LOCK, FAKE_CUT, NULL);
    pay(fixture, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_A "s1: apply record commit\n");
}

static void a_busy_account_is_waited_for_without_holding_anything(void **state)
{
    Fixture *fixture = *state;
    Client busy;
    Client innocent;
    fake_account("a1", "busy", 0);
    for (int i = 0; i < 16; i++)
        fake_script(fixture->a, STATEMENT_WAIT_FOR, FAKE_ERROR, "55P03");
    TransferRequest first = request("a1", "b1", 5, "k");
    TransferRequest second = request("a2", "b2", 5, "k");
    submit(fixture, &busy, &first);
    submit(fixture, &innocent, &second);
    await(fixture, &innocent);
    check_posted(&innocent, MODE_2PC);
    await(fixture, &busy);
    assert_int_equal(busy.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(busy.code, ERROR_ACCOUNT_BUSY);
    assert_non_null(strstr(fake_conversation(), "s1: wait_for\n"));
}

static void a_stale_route_is_tried_again_with_a_fresh_directory(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_account("a1", "stale_route", 0);
    TransferRequest wanted = request("a1", "b1", 5, "k");
    submit(fixture, &client, &wanted);
    for (int turn = 0; turn < 8; turn++)
        (void)loop_run_until(fixture->loop, &client.told, 1);
    fake_account("a1", "locked", 100);
    await(fixture, &client);
    check_posted(&client, MODE_2PC);
}

/* ---- unknown answers ------------------------------------------------------------------------- */

static void a_lost_prepare_is_asked_about_and_cancelled(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->b, STATEMENT_PREPARE, FAKE_LOST, NULL);
    pay(fixture, &client, "a1", "b1");
    check_posted(&client, MODE_2PC); /* by the second attempt */
    finish_batches(fixture);
    const char *said = fake_conversation();
    assert_non_null(strstr(said, "s1: rollback | verdict transfers_by_id\n"));
    assert_non_null(strstr(said, "s2: end_session | rollback_prepared | leg_exists\n"));
}

static void a_lost_decide_that_committed_is_applied_and_answered(void **state)
{
    Fixture *fixture = *state;
    Client client;
    uint8_t id[16];
    fake_script(fixture->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_verdict("commit");
    TransferRequest wanted = request("a1", "b1", 5, "k");
    submit(fixture, &client, &wanted);
    transfer_id_make("a1", "k", id);
    await(fixture, &client);
    check_posted(&client, MODE_2PC);
    assert_false(client.replayed);
    assert_string_equal(fake_conversation(), LOCK_A LOCK_B "s2: apply prepare\n"
                                                           "s1: apply record commit\n"
                                                           "s1: verdict transfers_by_id\n"
                                                           "s2: commit_prepared\n");
}

static void a_warned_commit_is_asked_about(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_COMMIT, FAKE_WARNED, NULL);
    fake_verdict("commit");
    pay(fixture, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_non_null(strstr(fake_conversation(), "s1: verdict transfers_by_id\n"));
}

static void a_lost_local_commit_that_did_not_happen_is_done_again(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_verdict("abort");
    pay(fixture, &client, "a1", "a2");
    check_posted(&client, MODE_LOCAL);
    assert_string_equal(fake_conversation(),
                        LOCK_A "s1: apply record commit\n"
                               "s1: verdict transfers_by_id\n" LOCK_A "s1: apply record commit\n");
}

static void a_failed_decide_cancels_the_leg_only_under_an_abort_row(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_RECORD, FAKE_ERROR, "23505");
    pay(fixture, &client, "a1", "b1");
    finish_batches(fixture);
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
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fixture->a->refuses_settling = true;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    client = (Client){.waiter = {.told = told}};
    batcher_submit(fixture->batcher, &wanted, &client.waiter, 100);
    await(fixture, &client);
    assert_int_equal(client.kind, OUTCOME_UNKNOWN);
    assert_int_equal(client.code, ERROR_OUTCOME_UNKNOWN);
    fixture->a->refuses_settling = false;
}

/* ---- after the decision ---------------------------------------------------------------------- */

static void a_silent_remote_does_not_keep_the_client_waiting(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->b, STATEMENT_COMMIT_PREPARED, FAKE_SILENT, NULL);
    pay(fixture, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    fixture->b->usable = true;
}

static void a_busy_leg_is_applied_again_until_it_is_done(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "55000");
    fake_script(fixture->b, STATEMENT_COMMIT_PREPARED, FAKE_WARNED, NULL);
    pay(fixture, &client, "a1", "b1");
    finish_batches(fixture);
    check_posted(&client, MODE_2PC);
    const char *first = strstr(fake_conversation(), "s2: commit_prepared\n");
    const char *second = strstr(first + 1, "s2: commit_prepared\n");
    assert_non_null(strstr(second + 1, "s2: commit_prepared\n"));
}

static void a_leg_that_does_not_exist_is_looked_for_before_it_counts_as_done(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "42704");
    fake_look(false, true);
    pay(fixture, &client, "a1", "b1");
    finish_batches(fixture);
    check_posted(&client, MODE_2PC);
    assert_non_null(strstr(fake_conversation(), "s2: prepared_exists | leg_exists\n"));
    assert_null(strstr(fake_conversation(), "missing_leg"));
}

static void a_leg_that_was_rolled_back_raises_the_alarm_at_home(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "42704");
    fake_look(false, false);
    pay(fixture, &client, "a1", "b1");
    finish_batches(fixture);
    assert_non_null(strstr(fake_conversation(), "s1: missing_leg\n"));
}

/* ---- sagas
 * --------------------------------------------------------------------------------------- */

#define HOLD   LOCK_A "s1: apply record commit\n"
#define CREDIT "s2: begin lock receipts_by_id\ns2: apply receive commit\n"

static void pay_by_saga(Fixture *fixture, Client *client)
{
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    submit(fixture, client, &wanted);
    await(fixture, client);
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
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->b, STATEMENT_COMMIT, FAKE_LOST, NULL);
    pay_by_saga(fixture, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(), HOLD CREDIT CREDIT "s1: settle\n");
}

static void a_lost_close_is_done_again(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_SETTLE, FAKE_LOST, NULL);
    pay_by_saga(fixture, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(), HOLD CREDIT "s1: settle\ns1: settle\n");
}

static void an_unknown_hold_is_asked_about(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fake_script(fixture->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_verdict("abort");
    pay_by_saga(fixture, &client);
    check_posted(&client, MODE_SAGA);
    assert_string_equal(fake_conversation(),
                        HOLD "s1: verdict transfers_by_id\n" HOLD CREDIT "s1: settle\n");
}

static void a_credit_that_keeps_failing_is_let_go_and_the_client_told_that_it_is_pending(
    void **state)
{
    Fixture *fixture = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(fixture->b, STATEMENT_RECEIVE, FAKE_ERROR, "P0001");
    pay_by_saga(fixture, &client);
    assert_int_equal(client.kind, OUTCOME_RECORDED);
    assert_int_equal(client.state, TRANSFER_PENDING);
    finish_batches(fixture);
    assert_non_null(strstr(fake_conversation(), "s1: postpone\n"));
    assert_null(strstr(fake_conversation(), "settle"));
}

/* Until its deadline has passed. */
static void submit_while_the_credit_shard_is_away(Fixture *fixture, Client *client,
                                                  const TransferRequest *wanted)
{
    fixture->b->usable = false;
    submit(fixture, client, wanted);
    assert_false(loop_run_until(fixture->loop, &client->told, 150));
    fixture->b->usable = true;
}

static void giving_up_sets_the_tombstone_before_the_refund(void **state)
{
    Fixture *fixture = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    wanted.deadline_ms = 1;
    submit_while_the_credit_shard_is_away(fixture, &client, &wanted);
    await(fixture, &client);
    check_reversed(&client, ERROR_DEADLINE_PASSED);
    const char *tombstone = strstr(fake_conversation(), "s2: tombstone\n");
    assert_non_null(tombstone);
    assert_string_equal(tombstone, "s2: tombstone\n" LOCK_A "s1: apply settle commit\n");
}

static void a_credit_that_came_before_the_tombstone_goes_forward(void **state)
{
    Fixture *fixture = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    wanted.deadline_ms = 1;
    fake_receipt("applied");
    submit_while_the_credit_shard_is_away(fixture, &client, &wanted);
    await(fixture, &client);
    check_posted(&client, MODE_SAGA);
    assert_non_null(strstr(fake_conversation(), "s2: tombstone\ns1: settle\n"));
    assert_null(strstr(fake_conversation(), "refund"));
}

static void an_async_client_hears_as_soon_as_the_debit_is_durable(void **state)
{
    Fixture *fixture = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    client = (Client){.waiter = {.told = told, .respond_async = true}};
    batcher_submit(fixture->batcher, &wanted, &client.waiter, 1000);
    await(fixture, &client);
    assert_int_equal(client.kind, OUTCOME_RECORDED);
    assert_int_equal(client.state, TRANSFER_PENDING);
    finish_batches(fixture);
    assert_string_equal(fake_conversation(), HOLD CREDIT "s1: settle\n");
}

/* ---- many ------------------------------------------------------------------------------------ */

static void what_queues_behind_a_batch_forms_the_next_one(void **state)
{
    Fixture *fixture = *state;
    Client clients[5];
    char keys[5][16];
    for (int i = 0; i < 5; i++)
    {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        TransferRequest wanted = request("a1", "a2", 1, keys[i]);
        submit(fixture, &clients[i], &wanted);
        if (i == 0)
            (void)loop_run_until(fixture->loop, &clients[0].told, 0);
    }
    for (int i = 0; i < 5; i++)
        await(fixture, &clients[i]);
    assert_string_equal(fake_conversation(),
                        LOCK_A "s1: apply record commit\n" LOCK_A "s1: apply record commit\n");
}

static void twins_wait_for_one_transfer_and_a_rival_is_told_what_differs(void **state)
{
    Fixture *fixture = *state;
    Client first;
    Client twin;
    Client rival;
    TransferRequest wanted = request("a1", "a2", 5, "k");
    TransferRequest other = request("a1", "a2", 6, "k");
    submit(fixture, &first, &wanted);
    submit(fixture, &twin, &wanted);
    submit(fixture, &rival, &other);
    await(fixture, &first);
    check_posted(&first, MODE_LOCAL);
    check_posted(&twin, MODE_LOCAL);
    assert_true(rival.told);
    assert_int_equal(rival.kind, OUTCOME_KEY_REUSED);
    assert_int_equal(rival.differing, DIFFERS_AMOUNT);
    assert_string_equal(fake_conversation(), LOCK_A "s1: apply record commit\n");
}

static void beyond_the_bound_a_request_is_told_at_once(void **state)
{
    Fixture *fixture = *state;
    Client clients[7];
    char keys[7][16];
    for (int i = 0; i < 7; i++)
    {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        TransferRequest wanted = request("a1", "a2", 1, keys[i]);
        submit(fixture, &clients[i], &wanted);
    }
    for (int i = 0; i < 7; i++)
        await(fixture, &clients[i]);
    check_posted(&clients[5], MODE_LOCAL);
    assert_int_equal(clients[6].kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(clients[6].code, ERROR_OVERLOADED);
}

static void no_batch_is_formed_for_a_suspect_shard(void **state)
{
    Fixture *fixture = *state;
    Client client;
    fixture->b->usable = false;
    pay(fixture, &client, "a1", "b1");
    assert_int_equal(client.kind, OUTCOME_NOT_ACCEPTED);
    assert_int_equal(client.code, ERROR_SHARD_UNAVAILABLE);
    assert_string_equal(fake_conversation(), "");
}

static void a_draining_coordinator_takes_nothing_new(void **state)
{
    Fixture *fixture = *state;
    Client client;
    finish_batches(fixture);
    pay(fixture, &client, "a1", "b1");
    assert_int_equal(client.code, ERROR_DRAINING);
}

static void finished_batches_are_noted_with_the_next_decide(void **state)
{
    Fixture *fixture = *state;
    Client client;
    pay(fixture, &client, "a1", "b1");
    fake_forget_conversation();
    TransferRequest wanted = request("a1", "b1", 5, "k2");
    submit(fixture, &client, &wanted);
    await(fixture, &client);
    assert_non_null(strstr(fake_conversation(), "s1: apply record finish commit\n"));
}

#define with_fixture(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_fixture(a_local_transfer_is_one_transaction),
        with_fixture(two_phases_prepare_before_they_decide_and_decide_before_they_apply),
        with_fixture(shards_are_locked_in_ascending_order_whoever_is_home),
        with_fixture(a_refusal_is_recorded_at_home_without_a_prepare),
        with_fixture(a_missing_debit_account_records_nothing),
        with_fixture(a_known_key_is_answered_from_its_row_after_a_commit),
        with_fixture(another_content_under_a_known_key_is_reported_as_reuse),
        with_fixture(a_failed_prepare_is_tried_again_under_a_fresh_batch),
        with_fixture(the_tag_rollback_at_prepare_is_a_failure),
        with_fixture(a_shard_that_keeps_failing_is_an_error_without_effect),
        with_fixture(a_lost_lock_is_tried_again),
        with_fixture(a_session_cut_between_lock_and_decide_is_a_failure_without_effect),
        with_fixture(a_busy_account_is_waited_for_without_holding_anything),
        with_fixture(a_stale_route_is_tried_again_with_a_fresh_directory),
        with_fixture(a_lost_prepare_is_asked_about_and_cancelled),
        with_fixture(a_lost_decide_that_committed_is_applied_and_answered),
        with_fixture(a_warned_commit_is_asked_about),
        with_fixture(a_lost_local_commit_that_did_not_happen_is_done_again),
        with_fixture(a_failed_decide_cancels_the_leg_only_under_an_abort_row),
        with_fixture(while_the_home_is_away_the_outcome_is_unknown),
        with_fixture(a_silent_remote_does_not_keep_the_client_waiting),
        with_fixture(a_busy_leg_is_applied_again_until_it_is_done),
        with_fixture(a_leg_that_does_not_exist_is_looked_for_before_it_counts_as_done),
        with_fixture(a_leg_that_was_rolled_back_raises_the_alarm_at_home),
        with_fixture(a_saga_holds_credits_and_closes),
        with_fixture(a_credit_that_stands_already_is_not_applied_again),
        with_fixture(a_refused_credit_leaves_its_receipt_before_the_refund),
        with_fixture(a_lost_credit_is_done_again_and_never_asked_about),
        with_fixture(a_lost_close_is_done_again),
        with_fixture(an_unknown_hold_is_asked_about),
        with_fixture(a_credit_that_keeps_failing_is_let_go_and_the_client_told_that_it_is_pending),
        with_fixture(giving_up_sets_the_tombstone_before_the_refund),
        with_fixture(a_credit_that_came_before_the_tombstone_goes_forward),
        with_fixture(an_async_client_hears_as_soon_as_the_debit_is_durable),
        with_fixture(what_queues_behind_a_batch_forms_the_next_one),
        with_fixture(twins_wait_for_one_transfer_and_a_rival_is_told_what_differs),
        with_fixture(beyond_the_bound_a_request_is_told_at_once),
        with_fixture(no_batch_is_formed_for_a_suspect_shard),
        with_fixture(a_draining_coordinator_takes_nothing_new),
        with_fixture(finished_batches_are_noted_with_the_next_decide),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
