/* See receipt.h. */
#include "protocol/receipt.h"

#include <string.h>

/* Columns of both functions. */
enum
{
    RECEIPT_TRANSFER,
    RECEIPT_OUTCOME,
    RECEIPT_REFUSAL,
};

static Receipt parse(const char *word)
{
    static const char *const words[RECEIPT_COUNT] = {"none", "applied", "refused", "cancelled"};
    int receipt = 0;
    while (receipt < RECEIPT_COUNT && strcmp(word, words[receipt]) != 0)
        receipt++;
    return (Receipt)receipt;
}

static void read_receipt(Transfer *transfer, const char *outcome, const char *refusal)
{
    transfer->receipt = parse(outcome);
    ASSERT(transfer->receipt != RECEIPT_COUNT);
    transfer->result = RESULT_RECEIVED;
    if (transfer->receipt == RECEIPT_CANCELLED)
        transfer->receipt_refusal =
            transfer->giving_up != ERROR_NONE ? transfer->giving_up : ERROR_CANCELLED;
    else
        transfer->receipt_refusal = refusal != NULL ? error_by_name(refusal, true) : ERROR_NONE;
}

void receipts_read(Batch *batch, const PgRows *rows)
{
    for (size_t row = 0; row < pg_row_count(rows); row++)
    {
        Transfer *transfer = batch_find(batch, pg_uuid(rows, row, RECEIPT_TRANSFER));
        const char *outcome = pg_text(rows, row, RECEIPT_OUTCOME);
        if (strcmp(outcome, "stale_route") == 0)
            transfer->result = RESULT_STALE;
        else if (strcmp(outcome, "partition_moving") == 0)
            transfer->result = RESULT_MOVING;
        else
            read_receipt(transfer, outcome, pg_text(rows, row, RECEIPT_REFUSAL));
    }
}
