/* See command.h. */
#include "command.h"

#include "commands.h"

#include <stdio.h>
#include <string.h>

static const CommandRow rows[] = {
    {"status",
     NULL,
     {NULL},
     {OPTION_NONE},
     "the service at a glance: shards, what is in transit, what needs a person",
     run_status},
    {"stuck",
     NULL,
     {NULL},
     {OPTION_OLDER_THAN},
     "every transfer that does not get on: what it waits for, and the next try",
     run_stuck},
    {"doctor",
     NULL,
     {NULL},
     {OPTION_NONE},
     "check settings, rights, versions and clocks of every shard",
     run_doctor},

    {"transfer",
     "create",
     {"DEBIT", "CREDIT", "AMOUNT", "CURRENCY"},
     {OPTION_KEY, OPTION_MODE, OPTION_REFERENCE, OPTION_METADATA, OPTION_DEADLINE, OPTION_WAIT},
     "move money; repeated under one key until the outcome is known",
     run_transfer_create},
    {"transfer",
     "get",
     {"[ID]"},
     {OPTION_DEBIT_ACCOUNT, OPTION_KEY},
     "show a transfer, by its id or by account and key",
     run_transfer_get},
    {"transfer",
     "list",
     {NULL},
     {OPTION_STATE, OPTION_MODE, OPTION_SHARD, OPTION_ACCOUNT, OPTION_NEEDS_ATTENTION,
      OPTION_OLDER_THAN, OPTION_REFERENCE, OPTION_LIMIT, OPTION_ALL, OPTION_PARTIAL},
     "list transfers of all shards, newest first",
     run_transfer_list},
    {"transfer",
     "steps",
     {"ID"},
     {OPTION_NONE},
     "what the shards' rows say of each of its stages",
     run_transfer_steps},
    {"transfer", "watch", {"ID"}, {OPTION_NONE}, "follow it until it is final", run_transfer_watch},
    {"transfer",
     "retry",
     {"ID"},
     {OPTION_REASON, OPTION_WAIT, OPTION_YES, OPTION_DRY_RUN},
     "try its next step now instead of when it is due",
     run_transfer_retry},
    {"transfer",
     "cancel",
     {"ID"},
     {OPTION_REASON, OPTION_WAIT, OPTION_YES, OPTION_DRY_RUN},
     "give a pending saga up: its money goes back unless the credit came first",
     run_transfer_cancel},
    {"transfer",
     "resolve",
     {"ID"},
     {OPTION_OUTCOME, OPTION_REASON, OPTION_WAIT, OPTION_YES, OPTION_DRY_RUN},
     "settle what needs a person, after every shard was asked",
     run_transfer_resolve},

    {"account",
     "create",
     {"ID", "CURRENCY"},
     {OPTION_FLOOR, OPTION_METADATA},
     "open an account",
     run_account_create},
    {"account",
     "get",
     {"ID"},
     {OPTION_NONE},
     "show balance, floor, status and place",
     run_account_get},
    {"account",
     "list",
     {NULL},
     {OPTION_PREFIX, OPTION_LIMIT, OPTION_ALL},
     "list accounts of all shards, in the order of their ids",
     run_account_list},
    {"account",
     "entries",
     {"ID"},
     {OPTION_LIMIT, OPTION_ALL},
     "its statement, newest first",
     run_account_entries},
    {"account",
     "freeze",
     {"ID"},
     {OPTION_REASON, OPTION_YES, OPTION_DRY_RUN},
     "it pays nothing any more; it still takes money",
     run_account_freeze},
    {"account",
     "unfreeze",
     {"ID"},
     {OPTION_REASON, OPTION_YES, OPTION_DRY_RUN},
     "it may pay again",
     run_account_unfreeze},
    {"account",
     "close",
     {"ID"},
     {OPTION_REASON, OPTION_YES, OPTION_DRY_RUN},
     "it neither pays nor takes, for ever; only if it is empty",
     run_account_close},
    {"account",
     "floor",
     {"ID", "FLOOR"},
     {OPTION_REASON, OPTION_YES, OPTION_DRY_RUN},
     "change its lowest balance: 0, below 0, or none for no limit",
     run_account_floor},

    {"prepared",
     "list",
     {NULL},
     {OPTION_LIMIT, OPTION_PARTIAL},
     "prepared transactions of all shards, the oldest first",
     run_prepared_list},
    {"shard",
     "list",
     {NULL},
     {OPTION_NONE},
     "shards: state, version, sessions, slots, clock",
     run_shard_list},
    {"partition",
     "list",
     {NULL},
     {OPTION_LIMIT, OPTION_ALL},
     "partitions: which shard owns which range",
     run_partition_list},

    {"reconcile",
     "run",
     {NULL},
     {OPTION_FULL},
     "prove the books of all shards, and wait for it",
     run_reconcile_run},
    {"reconcile",
     "list",
     {NULL},
     {OPTION_NONE},
     "the last passes of this server",
     run_reconcile_list},
    {"reconcile",
     "show",
     {"ID"},
     {OPTION_NONE},
     "what a pass compared and found",
     run_reconcile_show},

    {"intake",
     "pause",
     {"SCOPE"},
     {OPTION_REASON, OPTION_YES, OPTION_DRY_RUN},
     "take no new transfers: all, shard:NAME or account:ID",
     run_intake_pause},
    {"intake",
     "resume",
     {"SCOPE"},
     {OPTION_REASON, OPTION_YES, OPTION_DRY_RUN},
     "take them again",
     run_intake_resume},

    {"help",
     NULL,
     {"[COMMAND...]"},
     {OPTION_NONE},
     "what there is, or what a command takes",
     run_help},
    {"complete", NULL, {"[WORD...]"}, {OPTION_NONE}, NULL, run_complete},
};

