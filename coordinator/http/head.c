/* See head.h. */
#include "http/head.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum
{
    NULS_OF_LINE_END = 2, /* CR and LF */
};

/* Are there, from where the walk is up to `to`, only blanks and at most so many NULs? */
static bool is_clean(const Head *head, const char *to, int nuls_max)
{
    int nuls = 0;
    if ((uintptr_t)to < (uintptr_t)head->at || (uintptr_t)to > (uintptr_t)head->end)
        return false;
    for (const char *byte = head->at; byte < to; byte++)
    {
        if (*byte == '\0')
            nuls++;
        else if (*byte != ' ' && *byte != '\t')
            return false;
    }
    return nuls <= nuls_max;
}

static bool is_control(char byte)
{
    return (unsigned char)byte < ' ' || byte == 0x7F;
}

static bool value_is_clean(const char *value)
{
    while (*value == '\t' || !is_control(*value))
        value++;
    return *value == '\0';
}

bool head_target_is_clean(const char *target)
{
    while (*target != ' ' && !is_control(*target))
        target++;
    return *target == '\0';
}

static void blame(Head *head, const char *name)
{
    if (head->bad == NULL)
        head->bad = name != NULL ? name : "";
}

void head_start(Head *head, const HeadLine *line)
{
    *head = (Head){.at = line->version, .end = line->start + line->size};
    const char *target_end = line->target + line->target_length;
    if (line->target_is_clean && line->version == target_end + 1 &&
        (uintptr_t)line->version < (uintptr_t)head->end)
        head->at += strlen(line->version);
    else
        blame(head, NULL);
}

void head_add(Head *head, const char *name, const char *value)
{
    if (head->bad != NULL)
        return;
    if (!is_clean(head, name, NULS_OF_LINE_END))
    {
        blame(head, head->name); /* its value goes on behind the NUL */
        return;
    }
    head->at = name + strlen(name);
    head->name = name;
    if (!is_clean(head, value, 1) || !value_is_clean(value))
        blame(head, name);
    else
        head->at = value + strlen(value);
}

bool head_end(Head *head, Error *error)
{
    if (head->bad == NULL && !is_clean(head, head->end, 2 * NULS_OF_LINE_END))
        blame(head, head->name);
    if (head->bad == NULL)
        return true;
    if (head->bad[0] == '\0')
        return error_set(error, ERROR_HEADER_INVALID,
                         "the request line holds blanks or control characters");
    bool is_key = strcasecmp(head->bad, "Idempotency-Key") == 0;
    return error_set(error, is_key ? ERROR_IDEMPOTENCY_KEY_INVALID : ERROR_HEADER_INVALID,
                     "the header %.60s is folded or holds control characters", head->bad);
}
