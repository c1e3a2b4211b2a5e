/*
 * Latencies in logarithmic buckets, 64 per power of two: a value is known to within 1.6 %, from one
 * microsecond to hours, in constant memory and without keeping samples.
 */
#ifndef GIRO_BENCH_HISTOGRAM_H
#define GIRO_BENCH_HISTOGRAM_H

#include <stdint.h>

enum
{
    HISTOGRAM_FINE = 64,
    HISTOGRAM_BUCKETS = 40 * HISTOGRAM_FINE,
};

/* Zeroed at first. */
typedef struct Histogram
{
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
} Histogram;

void histogram_add(Histogram *histogram, uint64_t microseconds);
/* The value that this part of all samples (0 … 1) does not exceed; 0 if there are none. */
double histogram_quantile(const Histogram *histogram, double part);

#endif
