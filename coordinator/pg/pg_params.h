/*
 * Inside of PgParams, for the modules that send parameters (pg.c) or look at them (tests). Values
 * lie one after another in `bytes`, in Postgres' binary format.
 */
#ifndef GIRO_PG_PARAMS_H
#define GIRO_PG_PARAMS_H

#include "pg/pg.h"

enum
{
    PG_PARAMS_NULL = -1, /* as a length */
};

/* Between 1970-01-01, the Unix epoch, and 2000-01-01, that of Postgres. */
#define PG_EPOCH_DIFFERENCE_US INT64_C(946684800000000)

struct PgParams
{
    size_t max_bytes;
    bool overflow; /* more parameters or bytes came than fit; the params must not be sent */
    int count;
    size_t offsets[PG_PARAMETER_MAX];
    int lengths[PG_PARAMETER_MAX];
    uint8_t *bytes;
    size_t used;
    size_t room;
    PgElement element;   /* of the array being filled */
    size_t elements_due; /* how many it still misses */
};

#endif
