/*
 * Plans of actions: every case of what the shards may say, and what is done, or not, for whom.
 *
 * Fakes: tests/unit/fake_shards.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/action_plan.h"

#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* What stands, in short. */
typedef struct Case
{
    Action action;
    TransferState wanted; /* of a resolve */
    TransferMode mode;
    TransferState state;
    const char *attention;
    const char *waits_for;
    const char *receipt;
    bool due;
    bool giving_up;
    PlanEffect effect;
    const char *words; /* part of the explanation */
} Case;

static const char waits[] = "credit-waits: it waits for shard s2";
static const char refund[] = "refund-refused: balance-limit";
static const char stuck[] = "leg-stuck: 42501";
static const char lost[] = "leg-lost: x";
static const char refused[] = "credit-refused: account-closed";

#define SAGA     MODE_SAGA, TRANSFER_PENDING
#define POSTED   TRANSFER_POSTED
#define REVERSED TRANSFER_REVERSED

// clang-format off
static const Case cases[] = {
    {ACTION_CANCEL, 0, SAGA, NULL, "s2", NULL, true, false, PLAN_GIVE_UP, "receipt on s2"},
    {ACTION_CANCEL, 0, SAGA, waits, "s2", "applied", true, false, PLAN_GIVE_UP, "all the same"},
    {ACTION_CANCEL, 0, MODE_SAGA, POSTED, NULL, NULL, NULL, false, false, PLAN_CONFLICT, "final"},
    {ACTION_CANCEL, 0, MODE_2PC, POSTED, NULL, NULL, NULL, false, false, PLAN_CONFLICT,
        "only a saga"},

    {ACTION_RETRY, 0, SAGA, NULL, "s2", NULL, true, false, PLAN_RETRY, "now"},
    {ACTION_RETRY, 0, SAGA, refund, "s1", "refused", true, false, PLAN_RETRY, "now"},
    {ACTION_RETRY, 0, MODE_2PC, POSTED, lost, "s2", NULL, true, false, PLAN_RETRY, "now"},
    {ACTION_RETRY, 0, MODE_2PC, POSTED, NULL, "s2", NULL, false, false, PLAN_CONFLICT,
        "bring that shard back"},
    {ACTION_RETRY, 0, MODE_2PC, POSTED, stuck, "s2", NULL, false, false, PLAN_CONFLICT, "advice"},
    {ACTION_RETRY, 0, MODE_2PC, POSTED, refused, NULL, NULL, false, false, PLAN_CONFLICT, "final"},
    {ACTION_RETRY, 0, MODE_LOCAL, POSTED, NULL, NULL, NULL, false, false, PLAN_CONFLICT, "final"},

    {ACTION_RESOLVE, POSTED, SAGA, NULL, "s2", NULL, true, false, PLAN_CONFLICT,
        "nobody's attention"},
    {ACTION_RESOLVE, REVERSED, SAGA, NULL, "s2", NULL, true, false, PLAN_CONFLICT,
        "nobody's attention"},
    {ACTION_RESOLVE, POSTED, SAGA, waits, "s2", NULL, true, false, PLAN_RETRY, "now"},
    {ACTION_RESOLVE, POSTED, SAGA, waits, "s2", NULL, true, true, PLAN_CONFLICT,
        "given up already"},
    {ACTION_RESOLVE, POSTED, SAGA, waits, "s2", "applied", true, true, PLAN_RETRY, "now"},
    {ACTION_RESOLVE, POSTED, SAGA, waits, "s2", "applied", true, false, PLAN_RETRY, "now"},
    {ACTION_RESOLVE, POSTED, SAGA, refund, "s1", "refused", true, false, PLAN_CONFLICT,
        "only be reversed"},
    {ACTION_RESOLVE, POSTED, SAGA, refund, "s1", "cancelled", true, true, PLAN_CONFLICT,
        "only be reversed"},
    {ACTION_RESOLVE, REVERSED, SAGA, waits, "s2", NULL, true, false, PLAN_GIVE_UP, "receipt on s2"},
    {ACTION_RESOLVE, REVERSED, SAGA, waits, "s2", NULL, true, true, PLAN_GIVE_UP, "receipt on s2"},
    {ACTION_RESOLVE, REVERSED, SAGA, waits, "s2", "applied", true, false, PLAN_CONFLICT,
        "never taken back"},
    {ACTION_RESOLVE, REVERSED, SAGA, refund, "s1", "refused", true, false, PLAN_RETRY, "now"},
    {ACTION_RESOLVE, REVERSED, SAGA, refund, "s1", "cancelled", true, true, PLAN_RETRY, "now"},

    {ACTION_RESOLVE, POSTED, MODE_SAGA, POSTED, NULL, NULL, "applied", false, false, PLAN_STANDS,
        "posted"},
    {ACTION_RESOLVE, REVERSED, MODE_SAGA, REVERSED, NULL, NULL, "cancelled", false, true,
        PLAN_STANDS, "reversed"},
    {ACTION_RESOLVE, REVERSED, MODE_SAGA, POSTED, NULL, NULL, "applied", false, false,
        PLAN_CONFLICT, "nobody's"},
    {ACTION_RESOLVE, REVERSED, MODE_2PC, POSTED, lost, "s2", NULL, true, false, PLAN_CONFLICT,
        "never reversed"},
    {ACTION_RESOLVE, REVERSED, MODE_2PC, POSTED, refused, NULL, "refused", false, false,
        PLAN_CONFLICT, "never reversed"},
    {ACTION_RESOLVE, POSTED, MODE_2PC, POSTED, lost, "s2", NULL, true, false, PLAN_RETRY, "now"},
    {ACTION_RESOLVE, POSTED, MODE_2PC, POSTED, stuck, "s2", NULL, false, false, PLAN_CONFLICT,
        "advice"},
    {ACTION_RESOLVE, POSTED, MODE_2PC, POSTED, refused, NULL, "refused", false, false,
        PLAN_ACKNOWLEDGE, "new transfer"},
    {ACTION_RESOLVE, POSTED, MODE_2PC, POSTED, refused, NULL, "applied", false, false,
        PLAN_CONFLICT, "not explain"},
    {ACTION_RESOLVE, POSTED, MODE_2PC, POSTED, refused, NULL, NULL, false, false, PLAN_CONFLICT,
        "not explain"},
};
// clang-format on

