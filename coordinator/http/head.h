/*
 * Is a request's head what libmicrohttpd made of it? It hands strings out, cut at the first NUL
 * byte, and it takes several spellings for one: two different Idempotency-Keys may come out alike,
 * and a path may lose its end. Such heads are refused.
 *
 * The strings lie inside the head as it was read, in its order, with NUL bytes in place of blanks,
 * colons and line ends. So whatever is left over between two strings, blanks aside, was cut off.
 * The walk compares addresses before it reads: a string that lies elsewhere (a folded header is
 * copied) is refused too. (The functions of libmicrohttpd 0.9.75 that tell lengths do not help:
 * they measure up to the NUL as well.)
 *
 * One spelling stays undetected: a NUL in front of a bare line feed counts as the carriage return.
 */
#ifndef GIRO_HEAD_H
#define GIRO_HEAD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the walk is. Lent strings. */
typedef struct Head
{
    const char *at; /* the end of the last string */
    const char *end;
    const char *name; /* of the last header; NULL = none yet */
    const char *bad;  /* name of the header that is not as it was sent; "" = the request line */
} Head;

/* The request line. */
typedef struct HeadLine
{
    const char *start; /* the method */
    size_t size;       /* of the whole head */
    const char *target;
    size_t target_length; /* up to its first NUL, before it was taken apart */
    bool target_is_clean;
    const char *version;
} HeadLine;

/* Has it no blanks and no control characters? To be asked before it is taken apart. */
bool head_target_is_clean(const char *target);

void head_start(Head *head, const HeadLine *line);
/* The next header, in order. */
void head_add(Head *head, const char *name, const char *value);
/* After the last header. False with ERROR_HEADER_INVALID, or ERROR_IDEMPOTENCY_KEY_INVALID if it is
 * that header, if the head is not what was sent or holds control characters. */
bool head_end(Head *head, Error *error) ATTR_MUST_USE;

#endif
