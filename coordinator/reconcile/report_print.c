/* A report as JSON and as text for people. See report.h. */
#include "reconcile/report_inside.h"

#include "base/log.h"

static const char *verdict_name(const Report *report)
{
    switch (report_verdict(report))
    {
    case VERDICT_BALANCED:
        return "balanced";
    case VERDICT_EXPLAINED:
        return "explained";
    case VERDICT_BROKEN:
        return "broken";
    case VERDICT_NONE:
        break;
    }
    return NULL;
}

static const char *state_name(const Report *report)
{
    if (report->finished_at_us == 0)
        return "running";
    return report_is_complete(report) ? "finished" : "incomplete";
}

const char *report_result(const Report *report)
{
    if (report_is_complete(report))
        return verdict_name(report);
    return report_verdict(report) == VERDICT_BROKEN ? "broken, incomplete" : "incomplete";
}

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_items(const ItemList *list, JsonWriter *writer)
{
    for (size_t i = 0; i < list->listed; i++)
    {
        const ReportItem *item = &list->items[i];
        char id[UUID_TEXT_MAX + 1];
        uuid_format(item->transfer, id);
        json_begin_object(writer, NULL);
        json_put_string(writer, "kind", item_kind_name(item->kind));
        json_put_string(writer, "shard", item->shard);
        json_put_string(writer, "account", or_null(item->account));
        json_put_string(writer, "transfer_id", item->has_transfer ? id : NULL);
        if (item->has_amount)
            json_put_integer(writer, "amount", item->amount);
        else
            json_put_null(writer, "amount");
        json_put_string(writer, "currency", or_null(item->currency));
        json_put_string(writer, "explained_by",
                        item_kind_is_finding(item->kind) ? NULL : item->detail);
        json_put_string(writer, "detail", or_null(item->detail));
        json_end_object(writer);
    }
}

