/*
 * What an operator may do to a transfer: `transfer retry|cancel|resolve`. What each is safe against
 * is decided on the shards (see docs/operating.md); here it is shown, asked, and told.
 */
#include "change.h"
#include "commands.h"
#include "field.h"
#include "order.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

enum
{
    TITLE_MAX = 160,
};

typedef struct Settling
{
    const char *verb; /* "cancel" */
    const char *effect;
    const char *prefer;
    void (*put)(const Context *context, JsonWriter *body);
    bool has_plan;
} Settling;

static ExitCode settle(const Context *context, const Settling *settling, Answer *ret_answer)
{
    const char *id = context_operand(context, 0);
    char title[TITLE_MAX];
    char action[TITLE_MAX];
    Address look;
    Address path;
    if (!context_is_id(id, "transfer"))
        return EXIT_CODE_USAGE;
    snprintf(title, sizeof title, "%s transfer %s", settling->verb, id);
    snprintf(action, sizeof action, "/actions/%s", settling->verb);
    context_path(&look, "/v1/transfers", id, "");
    context_path(&path, "/v1/transfers", id, action);
    const Change change = {
        .title = title,
        .effect = settling->effect,
        .look_path = look.text,
        .path = path.text,
        .prefer = settling->prefer,
        .put = settling->put,
        .has_plan = settling->has_plan,
        .shown = {"state", "mode", "debit_account", "credit_account", "amount", "currency",
                  "created_at", "attempts", "next_attempt_at", "last_error", "attention.reason",
                  "attention.advice"},
    };
    return change_run(context, &change, ret_answer);
}

ExitCode run_transfer_retry(Context *context)
{
    return settle(context,
                  &(Settling){.verb = "retry",
                              .effect = "its next step is tried at once, as it would be when it is "
                                        "due; the outcome is decided as ever"},
                  NULL);
}

/* What stands need not be what was wished for. */
static ExitCode tell_cancel(const Context *context, const Answer *answer)
{
    const Json *transfer = answer->document;
    output_record(context->output, transfer);
    if (field_is(transfer, "state", "posted"))
    {
        say("it is posted: the credit had come first");
        return EXIT_CODE_CONFLICT;
    }
    if (!field_bool(transfer, "final"))
        say("the wish is durable; it ends by itself once %s answers: giroctl transfer watch %s",
            field_string(transfer, "credit_shard"), field_string(transfer, "id"));
    return EXIT_CODE_DONE;
}

ExitCode run_transfer_cancel(Context *context)
{
    Answer answer = {0};
    char prefer[ORDER_PREFER_MAX];
    if (!order_prefer(context, prefer))
        return EXIT_CODE_USAGE;
    ExitCode code = settle(
        context,
        &(Settling){.verb = "cancel",
                    .prefer = prefer[0] != '\0' ? prefer : NULL,
                    .effect = "its credit is made impossible, then the money goes back; if the "
                              "credit came first it is posted instead"},
        &answer);
    if (code == EXIT_CODE_DONE && answer.document != NULL)
        code = tell_cancel(context, &answer);
    answer_done(&answer);
    return code;
}

static void put_outcome(const Context *context, JsonWriter *body)
{
    json_put_string(body, "outcome", context_value(context, OPTION_OUTCOME));
}

ExitCode run_transfer_resolve(Context *context)
{
    const char *outcome = context_value(context, OPTION_OUTCOME);
    if (outcome == NULL)
    {
        say("--outcome is needed: posted or reversed");
        return EXIT_CODE_USAGE;
    }
    bool posted = strcmp(outcome, "posted") == 0;
    return settle(context,
                  &(Settling){.verb = "resolve",
                              .put = put_outcome,
                              .has_plan = true,
                              .effect = posted ? "every shard is asked; if they permit it, the "
                                                 "credit is brought about and it ends as posted"
                                               : "every shard is asked; its credit is made "
                                                 "impossible, then the money goes back"},
                  NULL);
}
