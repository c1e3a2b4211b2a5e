/* Writes a transfer as the API shows it. */
#ifndef GIRO_TRANSFER_DOCUMENT_H
#define GIRO_TRANSFER_DOCUMENT_H

#include "protocol/transfer.h"
#include "json/json_writer.h"

/* As an object; `name` as in json_writer.h. */
void transfer_document_write(JsonWriter *writer, const char *name, const TransferRecord *record);

#endif
