/* An account as JSON, from the row that the participants' account functions answer. */
#ifndef GIRO_ACCOUNT_DOCUMENT_H
#define GIRO_ACCOUNT_DOCUMENT_H

#include "pg/pg.h"
#include "json/json_writer.h"

/* Columns of account_create, account_get, account_patch and account_list; the last two are those of
 * account_list alone. */
enum
{
    ACCOUNT_OUTCOME,
    ACCOUNT_ID,
    ACCOUNT_CURRENCY,
    ACCOUNT_BALANCE,
    ACCOUNT_FLOOR,
    ACCOUNT_STATUS,
    ACCOUNT_VERSION,
    ACCOUNT_IN_TRANSIT,
    ACCOUNT_METADATA,
    ACCOUNT_CREATED_AT,
    ACCOUNT_KEYSPACE,
    ACCOUNT_PARTITION,
};

/* Where the account lives. */
typedef struct AccountPlace
{
    const char *keyspace;
    int32_t partition;
    const char *shard;
} AccountPlace;

void account_document_write(JsonWriter *writer, const PgRows *rows, size_t row,
                            const AccountPlace *place);

#endif
