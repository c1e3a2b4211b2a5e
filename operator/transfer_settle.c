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
    const char *verb;   /* "cancel" */
    const char *wanted; /* the state that it is to end in; NULL: any */
    void (*put)(const Context *context, JsonWriter *body);
} Settling;

/* What stands need not be what was wished for. */
static ExitCode tell(const Context *context, const Settling *settling, const Json *transfer)
{
    const char *state = field_string(transfer, "state");
    output_record(context->output, transfer);
    if (!field_bool(transfer, "final"))
        say("that is noted; it ends by itself once %s answers: giroctl transfer watch %s",
            field_string(transfer, "waits_for"), field_string(transfer, "id"));
    else if (settling->wanted != NULL && strcmp(settling->wanted, state) != 0)
    {
        say("it is %s all the same: %s", state,
            strcmp(state, "posted") == 0 ? "the credit had come first"
                                         : "the credit can no longer apply");
        return EXIT_CODE_CONFLICT;
    }
    return EXIT_CODE_DONE;
}

static ExitCode settle(const Context *context, const Settling *settling)
{
    const char *id = context_operand(context, 0);
    char title[TITLE_MAX];
    char action[TITLE_MAX];
    char prefer[ORDER_PREFER_MAX];
    Address path;
    Answer answer = {0};
    if (!context_is_id(id, "transfer") || !order_prefer(context, prefer))
        return EXIT_CODE_USAGE;
    snprintf(title, sizeof title, "%s transfer %s", settling->verb, id);
    snprintf(action, sizeof action, "/actions/%s", settling->verb);
    context_path(&path, "/v1/transfers", id, action);
    const Change change = {
        .title = title,
        .path = path.text,
        .prefer = prefer[0] != '\0' ? prefer : NULL,
        .put = settling->put,
        .has_plan = true,
        .shown = {"transfer.state", "transfer.mode", "transfer.debit_account",
                  "transfer.credit_account", "transfer.amount", "transfer.currency",
                  "transfer.created_at", "transfer.waits_for", "transfer.last_error",
                  "transfer.attention.reason", "evidence.home.shard", "evidence.home.verdict",
                  "evidence.home.giving_up", "evidence.credit.shard", "evidence.credit.trouble",
                  "evidence.credit.receipt", "evidence.credit.leg_is_prepared",
                  "evidence.credit.credited_at"},
    };
    ExitCode code = change_run(context, &change, &answer);
    if (code == EXIT_CODE_DONE && answer.document != NULL)
        code = tell(context, settling, answer.document);
    answer_done(&answer);
    return code;
}

ExitCode run_transfer_retry(Context *context)
{
    return settle(context, &(Settling){.verb = "retry"});
}

ExitCode run_transfer_cancel(Context *context)
{
    return settle(context, &(Settling){.verb = "cancel", .wanted = "reversed"});
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
    return settle(context, &(Settling){.verb = "resolve", .wanted = outcome, .put = put_outcome});
}
