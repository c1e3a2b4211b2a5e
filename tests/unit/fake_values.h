/*
 * Values for tests of the layers above pg: rows, which are real PGresults so that the real readers
 * of pg_rows.c are used, and a look into parameters, which are the real ones too.
 *
 * What is handed out lives until fake_values_stop.
 */
#ifndef GIRO_FAKE_VALUES_H
#define GIRO_FAKE_VALUES_H

#include "pg/pg.h"

/* Frees everything. After every test. */
void fake_values_stop(void);

/* ---- rows: filled cell by cell, row by row --------------------------------------------------- */

typedef struct FakeRows FakeRows;

FakeRows *fake_rows_new(int columns);
void fake_null(FakeRows *rows);
void fake_bool(FakeRows *rows, bool value);
void fake_int4(FakeRows *rows, int32_t value);
void fake_int8(FakeRows *rows, int64_t value);
void fake_text(FakeRows *rows, const char *value); /* NULL = SQL null */
void fake_bytes(FakeRows *rows, const void *value, size_t length);
void fake_uuid(FakeRows *rows, const uint8_t value[16]);
void fake_uuid_text(FakeRows *rows, const char *value); /* 36 characters */
void fake_timestamp_us(FakeRows *rows, int64_t value);
/* The same rows as a layer above would be lent them. */
const PgRows *fake_lend(const FakeRows *rows);

/* ---- parameters ------------------------------------------------------------------------------ */

int32_t fake_param_int4(const PgParams *params, int index);
int64_t fake_param_int8(const PgParams *params, int index);
/* A NUL-terminated copy. NULL for SQL null. */
const char *fake_param_text(const PgParams *params, int index);
const uint8_t *fake_param_bytes(const PgParams *params, int index, size_t *ret_length);
size_t fake_array_count(const PgParams *params, int index);
int64_t fake_array_int8(const PgParams *params, int index, size_t element);
const char *fake_array_text(const PgParams *params, int index, size_t element);
const uint8_t *fake_array_bytes(const PgParams *params, int index, size_t element,
                                size_t *ret_length);

#endif
