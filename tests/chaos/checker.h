/*
 * Holds the history of a run against what stands in the shards, and names whatever does not fit.
 *
 * It is pure: all that it judges is in the evidence, so that a test can show of every kind of
 * violation that it would be found (checker_test.c). A request without an answer proves nothing,
 * and neither does "no effect" about other requests of its key; everything else binds for ever.
 */
#ifndef GIRO_CHAOS_CHECKER_H
#define GIRO_CHAOS_CHECKER_H

#include "books.h"
#include "history.h"
#include "snapshots.h"

typedef enum Violation
{
    POSTED_IS_LOST,      /* answered posted, and not there with both legs */
    ACCEPTED_IS_LOST,    /* answered pending, refused or reversed, and no such transfer */
    FAILURE_MOVED_MONEY, /* answered refused or reversed, and it is not so, or the sum is not 0 */
    ANSWERS_CONTRADICT,  /* two different final answers */
    WENT_BACK,           /* pending, after a final answer had been received */
    POSTED_AGAIN,        /* 201 to a request that was sent after posted had been received */
    FORGOTTEN,           /* not found, after it had been answered that it is there */
    NONE_HAPPENED,       /* no request had an effect, and there it is */
    OTHER_TRANSFER,      /* an answer names another transfer than the key's */
    WRONG_ANSWER,        /* one that the contract does not know */
    NOT_FINAL,           /* without a final answer to its last request, or pending */
    CONTENT_DIFFERS,     /* other accounts or another amount than asked for */
    HAPPENED_TWICE,      /* two homes, or a leg more than once */
    CHANGED_BY_REPEAT,   /* was final, and a repeat of its request changed it */
    UNASKED,             /* a transfer that nobody asked for */
    BELOW_FLOOR,         /* an account as it was read */
    VERSION_WENT_BACK,   /* an account was older than when it was read before */
    READ_DIFFERS,        /* a balance that the account never had at this version */
    OUT_OF_BALANCE,      /* a snapshot of a shard */
    LOOK_FAILED,         /* a snapshot could not be taken, for no outage */
    ACCOUNT_IS_LOST,     /* answered as created, and not there */
    LEFT_BEHIND,         /* pending transfers or prepared transactions at the end */
    VIOLATION_COUNT,
} Violation;
const char *violation_name(Violation violation);

/* An account as the API showed it to one reader, in the order of reading. */
typedef struct Reading
{
    size_t account; /* its place in the evidence */
    int64_t version;
    int64_t balance;
    int64_t floor;
    bool has_floor;
    bool has_entry; /* there is an entry with this version, or the version is 0 */
    int64_t entry_balance;
} Reading;

typedef struct AccountFact
{
    const char *id;
    bool is_acknowledged;
    bool exists;
} AccountFact;

typedef struct Evidence
{
    const History *history;
    int64_t replay_us;           /* requests sent later are the repeats at the end */
    const BooksTransfer *before; /* what stood before the repeats, by id */
    size_t before_count;
    const BooksTransfer *after; /* and after them */
    size_t after_count;
    const Reading *readings;
    size_t reading_count;
    const AccountFact *accounts;
    size_t account_count;
    const SnapshotCounts *snapshots;
    size_t shard_count;
    int64_t left_pending;
    int64_t left_prepared;
} Evidence;

enum
{
    FINDINGS_KEPT = 40,
    FINDING_MAX = 200,
};

typedef struct Finding
{
    Violation violation;
    const Order *order; /* NULL: of no order */
    char text[FINDING_MAX];
} Finding;

typedef struct Findings
{
    Finding kept[FINDINGS_KEPT];
    size_t count; /* also of those that are not kept */
    size_t of_kind[VIOLATION_COUNT];
} Findings;

void checker_check(const Evidence *evidence, Findings *ret_findings);
/* Each with its order and all answers to it. */
void findings_print(const Findings *findings, FILE *file);

#endif
