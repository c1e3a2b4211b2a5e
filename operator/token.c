/*
 * Tokens: `token create|list|revoke`. The secret is in the answer to `create` and nowhere else: it
 * is written to stdout, so that it can be put into a file without having been seen.
 */
#include "change.h"
#include "commands.h"
#include "field.h"
#include "list.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

enum
{
    TEXT_MAX = 256,
};

static const Column token_rows[] = {
    {"ID", "id", COLUMN_TEXT},
    {"NAME", "name", COLUMN_TEXT},
    {"ROLE", "role", COLUMN_TEXT},
    {"PREFIX", "prefix", COLUMN_TEXT},
    {"CREATED", "created_at", COLUMN_TIME},
    {"BY", "created_by", COLUMN_TEXT},
};
static const Columns columns = {token_rows, ARRAY_LENGTH(token_rows)};

ExitCode run_token_list(Context *context)
{
    List list = {.path = "/v1/tokens", .is_whole = true};
    return list_show(context, &list, &columns);
}

/* ---- creating ------------------------------------------------------------------------------- */

static void put_token(const Context *context, JsonWriter *body)
{
    json_put_string(body, "name", context_operand(context, 0));
    json_put_string(body, "role", context_value(context, OPTION_ROLE));
    if (context_has(context, OPTION_PREFIX))
        json_put_string(body, "prefix", context_value(context, OPTION_PREFIX));
}

static const char *effect_of(const char *role)
{
    static const struct
    {
        const char *role;
        const char *effect;
    } effects[] = {
        {"client", "whoever has it may open accounts and move money"},
        {"reader", "whoever has it may read everything and change nothing"},
        {"operator", "whoever has it may settle transfers, freeze accounts and pause intake"},
        {"admin", "whoever has it may do everything, and make tokens"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(effects); i++)
    {
        if (strcmp(effects[i].role, role) == 0)
            return effects[i].effect;
    }
    return "";
}

ExitCode run_token_create(Context *context)
{
    const char *role = context_value(context, OPTION_ROLE);
    const char *prefix = context_value(context, OPTION_PREFIX);
    char title[TEXT_MAX];
    Answer answer = {0};
    if (role == NULL)
    {
        say("--role is needed: client, reader, operator or admin");
        return EXIT_CODE_USAGE;
    }
    snprintf(title, sizeof title, "create the %s token %.80s%s%.100s", role,
             context_operand(context, 0), prefix != NULL ? " for accounts with the prefix " : "",
             prefix != NULL ? prefix : "");
    const Change change = {.title = title,
                           .effect = effect_of(role),
                           .path = "/v1/tokens",
                           .put = put_token,
                           .is_plain = true,
                           .once = true};
    ExitCode code = change_run(context, &change, &answer);
    if (answer.in_doubt)
        say("it may be there, and nobody has its secret: giroctl token list, then token revoke");
    if (code == EXIT_CODE_DONE && answer.document != NULL)
    {
        output_record(context->output, answer.document);
        say("its secret is not shown again");
    }
    answer_done(&answer);
    return code;
}

ExitCode run_token_revoke(Context *context)
{
    char title[TEXT_MAX];
    Address address;
    context_path(&address, "/v1/tokens", context_operand(context, 0), "");
    snprintf(title, sizeof title, "revoke token %.80s", context_operand(context, 0));
    const Change change = {.title = title,
                           .effect = "from within a second on it opens nothing, for ever",
                           .method = "DELETE",
                           .path = address.text,
                           .is_plain = true};
    return change_run(context, &change, NULL);
}
