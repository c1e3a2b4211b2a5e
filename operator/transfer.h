/*
 * The columns in which lists of transfers are shown.
 */
#ifndef GIROCTL_TRANSFER_H
#define GIROCTL_TRANSFER_H

#include "output.h"

const Columns *transfer_columns(void);

#endif
