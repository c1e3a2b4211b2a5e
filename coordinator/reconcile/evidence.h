/*
 * What the rows of both shards say of one transfer, and what follows: both legs or none, as its
 * state demands, and the rows that decide beside them. Pure.
 *
 *            debit   credit        refund   receipt (saga)
 *   posted   yes     yes *         no       applied
 *   pending  yes     yes or no     no       none or any that fits the credit
 *   reversed yes     no            yes      refused or cancelled
 *   refused  no      no            no
 *
 * * or not visible yet: its batch's leg is prepared. If the leg of a posted 2PC transfer was rolled
 * back by a stranger, its credit is done again, under a receipt; until then the transfer is due.
 */
#ifndef GIRO_EVIDENCE_H
#define GIRO_EVIDENCE_H

#include "reconcile/report.h"
#include "shard/mode.h"

typedef enum Leg
{
    LEG_NONE,
    LEG_RIGHT,
    LEG_WRONG, /* another account or amount than the transfer names */
} Leg;

typedef enum RecordedState
{
    RECORDED_NOT, /* there is no such transfer at its home */
    RECORDED_PENDING,
    RECORDED_POSTED,
    RECORDED_REFUSED,
    RECORDED_REVERSED,
} RecordedState;

typedef enum Outcome
{
    OUTCOME_NONE,
    OUTCOME_APPLIED,
    OUTCOME_GIVEN_UP, /* refused or cancelled */
} Outcome;

typedef struct Evidence
{
    /* home */
    RecordedState state;
    TransferMode mode;
    bool is_decided; /* its batch stands committed */
    bool is_due;     /* somebody goes on with it: pending, or posted and its credit was lost */
    bool has_debit_account;
    Leg debit;
    Leg refund;
    /* the credit account's shard */
    Leg credit;
    bool has_credit_account;
    bool credit_shard_was_asked; /* the rest is known; else only the credit entry is */
    bool is_prepared;
    bool has_leg;
    Outcome receipt;
} Evidence;

typedef enum Place
{
    PLACE_DEBIT,
    PLACE_CREDIT,
} Place;

typedef struct Judgement
{
    ItemKind kind;
    Place place; /* on which account of the transfer */
} Judgement;

enum
{
    JUDGEMENTS_MAX = 8,
};

/* Returns how many judgements there are: 0 for a transfer that is whole and final. */
size_t evidence_judge(const Evidence *evidence, Judgement ret_judgements[JUDGEMENTS_MAX]);

#endif
