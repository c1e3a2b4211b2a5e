/* The stages of a transfer, for every combination of rows that can be seen. */
#include "api/steps_document.h"

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    TEXT_MAX = 2048,
};

static const uint8_t receipt_batch[16] = {9};

/* "prepare done 1; …": stage, outcome and attempts ("-": null), and the error if there is one. */
static void outline(const StepsHome *home, const StepsRemote *remote, char ret_text[TEXT_MAX])
{
    JsonWriter *writer = json_writer_new(TEXT_MAX * 2);
    Error error;
    size_t used = 0;
    steps_document_write(writer, home, remote);
    char *text = json_writer_take(writer, NULL);
    Json *document = json_parse(text, strlen(text), &error);
    const Json *items = json_field(document, "items");
    ret_text[0] = '\0';
    for (size_t i = 0; i < json_array_length(items); i++)
    {
        const Json *item = json_array_at(items, i);
        const Json *why = json_field(item, "error");
        bool counted = json_kind(json_field(item, "attempts")) == JSON_KIND_INTEGER;
        used += (size_t)snprintf(ret_text + used, TEXT_MAX - used, "%s%s %s%s%s%s",
                                 i > 0 ? "; " : "", json_as_string(json_field(item, "stage")),
                                 json_as_string(json_field(item, "outcome")), counted ? " 3" : "",
                                 json_kind(why) == JSON_KIND_STRING ? " " : "",
                                 json_kind(why) == JSON_KIND_STRING ? json_as_string(why) : "");
    }
    json_free(document);
    free(text);
}

static void assert_outline(const StepsHome *home, const StepsRemote *remote, const char *wanted)
{
    char text[TEXT_MAX];
    assert_int_equal(steps_have_remote(home), remote != NULL);
    outline(home, remote, text);
    assert_string_equal(text, wanted);
}

static StepsHome home(TransferMode mode, TransferState state)
{
    return (StepsHome){
        .shard = "s1",
        .mode = mode,
        .state = state,
        .refusal = state == TRANSFER_REFUSED ? "insufficient-funds" : NULL,
        .remote_shard = "s2",
        .attempts = 3,
        .last_error = "busy",
        .created_at_us = 1,
        .decided_at_us = state == TRANSFER_PENDING ? 0 : 2,
        .coordinator = "g1",
    };
}

static StepsRemote receipt(const char *word)
{
    return (StepsRemote){
        .receipt = word,
        .refusal = strcmp(word, "refused") == 0 ? "account-closed" : NULL,
        .receipt_batch = receipt_batch,
        .receipt_at_us = 3,
        .receipt_coordinator = "g2",
    };
}

static void what_is_refused_or_local_has_one_stage(void **state)
{
    (void)state;
    StepsHome local = home(MODE_LOCAL, TRANSFER_POSTED);
    StepsHome refused = home(MODE_2PC, TRANSFER_REFUSED);
    StepsHome unheld = home(MODE_SAGA, TRANSFER_REFUSED);
    assert_outline(&local, NULL, "decide done");
    assert_outline(&refused, NULL, "decide refused insufficient-funds");
    assert_outline(&unheld, NULL, "hold refused insufficient-funds");
}

static void two_phase_by_its_leg(void **state)
{
    (void)state;
    StepsHome posted = home(MODE_2PC, TRANSFER_POSTED);
    StepsRemote applied = receipt("applied");
    StepsRemote refused = receipt("refused");
    StepsRemote cancelled = receipt("cancelled");
    assert_outline(&posted, &(StepsRemote){.leg_at_us = 5, .leg_coordinator = "g1"},
                   "prepare done; decide done; apply done");
    assert_outline(&posted, &(StepsRemote){.is_prepared = true},
                   "prepare done; decide done; apply pending");
    assert_outline(&posted, &(StepsRemote){0}, "prepare missing; decide done; apply missing");
    assert_outline(&posted, &(StepsRemote){.trouble = "down"},
                   "prepare unknown down; decide done; apply unknown down");
    assert_outline(&posted, &applied, "prepare missing; decide done; apply done");
    assert_outline(&posted, &refused, "prepare missing; decide done; apply refused account-closed");
    assert_outline(&posted, &cancelled, "prepare missing; decide done; apply cancelled");
    posted.finished_at_us = 6;
    assert_outline(&posted, &(StepsRemote){.trouble = "down"},
                   "prepare unknown down; decide done; apply done");
    assert_outline(&posted, &(StepsRemote){0}, "prepare missing; decide done; apply missing");
}

