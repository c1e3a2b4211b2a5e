/*
 * Chaos: clients of two coordinators move money between three shards, in every mode, while shards
 * and coordinators are killed, stopped and continued, sessions are terminated and the network loses
 * what it can. Every answer is kept, and held against the shards at the end.
 *
 *   CHAOS_SECONDS   how long the nemesis is at work                                  (60)
 *   CHAOS_SEED      what it does, and when; printed first and last                   (random)
 *
 * First come two measurements with one trouble each. The cases build on each other: one run, looked
 * at from several sides. If any of them fails the cluster is kept, with the history beside its
 * logs.
 */
#include "books.h"
#include "check.h"
#include "evidence.h"
#include "measure.h"
#include "nemesis.h"
#include "readers.h"
#include "replay.h"

#include "shard/route.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum
{
    SHARDS = 3,
    COORDINATORS = 2,
    SECONDS = 60,
    START_MONEY = 400,
    MEASURE_PER_SECOND = 200,
    CHAOS_PER_SECOND = 300,
    CHAOS_HEAT = 16,
    SNAPSHOT_PAUSE_MS = 40,
    SETTLE_MS = 90000,
    LONG_SECONDS = 120, /* from here on measurements take their full time */
};

static struct
{
    uint64_t seed;
    int seconds;
    Cluster *cluster;
    Client *client;
    Roster *roster;
    History *history;
    Mixture *mixture;
    Load *load;
    Reader *reader;
    Snapshots *snapshots;
    SnapshotCounts seen[SHARDS];
    Measures measures;
    NemesisCounts nemesis;
    Evidence evidence;
    Findings findings;
    size_t requests;
    size_t replay_left;
    bool is_at_rest; /* the nemesis has come to its end, and everything runs */
} run;

/* ---- start ----------------------------------------------------------------------------------- */

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL || text[0] == '\0' ? otherwise : strtoull(text, NULL, 10);
}

static void choose(void)
{
    uint64_t random = 0;
    random_bytes(&random, sizeof(random));
    run.seed = number_from("CHAOS_SEED", random % 1000000000);
    uint64_t seconds = number_from("CHAOS_SECONDS", SECONDS);
    run.seconds = seconds == 0 || seconds > PLAN_SECONDS_MAX ? SECONDS : (int)seconds;
    printf("chaos: seed %" PRIu64 ", %d s\n", run.seed, run.seconds);
}

/* Money comes from the world account of its shard, by orders like all others. */
static void fund(const Account *account, int64_t amount)
{
    const Account *world = roster_world(run.roster, account->shard);
    history_add(run.history, &(Order){.debit = world->id,
                                      .debit_shard = world->shard,
                                      .credit = account->id,
                                      .credit_shard = account->shard,
                                      .amount = amount});
}

static void fund_all(void)
{
    for (int shard = 1; shard <= SHARDS; shard++)
    {
        fund(roster_frozen(run.roster, shard), START_MONEY);
        for (int i = 0; i < ROSTER_USUAL; i++)
            fund(roster_usual(run.roster, shard, i), START_MONEY);
    }
    assert_int_equal(replay_run(run.cluster, run.history, 0, SETTLE_MS), 0);
    roster_freeze(run.roster, run.client);
}

