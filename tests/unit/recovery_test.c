/*
 * What was left behind, taken through the stages of everybody's batches; fake shards.
 *
 * Fakes: tests/unit/protocol_world.c tests/unit/fake_sessions.c tests/unit/fake_shards.c
 * Fakes: tests/unit/fake_bank.c tests/unit/fake_values.c
 */
#include "protocol_world.h"

#include "protocol/attention.h"
#include "protocol/gid.h"

#include <stdio.h>
#include <string.h>

#define BATCH "11111111-2222-4333-8444-555555555555"
#define LEG   "giro:test:dead:" BATCH ":s1:s2"
#define ASK   "s1: verdict transfers_by_id\n"
#define LOOK  "s2: prepared_exists | leg_exists\n"

static bool never;

/* Turns until the conversation is this, or this part of it has been said. */
static void await_words(const World *world, const char *words)
{
    for (int i = 0; i < 2000 && strstr(fake_conversation(), words) == NULL; i++)
        loop_run_until(world->loop, &never, 5);
    assert_non_null(strstr(fake_conversation(), words));
}

static void await_count(const World *world, RecoveryKind kind, bool done)
{
    const RecoveryCounts *counts = batcher_recovery_counts(world->batcher);
    const uint64_t *counters = done ? counts->done : counts->failed;
    for (int i = 0; i < 2000 && counters[kind] == 0; i++)
        loop_run_until(world->loop, &never, 5);
    assert_true(counters[kind] > 0);
}

/* Lets what is found come to its end. */
static void recover(World *world, const char *kind, RecoveryKind result)
{
    fake_found(kind, LEG, 0);
    await_count(world, result, true);
    fake_found(NULL, NULL, 0);
    finish_batches(world);
}

static void a_leg_that_is_decided_is_applied_and_its_home_told(void **state)
{
    World *world = *state;
    fake_verdict("commit");
    recover(world, "leg", RECOVERY_LEG_APPLIED);
    assert_string_equal(fake_conversation(), ASK "s2: commit_prepared\ns1: settled_leg\n");
}

static void a_leg_that_is_not_decided_is_given_up_and_cancelled(void **state)
{
    World *world = *state;
    recover(world, "leg", RECOVERY_LEG_CANCELLED);
    assert_string_equal(fake_conversation(), ASK "s2: rollback_prepared | leg_exists\n");
}

static void a_decided_batch_is_finished_when_its_leg_is_seen(void **state)
{
    World *world = *state;
    fake_look(false, true);
    recover(world, "batch", RECOVERY_BATCH_FINISHED);
    assert_string_equal(fake_conversation(), LOOK "s1: settled_leg\n");
}

static void a_decided_batch_whose_leg_is_prepared_is_applied(void **state)
{
    World *world = *state;
    fake_look(true, false);
    recover(world, "batch", RECOVERY_LEG_APPLIED);
    assert_string_equal(fake_conversation(), LOOK "s2: commit_prepared\ns1: settled_leg\n");
}

static void a_decided_batch_whose_leg_is_gone_makes_its_credits_due(void **state)
{
    World *world = *state;
    fake_look(false, false);
    recover(world, "batch", RECOVERY_LEG_REDONE);
    assert_string_equal(fake_conversation(), LOOK "s1: missing_leg\n");
}

static void a_leg_that_another_one_applies_is_looked_for(void **state)
{
    World *world = *state;
    fake_verdict("commit");
    fake_look(false, true);
    fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "42704");
    recover(world, "leg", RECOVERY_BATCH_FINISHED);
    assert_string_equal(fake_conversation(), ASK "s2: commit_prepared\n" LOOK "s1: settled_leg\n");
}