static void write_lists(const Report *report, JsonWriter *writer)
{
    json_begin_array(writer, "sums");
    for (size_t i = 0; i < report->sum_count; i++)
    {
        const ReportSum *sum = &report->sums[i];
        json_begin_object(writer, NULL);
        json_put_string(writer, "shard", sum->shard);
        json_put_string(writer, "currency", sum->currency);
        json_put_string(writer, "balances", sum->balances);
        json_put_string(writer, "clearing", sum->clearing);
        json_put_string(writer, "difference", sum->difference);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_begin_array(writer, "in_transit");
    for (size_t i = 0; i < report->transit_count; i++)
    {
        const Transit *transit = &report->transits[i];
        json_begin_object(writer, NULL);
        json_put_string(writer, "currency", transit->currency);
        json_put_integer(writer, "transfers", transit->transfers);
        json_put_integer(writer, "amount", transit->amount);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_begin_array(writer, "findings");
    write_items(&report->findings, writer);
    write_items(&report->in_flight, writer);
    json_end_array(writer);
    json_begin_array(writer, "not_compared");
    for (size_t i = 0; i < report->gap_count; i++)
    {
        json_begin_object(writer, NULL);
        json_put_string(writer, "shard", or_null(report->gaps[i].shard));
        json_put_string(writer, "reason", report->gaps[i].reason);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void report_write_json(const Report *report, JsonWriter *writer, bool brief)
{
    const ReportCounts *counts = &report->counts;
    int64_t listed = (int64_t)(report->findings.listed + report->in_flight.listed);
    json_put_string(writer, "state", state_name(report));
    json_put_string(writer, "verdict", report->finished_at_us != 0 ? verdict_name(report) : NULL);
    json_put_bool(writer, "full", report->full);
    json_put_timestamp(writer, "started_at", report->started_at_us);
    json_put_timestamp(writer, "finished_at", report->finished_at_us);
    json_begin_object(writer, "compared");
    json_put_integer(writer, "accounts", counts->accounts);
    json_put_integer(writer, "entries", counts->entries);
    json_put_integer(writer, "transfers", counts->transfers);
    json_put_integer(writer, "credits", counts->credits);
    json_put_integer(writer, "batches", counts->batches);
    json_end_object(writer);
    json_put_integer(writer, "finding_count", report->findings.count);
    json_put_integer(writer, "in_flight_count", report->in_flight.count);
    json_put_integer(writer, "not_listed",
                     report->findings.count + report->in_flight.count - listed);
    if (!brief)
        write_lists(report, writer);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void print_sums(const Report *report, FILE *out)
{
    fprintf(out, "\n%-12s %-8s %22s %22s %12s\n", "shard", "currency", "balances", "clearing",
            "difference");
    for (size_t i = 0; i < report->sum_count; i++)
    {
        const ReportSum *sum = &report->sums[i];
        fprintf(out, "%-12s %-8s %22s %22s %12s\n", sum->shard, sum->currency, sum->balances,
                sum->clearing, sum->difference);
    }
    for (size_t i = 0; i < report->transit_count; i++)
        fprintf(out, "in transit   %-8s %22lld in %lld transfers\n", report->transits[i].currency,
                (long long)report->transits[i].amount, (long long)report->transits[i].transfers);
}

static void print_item(const ReportItem *item, FILE *out)
{
    char id[UUID_TEXT_MAX + 1];
    uuid_format(item->transfer, id);
    fprintf(out, "%-20s %s", item_kind_name(item->kind), item->shard);
    if (item->account[0] != '\0')
        fprintf(out, "  account %s", item->account);
    if (item->has_transfer)
        fprintf(out, "  transfer %s", id);
    if (item->has_amount)
        fprintf(out, "  amount %lld", (long long)item->amount);
    if (item->currency[0] != '\0')
        fprintf(out, " %s", item->currency);
    if (item->detail[0] != '\0')
        fprintf(out, "  (%s)", item->detail);
}

static void print_items(const ItemList *list, const char *title, FILE *out)
{
    if (list->count == 0)
        return;
    fprintf(out, "\n%s: %lld\n", title, (long long)list->count);
    for (size_t i = 0; i < list->listed; i++)
    {
        fputs("  ", out);
        print_item(&list->items[i], out);
        fputc('\n', out);
    }
    if (list->count > (int64_t)list->listed)
        fprintf(out, "  … and %lld more\n", (long long)(list->count - (int64_t)list->listed));
}

void report_log_findings(const Report *report)
{
    const ItemList *findings = &report->findings;
    for (size_t i = 0; i < findings->listed && i < REPORT_LOGGED_MAX; i++)
    {
        char line[512] = "";
        FILE *out = fmemopen(line, sizeof line, "w");
        ASSERT(out != NULL);
        print_item(&findings->items[i], out);
        fclose(out);
        line[sizeof line - 1] = '\0';
        log_error("reconciliation found: %s", line);
    }
    if (findings->count > REPORT_LOGGED_MAX)
        log_error("reconciliation found %lld more",
                  (long long)(findings->count - REPORT_LOGGED_MAX));
}

void report_print(const Report *report, FILE *out)
{
    const ReportCounts *counts = &report->counts;
    fprintf(out,
            "%s pass, %.1f s: compared %lld accounts, %lld entries, %lld transfers, %lld credits,"
            " %lld batches\n",
            report->full ? "full" : "incremental",
            (double)(report->finished_at_us - report->started_at_us) / 1e6,
            (long long)counts->accounts, (long long)counts->entries, (long long)counts->transfers,
            (long long)counts->credits, (long long)counts->batches);
    print_sums(report, out);
    print_items(&report->in_flight, "in flight, explained", out);
    print_items(&report->findings, "FINDINGS", out);
    for (size_t i = 0; i < report->gap_count; i++)
        fprintf(out, "\nnot compared: %s%s%s\n", report->gaps[i].shard,
                report->gaps[i].shard[0] != '\0' ? ": " : "", report->gaps[i].reason);
    fprintf(out, "\n%s\n", report_result(report));
}
