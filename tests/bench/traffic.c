/* See traffic.h. */
#include "traffic.h"

#include "base/base.h"
#include "check.h"
#include "clock.h"
#include "request.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    EVENTS_MAX = 256,
    READ_BYTES = 65536,
    LINGER_S = 15,
};

typedef struct Stream Stream;

typedef struct Connection
{
    Stream *stream;
    int fd;
    RequestText out;
    size_t sent;
    Answer in;
    double due; /* of the request under way */
    double sent_at;
    bool busy;
    struct Connection *next_free;
} Connection;

struct Stream
{
    const TrafficStream *options;
    TrafficResult *result;
    Connection *connections;
    Connection *free; /* open streams: those without a request */
    int busy;
    Dice dice;
    double due; /* open streams: the next request's time */
    double measured_posted;
};

typedef struct Traffic
{
    const TrafficOptions *options;
    Stream streams[TRAFFIC_STREAMS_MAX];
    int epoll;
    double now;
    double from; /* of the measured time */
    double until;
    bool begun;
    char bytes[READ_BYTES];
} Traffic;

/* ---- connections ----------------------------------------------------------------------------- */

static int connect_to(const char *url)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *port = strrchr(url, ':');
    int on = 1;
    check(port != NULL, "no port in %s", url);
    address.sin_port = htons((uint16_t)strtol(port + 1, NULL, 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0,
          "cannot connect to %s: %s", url, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void watch(const Traffic *traffic, Connection *connection, bool writing)
{
    struct epoll_event event = {.events = EPOLLIN | (writing ? EPOLLOUT : 0),
                                .data.ptr = connection};
    int done = epoll_ctl(traffic->epoll, EPOLL_CTL_MOD, connection->fd, &event);
    ASSERT(done == 0);
}

static void open_connection(const Traffic *traffic, Connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->fd = connect_to(traffic->options->url);
    int done = epoll_ctl(traffic->epoll, EPOLL_CTL_ADD, connection->fd, &event);
    ASSERT(done == 0);
}

static void push_out(const Traffic *traffic, Connection *connection)
{
    size_t left = connection->out.length - connection->sent;
    ssize_t taken = send(connection->fd, connection->out.bytes + connection->sent, left,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
    bool was_partial = connection->sent > 0;
    connection->sent += taken > 0 ? (size_t)taken : 0;
    bool partial = connection->sent < connection->out.length && (taken > 0 || errno == EAGAIN);
    if (partial || was_partial)
        watch(traffic, connection, partial);
}

static void send_request(const Traffic *traffic, Connection *connection, double due)
{
    Stream *stream = connection->stream;
    request_compose(&connection->out, stream->options->flow, stream->options->batch);
    answer_reset(&connection->in);
    connection->sent = 0;
    connection->due = due;
    connection->sent_at = traffic->now;
    connection->busy = true;
    stream->busy++;
    push_out(traffic, connection);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* How much of the request's time lies within the measured time: big batches that begin or end
 * outside count in part, so that a short measurement does not jump by whole batches. */
static double measured_part(const Traffic *traffic, const Connection *connection)
{
    double from = fmax(connection->sent_at, traffic->from);
    double until = fmin(traffic->now, traffic->until);
    double took = fmax(traffic->now - connection->sent_at, 1e-9);
    return fmax(until - from, 0) / took;
}

static void count_answer(const Traffic *traffic, Connection *connection)
{
    Stream *stream = connection->stream;
    TrafficResult *result = stream->result;
    size_t posted = answer_posted(&connection->in, stream->options->batch);
    result->posted += posted;
    if (posted < stream->options->batch)
    {
        result->others += stream->options->batch - posted;
        result->other_status = connection->in.status;
    }
    stream->measured_posted += (double)posted * measured_part(traffic, connection);
    if (traffic->now < traffic->from || traffic->now >= traffic->until)
        return;
    histogram_add(&result->latency, (uint64_t)((traffic->now - connection->due) * 1e6));
}

/* What is next for a connection without a request. */
static void go_on(const Traffic *traffic, Connection *connection)
{
    Stream *stream = connection->stream;
    if (stream->options->rate > 0)
    {
        connection->next_free = stream->free;
        stream->free = connection;
    }
    else if (traffic->now < traffic->until)
        send_request(traffic, connection, traffic->now);
}

static void end_request(const Traffic *traffic, Connection *connection)
{
    count_answer(traffic, connection);
    connection->busy = false;
    connection->stream->busy--;
    go_on(traffic, connection);
}

static void reopen(const Traffic *traffic, Connection *connection)
{
    bool was_busy = connection->busy;
    close(connection->fd);
    answer_reset(&connection->in); /* no status: counted as no answer */
    open_connection(traffic, connection);
    if (was_busy)
        end_request(traffic, connection);
}

static void pull_in(Traffic *traffic, Connection *connection)
{
    ssize_t got = recv(connection->fd, traffic->bytes, sizeof traffic->bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0)
        reopen(traffic, connection);
    else if (answer_take(&connection->in, traffic->bytes, (size_t)got) && connection->busy)
        end_request(traffic, connection);
}

/* ---- running --------------------------------------------------------------------------------- */

static void start_stream(Traffic *traffic, Stream *stream)
{
    const TrafficStream *options = stream->options;
    ASSERT(options->connections <= TRAFFIC_CONNECTIONS_MAX && options->batch <= TRAFFIC_BATCH_MAX);
    stream->connections = base_calloc((size_t)options->connections, sizeof *stream->connections);
    stream->dice = dice_new();
    stream->due = traffic->now;
    for (int i = 0; i < options->connections; i++)
    {
        stream->connections[i].stream = stream;
        open_connection(traffic, &stream->connections[i]);
    }
}

/* Exponential distances: what many independent clients look like. */
static void send_what_is_due(const Traffic *traffic, Stream *stream)
{
    while (stream->due <= traffic->now && stream->due < traffic->until)
    {
        Connection *connection = stream->free;
        if (connection == NULL && !stream->options->shed)
            return; /* late, and counted as that */
        if (connection != NULL)
        {
            stream->free = connection->next_free;
            send_request(traffic, connection, stream->due);
        }
        stream->due -= log(dice_part(&stream->dice)) / stream->options->rate;
    }
}

static bool is_over(const Traffic *traffic)
{
    int busy = 0;
    for (int i = 0; i < traffic->options->stream_count; i++)
        busy += traffic->streams[i].busy;
    return traffic->now >= traffic->until &&
           (busy == 0 || traffic->now >= traffic->until + LINGER_S);
}

/* Until when to sleep if nothing happens. */
static double next_time(const Traffic *traffic)
{
    double next = traffic->now < traffic->until ? traffic->until : traffic->now + 0.1;
    for (int i = 0; i < traffic->options->stream_count; i++)
    {
        const Stream *stream = &traffic->streams[i];
        bool waits = stream->options->rate > 0 && (stream->free != NULL || stream->options->shed);
        if (waits && stream->due < next && traffic->now < traffic->until)
            next = stream->due;
    }
    return next;
}

static void wait_and_read(Traffic *traffic)
{
    struct epoll_event events[EVENTS_MAX];
    double pause = next_time(traffic) - traffic->now;
    struct timespec timeout = clock_timespec(pause > 0 ? pause : 0);
    int count = epoll_pwait2(traffic->epoll, events, EVENTS_MAX, &timeout, NULL);
    traffic->now = clock_now();
    for (int i = 0; i < count; i++)
    {
        Connection *connection = events[i].data.ptr;
        if ((events[i].events & EPOLLOUT) != 0)
            push_out(traffic, connection);
        if ((events[i].events & ~(unsigned)EPOLLOUT) != 0)
            pull_in(traffic, connection);
    }
}

static void stop_stream(const Traffic *traffic, Stream *stream)
{
    for (int i = 0; i < stream->options->connections; i++)
    {
        Connection *connection = &stream->connections[i];
        if (connection->busy)
            stream->result->others += stream->options->batch;
        close(connection->fd);
        free(connection->out.bytes);
        answer_done(&connection->in);
    }
    stream->result->transfers_per_s = stream->measured_posted / traffic->options->seconds;
    free(stream->connections);
}

static void begin_if_due(Traffic *traffic)
{
    if (traffic->begun || traffic->now < traffic->from)
        return;
    traffic->begun = true;
    if (traffic->options->begin != NULL)
        traffic->options->begin(traffic->options->context);
}

static void run(Traffic *traffic)
{
    for (int i = 0; i < traffic->options->stream_count; i++)
    {
        Stream *stream = &traffic->streams[i];
        for (int c = 0; c < stream->options->connections; c++)
            go_on(traffic, &stream->connections[c]);
    }
    while (!is_over(traffic))
    {
        begin_if_due(traffic);
        for (int i = 0; i < traffic->options->stream_count; i++)
        {
            if (traffic->streams[i].options->rate > 0)
                send_what_is_due(traffic, &traffic->streams[i]);
        }
        wait_and_read(traffic);
    }
}

double traffic_run(const TrafficOptions *options, TrafficResult *ret_results)
{
    Traffic *traffic = base_calloc(1, sizeof *traffic);
    traffic->options = options;
    traffic->epoll = epoll_create1(EPOLL_CLOEXEC);
    memset(ret_results, 0, (size_t)options->stream_count * sizeof *ret_results);
    for (int i = 0; i < options->stream_count; i++)
    {
        traffic->streams[i].options = &options->streams[i];
        traffic->streams[i].result = &ret_results[i];
        start_stream(traffic, &traffic->streams[i]);
    }
    double cpu = clock_cpu();
    double start = traffic->now = clock_now();
    traffic->from = start + options->warm_s;
    traffic->until = traffic->from + options->seconds;
    for (int i = 0; i < options->stream_count; i++)
        traffic->streams[i].due = start;
    run(traffic);
    double share = (clock_cpu() - cpu) / (clock_now() - start);
    for (int i = 0; i < options->stream_count; i++)
        stop_stream(traffic, &traffic->streams[i]);
    close(traffic->epoll);
    free(traffic);
    return share;
}
