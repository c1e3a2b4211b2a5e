/* See say.h. */
#include "say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static void put(const char *before, const char *format, va_list arguments)
{
    char text[SAY_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    say_clean(text);
    fprintf(stderr, "%s%s\n", before, text);
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put("giroctl: ", format, arguments);
    va_end(arguments);
}

void say_more(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put("", format, arguments);
    va_end(arguments);
}

void say_clean(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++)
    {
        bool c1 = at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0;
        if (c1)
            at[0] = at[1] = '?';
        else if ((at[0] < ' ' && at[0] != '\n') || at[0] == 0x7F)
            at[0] = '?';
    }
}
