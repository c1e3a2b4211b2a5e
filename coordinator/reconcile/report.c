/* See report.h; what it looks like on paper: report_print.c. */
#include "reconcile/report_inside.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[ITEM_KIND_COUNT] = {
    [ITEM_ZERO_SUM] = "zero-sum",
    [ITEM_BALANCE] = "balance",
    [ITEM_ENTRY_MISSING] = "entry-missing",
    [ITEM_ENTRY_SURPLUS] = "entry-surplus",
    [ITEM_SEQUENCE_GAP] = "sequence-gap",
    [ITEM_ENTRY_BALANCE] = "entry-balance",
    [ITEM_ACCOUNT_MISSING] = "account-missing",
    [ITEM_TRANSFER_MISSING] = "transfer-missing",
    [ITEM_BATCH_MISSING] = "batch-missing",
    [ITEM_DEBIT_MISSING] = "debit-missing",
    [ITEM_CREDIT_MISSING] = "credit-missing",
    [ITEM_REFUND_MISSING] = "refund-missing",
    [ITEM_DEBIT_WRONG] = "debit-wrong",
    [ITEM_CREDIT_WRONG] = "credit-wrong",
    [ITEM_REFUND_WRONG] = "refund-wrong",
    [ITEM_DEBIT_UNFOUNDED] = "debit-unfounded",
    [ITEM_CREDIT_UNFOUNDED] = "credit-unfounded",
    [ITEM_REFUND_UNFOUNDED] = "refund-unfounded",
    [ITEM_RECEIPT_MISSING] = "receipt-missing",
    [ITEM_RECEIPT_CONTRADICTS] = "receipt-contradicts",
    [ITEM_LEG_MISSING] = "leg-missing",
    [ITEM_DECISION_MISSING] = "decision-missing",
    [ITEM_IN_TRANSIT] = "in-transit",
    [ITEM_NOT_VISIBLE] = "not-visible-yet",
    [ITEM_CREDIT_DUE] = "credit-due",
    [ITEM_PREPARED] = "prepared-leg",
};

const char *item_kind_name(ItemKind kind)
{
    ASSERT(kind >= 0 && kind < ITEM_KIND_COUNT);
    return kind_names[kind];
}

bool item_kind_is_finding(ItemKind kind)
{
    return kind < ITEM_IN_TRANSIT;
}

Report *report_new(bool full)
{
    Report *report = base_calloc(1, sizeof *report);
    report->full = full;
    report->started_at_us = base_wall_clock_us();
    return report;
}

void report_free(Report *report)
{
    if (report == NULL)
        return;
    free(report->findings.items);
    free(report->in_flight.items);
    free(report->sums);
    free(report);
}

void report_set_full(Report *report, bool full)
{
    report->full = full;
}

bool report_is_full(const Report *report)
{
    return report->full;
}

void report_count(Report *report, const ReportCounts *more)
{
    report->counts.accounts += more->accounts;
    report->counts.entries += more->entries;
    report->counts.transfers += more->transfers;
    report->counts.credits += more->credits;
    report->counts.batches += more->batches;
}

const ReportCounts *report_counts(const Report *report)
{
    return &report->counts;
}

/* What is under way, per currency; sums stay within the range of exact integers. */
static void add_transit(Report *report, const ReportItem *item)
{
    static const int64_t limit = INT64_C(9007199254740991);
    size_t i = 0;
    while (i < report->transit_count && strcmp(report->transits[i].currency, item->currency) != 0)
        i++;
    if (i == REPORT_TRANSITS_MAX)
        return;
    Transit *transit = &report->transits[i];
    if (i == report->transit_count)
    {
        report->transit_count++;
        memcpy(transit->currency, item->currency, sizeof transit->currency);
    }
    transit->transfers++;
    int64_t room = limit - transit->amount;
    int64_t amount = item->amount > 0 ? item->amount : 0; /* that of a transfer always is */
    transit->amount += amount < room ? amount : room;
}

static bool is_same(const ReportItem *a, const ReportItem *b)
{
    return a->kind == b->kind && memcmp(a->transfer, b->transfer, sizeof a->transfer) == 0 &&
           strcmp(a->shard, b->shard) == 0 && strcmp(a->account, b->account) == 0 &&
           strcmp(a->currency, b->currency) == 0 && strcmp(a->detail, b->detail) == 0;
}

static bool is_listed(const ItemList *list, const ReportItem *item)
{
    for (size_t i = 0; i < list->listed; i++)
    {
        if (is_same(&list->items[i], item))
            return true;
    }
    return false;
}

void report_add(Report *report, const ReportItem *item)
{
    ItemList *list = item_kind_is_finding(item->kind) ? &report->findings : &report->in_flight;
    if (is_listed(list, item))
        return;
    if (item->kind >= ITEM_IN_TRANSIT && item->has_amount)
        add_transit(report, item);
    list->count++;
    if (list->listed == REPORT_ITEMS_MAX)
        return;
    if (list->listed == list->room)
    {
        list->room = list->room == 0 ? 16 : list->room * 2;
        list->items = base_realloc(list->items, list->room * sizeof *list->items);
    }
    list->items[list->listed++] = *item;
}

void report_add_sum(Report *report, const ReportSum *sum)
{
    if (report->sum_count == REPORT_SUMS_MAX)
        return;
    report->sums = base_realloc(report->sums, (report->sum_count + 1) * sizeof *report->sums);
    report->sums[report->sum_count++] = *sum;
}

void report_add_gap(Report *report, const char *shard, const char *reason)
{
    for (size_t i = 0; i < report->gap_count; i++)
    {
        if (strcmp(report->gaps[i].shard, shard) == 0)
            return;
    }
    if (report->gap_count == REPORT_GAPS_MAX)
        return;
    Gap *gap = &report->gaps[report->gap_count++];
    snprintf(gap->shard, sizeof gap->shard, "%s", shard);
    snprintf(gap->reason, sizeof gap->reason, "%s", reason);
}

void report_end(Report *report)
{
    if (report->counts.accounts == 0)
        report_add_gap(report, "", "nothing was compared: there is no account");
    report->finished_at_us = base_wall_clock_us();
}

bool report_has_no_gap(const Report *report)
{
    return report->gap_count == 0 && report->counts.accounts > 0;
}

bool report_is_complete(const Report *report)
{
    return report->finished_at_us != 0 && report_has_no_gap(report);
}

Verdict report_verdict(const Report *report)
{
    if (report->findings.count > 0)
        return VERDICT_BROKEN;
    if (!report_is_complete(report))
        return VERDICT_NONE;
    return report->in_flight.count > 0 ? VERDICT_EXPLAINED : VERDICT_BALANCED;
}

int64_t report_finding_count(const Report *report)
{
    return report->findings.count;
}

int64_t report_in_flight_count(const Report *report)
{
    return report->in_flight.count;
}
