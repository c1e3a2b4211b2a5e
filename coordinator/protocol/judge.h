/*
 * The judge: which transfers of a batch happen, and the exact legs to apply.
 *
 * A pure function. In: the states of all accounts of both shards, read under their locks, and the
 * transfers in order of arrival. Out: a verdict per transfer, and the entries with seq and balance.
 * It judges once, with both sides at hand, before anything is written, so nothing is ever undone:
 * no entry is taken back, seq has no gaps, and no refusal rests on a leg that did not happen.
 * (Judging per shard and pruning afterwards left accounts below their floor in half of 20,000
 * random batches.)
 *
 * Contention is never a refusal: an account that could not be locked makes its transfers busy, not
 * refused.
 */
#ifndef GIRO_JUDGE_H
#define GIRO_JUDGE_H

#include "base/error.h"
#include "shard/route.h"

#include <stdbool.h>
#include <stdint.h>

/* What `lock` said of an account. JUDGE_UNSEEN: it was not asked for. */
typedef enum JudgePresence
{
    JUDGE_UNSEEN,
    JUDGE_LOCKED,
    JUDGE_MISSING,
    JUDGE_BUSY,
    JUDGE_STALE_ROUTE,
    JUDGE_PARTITION_MOVING,
    JUDGE_PRESENCE_COUNT,
} JudgePresence;
/* The presence with the word that `lock` uses; JUDGE_PRESENCE_COUNT if there is none. */
JudgePresence judge_presence_parse(const char *word);

typedef enum JudgeStatus
{
    JUDGE_OPEN,
    JUDGE_FROZEN, /* no debits */
    JUDGE_CLOSED, /* neither */
    JUDGE_STATUS_COUNT,
} JudgeStatus;
JudgeStatus judge_status_parse(const char *word); /* JUDGE_STATUS_COUNT if there is none */

/* State before, and (balance, version, legs) after judging. */
typedef struct JudgeAccount
{
    const char *id; /* lent */
    JudgePresence presence;
    JudgeStatus status;
    char currency[CURRENCY_MAX + 1];
    bool has_floor;
    int64_t floor;
    int64_t locked_version; /* as locked: `apply` insists on it */
    int64_t balance;
    int64_t version;
    int32_t place; /* the caller's, for numbering */
} JudgeAccount;

typedef enum JudgeVerdict
{
    JUDGE_ACCEPTED,
    JUDGE_REFUSED, /* `refusal` says why; it sticks */
    JUDGE_NO_DEBIT_ACCOUNT,
    JUDGE_IS_BUSY,
    JUDGE_IS_STALE,
    JUDGE_IS_MOVING,
    JUDGE_IS_CLOSED,
} JudgeVerdict;

#define JUDGE_ELSEWHERE SIZE_MAX

typedef struct JudgeTransfer
{
    bool skip;      /* its outcome stands already (a replay): it is not judged */
    bool is_closed; /* it is new, and nothing new is taken there: turned away */
    size_t debit;   /* index into the accounts; JUDGE_ELSEWHERE: that leg is not of this batch */
    size_t credit;
    int64_t amount;
    const char *currency;
    /* out */
    JudgeVerdict verdict;
    ErrorCode refusal;
} JudgeTransfer;

/* Does the judged transfer become a row (posted or refused)? */
bool judge_is_recorded(const JudgeTransfer *transfer);

typedef struct JudgeEntry
{
    size_t account;
    size_t transfer;
    int64_t amount; /* signed */
    int64_t balance;
    int64_t seq;
} JudgeEntry;

/* Judges `count` transfers in order, each by the legs that are of this batch. Writes at most 2 *
 * count entries, debit before credit, and returns their number. Accounts carry their new balance
 * and version afterwards. */
size_t judge(JudgeAccount *accounts, JudgeTransfer *transfers, size_t count,
             JudgeEntry *ret_entries);

#endif
