/* Time: of the wall, monotonic, and of the CPU. In seconds. */
#ifndef GIRO_BENCH_CLOCK_H
#define GIRO_BENCH_CLOCK_H

#include <time.h>

double clock_now(void);
double clock_cpu(void); /* that this process has used */
struct timespec clock_timespec(double seconds);
void clock_pause(double seconds);

#endif
