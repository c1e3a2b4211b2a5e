/* See postponer.h. */
#include "batcher/postponer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One statement: transfers of one home with the same delay and the same words. */
typedef struct Note
{
    TAILQ_ENTRY(Note) link;
    Shard *home;
    uint64_t delay_ms;
    char error[256];
    char attention[256]; /* "" = none */
    size_t count;
    uint8_t ids[POSTPONER_MAX][16];
} Note;

struct Postponer
{
    Loop *loop;
    Caller *caller;
    TAILQ_HEAD(, Note) notes; /* collected in this turn */
};

static void fill(void *context, PgParams *params)
{
    const Note *note = context;
    pg_params_array(params, PG_ELEMENT_UUID, note->count);
    for (size_t i = 0; i < note->count; i++)
        pg_params_add_uuid(params, note->ids[i]);
    pg_params_int8(params, (int64_t)note->delay_ms);
    pg_params_text(params, note->error);
    pg_params_text(params, note->attention[0] != '\0' ? note->attention : NULL);
}

static void done(void *context, const CallResult *result)
{
    (void)result; /* what was not noted is due again when its claim runs out */
    free(context);
}

static void send_notes(void *context)
{
    Postponer *postponer = context;
    Note *note;
    while ((note = TAILQ_FIRST(&postponer->notes)) != NULL)
    {
        TAILQ_REMOVE(&postponer->notes, note, link);
        Call call = {STATEMENT_POSTPONE, fill, done, note};
        call_shard(postponer->caller, note->home, &call);
    }
}

Postponer *postponer_new(Loop *loop, Caller *caller)
{
    Postponer *postponer = base_calloc(1, sizeof *postponer);
    postponer->loop = loop;
    postponer->caller = caller;
    TAILQ_INIT(&postponer->notes);
    loop_add_phase(loop, send_notes, postponer);
    return postponer;
}

void postponer_free(Postponer *postponer)
{
    free(postponer);
}

static bool says(const Note *note, const Postponement *postponement)
{
    const char *attention = postponement->attention != NULL ? postponement->attention : "";
    return note->home == postponement->home && note->delay_ms == postponement->delay_ms &&
           strcmp(note->error, postponement->error) == 0 && strcmp(note->attention, attention) == 0;
}

static Note *note_for(Postponer *postponer, const Postponement *postponement)
{
    Note *note;
    TAILQ_FOREACH (note, &postponer->notes, link)
    {
        if (says(note, postponement))
            return note;
    }
    note = base_calloc(1, sizeof *note);
    note->home = postponement->home;
    note->delay_ms = postponement->delay_ms;
    snprintf(note->error, sizeof note->error, "%s", postponement->error);
    snprintf(note->attention, sizeof note->attention, "%s",
             postponement->attention != NULL ? postponement->attention : "");
    TAILQ_INSERT_TAIL(&postponer->notes, note, link);
    return note;
}

void postponer_add(Postponer *postponer, const Postponement *postponement)
{
    Note *note = note_for(postponer, postponement);
    if (note->count == POSTPONER_MAX)
        return;
    memcpy(note->ids[note->count++], postponement->id, 16);
    loop_wake(postponer->loop);
}
