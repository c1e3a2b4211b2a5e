/* See fake_bank.h. */
#include "fake_bank.h"

#include "shard/route.h"

#include <stdio.h>
#include <string.h>

enum
{
    ACCOUNTS_MAX = 32,
    TRANSFERS_MAX = 8,
    PASSED_MAX = 64,
    TEXT_MAX = 40,
    CREATED_AT_US = 111,
    DECIDED_AT_US = 222,
};

typedef struct FakeAccount
{
    char id[ACCOUNT_ID_MAX + 1];
    char state[TEXT_MAX];
    int64_t balance;
} FakeAccount;

typedef struct FakeTransfer
{
    uint8_t id[16];
    char debit[TEXT_MAX];
    char credit[TEXT_MAX];
    char key[TEXT_MAX];
    bool is_pending; /* a saga that `record` has stored */
    bool is_staged;  /* and whose transaction has not been committed */
} FakeTransfer;

static struct
{
    FakeAccount accounts[ACCOUNTS_MAX];
    size_t account_count;
    FakeTransfer transfers[TRANSFERS_MAX];
    size_t transfer_count;
    const char *verdict;
    bool prepared;
    bool leg;
    const char *receipt;
    const char *found;
    const char *found_gid;
    int64_t found_count;
    uint8_t passed[PASSED_MAX][16];
    size_t passed_count;
    bool is_due;
    FakeTransfer due;
} fake;

void fake_bank_start(void)
{
    memset(&fake, 0, sizeof fake);
    fake.verdict = "abort";
}

void fake_found(const char *kind, const char *gid, int64_t count)
{
    fake.found = kind;
    fake.found_gid = gid;
    fake.found_count = count;
}

bool fake_is_passed(const uint8_t batch_id[16])
{
    for (size_t i = 0; i < fake.passed_count; i++)
    {
        if (memcmp(fake.passed[i], batch_id, 16) == 0)
            return true;
    }
    return false;
}

void fake_lost_credit(const uint8_t id[16], const char *debit, const char *credit, const char *key)
{
    fake.is_due = true;
    memcpy(fake.due.id, id, sizeof fake.due.id);
    snprintf(fake.due.debit, sizeof fake.due.debit, "%s", debit);
    snprintf(fake.due.credit, sizeof fake.due.credit, "%s", credit);
    snprintf(fake.due.key, sizeof fake.due.key, "%s", key);
}

bool fake_is_due(void)
{
    return fake.is_due;
}

static FakeAccount *find_account(const char *id)
{
    for (size_t i = 0; i < fake.account_count; i++)
    {
        if (strcmp(fake.accounts[i].id, id) == 0)
            return &fake.accounts[i];
    }
    return NULL;
}

void fake_account(const char *id, const char *state, int64_t balance)
{
    FakeAccount *account = find_account(id);
    if (account == NULL)
    {
        ASSERT(fake.account_count < ACCOUNTS_MAX);
        account = &fake.accounts[fake.account_count++];
    }
    snprintf(account->id, sizeof account->id, "%s", id);
    snprintf(account->state, sizeof account->state, "%s", state);
    account->balance = balance;
}

void fake_transfer(const uint8_t id[16], const char *debit, const char *credit, const char *key)
{
    ASSERT(fake.transfer_count < TRANSFERS_MAX);
    FakeTransfer *transfer = &fake.transfers[fake.transfer_count++];
    *transfer = (FakeTransfer){0};
    memcpy(transfer->id, id, sizeof transfer->id);
    snprintf(transfer->debit, sizeof transfer->debit, "%s", debit);
    snprintf(transfer->credit, sizeof transfer->credit, "%s", credit);
    snprintf(transfer->key, sizeof transfer->key, "%s", key);
}

void fake_verdict(const char *verdict)
{
    fake.verdict = verdict;
}

void fake_receipt(const char *outcome)
{
    fake.receipt = outcome;
}

