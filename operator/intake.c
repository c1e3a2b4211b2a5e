/*
 * Intake: `intake pause|resume`, of everything, of a shard or of an account.
 */
#include "change.h"
#include "commands.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

enum
{
    TITLE_MAX = 256,
};

static bool is_scope(const char *text)
{
    static const char *const kinds[] = {"shard:", "account:"};
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
    {
        size_t length = strlen(kinds[i]);
        if (strncmp(text, kinds[i], length) == 0 && text[length] != '\0')
            return true;
    }
    return strcmp(text, "all") == 0;
}

static void put_scope(const Context *context, JsonWriter *body)
{
    json_put_string(body, "scope", context_operand(context, 0));
}

static ExitCode change_intake(const Context *context, const char *verb, const char *effect)
{
    const char *scope = context_operand(context, 0);
    char title[TITLE_MAX];
    Address path;
    if (!is_scope(scope))
    {
        say("a scope is all, shard:NAME or account:ID, not \"%.80s\"", scope);
        return EXIT_CODE_USAGE;
    }
    context_path(&path, "/v1/intake/actions", verb, "");
    snprintf(title, sizeof title, "%s the intake of %.160s", verb,
             strcmp(scope, "all") == 0 ? "all transfers" : scope);
    const Change change = {.title = title, .effect = effect, .path = path.text, .put = put_scope};
    return change_run(context, &change, NULL);
}

ExitCode run_intake_pause(Context *context)
{
    return change_intake(context, "pause",
                         "new transfers that touch it are answered 503, effect none, until it is "
                         "resumed; what is under way goes on");
}

ExitCode run_intake_resume(Context *context)
{
    return change_intake(context, "resume", "new transfers that touch it are taken again");
}
