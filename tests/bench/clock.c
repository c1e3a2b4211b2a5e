/* See clock.h. */
#include "clock.h"

#include "base/base.h"

#include <sys/resource.h>

double clock_now(void)
{
    return (double)base_now_us() / 1e6;
}

double clock_cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

struct timespec clock_timespec(double seconds)
{
    time_t whole = (time_t)seconds;
    return (struct timespec){.tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9)};
}

void clock_pause(double seconds)
{
    struct timespec pause = clock_timespec(seconds);
    while (nanosleep(&pause, &pause) != 0)
    {
    }
}
