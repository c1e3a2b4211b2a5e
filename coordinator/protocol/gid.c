/* See gid.h. */
#include "protocol/gid.h"

#include <stdio.h>
#include <string.h>

void gid_format(const Gid *gid, char ret_text[GID_MAX + 1])
{
    char batch[UUID_TEXT_MAX + 1];
    uuid_format(gid->batch, batch);
    int length = snprintf(ret_text, GID_MAX + 1, "giro:%s:%s:%s:%s:%s", gid->cluster, gid->instance,
                          batch, gid->home, gid->remote);
    ASSERT(length > 0 && length <= GID_MAX);
}

/* Copies up to the next ':' or the end; false if the part is empty or does not fit. */
static bool take_part(const char **at, char *ret_part, size_t size)
{
    size_t length = strcspn(*at, ":");
    if (length == 0 || length >= size)
        return false;
    memcpy(ret_part, *at, length);
    ret_part[length] = '\0';
    *at += length;
    if (**at == ':')
        (*at)++;
    return true;
}

bool gid_parse(const char *text, Gid *ret_gid)
{
    char word[8];
    char batch[UUID_TEXT_MAX + 1];
    Gid gid;
    const char *at = text;
    if (!take_part(&at, word, sizeof word) || strcmp(word, "giro") != 0 ||
        !take_part(&at, gid.cluster, sizeof gid.cluster) ||
        !take_part(&at, gid.instance, sizeof gid.instance) ||
        !take_part(&at, batch, sizeof batch) || !uuid_parse(batch, gid.batch) ||
        !take_part(&at, gid.home, sizeof gid.home) ||
        !take_part(&at, gid.remote, sizeof gid.remote) || *at != '\0')
        return false;
    /* Only what is written exactly so is ours: "…:remote:" is not. */
    char again[GID_MAX + 1];
    gid_format(&gid, again);
    if (strcmp(again, text) != 0)
        return false;
    *ret_gid = gid;
    return true;
}
