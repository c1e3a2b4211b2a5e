/*
 * `stuck`: is money stuck, where, and when does it go on? One list of what is not finished and
 * older than it should be: pending sagas, decided transfers whose other leg nobody has seen, and
 * what needs a person; each with the shard that it waits for. A shard that does not answer is
 * named, since transfers that began there cannot be listed, and so are legs whose transfers are not
 * known for that reason. Exit code 9 if there is anything of that kind.
 */
#include "commands.h"
#include "context.h"
#include "field.h"
#include "list.h"
#include "order.h"
#include "say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum
{
    AGE_MS = 5000, /* under load there is always something a second or two old */
};

static const Column stuck_rows[] = {
    {"ID", "id", COLUMN_TEXT},
    {"STATE", "state", COLUMN_STATE},
    {"MODE", "mode", COLUMN_TEXT},
    {"AMOUNT", "amount", COLUMN_NUMBER},
    {"", "currency", COLUMN_TEXT},
    {"WAITS FOR", "waits_for", COLUMN_TEXT},
    {"NEXT TRY", "next_attempt_at", COLUMN_TIME},
    {"TRIES", "attempts", COLUMN_NUMBER},
    {"SINCE", "created_at", COLUMN_TIME},
    {"LAST ERROR", "last_error", COLUMN_LONG},
    {"ATTENTION", "attention.reason", COLUMN_LONG},
    {"", "attention.advice", COLUMN_WIDE},
    {"", "debit_account", COLUMN_WIDE},
    {"", "credit_account", COLUMN_WIDE},
    {"", "debit_shard", COLUMN_WIDE},
    {"", "credit_shard", COLUMN_WIDE},
    {"", "reference", COLUMN_WIDE},
    {"", "idempotency_key", COLUMN_WIDE},
};
static const Columns columns = {stuck_rows, ARRAY_LENGTH(stuck_rows)};

typedef struct Stuck
{
    Output *output;
    int64_t age_ms;
    int64_t transfers;
    int64_t legs;
} Stuck;

static bool take_transfer(void *closure, const Json *transfer)
{
    Stuck *stuck = closure;
    stuck->transfers++;
    output_item(stuck->output, transfer);
    return !output_is_closed(stuck->output);
}

/* Legs that wait for the word of a home that does not answer, or that nobody has taken up. */
static bool take_leg(void *closure, const Json *leg)
{
    Stuck *stuck = closure;
    bool open = field_is(leg, "class", "in-doubt") || field_is(leg, "class", "orphan");
    if (open && field_integer(leg, "age_ms") >= stuck->age_ms)
        stuck->legs++;
    return true;
}

static ExitCode list_transfers(const Context *context, Stuck *stuck, char **ret_missing)
{
    Answer page;
    char age[24];
    snprintf(age, sizeof age, "%" PRId64 "ms", stuck->age_ms);
    List list = {.path = "/v1/transfers",
                 .parameters = {{"unfinished", "true"}, {"older_than", age}, {"partial", "true"}}};
    output_begin_list(context->output, &columns);
    ExitCode code = list_each(context, &list, take_transfer, stuck, &page);
    output_end_list(context->output, code == EXIT_CODE_DONE ? page.document : NULL);
    *ret_missing = list_missing_shards(page.document);
    answer_done(&page);
    return code;
}

static ExitCode count_legs(const Context *context, Stuck *stuck)
{
    List list = {.path = "/v1/prepared",
                 .parameters = {{"limit", "1000"}, {"partial", "true"}},
                 .is_whole = true};
    return list_each(context, &list, take_leg, stuck, NULL);
}

static ExitCode conclude(const Stuck *stuck, const char *missing)
{
    if (missing != NULL)
        say("%s does not answer: transfers that began there are not listed", missing);
    if (stuck->legs > 0)
        say("%" PRId64 " legs wait for the word of their home: giroctl prepared list --partial",
            stuck->legs);
    if (stuck->transfers == 0 && stuck->legs == 0 && missing == NULL)
    {
        output_text(stuck->output, "nothing is stuck");
        return EXIT_CODE_DONE;
    }
    return EXIT_CODE_PROBLEMS;
}

ExitCode run_stuck(Context *context)
{
    const char *age = context_value(context, OPTION_OLDER_THAN);
    Stuck stuck = {.output = context->output, .age_ms = AGE_MS};
    char *missing = NULL;
    if (age != NULL && !order_age(age, &stuck.age_ms))
        return EXIT_CODE_USAGE;
    ExitCode code = list_transfers(context, &stuck, &missing);
    if (code == EXIT_CODE_DONE)
        code = count_legs(context, &stuck);
    if (code == EXIT_CODE_DONE)
        code = conclude(&stuck, missing);
    free(missing);
    return code;
}
