/* The results: a table for people, bench.json for programs. */
#ifndef GIRO_BENCH_REPORT_H
#define GIRO_BENCH_REPORT_H

#include "bench.h"

#include <stdio.h>

void report_print(const Bench *bench, FILE *out);
/* Ends the program if the file cannot be written. */
void report_write(const Bench *bench, const char *path);

#endif
