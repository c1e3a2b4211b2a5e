/* See fake_values.h. */
#include "fake_values.h"

#include "pg/pg_params.h"
#include "shard/route.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ROWS_MAX = 4096,
    TEXTS_MAX = 4096,
    COLUMNS_MAX = 32,
};

struct FakeRows
{
    PGresult *result;
    int columns;
    int cells;
};

static struct
{
    FakeRows *rows[ROWS_MAX];
    size_t row_count;
    char *texts[TEXTS_MAX];
    size_t text_count;
} fake;

void fake_values_stop(void)
{
    for (size_t i = 0; i < fake.row_count; i++)
    {
        PQclear(fake.rows[i]->result);
        free(fake.rows[i]);
    }
    for (size_t i = 0; i < fake.text_count; i++)
        free(fake.texts[i]);
    memset(&fake, 0, sizeof fake);
}

/* ---- rows ------------------------------------------------------------------------------------ */

FakeRows *fake_rows_new(int columns)
{
    PGresAttDesc attributes[COLUMNS_MAX] = {0};
    ASSERT(columns <= COLUMNS_MAX && fake.row_count < ROWS_MAX);
    for (int i = 0; i < columns; i++)
    {
        attributes[i].name = (char *)(uintptr_t) "column";
        attributes[i].format = 1;
    }
    FakeRows *rows = base_calloc(1, sizeof *rows);
    rows->result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    ASSERT(rows->result != NULL && PQsetResultAttrs(rows->result, columns, attributes));
    rows->columns = columns;
    fake.rows[fake.row_count++] = rows;
    return rows;
}

static void put_cell(FakeRows *rows, const void *value, size_t length)
{
    int row = rows->cells / rows->columns;
    int column = rows->cells % rows->columns;
    char *bytes = (char *)(uintptr_t)value;
    ASSERT(PQsetvalue(rows->result, row, column, bytes, value != NULL ? (int)length : -1));
    rows->cells++;
}

void fake_null(FakeRows *rows)
{
    put_cell(rows, NULL, 0);
}

void fake_bool(FakeRows *rows, bool value)
{
    uint8_t wire = value ? 1 : 0;
    put_cell(rows, &wire, sizeof wire);
}

void fake_int4(FakeRows *rows, int32_t value)
{
    uint32_t wire = htobe32((uint32_t)value);
    put_cell(rows, &wire, sizeof wire);
}

void fake_int8(FakeRows *rows, int64_t value)
{
    uint64_t wire = htobe64((uint64_t)value);
    put_cell(rows, &wire, sizeof wire);
}

void fake_text(FakeRows *rows, const char *value)
{
    put_cell(rows, value, value != NULL ? strlen(value) : 0);
}

void fake_bytes(FakeRows *rows, const void *value, size_t length)
{
    put_cell(rows, value, length);
}

void fake_uuid(FakeRows *rows, const uint8_t value[16])
{
    put_cell(rows, value, 16);
}

void fake_uuid_text(FakeRows *rows, const char *value)
{
    uint8_t id[16];
    ASSERT(uuid_parse(value, id));
    fake_uuid(rows, id);
}

void fake_timestamp_us(FakeRows *rows, int64_t value)
{
    fake_int8(rows, value - PG_EPOCH_DIFFERENCE_US);
}

const PgRows *fake_lend(const FakeRows *rows)
{
    return (const PgRows *)(const void *)rows->result;
}

/* ---- parameters -------------------------------------------------------------------------- */

static int32_t read_int4(const uint8_t *bytes)
{
    uint32_t wire;
    memcpy(&wire, bytes, sizeof wire);
    return (int32_t)be32toh(wire);
}

static int64_t read_int8(const uint8_t *bytes)
{
    uint64_t wire;
    memcpy(&wire, bytes, sizeof wire);
    return (int64_t)be64toh(wire);
}

static const char *keep_text(const uint8_t *bytes, size_t length)
{
    ASSERT(fake.text_count < TEXTS_MAX);
    char *text = base_malloc(length + 1);
    memcpy(text, bytes, length);
    text[length] = '\0';
    fake.texts[fake.text_count++] = text;
    return text;
}

const uint8_t *fake_param_bytes(const PgParams *params, int index, size_t *ret_length)
{
    ASSERT(params != NULL && index < params->count);
    if (params->lengths[index] == PG_PARAMS_NULL)
        return NULL;
    *ret_length = (size_t)params->lengths[index];
    return params->bytes + params->offsets[index];
}

static const uint8_t *param_of_length(const PgParams *params, int index, size_t length)
{
    size_t actual = 0;
    const uint8_t *bytes = fake_param_bytes(params, index, &actual);
    ASSERT(bytes != NULL && actual == length);
    return bytes;
}

int32_t fake_param_int4(const PgParams *params, int index)
{
    return read_int4(param_of_length(params, index, 4));
}

int64_t fake_param_int8(const PgParams *params, int index)
{
    return read_int8(param_of_length(params, index, 8));
}

const char *fake_param_text(const PgParams *params, int index)
{
    size_t length = 0;
    const uint8_t *bytes = fake_param_bytes(params, index, &length);
    return bytes != NULL ? keep_text(bytes, length) : NULL;
}

size_t fake_array_count(const PgParams *params, int index)
{
    size_t length = 0;
    const uint8_t *bytes = fake_param_bytes(params, index, &length);
    ASSERT(bytes != NULL && length >= 12);
    return read_int4(bytes) == 0 ? 0 : (size_t)read_int4(bytes + 12);
}

const uint8_t *fake_array_bytes(const PgParams *params, int index, size_t element,
                                size_t *ret_length)
{
    size_t ignored = 0;
    const uint8_t *at = fake_param_bytes(params, index, &ignored);
    ASSERT(element < fake_array_count(params, index));
    at += 20;
    for (; element > 0; element--)
    {
        int32_t length = read_int4(at);
        at += 4 + (length > 0 ? length : 0);
    }
    if (read_int4(at) < 0)
        return NULL;
    *ret_length = (size_t)read_int4(at);
    return at + 4;
}

int64_t fake_array_int8(const PgParams *params, int index, size_t element)
{
    size_t length = 0;
    const uint8_t *bytes = fake_array_bytes(params, index, element, &length);
    ASSERT(bytes != NULL && length == 8);
    return read_int8(bytes);
}

const char *fake_array_text(const PgParams *params, int index, size_t element)
{
    size_t length = 0;
    const uint8_t *bytes = fake_array_bytes(params, index, element, &length);
    return bytes != NULL ? keep_text(bytes, length) : NULL;
}
