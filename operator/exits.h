/*
 * The exit codes: part of the interface, for scripts. docs/man/giroctl.1 explains each.
 *
 * What a server answers is turned into one of them by answer_exit (answer.h), the same for every
 * command; what a command finds out beyond that (a check that failed, a transfer that ended
 * otherwise than asked for) it says itself.
 */
#ifndef GIROCTL_EXITS_H
#define GIROCTL_EXITS_H

typedef enum ExitCode
{
    EXIT_CODE_DONE = 0,
    EXIT_CODE_FAILED = 1, /* output cannot be written; "no" at the question */
    EXIT_CODE_USAGE = 2,  /* the command line, or what it asks for, is wrong */
    EXIT_CODE_NOT_FOUND = 3,
    EXIT_CODE_AUTH = 4,
    EXIT_CODE_CONFLICT = 5,
    EXIT_CODE_REFUSED = 6,
    EXIT_CODE_UNAVAILABLE = 7, /* no answer, or a shard is away; also an unknown outcome */
    EXIT_CODE_PROBLEMS = 9,    /* a check found problems */
    EXIT_CODE_INTERRUPTED = 130,
} ExitCode;

#endif
