/*
 * See checker.h. Order by order: what its answers say of each other, then what they say of the
 * transfer in the shards. Then all that belongs to no order.
 */
#include "checker.h"

#include "base/map.h"
#include "shard/route.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[VIOLATION_COUNT] = {
    [POSTED_IS_LOST] = "posted is lost",
    [ACCEPTED_IS_LOST] = "accepted is lost",
    [FAILURE_MOVED_MONEY] = "a failure moved money",
    [ANSWERS_CONTRADICT] = "answers contradict each other",
    [WENT_BACK] = "final went back to pending",
    [POSTED_AGAIN] = "posted a second time",
    [FORGOTTEN] = "forgotten",
    [NONE_HAPPENED] = "no effect had one",
    [OTHER_TRANSFER] = "another transfer answered",
    [WRONG_ANSWER] = "an answer outside the contract",
    [NOT_FINAL] = "not final",
    [CONTENT_DIFFERS] = "the content differs",
    [HAPPENED_TWICE] = "happened twice",
    [CHANGED_BY_REPEAT] = "changed by a repeat",
    [UNASKED] = "nobody asked for it",
    [BELOW_FLOOR] = "below the floor",
    [VERSION_WENT_BACK] = "a version went back",
    [READ_DIFFERS] = "a balance that never was",
    [OUT_OF_BALANCE] = "a snapshot out of balance",
    [LOOK_FAILED] = "a look that failed",
    [ACCOUNT_IS_LOST] = "an account is lost",
    [LEFT_BEHIND] = "left behind",
};

const char *violation_name(Violation violation)
{
    return names[violation];
}

ATTR_PRINTF(4, 5)
static void find(Findings *findings, Violation violation, const Order *order, const char *format,
                 ...)
{
    if (findings->count < FINDINGS_KEPT)
    {
        Finding *finding = &findings->kept[findings->count];
        finding->violation = violation;
        finding->order = order;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(finding->text, sizeof(finding->text), format, arguments);
        va_end(arguments);
    }
    findings->count++;
    findings->of_kind[violation]++;
}

/* ---- the answers of an order among themselves ------------------------------------------------ */

/* Did it say that the transfer is recorded? */
static bool is_acceptance(const Answer *answer)
{
    return answer->verdict == VERDICT_PENDING || verdict_is_final(answer->verdict);
}

static void check_answer(const Order *order, const Answer *answer, Findings *findings)
{
    if (answer->verdict == VERDICT_WRONG || answer->verdict == VERDICT_AWAITED)
    {
        find(findings, WRONG_ANSWER, order, "%d %s", answer->status, answer->code);
    }
    if (answer->has_id && memcmp(answer->id, order->id, sizeof(order->id)) != 0)
    {
        find(findings, OTHER_TRANSFER, order, "sent at %.4f s", (double)answer->sent_us / 1e6);
    }
}

static void check_finals(const Order *order, const Answer *first, Findings *findings)
{
    for (size_t i = 0; i < order->count; i++)
    {
        const Answer *answer = &order->answers[i];
        if (verdict_is_final(answer->verdict) &&
            (answer->verdict != first->verdict || strcmp(answer->code, first->code) != 0))
        {
            find(findings, ANSWERS_CONTRADICT, order, "%s %s and %s %s",
                 verdict_name(first->verdict), first->code, verdict_name(answer->verdict),
                 answer->code);
        }
    }
}

/* `later` was sent when `earlier` had been received. */
static void check_sequence(const Order *order, const Answer *earlier, const Answer *later,
                           Findings *findings)
{
    if (verdict_is_final(earlier->verdict) && later->verdict == VERDICT_PENDING)
    {
        find(findings, WENT_BACK, order, "sent at %.4f s", (double)later->sent_us / 1e6);
    }
    if (earlier->verdict == VERDICT_POSTED && verb_pays(later->verb) && later->status == 201)
    {
        find(findings, POSTED_AGAIN, order, "sent at %.4f s", (double)later->sent_us / 1e6);
    }
    if (later->verdict == VERDICT_ABSENT || answer_is_unpaid(later))
    {
        find(findings, FORGOTTEN, order, "sent at %.4f s", (double)later->sent_us / 1e6);
    }
}