static int start(void **state)
{
    (void)state;
    run.cluster = cluster_new(&(ClusterOptions){
        .shards = SHARDS, .coordinators = COORDINATORS, .proxied = true, .girod_flags = ""});
    run.client = client_new(cluster_url(run.cluster, 1));
    run.history = history_new();
    run.roster = roster_new(run.client, SHARDS);
    fund_all();
    run.mixture = mixture_new(run.history, run.roster, run.seed);
    run.load = load_start(run.cluster, run.mixture, run.history);
    run.reader = reader_start(run.cluster, run.roster, run.seed);
    run.snapshots = snapshots_start(run.cluster, SNAPSHOT_PAUSE_MS);
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

static Measuring measuring(void)
{
    return (Measuring){.cluster = run.cluster,
                       .load = run.load,
                       .mixture = run.mixture,
                       .history = run.history,
                       .per_second = MEASURE_PER_SECOND};
}

static void what_a_killed_coordinator_had_in_flight_is_finished(void **state)
{
    Measuring with = measuring();
    (void)state;
    assert_true(measure_coordinators(&with, run.seconds < LONG_SECONDS ? 2 : 6, &run.measures));
}

static void a_killed_shard_is_caught_up_with_when_it_returns(void **state)
{
    Measuring with = measuring();
    (void)state;
    assert_true(measure_shard(&with, SHARDS, run.seconds < LONG_SECONDS ? 6 : 30, &run.measures));
}

static void all_comes_to_rest_after_the_nemesis(void **state)
{
    (void)state;
    Plan *plan = plan_new(&(PlanOptions){
        .seed = run.seed, .seconds = run.seconds, .shards = SHARDS, .coordinators = COORDINATORS});
    load_set_pace(run.load, CHAOS_PER_SECOND);
    roster_heat(run.roster, CHAOS_HEAT);
    nemesis_run(run.cluster, plan, run.history, &run.nemesis);
    plan_free(plan);
    run.requests = load_requests(run.load);
    load_stop(run.load);
    run.load = NULL;
    run.is_at_rest = true;
    evidence_await_quiet(run.cluster, SETTLE_MS, &run.evidence);
    assert_int_equal(run.evidence.left_pending, 0);
    assert_int_equal(run.evidence.left_prepared, 0);
    check(run.nemesis.deaths == 0, "coordinators have ended by themselves");
}

/* ---- what came of it ------------------------------------------------------------------------- */

static void gather(void)
{
    Evidence *evidence = &run.evidence;
    size_t reading_count = 0;
    evidence->history = run.history;
    evidence->before = books_transfers(run.cluster, &evidence->before_count);
    evidence->replay_us = history_now_us(run.history);
    run.replay_left = replay_run(run.cluster, run.history, 0, SETTLE_MS);
    evidence_await_quiet(run.cluster, SETTLE_MS, evidence);
    evidence->after = books_transfers(run.cluster, &evidence->after_count);
    Reading *readings = reader_stop(run.reader, &reading_count);
    run.reader = NULL;
    readings_resolve(readings, reading_count, run.cluster, run.roster);
    evidence->readings = readings;
    evidence->reading_count = reading_count;
    snapshots_stop(run.snapshots, run.seen);
    run.snapshots = NULL;
    evidence->snapshots = run.seen;
    evidence->shard_count = SHARDS;
    evidence->accounts = evidence_accounts(run.cluster, run.roster);
    evidence->account_count = roster_count(run.roster);
}

static void every_answer_of_the_run_holds(void **state)
{
    (void)state;
    if (!run.is_at_rest)
        skip();
    gather();
    checker_check(&run.evidence, &run.findings);
    findings_print(&run.findings, stdout);
    assert_int_equal(run.replay_left, 0);
    assert_int_equal(run.findings.count, 0);
}

static void the_books_balance(void **state)
{
    (void)state;
    if (!run.is_at_rest)
        skip();
    books_check(run.cluster);
}

static void reconciliation_finds_nothing_unexplained(void **state)
{
    char said[4096];
    (void)state;
    if (!run.is_at_rest)
        skip();
    int status = cluster_shell(
        run.cluster, "\"$GIRO_BIN\" reconcile --full --config \"$GIRO_CONFIG\" 2>/dev/null", said,
        sizeof(said));
    check(status == 0, "girod reconcile ends with %d: %s", status, said);
}

/* ---- the end --------------------------------------------------------------------------------- */

typedef struct Tally
{
    size_t of_verdict[VERDICT_COUNT];
    size_t resolved; /* unknown at first, final in the end */
    size_t answers;
} Tally;

static Tally tally(void)
{
    Tally sum = {0};
    for (size_t i = 0; i < history_count(run.history); i++)
    {
        const Order *order = history_order(run.history, i);
        const Answer *final = order_final(order);
        bool was_unknown = false;
        sum.answers += order->count;
        for (size_t j = 0; j < order->count; j++)
            was_unknown = was_unknown || order->answers[j].verdict == VERDICT_MAYBE;
        sum.of_verdict[final == NULL ? VERDICT_NONE : final->verdict]++;
        sum.resolved += was_unknown && final != NULL;
    }
    return sum;
}

/* A run in which nothing of a kind came to pass has shown nothing of it. */
static void all_kinds_of_outcomes_came_to_pass(void **state)
{
    Tally sum = tally();
    (void)state;
    if (!run.is_at_rest)
        skip();
    assert_true(sum.of_verdict[VERDICT_POSTED] > 100);
    assert_true(sum.of_verdict[VERDICT_REFUSED] > 10);
    assert_true(sum.of_verdict[VERDICT_REVERSED] > 10);
    assert_true(sum.resolved > 0);
    assert_true(run.evidence.reading_count > 100);
    for (int i = 0; i < SHARDS; i++)
        assert_true(run.seen[i].taken > 20);
}

static void write_history(void)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/history", cluster_directory(run.cluster));
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return;
    history_print(run.history, file);
    fclose(file);
    printf("the history: %s\n", path);
}

