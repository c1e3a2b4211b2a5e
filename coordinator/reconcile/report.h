/*
 * What a pass of reconciliation has compared, and what it found.
 *
 * An item is either *in flight* (explained: money that is under way, with the name of what it waits
 * for) or a *finding* (the books are wrong). Both kinds are listed up to REPORT_ITEMS_MAX each and
 * only counted beyond it; findings never give way to what is explained. The verdict follows:
 * broken with a finding; none if the pass is incomplete, since what was not compared may be wrong;
 * explained with something in flight; else balanced. A pass that compared nothing is incomplete.
 */
#ifndef GIRO_REPORT_H
#define GIRO_REPORT_H

#include "shard/route.h"
#include "shard/statement.h"
#include "json/json_writer.h"

#include <stdio.h>

enum
{
    REPORT_ITEMS_MAX = 1000, /* of each kind */
    REPORT_SUMS_MAX = 1024,  /* shards times currencies */
    REPORT_TRANSITS_MAX = 64,
    REPORT_GAPS_MAX = 64, /* shards that could not be asked */
    REPORT_SUM_TEXT = 48,
    REPORT_REASON_MAX = 200,
    REPORT_DOCUMENT_MAX = 2 * 1024 * 1024,
};

typedef enum ItemKind
{
    /* findings */
    ITEM_ZERO_SUM,         /* balances and clearing of the shard do not add up to 0 */
    ITEM_BALANCE,          /* the balance is not that of the last entry */
    ITEM_ENTRY_MISSING,    /* the version is above the last entry's seq */
    ITEM_ENTRY_SURPLUS,    /* … or below */
    ITEM_SEQUENCE_GAP,     /* an entry is missing between two others */
    ITEM_ENTRY_BALANCE,    /* an entry's balance does not follow from the one before */
    ITEM_ACCOUNT_MISSING,  /* entries without their account */
    ITEM_TRANSFER_MISSING, /* an entry whose transfer is not recorded at home */
    ITEM_BATCH_MISSING,    /* a transfer without the committed batch that recorded it */
    ITEM_DEBIT_MISSING,    /* a leg that must be there */
    ITEM_CREDIT_MISSING,
    ITEM_REFUND_MISSING,
    ITEM_DEBIT_WRONG, /* a leg with another account or amount than the transfer's */
    ITEM_CREDIT_WRONG,
    ITEM_REFUND_WRONG,
    ITEM_DEBIT_UNFOUNDED, /* a leg that must not be there, by the transfer's state */
    ITEM_CREDIT_UNFOUNDED,
    ITEM_REFUND_UNFOUNDED,
    ITEM_RECEIPT_MISSING, /* a saga is final without a receipt */
    ITEM_RECEIPT_CONTRADICTS,
    ITEM_LEG_MISSING,      /* a 2PC credit stands, but neither its batch's row nor a receipt */
    ITEM_DECISION_MISSING, /* a visible leg whose home has not committed the batch */
    /* in flight */
    ITEM_IN_TRANSIT,  /* a saga that is not final */
    ITEM_NOT_VISIBLE, /* decided, and the other leg is prepared */
    ITEM_CREDIT_DUE,  /* decided, its other leg was lost, and its credit is done again */
    ITEM_PREPARED,    /* a prepared leg that waits for its home's verdict */
    ITEM_KIND_COUNT,
} ItemKind;

typedef struct ReportItem
{
    ItemKind kind;
    char shard[NAME_MAX_LENGTH + 1];
    char account[ACCOUNT_ID_MAX + 1]; /* "" = none */
    char currency[CURRENCY_MAX + 1];  /* "" = none */
    bool has_transfer;
    uint8_t transfer[16];
    bool has_amount;
    int64_t amount;           /* what is missing, too much, or under way */
    char detail[GID_MAX + 1]; /* of what is in flight: what explains it; may be "" */
} ReportItem;

typedef struct ReportCounts
{
    int64_t accounts;
    int64_t entries;
    int64_t transfers;
    int64_t credits;
    int64_t batches;
} ReportCounts;

typedef enum Verdict
{
    VERDICT_NONE,
    VERDICT_BALANCED,
    VERDICT_EXPLAINED,
    VERDICT_BROKEN,
} Verdict;

typedef struct Report Report;

const char *item_kind_name(ItemKind kind);
/* Else it is in flight. */
bool item_kind_is_finding(ItemKind kind);

Report *report_new(bool full);
void report_free(Report *report); /* accepts NULL */

void report_set_full(Report *report, bool full);
bool report_is_full(const Report *report);
void report_count(Report *report, const ReportCounts *more);
const ReportCounts *report_counts(const Report *report);
/* The same item again changes nothing, as long as it is listed. */
void report_add(Report *report, const ReportItem *item);
/* Texts are numerics as Postgres writes them. */
typedef struct ReportSum
{
    char shard[NAME_MAX_LENGTH + 1];
    char currency[CURRENCY_MAX + 1];
    char balances[REPORT_SUM_TEXT];
    char clearing[REPORT_SUM_TEXT];
    char difference[REPORT_SUM_TEXT];
} ReportSum;
void report_add_sum(Report *report, const ReportSum *sum);
/* Something was not compared. */
void report_add_gap(Report *report, const char *shard, const char *reason);
/* Stamps the end; a report that compared no account becomes incomplete. */
void report_end(Report *report);

/* So far something was compared, and nothing was left out. */
bool report_has_no_gap(const Report *report);
bool report_is_complete(const Report *report);
Verdict report_verdict(const Report *report);
/* "balanced", "explained", "broken", "broken, incomplete" or "incomplete". */
const char *report_result(const Report *report);
/* Findings, and items in flight, the unlisted ones included. */
int64_t report_finding_count(const Report *report);
int64_t report_in_flight_count(const Report *report);

/* The fields of GET /v1/reconciliations/{id} that a report knows, into an open object; without the
 * lists where `brief`. */
void report_write_json(const Report *report, JsonWriter *writer, bool brief);
/* For people. */
void report_print(const Report *report, FILE *out);

#endif
