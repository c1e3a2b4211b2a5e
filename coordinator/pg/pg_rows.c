/*
 * See pg.h. A PgRows *is* a PGresult in binary format; this file reads its cells. A cell of another
 * width than asked for means that the statement table and the SQL function disagree: a bug, which
 * stops the process.
 */
#include "pg/pg_params.h"

#include <arpa/inet.h>
#include <endian.h>
#include <libpq-fe.h>
#include <string.h>

static const PGresult *result_of(const PgRows *rows)
{
    return (const PGresult *)(const void *)rows;
}

size_t pg_row_count(const PgRows *rows)
{
    return rows != NULL ? (size_t)PQntuples(result_of(rows)) : 0;
}

/* The cell's bytes, NULL for SQL null. */
static const uint8_t *cell(const PgRows *rows, size_t row, size_t column, size_t *ret_length)
{
    const PGresult *result = result_of(rows);
    ASSERT(row < pg_row_count(rows) && column < (size_t)PQnfields(result));
    if (PQgetisnull(result, (int)row, (int)column))
        return NULL;
    *ret_length = (size_t)PQgetlength(result, (int)row, (int)column);
    return (const uint8_t *)PQgetvalue(result, (int)row, (int)column);
}

static const uint8_t *cell_of_length(const PgRows *rows, size_t row, size_t column, size_t length)
{
    size_t actual = 0;
    const uint8_t *bytes = cell(rows, row, column, &actual);
    ASSERT(bytes != NULL && actual == length);
    return bytes;
}

bool pg_is_null(const PgRows *rows, size_t row, size_t column)
{
    size_t length;
    return cell(rows, row, column, &length) == NULL;
}

bool pg_bool(const PgRows *rows, size_t row, size_t column)
{
    return *cell_of_length(rows, row, column, 1) != 0;
}

int32_t pg_int4(const PgRows *rows, size_t row, size_t column)
{
    uint32_t wire;
    memcpy(&wire, cell_of_length(rows, row, column, sizeof wire), sizeof wire);
    return (int32_t)ntohl(wire);
}

int64_t pg_int8(const PgRows *rows, size_t row, size_t column)
{
    uint64_t wire;
    memcpy(&wire, cell_of_length(rows, row, column, sizeof wire), sizeof wire);
    return (int64_t)be64toh(wire);
}

int64_t pg_timestamp_us(const PgRows *rows, size_t row, size_t column)
{
    return pg_int8(rows, row, column) + PG_EPOCH_DIFFERENCE_US;
}

const uint8_t *pg_uuid(const PgRows *rows, size_t row, size_t column)
{
    return cell_of_length(rows, row, column, 16);
}

const char *pg_text(const PgRows *rows, size_t row, size_t column)
{
    size_t length;
    return (const char *)cell(rows, row, column, &length);
}

const uint8_t *pg_bytes(const PgRows *rows, size_t row, size_t column, size_t *ret_length)
{
    return cell(rows, row, column, ret_length);
}
