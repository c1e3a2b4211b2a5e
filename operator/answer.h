/*
 * From an answer to words on stderr and to an exit code: the same for every command.
 */
#ifndef GIROCTL_ANSWER_H
#define GIROCTL_ANSWER_H

#include "exits.h"
#include "service.h"

/* 2xx with a document, or 204. */
bool answer_is_good(const Answer *answer);
/* EXIT_CODE_DONE if it is good. */
ExitCode answer_exit(const Answer *answer);
/* Says what went wrong, if something did: the problem's detail, its code, its request id, the
 * fields that it points at, and whether the order may have taken effect. Returns answer_exit. */
ExitCode answer_report(const Answer *answer);

#endif
