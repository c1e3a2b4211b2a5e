/* See histogram.h. */
#include "histogram.h"

#include "base/base.h"

#include <math.h>
#include <stddef.h>

/* The first powers of two have fewer than HISTOGRAM_FINE values each: those below are counted one
 * by one, and a row of buckets follows per power. */
static size_t bucket_of(uint64_t value)
{
    int shift = 0;
    while (value >> shift >= 2 * HISTOGRAM_FINE)
        shift++;
    size_t bucket = (size_t)shift * HISTOGRAM_FINE + (size_t)(value >> shift);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket. */
static double value_of(size_t bucket)
{
    if (bucket < (size_t)2 * HISTOGRAM_FINE)
        return (double)bucket;
    size_t shift = bucket / HISTOGRAM_FINE - 1;
    double lowest = (double)(bucket - shift * HISTOGRAM_FINE);
    return ldexp(lowest + 0.5, (int)shift);
}

void histogram_add(Histogram *histogram, uint64_t microseconds)
{
    histogram->counts[bucket_of(microseconds)]++;
    histogram->total++;
}

double histogram_quantile(const Histogram *histogram, double part)
{
    uint64_t wanted = (uint64_t)ceil(part * (double)histogram->total);
    uint64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS && histogram->total > 0; i++)
    {
        seen += histogram->counts[i];
        if (seen >= wanted && seen > 0)
            return value_of(i);
    }
    return 0;
}
