/*
 * Aligned columns (libsmartcols.h is included by table.c alone). Values are copied; those with
 * control characters are shown escaped. Colours only on a terminal, and not if NO_COLOR is set.
 */
#ifndef GIROCTL_TABLE_H
#define GIROCTL_TABLE_H

#include "output.h"

typedef struct Table Table;

/* Without columns: a record, with its fields in two columns and without headings. */
Table *table_new(const Columns *columns);
void table_free(Table *table); /* accepts NULL */
void table_item(Table *table, const Json *item);
void table_field(Table *table, const char *name, const Json *value); /* of a record */
size_t table_length(const Table *table);
/* Writes what it has, and forgets it. */
void table_print(Table *table);

#endif
