/* See kind.h. */
#include "protocol/kind.h"

const BatchKindRow *batch_kind_row(BatchKind kind)
{
    static const BatchKindRow rows[BATCH_KIND_COUNT] = {
        [BATCH_LOCAL] = {.name = "local",
                         .mode = MODE_LOCAL,
                         .at_home = true,
                         .debit = true,
                         .credit = true,
                         .locks = true,
                         .decides = true},
        [BATCH_TWO_PHASE] = {.name = "two-phase",
                             .mode = MODE_2PC,
                             .at_home = true,
                             .at_remote = true,
                             .debit = true,
                             .credit = true,
                             .locks = true,
                             .decides = true},
        [BATCH_HOLD] = {.name = "hold",
                        .mode = MODE_SAGA,
                        .at_home = true,
                        .debit = true,
                        .locks = true,
                        .decides = true},
        [BATCH_CREDIT] =
            {.name = "credit", .mode = MODE_SAGA, .at_remote = true, .credit = true, .locks = true},
        [BATCH_CLOSE] = {.name = "close", .mode = MODE_SAGA, .at_home = true, .debit = true},
        [BATCH_CANCEL] = {.name = "cancel", .mode = MODE_SAGA, .at_remote = true, .credit = true},
        [BATCH_REFUND] =
            {.name = "refund", .mode = MODE_SAGA, .at_home = true, .debit = true, .locks = true},
    };
    ASSERT(kind >= 0 && kind < BATCH_KIND_COUNT);
    return &rows[kind];
}