size_t command_count(void)
{
    return ARRAY_LENGTH(rows);
}

const CommandRow *command_at(size_t index)
{
    ASSERT(index < ARRAY_LENGTH(rows));
    return &rows[index];
}

const CommandRow *command_find(const char *group, const char *verb)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
    {
        const CommandRow *row = &rows[i];
        if (strcmp(row->group, group) != 0)
            continue;
        if (row->verb == NULL || (verb != NULL && strcmp(row->verb, verb) == 0))
            return row;
    }
    return NULL;
}

bool command_is_group(const char *group)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
    {
        if (strcmp(rows[i].group, group) == 0)
            return true;
    }
    return false;
}

void command_name(const CommandRow *command, char ret_name[COMMAND_NAME_MAX])
{
    snprintf(ret_name, COMMAND_NAME_MAX, "%s%s%s", command->group, command->verb != NULL ? " " : "",
             command->verb != NULL ? command->verb : "");
}

bool command_takes(const CommandRow *command, OptionId option)
{
    if (option >= OPTION_COMMON_FIRST && option <= OPTION_COMMON_LAST)
        return true;
    for (size_t i = 0; i < COMMAND_OPTIONS_MAX && command->options[i] != OPTION_NONE; i++)
    {
        if (command->options[i] == option)
            return true;
    }
    return false;
}

size_t command_operands_min(const CommandRow *command)
{
    size_t count = 0;
    while (count < COMMAND_OPERANDS_MAX && command->operands[count] != NULL &&
           command->operands[count][0] != '[')
        count++;
    return count;
}

size_t command_operands_max(const CommandRow *command)
{
    size_t count = 0;
    for (; count < COMMAND_OPERANDS_MAX && command->operands[count] != NULL; count++)
    {
        if (strstr(command->operands[count], "...") != NULL)
            return COMMAND_WORDS_MAX;
    }
    return count;
}

bool command_needs_server(const CommandRow *command)
{
    return command->run != run_help && command->run != run_complete;
}
