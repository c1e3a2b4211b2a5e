/* See judge.h. */
#include "protocol/judge.h"

#include <string.h>

JudgePresence judge_presence_parse(const char *word)
{
    static const char *const words[JUDGE_PRESENCE_COUNT] = {
        "unseen", "locked", "missing", "busy", "stale_route", "partition_moving",
    };
    int presence = 0;
    while (presence < JUDGE_PRESENCE_COUNT && strcmp(word, words[presence]) != 0)
        presence++;
    return (JudgePresence)presence;
}

JudgeStatus judge_status_parse(const char *word)
{
    static const char *const words[JUDGE_STATUS_COUNT] = {"open", "frozen", "closed"};
    int status = 0;
    while (status < JUDGE_STATUS_COUNT && strcmp(word, words[status]) != 0)
        status++;
    return (JudgeStatus)status;
}

/* True if one of the accounts (NULL: elsewhere) has this presence. */
static bool either(const JudgeAccount *debit, const JudgeAccount *credit, JudgePresence presence)
{
    return (debit != NULL && debit->presence == presence) ||
           (credit != NULL && credit->presence == presence);
}

/* What stands in the way of judging at all; JUDGE_ACCEPTED if nothing does. */
static JudgeVerdict obstacle(const JudgeAccount *debit, const JudgeAccount *credit)
{
    if (either(debit, credit, JUDGE_STALE_ROUTE))
        return JUDGE_IS_STALE;
    if (either(debit, credit, JUDGE_PARTITION_MOVING))
        return JUDGE_IS_MOVING;
    if (debit != NULL && debit->presence == JUDGE_MISSING)
        return JUDGE_NO_DEBIT_ACCOUNT;
    if (either(debit, credit, JUDGE_BUSY) || either(debit, credit, JUDGE_UNSEEN))
        return JUDGE_IS_BUSY;
    return JUDGE_ACCEPTED;
}

/* No overflow anywhere: |balance|, |floor| and amount are below 2^53. */
static bool below_floor(const JudgeAccount *account, int64_t amount)
{
    return account->has_floor && account->balance - amount < account->floor;
}

static ErrorCode refusal_of_debit(const JudgeAccount *debit, const JudgeTransfer *transfer)
{
    if (debit->status == JUDGE_CLOSED)
        return ERROR_ACCOUNT_CLOSED;
    if (debit->status == JUDGE_FROZEN)
        return ERROR_ACCOUNT_FROZEN;
    if (strcmp(debit->currency, transfer->currency) != 0)
        return ERROR_CURRENCY_MISMATCH;
    if (below_floor(debit, transfer->amount))
        return ERROR_INSUFFICIENT_FUNDS;
    return debit->balance - transfer->amount < -MONEY_MAX ? ERROR_BALANCE_LIMIT : ERROR_NONE;
}

static ErrorCode refusal_of_credit(const JudgeAccount *credit, const JudgeTransfer *transfer)
{
    if (credit->presence == JUDGE_MISSING)
        return ERROR_CREDIT_ACCOUNT_NOT_FOUND;
    if (credit->status == JUDGE_CLOSED)
        return ERROR_ACCOUNT_CLOSED;
    if (strcmp(credit->currency, transfer->currency) != 0)
        return ERROR_CURRENCY_MISMATCH;
    return credit->balance + transfer->amount > MONEY_MAX ? ERROR_BALANCE_LIMIT : ERROR_NONE;
}

/* The debit side speaks first: it is what the client can mend. */
static ErrorCode refusal_of(const JudgeAccount *debit, const JudgeAccount *credit,
                            const JudgeTransfer *transfer)
{
    ErrorCode refusal = ERROR_NONE;
    if (debit == credit)
        return ERROR_SAME_ACCOUNT;
    if (debit != NULL)
        refusal = refusal_of_debit(debit, transfer);
    if (refusal == ERROR_NONE && credit != NULL)
        refusal = refusal_of_credit(credit, transfer);
    return refusal;
}

bool judge_is_recorded(const JudgeTransfer *transfer)
{
    return !transfer->skip &&
           (transfer->verdict == JUDGE_ACCEPTED || transfer->verdict == JUDGE_REFUSED);
}

static JudgeEntry post(JudgeAccount *accounts, size_t account, size_t transfer, int64_t amount)
{
    JudgeAccount *state = &accounts[account];
    state->balance += amount;
    state->version++;
    return (JudgeEntry){account, transfer, amount, state->balance, state->version};
}

static const JudgeAccount *account_at(const JudgeAccount *accounts, size_t index)
{
    return index != JUDGE_ELSEWHERE ? &accounts[index] : NULL;
}

static void judge_one(const JudgeAccount *accounts, JudgeTransfer *transfer)
{
    const JudgeAccount *debit = account_at(accounts, transfer->debit);
    const JudgeAccount *credit = account_at(accounts, transfer->credit);
    transfer->refusal = ERROR_NONE;
    transfer->verdict = obstacle(debit, credit);
    bool is_at_home = transfer->verdict != JUDGE_IS_STALE && transfer->verdict != JUDGE_IS_MOVING;
    if (transfer->is_closed && is_at_home)
        transfer->verdict = JUDGE_IS_CLOSED;
    if (transfer->verdict != JUDGE_ACCEPTED)
        return;
    transfer->refusal = refusal_of(debit, credit, transfer);
    if (transfer->refusal != ERROR_NONE)
        transfer->verdict = JUDGE_REFUSED;
}

size_t judge(JudgeAccount *accounts, JudgeTransfer *transfers, size_t count,
             JudgeEntry *ret_entries)
{
    size_t entries = 0;
    for (size_t i = 0; i < count; i++)
    {
        JudgeTransfer *transfer = &transfers[i];
        if (transfer->skip)
            continue;
        judge_one(accounts, transfer);
        if (transfer->verdict != JUDGE_ACCEPTED)
            continue;
        if (transfer->debit != JUDGE_ELSEWHERE)
            ret_entries[entries++] = post(accounts, transfer->debit, i, -transfer->amount);
        if (transfer->credit != JUDGE_ELSEWHERE)
            ret_entries[entries++] = post(accounts, transfer->credit, i, transfer->amount);
    }
    return entries;
}
