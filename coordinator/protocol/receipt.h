/* Receipts as rows of the participant functions receipts_by_id and tombstone. */
#ifndef GIRO_RECEIPT_H
#define GIRO_RECEIPT_H

#include "protocol/batch.h"

/* Takes over what stands for each transfer of the batch that has a row: its receipt, or that
 * nothing was done for it (stale route, partition moving). */
void receipts_read(Batch *batch, const PgRows *rows);

#endif
