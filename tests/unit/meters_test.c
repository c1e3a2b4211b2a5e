/*
 * What batches and transfers add to the metrics on their way.
 *
 * Fakes: tests/unit/protocol_world.c tests/unit/fake_sessions.c tests/unit/fake_shards.c
 * Fakes: tests/unit/fake_bank.c tests/unit/fake_values.c
 */
#include "protocol_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a series, as text; "" if there is none. */
static const char *value_of(const World *world, const char *series)
{
    static char value[32];
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    metrics_write(world->metrics, out);
    fclose(out);
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\n%s ", series);
    const char *at = strstr(text, wanted);
    value[0] = '\0';
    if (at != NULL)
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + strlen(wanted), "\n"),
                 at + strlen(wanted));
    free(text);
    return value;
}

#define check_series(world, series, wanted) assert_string_equal(value_of(world, series), wanted)

static void all_begins_with_zeros(void **state)
{
    World *world = *state;
    check_series(world, "giro_transfers_total{mode=\"2pc\",outcome=\"posted\"}", "0");
    check_series(world, "giro_transfers_total{mode=\"saga\",outcome=\"reversed\"}", "0");
    check_series(world, "giro_transfers_total{mode=\"2pc\",outcome=\"reversed\"}", "");
    check_series(world, "giro_transfers_not_accepted_total{code=\"overloaded\"}", "0");
    check_series(world, "giro_outcomes_unknown_total", "0");
    check_series(world, "giro_batches_total{kind=\"refund\",result=\"empty\"}", "0");
    check_series(world, "giro_batch_transfers_count{kind=\"credit\"}", "0");
    check_series(world, "giro_transfer_duration_seconds_count{mode=\"saga\"}", "0");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"apply\",shard=\"s1\"}", "");
    batcher_show_shard(world->batcher, world->a);
    check_series(world, "giro_stage_duration_seconds_count{stage=\"apply\",shard=\"s1\"}", "0");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"acquire\",shard=\"s1\"}", "0");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"judge\",shard=\"s1\"}", "");
}

static void a_two_phase_transfer_counts_at_every_stage(void **state)
{
    World *world = *state;
    Client client;
    pay(world, &client, "a1", "b1");
    check_posted(&client, MODE_2PC);
    check_series(world, "giro_transfers_total{mode=\"2pc\",outcome=\"posted\"}", "1");
    check_series(world, "giro_transfers_total{mode=\"local\",outcome=\"posted\"}", "0");
    check_series(world, "giro_batches_total{kind=\"two-phase\",result=\"committed\"}", "1");
    check_series(world, "giro_batch_transfers_sum{kind=\"two-phase\"}", "1");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"lock\",shard=\"s1\"}", "1");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"lock\",shard=\"s2\"}", "1");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"acquire\",shard=\"s2\"}", "1");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"prepare\",shard=\"s2\"}", "1");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"decide\",shard=\"s1\"}", "1");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"apply\",shard=\"s2\"}", "1");
    check_series(world, "giro_stage_duration_seconds_count{stage=\"prepare\",shard=\"s1\"}", "");
    check_series(world, "giro_transfer_duration_seconds_count{mode=\"2pc\"}", "1");
    check_series(world, "giro_transfer_duration_seconds_count{mode=\"local\"}", "0");
    BatcherCounts counts = batcher_counts(world->batcher);
    assert_int_equal(counts.transfers, 0);
    assert_int_equal(counts.queued, 0);
}

static void what_is_in_no_batch_is_queued(void **state)
{
    World *world = *state;
    Client clients[3];
    static const char *const keys[] = {"k1", "k2", "k3"};
    for (int i = 0; i < 3; i++)
    {
        TransferRequest wanted = request("a1", "a2", 1, keys[i]);
        submit(world, &clients[i], &wanted);
        if (i == 0)
            (void)loop_run_until(world->loop, &clients[0].told, 0);
    }
    BatcherCounts counts = batcher_counts(world->batcher);
    assert_int_equal(counts.transfers, 3);
    assert_int_equal(counts.queued, 2);
    for (int i = 0; i < 3; i++)
        await(world, &clients[i]);
    check_series(world, "giro_transfers_total{mode=\"local\",outcome=\"posted\"}", "3");
    check_series(world, "giro_batches_total{kind=\"local\",result=\"committed\"}", "2");
    check_series(world, "giro_batch_transfers_bucket{kind=\"local\",le=\"1\"}", "1");
    check_series(world, "giro_batch_transfers_bucket{kind=\"local\",le=\"2\"}", "2");
    assert_int_equal(batcher_counts(world->batcher).queued, 0);
}

