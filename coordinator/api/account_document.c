/* See account_document.h. */
#include "api/account_document.h"

static void write_place(JsonWriter *writer, const AccountPlace *place)
{
    json_begin_object(writer, "route");
    json_put_string(writer, "keyspace", place->keyspace);
    json_put_integer(writer, "partition", place->partition);
    json_put_string(writer, "shard", place->shard);
    json_end_object(writer);
}

void account_document_write(JsonWriter *writer, const PgRows *rows, size_t row,
                            const AccountPlace *place)
{
    json_begin_object(writer, NULL);
    json_put_string(writer, "id", pg_text(rows, row, ACCOUNT_ID));
    json_put_string(writer, "currency", pg_text(rows, row, ACCOUNT_CURRENCY));
    json_put_integer(writer, "balance", pg_int8(rows, row, ACCOUNT_BALANCE));
    if (pg_is_null(rows, row, ACCOUNT_FLOOR))
        json_put_null(writer, "floor");
    else
        json_put_integer(writer, "floor", pg_int8(rows, row, ACCOUNT_FLOOR));
    json_put_string(writer, "status", pg_text(rows, row, ACCOUNT_STATUS));
    json_put_integer(writer, "version", pg_int8(rows, row, ACCOUNT_VERSION));
    json_put_integer(writer, "in_transit", pg_int8(rows, row, ACCOUNT_IN_TRANSIT));
    write_place(writer, place);
    json_put_raw(writer, "metadata", pg_text(rows, row, ACCOUNT_METADATA));
    json_put_timestamp(writer, "created_at", pg_timestamp_us(rows, row, ACCOUNT_CREATED_AT));
    json_end_object(writer);
}
