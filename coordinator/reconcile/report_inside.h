/* The inside of Report, for report.c and report_print.c. */
#ifndef GIRO_REPORT_INSIDE_H
#define GIRO_REPORT_INSIDE_H

#include "reconcile/report.h"

typedef struct ItemList
{
    ReportItem *items;
    size_t listed;
    size_t room;
    int64_t count; /* unlisted ones included */
} ItemList;

typedef struct Transit
{
    char currency[CURRENCY_MAX + 1];
    int64_t transfers;
    int64_t amount;
} Transit;

typedef struct Gap
{
    char shard[NAME_MAX_LENGTH + 1]; /* "" = none in particular */
    char reason[REPORT_REASON_MAX];
} Gap;

struct Report
{
    bool full;
    int64_t started_at_us;
    int64_t finished_at_us; /* 0 while it goes on */
    ReportCounts counts;
    ItemList findings;
    ItemList in_flight;
    ReportSum *sums;
    size_t sum_count;
    Transit transits[REPORT_TRANSITS_MAX];
    size_t transit_count;
    Gap gaps[REPORT_GAPS_MAX];
    size_t gap_count;
};

#endif
