/*
 * Every option of every command, in one table. Help, completion and the parser read it; the man
 * page is held against it by a test.
 */
#ifndef GIROCTL_OPTION_H
#define GIROCTL_OPTION_H

#include "base/base.h"

typedef enum OptionId
{
    OPTION_NONE, /* ends a command's list */

    /* Of every command. */
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_CA_FILE,
    OPTION_OUTPUT,
    OPTION_TIMEOUT,
    OPTION_HELP,
    OPTION_VERSION,

    OPTION_LIMIT,
    OPTION_ALL,
    OPTION_PARTIAL,

    OPTION_STATE,
    OPTION_MODE,
    OPTION_SHARD,
    OPTION_ACCOUNT,
    OPTION_DEBIT_ACCOUNT,
    OPTION_NEEDS_ATTENTION,
    OPTION_OLDER_THAN,
    OPTION_REFERENCE,
    OPTION_PREFIX,

    OPTION_KEY,
    OPTION_METADATA,
    OPTION_DEADLINE,
    OPTION_WAIT,
    OPTION_FLOOR,
    OPTION_FULL,
    OPTION_OUTCOME,

    OPTION_REASON,
    OPTION_YES,
    OPTION_DRY_RUN,

    OPTION_COUNT,

    OPTION_COMMON_FIRST = OPTION_SERVER,
    OPTION_COMMON_LAST = OPTION_VERSION,
} OptionId;

typedef struct OptionRow
{
    const char *name;     /* without dashes */
    const char *argument; /* what stands behind it, for people; NULL: nothing */
    const char *choices;  /* the words it may be, with blanks between; NULL: anything */
    const char *summary;
    char letter; /* the short form; 0: none */
} OptionRow;

const OptionRow *option_row(OptionId id);
/* By "name" or by its letter; OPTION_NONE if there is none. */
OptionId option_by_name(const char *name, size_t length);
OptionId option_by_letter(char letter);

#endif