static bool is_final(const Answer *answer)
{
    return verdict_is_final(answer->verdict);
}

/* The one that was received first. */
static const Answer *earliest(const Order *order, bool (*is_wanted)(const Answer *answer))
{
    const Answer *first = NULL;
    for (size_t i = 0; i < order->count; i++)
    {
        const Answer *answer = &order->answers[i];
        if (is_wanted(answer) && (first == NULL || answer->answered_us < first->answered_us))
        {
            first = answer;
        }
    }
    return first;
}

/* Each answer against what was known when its request was sent. */
static void check_sequences(const Order *order, Findings *findings)
{
    const Answer *accepted = earliest(order, is_acceptance);
    const Answer *final = earliest(order, is_final);
    for (size_t i = 0; i < order->count; i++)
    {
        const Answer *answer = &order->answers[i];
        if (final != NULL && final->answered_us < answer->sent_us)
        {
            check_sequence(order, final, answer, findings);
        }
        else if (accepted != NULL && accepted->answered_us < answer->sent_us)
        {
            check_sequence(order, accepted, answer, findings);
        }
    }
}

/* ---- an order and its transfer --------------------------------------------------------------- */

static int compare_id(const void *id, const void *transfer)
{
    return strcmp(id, ((const BooksTransfer *)transfer)->id);
}

static const BooksTransfer *find_transfer(const BooksTransfer *all, size_t count,
                                          const uint8_t id[16])
{
    char text[UUID_TEXT_MAX + 1];
    uuid_format(id, text);
    return count == 0 ? NULL : bsearch(text, all, count, sizeof(*all), compare_id);
}

static bool has_legs(const BooksTransfer *transfer, int64_t debits, int64_t credits,
                     int64_t refunds)
{
    return transfer->debits == debits && transfer->credits == credits &&
           transfer->refunds == refunds;
}

static bool is_state(const BooksTransfer *transfer, const char *state)
{
    return strcmp(transfer->state, state) == 0;
}

static void check_presence(const Order *order, const Answer *answer, const BooksTransfer *is,
                           Findings *findings)
{
    if (is == NULL || is->homes == 0)
    {
        find(findings, answer->verdict == VERDICT_POSTED ? POSTED_IS_LOST : ACCEPTED_IS_LOST, order,
             "answered %s, there is no transfer", verdict_name(answer->verdict));
    }
}

/* A final answer, against what stands. */
static void check_outcome(const Order *order, const Answer *answer, const BooksTransfer *is,
                          Findings *findings)
{
    bool posted = is_state(is, "posted") && has_legs(is, 1, 1, 0);
    bool refused = is_state(is, "refused") && has_legs(is, 0, 0, 0);
    bool reversed = is_state(is, "reversed") && has_legs(is, 1, 0, 1);
    bool fits = (answer->verdict == VERDICT_POSTED && posted) ||
                (answer->verdict == VERDICT_REFUSED && refused) ||
                (answer->verdict == VERDICT_REVERSED && reversed);
    if (!fits)
    {
        find(findings, answer->verdict == VERDICT_POSTED ? POSTED_IS_LOST : FAILURE_MOVED_MONEY,
             order,
             "answered %s, it is %s: debits %" PRId64 ", credits %" PRId64 ", refunds %" PRId64,
             verdict_name(answer->verdict), is->state, is->debits, is->credits, is->refunds);
    }
}

