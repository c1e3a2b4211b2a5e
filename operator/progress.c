/* See progress.h. */
#include "progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum
{
    BAR_WIDTH = 12,
};

struct Progress
{
    bool is_shown;
    int position;
    uint64_t begun_us;
};

Progress *progress_new(void)
{
    Progress *progress = base_calloc(1, sizeof *progress);
    progress->is_shown = isatty(STDERR_FILENO) == 1;
    progress->begun_us = base_now_us();
    return progress;
}

void progress_free(Progress *progress)
{
    if (progress == NULL)
        return;
    progress_pause(progress);
    free(progress);
}

/* How much there is to do nobody knows before the end, so the bar goes to and fro. */
void progress_tell(Progress *progress, const char *text)
{
    char bar[BAR_WIDTH + 1];
    if (!progress->is_shown)
        return;
    int turn = progress->position++ % (2 * BAR_WIDTH - 2);
    int at = turn < BAR_WIDTH ? turn : 2 * BAR_WIDTH - 2 - turn;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i == at ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %s, %" PRIu64 " s\033[K", bar, text,
            (base_now_us() - progress->begun_us) / 1000000);
    fflush(stderr);
}

void progress_pause(Progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
}
