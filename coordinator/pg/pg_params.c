/*
 * See pg.h. Writes values in the binary format of their types: integers in network order, arrays as
 * dimension count, null flag, element type, length and lower bound, then length-prefixed elements.
 *
 * The buffer grows up to max_bytes and is kept between uses, so that a batch allocates nothing once
 * it has seen its largest message.
 */
#include "pg/pg_params.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum
{
    ARRAY_FLAG_OFFSET = 4,
    FIRST_ROOM = 256,
};

/* Type identifiers of the element types; fixed in every Postgres. */
static const uint32_t element_types[PG_ELEMENT_COUNT] = {
    [PG_ELEMENT_INT4] = 23,  [PG_ELEMENT_INT8] = 20,   [PG_ELEMENT_TEXT] = 25,
    [PG_ELEMENT_BYTES] = 17, [PG_ELEMENT_UUID] = 2950,
};

PgParams *pg_params_new(size_t max_bytes)
{
    PgParams *params = base_calloc(1, sizeof *params);
    params->max_bytes = max_bytes;
    return params;
}

void pg_params_free(PgParams *params)
{
    if (params == NULL)
        return;
    free(params->bytes);
    free(params);
}

void pg_params_reset(PgParams *params)
{
    params->overflow = false;
    params->count = 0;
    params->used = 0;
    params->elements_due = 0;
}

/* Room for `length` more bytes; NULL when that exceeds the limit. */
static uint8_t *extend(PgParams *params, size_t length)
{
    if (params->overflow || length > params->max_bytes - params->used)
    {
        params->overflow = true;
        return NULL;
    }
    if (params->used + length > params->room)
    {
        size_t room = params->room > 0 ? params->room : FIRST_ROOM;
        while (room < params->used + length)
            room *= 2;
        params->bytes = base_realloc(params->bytes, room);
        params->room = room;
    }
    uint8_t *at = params->bytes + params->used;
    params->used += length;
    return at;
}

static void append(PgParams *params, const void *value, size_t length)
{
    uint8_t *at = extend(params, length);
    if (at != NULL && length > 0)
        memcpy(at, value, length);
}

static void append_int4(PgParams *params, uint32_t value)
{
    uint32_t wire = htonl(value);
    append(params, &wire, sizeof wire);
}

static void add(PgParams *params, const void *value, size_t length)
{
    ASSERT(params->elements_due == 0);
    if (params->count == PG_PARAMETER_MAX)
    {
        params->overflow = true;
        return;
    }
    params->offsets[params->count] = params->used;
    params->lengths[params->count] = value != NULL ? (int)length : PG_PARAMS_NULL;
    params->count++;
    if (value != NULL)
        append(params, value, length);
}

void pg_params_null(PgParams *params)
{
    add(params, NULL, 0);
}

void pg_params_bool(PgParams *params, bool value)
{
    uint8_t wire = value ? 1 : 0;
    add(params, &wire, sizeof wire);
}

void pg_params_int4(PgParams *params, int32_t value)
{
    uint32_t wire = htonl((uint32_t)value);
    add(params, &wire, sizeof wire);
}

void pg_params_int8(PgParams *params, int64_t value)
{
    uint64_t wire = htobe64((uint64_t)value);
    add(params, &wire, sizeof wire);
}

void pg_params_text(PgParams *params, const char *value)
{
    add(params, value, value != NULL ? strlen(value) : 0);
}

void pg_params_bytes(PgParams *params, const void *value, size_t length)
{
    add(params, value != NULL ? value : "", length);
}

void pg_params_uuid(PgParams *params, const uint8_t value[16])
{
    add(params, value, 16);
}

void pg_params_timestamp_us(PgParams *params, int64_t value)
{
    pg_params_int8(params, value - PG_EPOCH_DIFFERENCE_US);
}

void pg_params_array(PgParams *params, PgElement element, size_t count)
{
    add(params, "", 0);
    append_int4(params, count > 0 ? 1 : 0);
    append_int4(params, 0);
    append_int4(params, element_types[element]);
    if (count > 0)
    {
        append_int4(params, (uint32_t)count);
        append_int4(params, 1);
    }
    params->element = element;
    params->elements_due = count;
    if (!params->overflow)
        params->lengths[params->count - 1] =
            (int)(params->used - params->offsets[params->count - 1]);
}

static void add_element(PgParams *params, PgElement element, const void *value, size_t length)
{
    ASSERT(params->elements_due > 0 && params->element == element);
    params->elements_due--;
    append_int4(params, (uint32_t)length);
    append(params, value, length);
    if (!params->overflow)
        params->lengths[params->count - 1] =
            (int)(params->used - params->offsets[params->count - 1]);
}

void pg_params_add_null(PgParams *params)
{
    add_element(params, params->element, NULL, 0);
    if (params->overflow)
        return;
    uint32_t nulls = htonl(1);
    uint32_t no_value = htonl(UINT32_MAX);
    memcpy(params->bytes + params->offsets[params->count - 1] + ARRAY_FLAG_OFFSET, &nulls,
           sizeof nulls);
    memcpy(params->bytes + params->used - sizeof no_value, &no_value, sizeof no_value);
}

void pg_params_add_int4(PgParams *params, int32_t value)
{
    uint32_t wire = htonl((uint32_t)value);
    add_element(params, PG_ELEMENT_INT4, &wire, sizeof wire);
}

void pg_params_add_int8(PgParams *params, int64_t value)
{
    uint64_t wire = htobe64((uint64_t)value);
    add_element(params, PG_ELEMENT_INT8, &wire, sizeof wire);
}

void pg_params_add_text(PgParams *params, const char *value)
{
    ASSERT(params->element == PG_ELEMENT_TEXT);
    if (value == NULL)
        pg_params_add_null(params);
    else
        add_element(params, PG_ELEMENT_TEXT, value, strlen(value));
}

void pg_params_add_bytes(PgParams *params, const void *value, size_t length)
{
    add_element(params, PG_ELEMENT_BYTES, value, length);
}

void pg_params_add_uuid(PgParams *params, const uint8_t value[16])
{
    add_element(params, PG_ELEMENT_UUID, value, 16);
}
