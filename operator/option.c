/* See option.h. */
#include "option.h"

#include <string.h>

static const OptionRow rows[OPTION_COUNT] = {
    [OPTION_SERVER] = {"server", "URL", NULL, "where girod is (GIRO_SERVER; http://127.0.0.1:8080)",
                       0},
    [OPTION_TOKEN_FILE] = {"token-file", "FILE", NULL, "read the token from it (or GIRO_TOKEN)", 0},
    [OPTION_CA_FILE] = {"ca-file", "FILE", NULL, "certificates to trust instead of the system's",
                        0},
    [OPTION_OUTPUT] = {"output", "FORM", "table json jsonl csv",
                       "table (default), json, jsonl or csv", 'o'},
    [OPTION_TIMEOUT] = {"timeout", "TIME", NULL,
                        "how long to go on trying, or following: 500ms, 30s, 5m, 2h", 0},
    [OPTION_HELP] = {"help", NULL, NULL, "what a command does and takes", 'h'},
    [OPTION_VERSION] = {"version", NULL, NULL, "the version of giroctl", 0},

    [OPTION_LIMIT] = {"limit", "N", NULL, "show so many at most (100)", 0},
    [OPTION_ALL] = {"all", NULL, NULL, "show all there are", 0},
    [OPTION_PARTIAL] = {"partial", NULL, NULL, "show the others when a shard does not answer", 0},

    [OPTION_STATE] = {"state", "STATE", "posted pending refused reversed", "only in this state", 0},
    [OPTION_MODE] = {"mode", "MODE", "auto local 2pc saga", "how it goes, or went, between shards",
                     0},
    [OPTION_SHARD] = {"shard", "NAME", NULL, "only what touches this shard", 0},
    [OPTION_ACCOUNT] = {"account", "ID", NULL, "only from or to this account", 0},
    [OPTION_DEBIT_ACCOUNT] = {"debit-account", "ID", NULL, "with --key: the account that pays", 0},
    [OPTION_NEEDS_ATTENTION] = {"needs-attention", NULL, NULL, "only what a person should look at",
                                0},
    [OPTION_OLDER_THAN] = {"older-than", "TIME", NULL, "only what is older: 30s, 5m, 2h", 0},
    [OPTION_REFERENCE] = {"reference", "TEXT", NULL, "your own word for it", 0},
    [OPTION_PREFIX] = {"prefix", "PREFIX", NULL, "only accounts whose ids begin like this", 0},

    [OPTION_KEY] = {"key", "KEY", NULL, "the idempotency key (made, and shown, unless given)", 0},
    [OPTION_METADATA] = {"metadata", "NAME=TEXT", NULL, "a note to keep with it; may be repeated",
                         0},
    [OPTION_DEADLINE] = {"deadline", "TIME", NULL, "a saga: reversed unless credited by then", 0},
    [OPTION_WAIT] = {"wait", "SECONDS", NULL, "wait so long for the end (5, up to 30)", 0},
    [OPTION_FLOOR] = {"floor", "N", NULL, "lowest balance: 0, below 0, or none for no limit", 0},
    [OPTION_FULL] = {"full", NULL, NULL, "from the first entry on", 0},
    [OPTION_OUTCOME] = {"outcome", "OUTCOME", "posted reversed", "how it is to end", 0},

    [OPTION_REASON] = {"reason", "TEXT", NULL, "why: 10 characters or more", 0},
    [OPTION_YES] = {"yes", NULL, NULL, "do not ask", 'y'},
    [OPTION_DRY_RUN] = {"dry-run", NULL, NULL, "only show what it would do, and on what grounds",
                        0},
};

const OptionRow *option_row(OptionId id)
{
    ASSERT(id > OPTION_NONE && id < OPTION_COUNT);
    return &rows[id];
}

OptionId option_by_name(const char *name, size_t length)
{
    for (OptionId id = OPTION_NONE + 1; id < OPTION_COUNT; id++)
    {
        if (strlen(rows[id].name) == length && memcmp(rows[id].name, name, length) == 0)
            return id;
    }
    return OPTION_NONE;
}

OptionId option_by_letter(char letter)
{
    for (OptionId id = OPTION_NONE + 1; id < OPTION_COUNT; id++)
    {
        if (letter != '\0' && rows[id].letter == letter)
            return id;
    }
    return OPTION_NONE;
}
