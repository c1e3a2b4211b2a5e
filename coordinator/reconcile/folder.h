/*
 * Folds clearing rows on every shard, all the time and in small steps (participants/
 * fold_clearing.sql), so that the table stays as small as what came in the last second. Every
 * coordinator does it; they take different rows.
 */
#ifndef GIRO_FOLDER_H
#define GIRO_FOLDER_H

#include "shard/call.h"

typedef struct Folder Folder;

enum
{
    FOLDER_PERIOD_MS = 1000,
    FOLDER_HURRY_MS = 100, /* after a step that was full */
    FOLDER_MIN = 100,      /* rows on a shard; fewer are left as they are */
    FOLDER_STEP = 1000,    /* rows at a time */
};

Folder *folder_new(Loop *loop, Directory *directory);
/* After folder_stop, and with no call of it under way; else what it has goes with the process. */
void folder_free(Folder *folder);
/* Folds no more; calls stopped when nothing is under way. */
void folder_stop(Folder *folder, void (*stopped)(void *context), void *context);

#endif