static void check_content(const Order *order, const BooksTransfer *is, Findings *findings)
{
    if (is->homes > 1 || is->debits > 1 || is->credits > 1 || is->refunds > 1)
    {
        find(findings, HAPPENED_TWICE, order,
             "homes %" PRId64 ", debits %" PRId64 ", credits %" PRId64 ", refunds %" PRId64,
             is->homes, is->debits, is->credits, is->refunds);
    }
    else if (is->amount != order->amount || strcmp(is->debit_account, order->debit) != 0 ||
             strcmp(is->credit_account, order->credit) != 0)
    {
        find(findings, CONTENT_DIFFERS, order, "%" PRId64 " from %.60s to %.60s", is->amount,
             is->debit_account, is->credit_account);
    }
    if (is_state(is, "pending"))
    {
        find(findings, NOT_FINAL, order, "it is pending");
    }
}

/* Before the repeats at the end: did every request say that it had no effect? */
static bool had_no_effect(const Order *order, int64_t replay_us)
{
    bool had_none = true;
    for (size_t i = 0; i < order->count && had_none; i++)
    {
        const Answer *answer = &order->answers[i];
        had_none = !verb_pays(answer->verb) || answer->sent_us >= replay_us ||
                   answer->verdict == VERDICT_NONE;
    }
    return had_none;
}

static void check_repeat(const Order *order, const BooksTransfer *was, const BooksTransfer *is,
                         Findings *findings)
{
    if (was != NULL && !is_state(was, "pending") && was->homes > 0 &&
        (is == NULL || !is_state(is, was->state) ||
         !has_legs(is, was->debits, was->credits, was->refunds)))
    {
        find(findings, CHANGED_BY_REPEAT, order, "was %s, is %s", was->state,
             is == NULL ? "gone" : is->state);
    }
}

/* The repeats at the end may not be what makes true what was answered before them. */
static void check_standing(const Order *order, const BooksTransfer *was, int64_t replay_us,
                           Findings *findings)
{
    const Answer *accepted = earliest(order, is_acceptance);
    if (accepted != NULL && accepted->sent_us < replay_us)
    {
        check_presence(order, accepted, was, findings);
    }
    if (was != NULL && had_no_effect(order, replay_us))
    {
        find(findings, NONE_HAPPENED, order, "it is %s", was->state);
    }
}

static void check_end(const Order *order, const BooksTransfer *is, Findings *findings)
{
    const Answer *final = order_final(order);
    const Answer *last = order_last_payment(order);
    if (last == NULL || !(is_final(last) || answer_is_unpaid(last)))
    {
        find(findings, NOT_FINAL, order, "its last request was not answered for good");
    }
    if (final != NULL)
    {
        check_presence(order, final, is, findings);
    }
    if (is == NULL)
    {
        return;
    }
    if (final != NULL)
    {
        check_outcome(order, final, is, findings);
    }
    if (last != NULL && answer_is_unpaid(last))
    {
        find(findings, FORGOTTEN, order, "there is no account to be debited, and it is %s",
             is->state);
    }
    check_content(order, is, findings);
}

static void check_transfer(const Order *order, const Evidence *evidence, Findings *findings)
{
    const BooksTransfer *was = find_transfer(evidence->before, evidence->before_count, order->id);
    const BooksTransfer *is = find_transfer(evidence->after, evidence->after_count, order->id);
    check_standing(order, was, evidence->replay_us, findings);
    check_end(order, is, findings);
    check_repeat(order, was, is, findings);
}

static void check_orders(const Evidence *evidence, Findings *findings)
{
    for (size_t i = 0; i < history_count(evidence->history); i++)
    {
        const Order *order = history_order(evidence->history, i);
        const Answer *final = order_final(order);
        for (size_t j = 0; j < order->count; j++)
        {
            check_answer(order, &order->answers[j], findings);
        }
        if (final != NULL)
        {
            check_finals(order, final, findings);
        }
        check_sequences(order, findings);
        check_transfer(order, evidence, findings);
    }
}

/* ---- all the rest ---------------------------------------------------------------------------- */

static void check_unasked(const Evidence *evidence, Findings *findings)
{
    Map *orders = map_new();
    for (size_t i = 0; i < history_count(evidence->history); i++)
    {
        Order *order = history_order(evidence->history, i);
        map_put(orders, order->id, order);
    }
    for (size_t i = 0; i < evidence->after_count; i++)
    {
        uint8_t id[16];
        if (!uuid_parse(evidence->after[i].id, id) || map_get(orders, id) == NULL)
        {
            find(findings, UNASKED, NULL, "%s, %s", evidence->after[i].id,
                 evidence->after[i].state);
        }
    }
    map_free(orders);
}

