/* How a transfer is carried out; a keyspace has one as its default. */
#ifndef GIRO_MODE_H
#define GIRO_MODE_H

#include "base/base.h"

#include <stdbool.h>

typedef enum TransferMode
{
    MODE_AUTO, /* only as a wish */
    MODE_LOCAL,
    MODE_2PC,
    MODE_SAGA,
    MODE_COUNT,
} TransferMode;
const char *mode_name(TransferMode mode);
bool mode_parse(const char *name, TransferMode *ret_mode) ATTR_MUST_USE;

#endif