typedef struct Facts
{
    TransferRecord record;
    StepsHome home;
    StepsRemote remote;
    PlanQuestion question;
} Facts;

static void set_facts(Facts *facts, const Case *it)
{
    *facts = (Facts){
        .record = {.state = it->state,
                   .mode = it->mode,
                   .debit_account = "a",
                   .credit_account = "b",
                   .currency = "EUR",
                   .idempotency_key = "k",
                   .debit_shard = "s1",
                   .credit_shard = "s2",
                   .amount = 5,
                   .created_at_us = 1,
                   .attention = it->attention,
                   .waits_for = it->waits_for,
                   .next_attempt_at_us = it->due ? 1 : 0},
        .home = {.shard = "s1",
                 .remote_shard = "s2",
                 .mode = it->mode,
                 .state = it->state,
                 .giving_up = it->giving_up,
                 .created_at_us = 1},
        .remote = {.receipt = it->receipt},
    };
    facts->question = (PlanQuestion){.action = it->action,
                                     .outcome = it->wanted,
                                     .record = &facts->record,
                                     .home = &facts->home,
                                     .remote = &facts->remote};
}

static void every_case_has_its_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    {
        Facts facts;
        Plan plan;
        set_facts(&facts, &cases[i]);
        plan_make(&facts.question, &plan);
        if (plan.effect != cases[i].effect || strstr(plan.why, cases[i].words) == NULL)
            fail_msg("case %zu: %d %s", i, (int)plan.effect, plan.why);
        bool acts = plan.effect != PLAN_CONFLICT && plan.effect != PLAN_STANDS;
        assert_true(acts == (plan.step_count > 0));
    }
}

/* Whatever is asked for: no plan gives up what was posted, or what was credited, but by a cancel,
 * whose end the receipt decides. */
static void what_was_credited_or_posted_is_never_reversed(void **state)
{
    static const char *const receipts[] = {NULL, "applied", "refused", "cancelled"};
    static const char *const notes[] = {NULL, waits, refund, stuck, lost, refused};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(receipts) * ARRAY_LENGTH(notes) * 32; i++)
    {
        Case it = {.action = i % 2 == 0 ? ACTION_RESOLVE : ACTION_RETRY,
                   .wanted = i / 2 % 2 == 0 ? POSTED : REVERSED,
                   .state = i / 4 % 2 == 0 ? TRANSFER_PENDING : POSTED,
                   .mode = i / 4 % 2 == 0 ? MODE_SAGA : MODE_2PC,
                   .due = i / 8 % 2 == 0,
                   .giving_up = i / 16 % 2 == 0,
                   .receipt = receipts[i / 32 % ARRAY_LENGTH(receipts)],
                   .attention = notes[i / 32 / ARRAY_LENGTH(receipts)]};
        Facts facts;
        Plan plan;
        set_facts(&facts, &it);
        plan_make(&facts.question, &plan);
        bool stands = it.receipt != NULL && strcmp(it.receipt, "applied") == 0;
        if (plan.effect == PLAN_GIVE_UP)
            assert_true(it.state == TRANSFER_PENDING && !stands && it.wanted == REVERSED);
        if (plan.effect == PLAN_ACKNOWLEDGE)
            assert_true(it.state == POSTED && it.wanted == POSTED && !stands);
    }
}

static void the_document_has_plan_and_evidence(void **state)
{
    Facts facts;
    Plan plan;
    Error error;
    (void)state;
    set_facts(&facts, &(Case){ACTION_RESOLVE, REVERSED, SAGA, waits, "s2", NULL, true, false,
                              PLAN_GIVE_UP, ""});
    plan_make(&facts.question, &plan);
    JsonWriter *writer = json_writer_new(8192);
    plan_document_write(writer, &facts.question, &plan);
    size_t length;
    char *text = json_writer_take(writer, &length);
    Json *document = json_parse(text, length, &error);
    assert_non_null(document);
    assert_string_equal(json_as_string(json_field(document, "effect")), "give-up");
    assert_string_equal(json_as_string(json_field(document, "outcome")), "reversed");
    assert_int_equal(json_array_length(json_field(document, "plan")), 3);
    const Json *evidence = json_field(document, "evidence");
    assert_string_equal(json_as_string(json_field(json_field(evidence, "home"), "state")),
                        "pending");
    assert_int_equal(json_kind(json_field(json_field(evidence, "credit"), "receipt")),
                     JSON_KIND_NULL);
    json_free(document);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_has_its_plan),
        cmocka_unit_test(what_was_credited_or_posted_is_never_reversed),
        cmocka_unit_test(the_document_has_plan_and_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
