/* See protocol_world.h. */
#include "protocol_world.h"

#include <stdio.h>

int set_up(void **state)
{
    static World world;
    route_library_init();
    world.loop = loop_new();
    world.metrics = metrics_new();
    fake_sessions_start(world.loop);
    world.a = fake_shard("s1", 1, 'a');
    world.b = fake_shard("s2", 2, 'b');
    BatcherOptions options = {
        .instance = "me",
        .metrics = world.metrics,
        .transfers_max = 6,
        .batches_max = 8,
        .batch_transfers = 4,
        .stage_deadline_ms = 60,
        .session_wait_ms = 50,
        .visible_wait_ms = 30,
    };
    world.batcher = batcher_new(world.loop, NULL, &options);
    *state = &world;
    return 0;
}

static void drained(void *context)
{
    *(bool *)context = true;
}

int tear_down(void **state)
{
    World *world = *state;
    bool done = false;
    batcher_drain(world->batcher, drained, &done);
    assert_true(loop_run_until(world->loop, &done, 5000));
    batcher_free(world->batcher);
    assert_int_equal(fake_sessions_out(), 0);
    fake_sessions_stop();
    metrics_free(world->metrics);
    loop_free(world->loop);
    return 0;
}

void told(TransferWaiter *waiter, const TransferOutcome *outcome)
{
    Client *client = container_of(waiter, Client, waiter);
    assert_false(client->told);
    client->told = true;
    client->kind = outcome->kind;
    client->code = outcome->code;
    client->replayed = outcome->replayed;
    client->differing = outcome->differing;
    snprintf(client->detail, sizeof client->detail, "%s",
             outcome->detail != NULL ? outcome->detail : "");
    if (outcome->record != NULL)
    {
        client->state = outcome->record->state;
        client->mode = outcome->record->mode;
        client->refusal = outcome->record->refusal;
    }
}

TransferRequest request(const char *debit, const char *credit, int64_t amount, const char *key)
{
    return (TransferRequest){.debit_account = debit,
                             .credit_account = credit,
                             .amount = amount,
                             .currency = "EUR",
                             .idempotency_key = key,
                             .mode = MODE_AUTO};
}

void submit(World *world, Client *client, const TransferRequest *wanted)
{
    *client = (Client){.waiter = {.told = told}};
    batcher_submit(world->batcher, wanted, &client->waiter, 1000);
    assert_false(client->told);
}

void await(World *world, Client *client)
{
    assert_true(loop_run_until(world->loop, &client->told, 3000));
}

void pay(World *world, Client *client, const char *debit, const char *credit)
{
    TransferRequest wanted = request(debit, credit, 5, "k");
    submit(world, client, &wanted);
    await(world, client);
}

void finish_batches(World *world)
{
    bool done = false;
    batcher_drain(world->batcher, drained, &done);
    assert_true(loop_run_until(world->loop, &done, 5000));
}

void check_posted(const Client *client, TransferMode mode)
{
    assert_int_equal(client->kind, OUTCOME_RECORDED);
    assert_int_equal(client->state, TRANSFER_POSTED);
    assert_int_equal(client->mode, mode);
}
