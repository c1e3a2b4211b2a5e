/*
 * The name of a prepared leg: `giro:<cluster>:<instance>:<batch>:<home>:<remote>`. Complete in
 * itself: whoever finds the leg knows whom to ask.
 */
#ifndef GIRO_GID_H
#define GIRO_GID_H

#include "shard/route.h"
#include "shard/statement.h"

typedef struct Gid
{
    char cluster[NAME_MAX_LENGTH + 1];
    char instance[NAME_MAX_LENGTH + 1];
    uint8_t batch[16];
    char home[NAME_MAX_LENGTH + 1];
    char remote[NAME_MAX_LENGTH + 1];
} Gid;

void gid_format(const Gid *gid, char ret_text[GID_MAX + 1]);
/* False if it is none of ours. */
bool gid_parse(const char *text, Gid *ret_gid) ATTR_MUST_USE;

#endif
