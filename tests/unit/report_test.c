/* Reports: the verdict, the bounds of the lists, and that their JSON fits what is promised. */
#include "reconcile/report.h"

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static Report *compared(void)
{
    Report *report = report_new(true);
    report_count(report, &(ReportCounts){.accounts = 1});
    return report;
}

static ReportItem item(ItemKind kind, uint8_t number)
{
    ReportItem made = {.kind = kind, .has_transfer = true, .has_amount = true, .amount = 5};
    made.transfer[0] = number;
    snprintf(made.shard, sizeof made.shard, "shard-1");
    snprintf(made.currency, sizeof made.currency, "EUR");
    return made;
}

static void expect(Report *report, Verdict verdict, const char *result)
{
    report_end(report);
    assert_int_equal(report_verdict(report), verdict);
    assert_string_equal(report_result(report), result);
    report_free(report);
}

static void the_verdict_follows_from_what_was_found(void **state)
{
    (void)state;
    expect(compared(), VERDICT_BALANCED, "balanced");
    Report *report = compared();
    ReportItem transit = item(ITEM_IN_TRANSIT, 1);
    report_add(report, &transit);
    expect(report, VERDICT_EXPLAINED, "explained");
    report = compared();
    ReportItem missing = item(ITEM_CREDIT_MISSING, 1);
    report_add(report, &transit);
    report_add(report, &missing);
    expect(report, VERDICT_BROKEN, "broken");
}

static void what_was_not_compared_is_never_balanced(void **state)
{
    (void)state;
    Report *report = compared();
    report_add_gap(report, "shard-2", "away");
    expect(report, VERDICT_NONE, "incomplete");
    report = compared();
    ReportItem missing = item(ITEM_CREDIT_MISSING, 1);
    report_add_gap(report, "shard-2", "away");
    report_add(report, &missing);
    expect(report, VERDICT_BROKEN, "broken, incomplete");
    expect(report_new(false), VERDICT_NONE, "incomplete");
}

static void the_same_item_is_listed_once(void **state)
{
    (void)state;
    Report *report = compared();
    ReportItem missing = item(ITEM_CREDIT_MISSING, 1);
    ReportItem other = item(ITEM_CREDIT_MISSING, 2);
    report_add(report, &missing);
    report_add(report, &missing);
    report_add(report, &other);
    assert_int_equal(report_finding_count(report), 2);
    report_free(report);
}

static const char *string(const Json *object, const char *name)
{
    return json_as_string(json_field(object, name));
}

/* The longest of everything, as often as it may be listed. */
static void lists_are_bounded_and_fit_the_document(void **state)
{
    (void)state;
    Report *report = compared();
    for (int i = 0; i < 2 * REPORT_ITEMS_MAX + 50; i++)
    {
        ReportItem made = item(i % 2 == 0 ? ITEM_RECEIPT_CONTRADICTS : ITEM_NOT_VISIBLE, 0);
        memcpy(made.transfer, &i, sizeof i);
        memset(made.account, 'a', ACCOUNT_ID_MAX);
        memset(made.shard, 's', NAME_MAX_LENGTH);
        memset(made.detail, 'd', GID_MAX);
        made.amount = INT64_MIN;
        report_add(report, &made);
    }
    for (int i = 0; i < REPORT_SUMS_MAX + 1; i++)
    {
        ReportSum sum = {.currency = "EURO"};
        memset(sum.shard, 's', NAME_MAX_LENGTH);
        memset(sum.balances, '9', REPORT_SUM_TEXT - 1);
        memset(sum.clearing, '9', REPORT_SUM_TEXT - 1);
        memset(sum.difference, '9', REPORT_SUM_TEXT - 1);
        report_add_sum(report, &sum);
    }
    report_end(report);
    assert_int_equal(report_finding_count(report), REPORT_ITEMS_MAX + 25);
    assert_int_equal(report_in_flight_count(report), REPORT_ITEMS_MAX + 25);
    JsonWriter *writer = json_writer_new(REPORT_DOCUMENT_MAX);
    json_begin_object(writer, NULL);
    report_write_json(report, writer, false);
    json_end_object(writer);
    size_t length;
    char *text = json_writer_take(writer, &length);
    assert_non_null(text);
    Error error;
    Json *document = json_parse(text, length, &error);
    assert_non_null(document);
    const Json *findings = json_field(document, "findings");
    assert_int_equal(json_array_length(findings), 2 * REPORT_ITEMS_MAX);
    assert_int_equal(json_as_integer(json_field(document, "not_listed")), 50);
    const Json *first = json_array_at(findings, 0);
    const Json *last = json_array_at(findings, 2 * REPORT_ITEMS_MAX - 1);
    assert_string_equal(string(first, "kind"), "receipt-contradicts");
    assert_int_equal(json_kind(json_field(first, "explained_by")), JSON_KIND_NULL);
    assert_string_equal(string(last, "kind"), "not-visible-yet");
    assert_int_equal(json_kind(json_field(last, "explained_by")), JSON_KIND_STRING);
    json_free(document);
    free(text);
    report_free(report);
}

static void every_kind_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < ITEM_KIND_COUNT; i++)
    {
        for (int j = 0; j < i; j++)
            assert_string_not_equal(item_kind_name((ItemKind)i), item_kind_name((ItemKind)j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verdict_follows_from_what_was_found),
        cmocka_unit_test(what_was_not_compared_is_never_balanced),
        cmocka_unit_test(the_same_item_is_listed_once),
        cmocka_unit_test(lists_are_bounded_and_fit_the_document),
        cmocka_unit_test(every_kind_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
