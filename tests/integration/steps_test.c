/*
 * The stages of transfers on real shards, as their rows tell them.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum
{
    HOME = 1,
    REMOTE = 2,
};

static const char saga[] = "\"mode\":\"saga\"";
static const char why[] = "{\"reason\":\"the customer asked for it\"}";

static Cluster *cluster;
static Client *client;

typedef char TransferId[UUID_TEXT_MAX + 1];

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
    return 0;
}

/* "prepare shard-2 done; decide shard-1 done" */
static void read_steps(const char *id, char *ret_text, size_t size)
{
    char path[128];
    Response response;
    size_t used = 0;
    snprintf(path, sizeof path, "/v1/transfers/%s/steps", id);
    client_call(client, &(Request){.path = path}, &response);
    response_expect(&response, 200, NULL);
    ret_text[0] = '\0';
    for (int i = 0;; i++)
    {
        static const char *const names[] = {"stage", "shard", "outcome"};
        char value[32];
        snprintf(value, sizeof value, "items.%d.stage", i);
        if (response_value(&response, value) == NULL)
            break;
        for (size_t j = 0; j < ARRAY_LENGTH(names); j++)
        {
            snprintf(value, sizeof value, "items.%d.%s", i, names[j]);
            used += (size_t)snprintf(ret_text + used, size - used, "%s%s",
                                     j > 0   ? " "
                                     : i > 0 ? "; "
                                             : "",
                                     response_string(&response, value));
        }
    }
    response_done(&response);
}

static void expect_steps(const char *id, const char *wanted)
{
    char text[512];
    read_steps(id, text, sizeof text);
    assert_string_equal(text, wanted);
}

/* A pending saga is taken up by its claimant while one looks. */
static void await_steps(const char *id, const char *wanted)
{
    char text[512] = "";
    for (int i = 0; i < 300; i++)
    {
        read_steps(id, text, sizeof text);
        if (strcmp(text, wanted) == 0)
            return;
        usleep(50000);
    }
    assert_string_equal(text, wanted);
}

static void begin(const char *debit, const char *credit, TransferId ret_id)
{
    Response response;
    bank_pay_with(client, &(Payment){debit, credit, 5, bank_key(), saga}, "Prefer: respond-async",
                  &response);
    response_expect(&response, 202, NULL);
    snprintf(ret_id, sizeof(TransferId), "%s", response_string(&response, "id"));
    response_done(&response);
}

static void posted_transfers_have_done_all_their_stages(void **state)
{
    AccountName a;
    AccountName b;
    AccountName c;
    TransferId id;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    bank_open(client, HOME, 0, c);
    bank_expect(client, &(Payment){a, c, 5, bank_key(), NULL}, 201, NULL, id);
    expect_steps(id, "decide shard-1 done");
    bank_expect(client, &(Payment){a, b, 5, bank_key(), NULL}, 201, NULL, id);
    expect_steps(id, "prepare shard-2 done; decide shard-1 done; apply shard-2 done");
    bank_expect(client, &(Payment){a, b, 5, bank_key(), saga}, 201, NULL, id);
    expect_steps(id, "hold shard-1 done; credit shard-2 done; close shard-1 done");
}

static void a_refused_credit_is_refunded(void **state)
{
    AccountName a;
    (void)state;
    bank_open(client, HOME, 100, a);
    /* An account that is not there, on the other shard: ids are tried until one is routed to it. */
    for (int i = 0;; i++)
    {
        char nobody[32];
        Response response;
        snprintf(nobody, sizeof nobody, "nobody-%d", i);
        bank_pay(client, &(Payment){a, nobody, 5, bank_key(), saga}, &response);
        response_expect(&response, 422, "account-not-found");
        bool is_saga = strcmp(response_string(&response, "state"), "reversed") == 0;
        TransferId id;
        snprintf(id, sizeof id, "%s", response_string(&response, "transfer_id"));
        response_done(&response);
        if (!is_saga)
        {
            expect_steps(id, "decide shard-1 refused");
            continue;
        }
        expect_steps(id, "hold shard-1 done; credit shard-2 refused; refund shard-1 done");
        break;
    }
    assert_int_equal(bank_balance(client, a), 100);
}

static void a_lost_shard_leaves_its_stages_unknown(void **state)
{
    AccountName a;
    AccountName b;
    TransferId id;
    TransferId two_phase;
    Response response;
    char path[128];
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    bank_expect(client, &(Payment){a, b, 5, bank_key(), NULL}, 201, NULL, two_phase);
    cluster_signal_postgres(cluster, REMOTE, SIGKILL);
    begin(a, b, id);
    await_steps(id, "hold shard-1 done; credit shard-2 unknown; close shard-1 pending");
    snprintf(path, sizeof path, "/v1/transfers/%s/steps", id);
    client_call(client, &(Request){.path = path}, &response);
    response_expect(&response, 200, NULL);
    assert_non_null(strstr(response_string(&response, "items.1.error"), "shard-2"));
    response_done(&response);
    snprintf(path, sizeof path, "/v1/transfers/%s/actions/cancel", id);
    const char *headers[] = {"Prefer: respond-async", NULL};
    client_call(client, &(Request){.path = path, .body = why, .headers = headers}, &response);
    response_expect(&response, 202, NULL);
    response_done(&response);
    expect_steps(id, "hold shard-1 done; cancel shard-2 unknown; refund shard-1 pending");
    cluster_start_postgres(cluster);
    await_steps(id, "hold shard-1 done; cancel shard-2 cancelled; refund shard-1 done");
    expect_steps(two_phase, "prepare shard-2 done; decide shard-1 done; apply shard-2 done");
}

static void a_leg_that_is_prepared_only_is_pending(void **state)
{
    AccountName a;
    AccountName b;
    TransferId id;
    (void)state;
    bank_open(client, HOME, 100, a);
    bank_open(client, REMOTE, 0, b);
    fixture_arm("2pc.apply.remote.before", "pause", 1500);
    bank_expect(client, &(Payment){a, b, 5, bank_key(), NULL}, 201, NULL, id);
    expect_steps(id, "prepare shard-2 done; decide shard-1 done; apply shard-2 pending");
    bank_await_balance(client, b, 5);
    expect_steps(id, "prepare shard-2 done; decide shard-1 done; apply shard-2 done");
}

static void what_never_happened_has_no_stages(void **state)
{
    Response response;
    (void)state;
    client_call(client,
                &(Request){.path = "/v1/transfers/00000000-0000-8000-8000-000000000000/steps"},
                &response);
    response_expect(&response, 404, "transfer-not-found");
    response_done(&response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(posted_transfers_have_done_all_their_stages),
        with_books(a_refused_credit_is_refunded),
        with_books(a_lost_shard_leaves_its_stages_unknown),
        with_books(a_leg_that_is_prepared_only_is_pending),
        with_books(what_never_happened_has_no_stages),
    };
    return cmocka_run_group_tests_name("steps", tests, start, fixture_stop);
}
