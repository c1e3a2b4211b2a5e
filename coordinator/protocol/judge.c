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

/* True if one of the two accounts has this presence. */
static bool either(const JudgeAccount *debit, const JudgeAccount *credit, JudgePresence presence)
{
    return debit->presence == presence || credit->presence == presence;
}

/* What stands in the way of judging at all; JUDGE_ACCEPTED if nothing does. */
static JudgeVerdict obstacle(const JudgeAccount *debit, const JudgeAccount *credit)
{
    if (either(debit, credit, JUDGE_STALE_ROUTE))
        return JUDGE_IS_STALE;
    if (either(debit, credit, JUDGE_PARTITION_MOVING))
        return JUDGE_IS_MOVING;
    if (debit->presence == JUDGE_MISSING)
        return JUDGE_NO_DEBIT_ACCOUNT;
    if (either(debit, credit, JUDGE_BUSY) || either(debit, credit, JUDGE_UNSEEN))
        return JUDGE_IS_BUSY;
    return JUDGE_ACCEPTED;
}

static bool below_floor(const JudgeAccount *account, int64_t amount)
{
    /* No overflow: |balance|, |floor| and amount are below 2^53. */
    return account->has_floor && account->balance - amount < account->floor;
}

static ErrorCode refusal_of(const JudgeAccount *debit, const JudgeAccount *credit,
                            const JudgeTransfer *transfer)
{
    if (debit == credit)
        return ERROR_SAME_ACCOUNT;
    if (credit->presence == JUDGE_MISSING)
        return ERROR_CREDIT_ACCOUNT_NOT_FOUND;
    if (debit->status == JUDGE_CLOSED || credit->status == JUDGE_CLOSED)
        return ERROR_ACCOUNT_CLOSED;
    if (debit->status == JUDGE_FROZEN)
        return ERROR_ACCOUNT_FROZEN;
    if (strcmp(debit->currency, transfer->currency) != 0 ||
        strcmp(credit->currency, transfer->currency) != 0)
        return ERROR_CURRENCY_MISMATCH;
    if (below_floor(debit, transfer->amount))
        return ERROR_INSUFFICIENT_FUNDS;
    if (debit->balance - transfer->amount < -MONEY_MAX ||
        credit->balance + transfer->amount > MONEY_MAX)
        return ERROR_BALANCE_LIMIT;
    return ERROR_NONE;
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

size_t judge(JudgeAccount *accounts, JudgeTransfer *transfers, size_t count,
             JudgeEntry *ret_entries)
{
    size_t entries = 0;
    for (size_t i = 0; i < count; i++)
    {
        JudgeTransfer *transfer = &transfers[i];
        const JudgeAccount *debit = &accounts[transfer->debit];
        const JudgeAccount *credit = &accounts[transfer->credit];
        if (transfer->skip)
            continue;
        transfer->refusal = ERROR_NONE;
        transfer->verdict = obstacle(debit, credit);
        if (transfer->verdict != JUDGE_ACCEPTED)
            continue;
        transfer->refusal = refusal_of(debit, credit, transfer);
        if (transfer->refusal != ERROR_NONE)
        {
            transfer->verdict = JUDGE_REFUSED;
            continue;
        }
        ret_entries[entries++] = post(accounts, transfer->debit, i, -transfer->amount);
        ret_entries[entries++] = post(accounts, transfer->credit, i, transfer->amount);
    }
    return entries;
}