static void a_saga_under_way_by_its_receipt(void **state)
{
    (void)state;
    StepsHome pending = home(MODE_SAGA, TRANSFER_PENDING);
    StepsRemote applied = receipt("applied");
    StepsRemote refused = receipt("refused");
    StepsRemote cancelled = receipt("cancelled");
    assert_outline(&pending, &(StepsRemote){0}, "hold done; credit pending 3 busy; close pending");
    assert_outline(&pending, &(StepsRemote){.trouble = "down"},
                   "hold done; credit unknown 3 down; close pending");
    assert_outline(&pending, &applied, "hold done; credit done; close pending 3 busy");
    assert_outline(&pending, &refused,
                   "hold done; credit refused account-closed; refund pending 3 busy");
    assert_outline(&pending, &cancelled, "hold done; cancel cancelled; refund pending 3 busy");
    pending.giving_up = true;
    assert_outline(&pending, &(StepsRemote){0}, "hold done; cancel pending 3 busy; refund pending");
    assert_outline(&pending, &(StepsRemote){.trouble = "down"},
                   "hold done; cancel unknown 3 down; refund pending");
    assert_outline(&pending, &applied, "hold done; credit done; close pending 3 busy");
}

static void a_final_saga_by_its_receipt(void **state)
{
    (void)state;
    StepsHome posted = home(MODE_SAGA, TRANSFER_POSTED);
    StepsHome reversed = home(MODE_SAGA, TRANSFER_REVERSED);
    StepsRemote applied = receipt("applied");
    StepsRemote refused = receipt("refused");
    StepsRemote cancelled = receipt("cancelled");
    reversed.refunded_at_us = 8;
    assert_outline(&posted, &applied, "hold done; credit done; close done");
    assert_outline(&posted, &(StepsRemote){0}, "hold done; credit missing; close done");
    assert_outline(&posted, &(StepsRemote){.trouble = "down"},
                   "hold done; credit unknown down; close done");
    posted.giving_up = true;
    assert_outline(&posted, &(StepsRemote){.trouble = "down"},
                   "hold done; credit unknown down; close done");
    assert_outline(&reversed, &refused, "hold done; credit refused account-closed; refund done");
    assert_outline(&reversed, &cancelled, "hold done; cancel cancelled; refund done");
    reversed.giving_up = true;
    assert_outline(&reversed, &(StepsRemote){.trouble = "down"},
                   "hold done; cancel unknown down; refund done");
    assert_outline(&reversed, &(StepsRemote){0}, "hold done; cancel missing; refund done");
}

static void a_step_is_written_whole(void **state)
{
    (void)state;
    StepsHome local = home(MODE_LOCAL, TRANSFER_POSTED);
    local.created_at_us = INT64_C(1769860800000000);
    JsonWriter *writer = json_writer_new(TEXT_MAX);
    steps_document_write(writer, &local, NULL);
    assert_string_equal(
        json_writer_text(writer, NULL),
        "{\"items\":[{\"stage\":\"decide\",\"shard\":\"s1\",\"outcome\":\"done\","
        "\"batch_id\":\"00000000-0000-0000-0000-000000000000\",\"coordinator\":\"g1\","
        "\"attempts\":null,\"at\":\"2026-01-31T12:00:00.000000Z\",\"error\":null}],"
        "\"next_cursor\":null}");
    json_writer_free(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_or_local_has_one_stage),
        cmocka_unit_test(two_phase_by_its_leg),
        cmocka_unit_test(a_saga_under_way_by_its_receipt),
        cmocka_unit_test(a_final_saga_by_its_receipt),
        cmocka_unit_test(a_step_is_written_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
