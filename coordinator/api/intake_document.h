/* Writes what takes no new transfers as the API shows it. */
#ifndef GIRO_INTAKE_DOCUMENT_H
#define GIRO_INTAKE_DOCUMENT_H

#include "shard/intake.h"
#include "json/json_writer.h"

/* The list "paused" of the object that is open. */
void intake_document_write(JsonWriter *writer, const Intake *intake);

#endif
