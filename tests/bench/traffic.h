/*
 * An HTTP client that costs little: one thread, epoll, keep-alive, one request at a time per
 * connection, answers looked at no further than to see whether they are final.
 *
 * A stream is closed (rate 0): each connection sends its next request as soon as the last one is
 * answered; or open: requests are due at random times (Poisson) at the given rate, whatever the
 * answers do, and latency counts from the time at which a request was due, so that a stall is seen
 * by all that should have been sent meanwhile (no coordinated omission).
 */
#ifndef GIRO_BENCH_TRAFFIC_H
#define GIRO_BENCH_TRAFFIC_H

#include "flow.h"
#include "histogram.h"

enum
{
    TRAFFIC_STREAMS_MAX = 2,
    TRAFFIC_CONNECTIONS_MAX = 4000,
    TRAFFIC_BATCH_MAX = 1000,
};

typedef struct TrafficStream
{
    Flow *flow;
    int connections;
    size_t batch; /* transfers per request; 1 = single requests */
    double rate;  /* requests per second; 0 = closed loop */
    bool shed;    /* open: what is due while no connection is free is dropped, not sent late */
} TrafficStream;

typedef struct TrafficResult
{
    double transfers_per_s; /* answered as posted within the measured time */
    uint64_t posted;        /* the same, as a number, warming up and end included */
    uint64_t others;        /* transfers that were answered otherwise, or not at all */
    int other_status;       /* of one of them; 0 = no answer */
    Histogram latency;      /* of requests, within the measured time */
} TrafficResult;

typedef struct TrafficOptions
{
    const char *url; /* http://127.0.0.1:port */
    TrafficStream streams[TRAFFIC_STREAMS_MAX];
    int stream_count;
    double warm_s; /* before the measured time */
    double seconds;
    void (*begin)(void *context); /* called as the measured time begins; NULL for none */
    void *context;
} TrafficOptions;

/* Ends when all requests are answered, or 15 s after the measured time. Returns how much of one CPU
 * this client took (0 … 1). */
double traffic_run(const TrafficOptions *options, TrafficResult *ret_results);

#endif