void fake_look(bool prepared, bool leg)
{
    fake.prepared = prepared;
    fake.leg = leg;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* place, state, currency, balance, version, floor, status */
static const PgRows *locked_accounts(const PgParams *params)
{
    enum
    {
        ACCOUNTS = 2, /* the parameter */
    };
    FakeRows *rows = fake_rows_new(7);
    size_t count = fake_array_count(params, ACCOUNTS);
    for (size_t i = 0; i < count; i++)
    {
        const FakeAccount *known = find_account(fake_array_text(params, ACCOUNTS, i));
        fake_int4(rows, (int32_t)i + 1);
        fake_text(rows, known != NULL ? known->state : "locked");
        fake_text(rows, "EUR");
        fake_int8(rows, known != NULL ? known->balance : 100);
        fake_int8(rows, 3);
        fake_int8(rows, 0);
        fake_text(rows, "open");
    }
    return fake_lend(rows);
}

static void add_transfer(FakeRows *rows, const FakeTransfer *transfer)
{
    fake_uuid(rows, transfer->id);
    fake_text(rows, "home");
    fake_text(rows, transfer->is_pending ? "pending" : "posted");
    fake_text(rows, transfer->is_pending ? "saga" : "2pc");
    fake_text(rows, transfer->debit);
    fake_text(rows, transfer->credit);
    fake_int8(rows, 5);
    fake_text(rows, "EUR");
    fake_text(rows, transfer->key);
    fake_null(rows); /* reference */
    fake_text(rows, "{}");
    fake_null(rows);    /* refusal */
    fake_null(rows);    /* attention */
    fake_int4(rows, 0); /* attempts */
    fake_null(rows);    /* next_attempt_at */
    fake_null(rows);    /* last_error */
    fake_timestamp_us(rows, CREATED_AT_US);
    if (transfer->is_pending)
        fake_null(rows);
    else
        fake_timestamp_us(rows, DECIDED_AT_US);
}

static const PgRows *known_transfers(const PgParams *params)
{
    FakeRows *rows = fake_rows_new(18);
    size_t count = fake_array_count(params, 0);
    for (size_t i = 0; i < fake.transfer_count; i++)
    {
        const FakeTransfer *transfer = &fake.transfers[i];
        size_t length;
        bool wanted = false;
        for (size_t j = 0; !transfer->is_staged && j < count; j++)
            wanted =
                wanted || memcmp(fake_array_bytes(params, 0, j, &length), transfer->id, 16) == 0;
        if (wanted)
            add_transfer(rows, transfer);
    }
    return fake_lend(rows);
}

/* transfer, outcome, refusal */
static const PgRows *receipts(const PgParams *params, int ids, const char *outcome)
{
    FakeRows *rows = fake_rows_new(3);
    size_t count = outcome != NULL ? fake_array_count(params, ids) : 0;
    for (size_t i = 0; i < count; i++)
    {
        size_t length;
        fake_uuid(rows, fake_array_bytes(params, ids, i, &length));
        fake_text(rows, outcome);
        fake_text(rows, strcmp(outcome, "refused") == 0 ? "account-closed" : NULL);
    }
    return fake_lend(rows);
}

/* transfer, state, refusal, decided_at */
static const PgRows *settled_transfers(const PgParams *params)
{
    enum
    {
        IDS = 2, /* parameters */
        REFUSALS = 5,
    };
    FakeRows *rows = fake_rows_new(4);
    size_t count = fake_array_count(params, IDS);
    for (size_t i = 0; i < count; i++)
    {
        size_t length;
        const char *refusal = fake_array_text(params, REFUSALS, i);
        fake_uuid(rows, fake_array_bytes(params, IDS, i, &length));
        fake_text(rows, refusal != NULL ? "reversed" : "posted");
        fake_text(rows, refusal);
        fake_timestamp_us(rows, DECIDED_AT_US);
    }
    return fake_lend(rows);
}

/* The parameters of record that matter here. */
static void stage_pending_transfers(const PgParams *params)
{
    enum
    {
        IDS = 4,
        DEBITS = 5,
        CREDITS = 7,
        KEYS = 9,
        STATES = 12,
    };
    size_t count = fake_array_count(params, IDS);
    for (size_t i = 0; i < count; i++)
    {
        size_t length;
        if (strcmp(fake_array_text(params, STATES, i), "pending") != 0)
            continue;
        fake_transfer(fake_array_bytes(params, IDS, i, &length), fake_array_text(params, DEBITS, i),
                      fake_array_text(params, CREDITS, i), fake_array_text(params, KEYS, i));
        fake.transfers[fake.transfer_count - 1].is_pending = true;
        fake.transfers[fake.transfer_count - 1].is_staged = true;
    }
}

void fake_bank_end(bool committed)
{
    size_t kept = 0;
    for (size_t i = 0; i < fake.transfer_count; i++)
    {
        if (fake.transfers[i].is_staged && !committed)
            continue;
        fake.transfers[kept] = fake.transfers[i];
        fake.transfers[kept++].is_staged = false;
    }
    fake.transfer_count = kept;
}

/* kind, gid, count */
static const PgRows *found(const PgParams *params)
{
    enum
    {
        SKIP = 5, /* the parameter */
    };
    FakeRows *rows = fake_rows_new(3);
    size_t length;
    fake.passed_count = fake_array_count(params, SKIP);
    ASSERT(fake.passed_count <= PASSED_MAX);
    for (size_t i = 0; i < fake.passed_count; i++)
        memcpy(fake.passed[i], fake_array_bytes(params, SKIP, i, &length), 16);
    if (fake.found != NULL)
    {
        fake_text(rows, fake.found);
        fake_text(rows, fake.found_gid);
        fake_int8(rows, fake.found_count);
    }
    return fake_lend(rows);
}

/* The columns of `claim`. */
static const PgRows *claimed(void)
{
    FakeRows *rows = fake_rows_new(12);
    if (fake.is_due)
    {
        fake_uuid(rows, fake.due.id);
        fake_text(rows, fake.due.debit);
        fake_text(rows, fake.due.credit);
        fake_int8(rows, 5);
        fake_text(rows, "EUR");
        fake_text(rows, fake.due.key);
        fake_null(rows); /* reference */
        fake_text(rows, "{}");
        fake_null(rows); /* giving_up */
        fake_int4(rows, 1);
        fake_timestamp_us(rows, CREATED_AT_US);
        fake_timestamp_us(rows, DECIDED_AT_US);
    }
    fake.is_due = false;
    return fake_lend(rows);
}

static const PgRows *bool_row(bool value)
{
    FakeRows *rows = fake_rows_new(1);
    fake_bool(rows, value);
    return fake_lend(rows);
}

const PgRows *fake_bank_answer(Statement statement, const PgParams *params)
{
    FakeRows *rows;
    switch (statement)
    {
    case STATEMENT_LOCK:
        return locked_accounts(params);
    case STATEMENT_TRANSFERS_BY_ID:
        return known_transfers(params);
    case STATEMENT_RECORD:
        stage_pending_transfers(params);
        rows = fake_rows_new(2);
        fake_timestamp_us(rows, CREATED_AT_US);
        fake_timestamp_us(rows, DECIDED_AT_US);
        return fake_lend(rows);
    case STATEMENT_VERDICT:
        rows = fake_rows_new(1);
        fake_text(rows, fake.verdict);
        return fake_lend(rows);
    case STATEMENT_PREPARED_EXISTS:
        return bool_row(fake.prepared);
    case STATEMENT_LEG_EXISTS:
        return bool_row(fake.leg);
    case STATEMENT_RECEIPTS_BY_ID:
        return receipts(params, 0, fake.receipt);
    case STATEMENT_TOMBSTONE:
        return receipts(params, 3, fake.receipt != NULL ? fake.receipt : "cancelled");
    case STATEMENT_SETTLE:
        return settled_transfers(params);
    case STATEMENT_END_SESSION:
        return bool_row(true);
    case STATEMENT_RECOVERY:
        return found(params);
    case STATEMENT_CLAIM:
        return claimed();
    default:
        return NULL;
    }
}