static void a_leg_that_cannot_be_finished_is_noted_at_home_and_left_alone_for_a_while(void **state)
{
    World *world = *state;
    Gid gid;
    assert_true(gid_parse(LEG, &gid));
    fake_verdict("commit");
    for (int i = 0; i < 2; i++)
        fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "42501");
    fake_found("leg", LEG, 0);
    await_words(world, ASK "s2: commit_prepared\ns1: stuck_leg\n" ASK
                           "s2: commit_prepared\ns1: stuck_leg\n");
    fake_found(NULL, NULL, 0);
    await_count(world, RECOVERY_LEG_APPLIED, false);
    fake_forget_conversation();
    for (int i = 0; i < 2000 && !fake_is_passed(gid.batch); i++)
        loop_run_until(world->loop, &never, 5);
    assert_true(fake_is_passed(gid.batch));

    /* Repaired: the next time it is found it comes to its end. */
    fake_found("leg", LEG, 0);
    await_words(world, ASK "s2: commit_prepared\ns1: settled_leg\n");
    fake_found(NULL, NULL, 0);
    finish_batches(world);
}

static void what_waits_for_its_next_try_keeps_no_session(void **state)
{
    World *world = *state;
    fake_verdict("commit");
    for (int i = 0; i < 6; i++)
        fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "XX000");
    fake_found("leg", LEG, 0);
    await_words(world, ASK "s2: commit_prepared\ns2: commit_prepared\ns2: commit_prepared\n"
                           "s2: commit_prepared\ns2: commit_prepared\ns2: commit_prepared\n");
    loop_run_until(world->loop, &never, 5);
    assert_int_equal(fake_sessions_out(), 0);
    fake_found(NULL, NULL, 0);
    await_count(world, RECOVERY_LEG_APPLIED, true);
    finish_batches(world);
}

static void a_leg_whose_home_goes_away_is_let_go_of_at_once(void **state)
{
    World *world = *state;
    for (int i = 0; i < 10; i++)
        fake_script(world->a, STATEMENT_VERDICT, FAKE_ERROR, "57P01");
    fake_found("leg", LEG, 0);
    await_words(world, ASK);
    world->a->usable = false;
    fake_found(NULL, NULL, 0);
    await_count(world, RECOVERY_LEG_CANCELLED, false);
    assert_null(strstr(fake_conversation(), "s2"));
    assert_null(strstr(fake_conversation(), "stuck"));
    fake_return(world->a);
    finish_batches(world);
}

static void what_was_copied_elsewhere_is_nobodys(void **state)
{
    World *world = *state;
    fake_found("leg", "giro:test:dead:" BATCH ":s1:s9", 0);
    loop_run_until(world->loop, &never, 30);
    fake_found("batch", "giro:test:dead:" BATCH ":s9:s2", 0);
    loop_run_until(world->loop, &never, 30);
    fake_found("leg", "giro:test:dead:" BATCH ":s1:s2:", 0);
    loop_run_until(world->loop, &never, 30);
    fake_found(NULL, NULL, 0);
    finish_batches(world);
    assert_string_equal(fake_conversation(), "");
}

static void sagas_and_sessions_are_counted(void **state)
{
    World *world = *state;
    fake_found("sagas", NULL, 3);
    await_count(world, RECOVERY_SAGA_TAKEN_OVER, true);
    fake_found("sessions", NULL, 2);
    await_count(world, RECOVERY_SESSION_ENDED, true);
    fake_found(NULL, NULL, 0);
    finish_batches(world);
    const RecoveryCounts *counts = batcher_recovery_counts(world->batcher);
    assert_int_equal(counts->done[RECOVERY_SAGA_TAKEN_OVER] % 3, 0);
    assert_int_equal(counts->done[RECOVERY_SESSION_ENDED] % 2, 0);
    for (int kind = 0; kind < RECOVERY_KIND_COUNT; kind++)
        assert_int_equal(counts->failed[kind], 0);
}

/* A batch of our own that does not get on is let go of as well: its leg is found like any other. */
static void an_own_leg_that_cannot_be_finished_keeps_no_place(void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 10; i++)
        fake_script(world->b, STATEMENT_COMMIT_PREPARED, FAKE_ERROR, "42501");
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    await_words(world, "s1: stuck_leg\n");
    finish_batches(world);
    assert_null(strstr(fake_conversation(), "finish"));
}

static const uint8_t *lost_credit(const char *key)
{
    static uint8_t id[16];
    transfer_id_make("a1", key, id);
    fake_lost_credit(id, "a1", "b1", key);
    return id;
}

