/* The inside of Walk, for walk.c and the steps with files of their own: walk_accounts.c and
 * walk_batches.c. */
#ifndef GIRO_WALK_INSIDE_H
#define GIRO_WALK_INSIDE_H

#include "reconcile/chain.h"
#include "reconcile/walk.h"

typedef enum Step
{
    STEP_BOOKS,
    STEP_PREPARED,
    STEP_CARRIED,
    STEP_ACCOUNTS,
    STEP_TRANSFERS,
    STEP_BATCHES,
    STEP_COUNT,
} Step;

enum
{
    ROWS_PAGE = 1000, /* entries, or batches */
};

/* An account that is proved up to an entry. */
typedef struct Proof
{
    char account[ACCOUNT_ID_MAX + 1];
    int64_t seq;
    int64_t balance;
} Proof;

/* A visible leg whose decision is looked for. */
typedef struct VisibleLeg
{
    uint8_t batch[16];
    Shard *home;
    bool is_decided;
} VisibleLeg;

struct Walk
{
    WalkOptions options;
    Exam *exam;
    LoopTimer *timer; /* the end, told in a later turn */
    LoopTimer *pause; /* before walk_ask_verdicts is called again */
    Step step;

    /* where the next page begins: transfers and batches */
    bool has_position;
    uint8_t position[16];

    /* accounts */
    char last_account[ACCOUNT_ID_MAX + 1]; /* all before it, and itself, are compared … */
    Chain chain;                           /* … or this one is being, over pages */
    Proof proofs[ROWS_PAGE + 1];
    size_t proof_count;

    /* batches */
    VisibleLeg legs[ROWS_PAGE];
    size_t leg_count;
    Shard *asked;
    int round;
};

Shard *walk_shard(const Walk *walk);
Report *walk_report(const Walk *walk);
/* Reports an item of this shard. */
void walk_find(Walk *walk, ReportItem *item);
/* Reads the step's next page. */
void walk_page(Walk *walk);
void walk_next_step(Walk *walk);
/* Ends the walk; the report says why. */
void walk_give_up(Walk *walk, const char *why);
/* Notes the proofs and the exam's results on the shard, then reads the next page. */
void walk_note(Walk *walk);
/* The same, of a walk anew: forgets what was proved otherwise than it is. */
void walk_forget(Walk *walk);

void walk_fill_accounts(void *context, PgParams *params);
void walk_settle_accounts(Walk *walk, const PgRows *rows);
void walk_fill_batches(void *context, PgParams *params);
void walk_settle_batches(Walk *walk, const PgRows *rows);
void walk_ask_verdicts(void *context);

#endif