static void check_reading(const Reading *reading, const char *id, int64_t newest,
                          Findings *findings)
{
    if (reading->has_floor && reading->balance < reading->floor)
    {
        find(findings, BELOW_FLOOR, NULL, "%s: %" PRId64 " at version %" PRId64, id,
             reading->balance, reading->version);
    }
    if (reading->version < newest)
    {
        find(findings, VERSION_WENT_BACK, NULL, "%s: %" PRId64 " after %" PRId64, id,
             reading->version, newest);
    }
    if (!reading->has_entry || reading->balance != reading->entry_balance)
    {
        find(findings, READ_DIFFERS, NULL,
             "%s: %" PRId64 " at version %" PRId64 ", by its entries %" PRId64 "%s", id,
             reading->balance, reading->version, reading->entry_balance,
             reading->has_entry ? "" : " (no such entry)");
    }
}

static void check_readings(const Evidence *evidence, Findings *findings)
{
    int64_t *newest = base_calloc(evidence->account_count + 1, sizeof(*newest));
    for (size_t i = 0; i < evidence->reading_count; i++)
    {
        const Reading *reading = &evidence->readings[i];
        ASSERT(reading->account < evidence->account_count);
        check_reading(reading, evidence->accounts[reading->account].id, newest[reading->account],
                      findings);
        newest[reading->account] = reading->version;
    }
    free(newest);
}

static void check_shards(const Evidence *evidence, Findings *findings)
{
    for (size_t i = 0; i < evidence->shard_count; i++)
    {
        const SnapshotCounts *seen = &evidence->snapshots[i];
        if (seen->unbalanced > 0)
        {
            find(findings, OUT_OF_BALANCE, NULL, "shard %zu: %d of %d", i + 1, seen->unbalanced,
                 seen->taken);
        }
        if (seen->below_floor > 0)
        {
            find(findings, BELOW_FLOOR, NULL, "shard %zu: %d of %d snapshots", i + 1,
                 seen->below_floor, seen->taken);
        }
        if (seen->failed > 0)
        {
            find(findings, LOOK_FAILED, NULL, "shard %zu: %d, %s", i + 1, seen->failed,
                 seen->trouble);
        }
    }
    if (evidence->left_pending > 0 || evidence->left_prepared > 0)
    {
        find(findings, LEFT_BEHIND, NULL, "%" PRId64 " pending, %" PRId64 " prepared",
             evidence->left_pending, evidence->left_prepared);
    }
}

static void check_accounts(const Evidence *evidence, Findings *findings)
{
    for (size_t i = 0; i < evidence->account_count; i++)
    {
        const AccountFact *account = &evidence->accounts[i];
        if (account->is_acknowledged && !account->exists)
        {
            find(findings, ACCOUNT_IS_LOST, NULL, "%s", account->id);
        }
    }
}

void checker_check(const Evidence *evidence, Findings *ret_findings)
{
    *ret_findings = (Findings){0};
    check_orders(evidence, ret_findings);
    check_unasked(evidence, ret_findings);
    check_readings(evidence, ret_findings);
    check_accounts(evidence, ret_findings);
    check_shards(evidence, ret_findings);
}

void findings_print(const Findings *findings, FILE *file)
{
    for (size_t i = 0; i < findings->count && i < FINDINGS_KEPT; i++)
    {
        const Finding *finding = &findings->kept[i];
        fprintf(file, "VIOLATION: %s: %s\n", violation_name(finding->violation), finding->text);
        if (finding->order != NULL)
        {
            order_print(finding->order, file);
        }
    }
    if (findings->count > FINDINGS_KEPT)
    {
        fprintf(file, "VIOLATION: and %zu more\n", findings->count - FINDINGS_KEPT);
    }
}