static void a_lost_credit_is_done_again_under_a_receipt(void **state)
{
    World *world = *state;
    lost_credit("k");
    await_words(world, "s1: settle\n");
    finish_batches(world);
    assert_string_equal(fake_conversation(), "s2: begin lock receipts_by_id\n"
                                             "s2: apply receive commit\n"
                                             "s1: settle\n");
}

static void a_lost_credit_that_is_refused_is_never_refunded(void **state)
{
    World *world = *state;
    fake_account("b1", "missing", 0);
    lost_credit("k");
    await_words(world, "s1: settle\n");
    finish_batches(world);
    assert_string_equal(fake_conversation(), "s2: begin lock receipts_by_id\n"
                                             "s2: receive commit\n"
                                             "s1: settle\n");
}

/* Or somebody who repeats the request without a pause would keep the transfer from its end. */
static void a_claim_follows_a_repeat_that_is_under_way(void **state)
{
    World *world = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    fake_account("a1", "busy", 0);
    for (int i = 0; i < 16; i++)
        fake_script(world->a, STATEMENT_WAIT_FOR, FAKE_ERROR, "55P03");
    submit(world, &client, &wanted);
    await_words(world, LOCK_A);
    lost_credit("k");
    for (int i = 0; i < 2000 && fake_is_due(); i++)
        loop_run_until(world->loop, &never, 5);
    assert_false(fake_is_due());
    assert_false(client.told);
    await(world, &client);
    await_words(world, "s2: apply receive commit\ns1: settle\n");
    finish_batches(world);
}

static void a_lost_credit_is_posted_for_whoever_asks_meanwhile(void **state)
{
    World *world = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    fake_script(world->b, STATEMENT_APPLY, FAKE_SILENT, NULL);
    lost_credit("k");
    await_words(world, "s2: apply receive commit\n");
    submit(world, &client, &wanted);
    await(world, &client);
    check_posted(&client, MODE_2PC);
    assert_true(client.replayed);
    assert_null(strstr(fake_conversation(), "settle"));
    while (world->b->usable) /* until the silence has been noticed */
        loop_run_until(world->loop, &never, 5);
    fake_return(world->b);
    await_words(world, "s1: settle\n");
    finish_batches(world);
}

static void every_reason_for_attention_has_its_advice(void **state)
{
    static const char *const words[] = {"credit-waits", "refund-refused", "leg-stuck", "leg-lost",
                                        "credit-refused"};
    const char *general = attention_advice("something else: x");
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
    {
        char reason[64];
        snprintf(reason, sizeof reason, "%s: y", words[i]);
        assert_string_not_equal(attention_advice(reason), general);
        snprintf(reason, sizeof reason, "%sx: y", words[i]);
        assert_string_equal(attention_advice(reason), general);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_world(a_leg_that_is_decided_is_applied_and_its_home_told),
        with_world(a_leg_that_is_not_decided_is_given_up_and_cancelled),
        with_world(a_decided_batch_is_finished_when_its_leg_is_seen),
        with_world(a_decided_batch_whose_leg_is_prepared_is_applied),
        with_world(a_decided_batch_whose_leg_is_gone_makes_its_credits_due),
        with_world(a_leg_that_another_one_applies_is_looked_for),
        with_world(a_leg_that_cannot_be_finished_is_noted_at_home_and_left_alone_for_a_while),
        with_world(what_waits_for_its_next_try_keeps_no_session),
        with_world(a_leg_whose_home_goes_away_is_let_go_of_at_once),
        with_world(what_was_copied_elsewhere_is_nobodys),
        with_world(sagas_and_sessions_are_counted),
        with_world(an_own_leg_that_cannot_be_finished_keeps_no_place),
        with_world(a_lost_credit_is_done_again_under_a_receipt),
        with_world(a_lost_credit_that_is_refused_is_never_refunded),
        with_world(a_claim_follows_a_repeat_that_is_under_way),
        with_world(a_lost_credit_is_posted_for_whoever_asks_meanwhile),
        cmocka_unit_test(every_reason_for_attention_has_its_advice),
    };
    return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