static void keep_what_is_needed_to_find_out(void)
{
    cluster_keep(run.cluster);
    write_history();
    printf("kept: %s (logs, data)\n", cluster_directory(run.cluster));
}

static void report(int failed)
{
    Tally sum = tally();
    const NemesisCounts *did = &run.nemesis;
    int snapshots = 0;
    for (int i = 0; i < SHARDS; i++)
        snapshots += run.seen[i].taken;
    measures_print(&run.measures);
    if (failed > 0 || getenv("GIRO_TEST_KEEP") != NULL)
        keep_what_is_needed_to_find_out();
    printf(
        "orders %zu: posted %zu, refused %zu, reversed %zu, without payer %zu; of them unknown and"
        " then resolved %zu\n",
        history_count(run.history), sum.of_verdict[VERDICT_POSTED], sum.of_verdict[VERDICT_REFUSED],
        sum.of_verdict[VERDICT_REVERSED], sum.of_verdict[VERDICT_NONE], sum.resolved);
    printf("requests %zu, answers %zu, accounts %zu, readings %zu, snapshots %d\n", run.requests,
           sum.answers, roster_count(run.roster), run.evidence.reading_count, snapshots);
    printf("kills %d, stops %d, storms %d, swallowed %d, cuts %d, delays %d; skipped %d\n",
           did->kills, did->stops, did->storms, did->swallowed, did->cuts, did->delays,
           did->skipped);
    printf("chaos: seed %" PRIu64 ", %d s: %zu violations, %s\n", run.seed, run.seconds,
           run.findings.count, failed == 0 ? "nothing lost" : "FAILED");
}

/* The cluster goes first: threads may wait for something of it that is stopped. */
static void stop(void)
{
    cluster_free(run.cluster);
    if (run.load != NULL)
        load_stop(run.load);
    size_t ignored;
    if (run.reader != NULL)
        free(reader_stop(run.reader, &ignored));
    if (run.snapshots != NULL)
        snapshots_stop(run.snapshots, run.seen);
    mixture_free(run.mixture);
    client_free(run.client);
    history_free(run.history);
    roster_free(run.roster);
    free((void *)run.evidence.before);
    free((void *)run.evidence.after);
    free((void *)run.evidence.readings);
    free((void *)run.evidence.accounts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_coordinator_had_in_flight_is_finished),
        cmocka_unit_test(a_killed_shard_is_caught_up_with_when_it_returns),
        cmocka_unit_test(all_comes_to_rest_after_the_nemesis),
        cmocka_unit_test(every_answer_of_the_run_holds),
        cmocka_unit_test(the_books_balance),
        cmocka_unit_test(reconciliation_finds_nothing_unexplained),
        cmocka_unit_test(all_kinds_of_outcomes_came_to_pass),
    };
    setvbuf(stdout, NULL, _IOLBF, 0);
    route_library_init();
    choose();
    int failed = cmocka_run_group_tests_name("chaos", tests, start, NULL);
    report(failed);
    stop();
    return failed == 0 ? 0 : 1;
}
