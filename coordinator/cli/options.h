/*
 * The command line of girod: what may be said, what it defaults to, and the text of --help.
 */
#ifndef GIRO_OPTIONS_H
#define GIRO_OPTIONS_H

#include "base/error.h"
#include "base/log.h"
#include "shard/route.h"

#include <stdio.h>

typedef enum Command
{
    COMMAND_SERVE,
    COMMAND_INIT,
    COMMAND_READMIT,
    COMMAND_RECONCILE,
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_PRINT_STAGES,
} Command;

typedef struct Options
{
    Command command;
    const char *config;
    const char *shard;  /* readmit */
    const char *reason; /* the same */
    char host[64];      /* numeric */
    uint16_t port;
    char instance[NAME_MAX_LENGTH + 1]; /* random unless given */
    LogLevel log_level;
    LogFormat log_format;
    bool enable_failpoints;
    bool allow_fsync_off;
    int sessions;          /* per shard */
    int batch;             /* transfers */
    int reconcile_every_s; /* 0: never by schedule */
    bool full;             /* of reconcile: these three */
    bool json;
    int patience_s;
} Options;

/* Fills *ret_options; strings point into argv. False with ERROR_CONFIG. */
bool options_parse(int argc, char **argv, Options *ret_options, Error *error) ATTR_MUST_USE;
void options_print_help(FILE *out);

#endif
