/*
 * The functions behind the commands, one file per group. Each reads its arguments from the context,
 * does one thing, writes what is asked for to the output and returns an exit code.
 */
#ifndef GIROCTL_COMMANDS_H
#define GIROCTL_COMMANDS_H

#include "command.h"

ExitCode run_help(Context *context);     /* help.c */
ExitCode run_complete(Context *context); /* the same */

ExitCode run_status(Context *context);
ExitCode run_stuck(Context *context);
ExitCode run_doctor(Context *context);

ExitCode run_transfer_create(Context *context); /* transfer_create.c */
ExitCode run_transfer_get(Context *context);    /* transfer.c */
ExitCode run_transfer_list(Context *context);
ExitCode run_transfer_steps(Context *context);
ExitCode run_transfer_watch(Context *context);
ExitCode run_transfer_retry(Context *context); /* transfer_settle.c */
ExitCode run_transfer_cancel(Context *context);
ExitCode run_transfer_resolve(Context *context);

ExitCode run_account_create(Context *context);
ExitCode run_account_get(Context *context);
ExitCode run_account_list(Context *context);
ExitCode run_account_entries(Context *context);
ExitCode run_account_freeze(Context *context);
ExitCode run_account_unfreeze(Context *context);
ExitCode run_account_close(Context *context);
ExitCode run_account_floor(Context *context);

ExitCode run_prepared_list(Context *context); /* topology.c */
ExitCode run_shard_list(Context *context);
ExitCode run_partition_list(Context *context);

ExitCode run_reconcile_run(Context *context);
ExitCode run_reconcile_list(Context *context);
ExitCode run_reconcile_show(Context *context);

ExitCode run_intake_pause(Context *context);
ExitCode run_intake_resume(Context *context);

#endif