static void a_reversed_saga_is_accepted_and_reversed(void **state)
{
    World *world = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    wanted.mode = MODE_SAGA;
    fake_account("b1", "missing", 0);
    submit(world, &client, &wanted);
    await(world, &client);
    assert_int_equal(client.state, TRANSFER_REVERSED);
    check_series(world, "giro_sagas_accepted_total", "1");
    check_series(world, "giro_transfers_total{mode=\"saga\",outcome=\"reversed\"}", "1");
    check_series(world, "giro_transfers_total{mode=\"saga\",outcome=\"posted\"}", "0");
    check_series(world, "giro_batches_total{kind=\"hold\",result=\"committed\"}", "1");
    check_series(world, "giro_batches_total{kind=\"credit\",result=\"committed\"}", "1");
    check_series(world, "giro_batches_total{kind=\"refund\",result=\"committed\"}", "1");
}

static void what_fails_is_counted_by_its_code(void **state)
{
    World *world = *state;
    Client client;
    for (int i = 0; i < 3; i++)
        fake_script(world->b, STATEMENT_APPLY, FAKE_ERROR, "P0001");
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.code, ERROR_SHARD_ERROR);
    check_series(world, "giro_transfers_not_accepted_total{code=\"shard-error\"}", "1");
    check_series(world, "giro_batches_total{kind=\"two-phase\",result=\"failed\"}", "3");
    check_series(world, "giro_transfers_total{mode=\"2pc\",outcome=\"posted\"}", "0");
    fake_account("a1", "missing", 0);
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.code, ERROR_DEBIT_ACCOUNT_NOT_FOUND);
    check_series(world, "giro_transfers_not_accepted_total{code=\"debit-account-not-found\"}", "1");
    check_series(world, "giro_batches_total{kind=\"two-phase\",result=\"empty\"}", "1");
}

/* The lost answer of the decision is asked for while shard 1 grants no answer. */
static void a_batch_that_asks_for_its_verdict_is_in_doubt(void **state)
{
    World *world = *state;
    Client client;
    TransferRequest wanted = request("a1", "b1", 5, "k");
    fake_script(world->a, STATEMENT_COMMIT, FAKE_LOST, NULL);
    fake_script(world->a, STATEMENT_VERDICT, FAKE_LOST, NULL);
    submit(world, &client, &wanted);
    size_t most = 0;
    for (int i = 0; i < 100 && !client.told; i++)
    {
        bool never = false;
        size_t now = batcher_counts(world->batcher).in_doubt;
        most = now > most ? now : most;
        (void)loop_run_until(world->loop, &never, 1);
    }
    await(world, &client);
    assert_int_equal(most, 1);
    assert_int_equal(batcher_counts(world->batcher).in_doubt, 0);
}

static void who_is_told_early_is_counted_too(void **state)
{
    World *world = *state;
    Client client;
    finish_batches(world);
    pay(world, &client, "a1", "b1");
    assert_int_equal(client.code, ERROR_DRAINING);
    check_series(world, "giro_transfers_not_accepted_total{code=\"draining\"}", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_world(all_begins_with_zeros),
        with_world(a_two_phase_transfer_counts_at_every_stage),
        with_world(what_is_in_no_batch_is_queued),
        with_world(a_reversed_saga_is_accepted_and_reversed),
        with_world(what_fails_is_counted_by_its_code),
        with_world(a_batch_that_asks_for_its_verdict_is_in_doubt),
        with_world(who_is_told_early_is_counted_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
