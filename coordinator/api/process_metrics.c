/*
 * What every process tells Prometheus of itself, under the names that Prometheus' own clients use:
 * processor time, memory, file descriptors, when it started. Read at the moment of the scrape; what
 * the system does not tell is not shown.
 */
#include "api/handler.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* clang-format off */
static const MetricFamily cpu_family = {"process_cpu_seconds_total",
    "Total user and system CPU time spent in seconds.", METRIC_COUNTER_SECONDS, {0}, {0}};
static const MetricFamily resident_family = {"process_resident_memory_bytes",
    "Resident memory size in bytes.", METRIC_GAUGE, {0}, {0}};
static const MetricFamily virtual_family = {"process_virtual_memory_bytes",
    "Virtual memory size in bytes.", METRIC_GAUGE, {0}, {0}};
static const MetricFamily open_family = {"process_open_fds",
    "Number of open file descriptors.", METRIC_GAUGE, {0}, {0}};
static const MetricFamily limit_family = {"process_max_fds",
    "Maximum number of open file descriptors.", METRIC_GAUGE, {0}, {0}};
static const MetricFamily start_family = {"process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.", METRIC_GAUGE, {0}, {0}};
/* clang-format on */

static void set(Metrics *metrics, const MetricFamily *family, double value)
{
    gauge_set(metrics_gauge(metrics, family, NULL, NULL), value);
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void set_cpu(Metrics *metrics)
{
    struct rusage usage;
    ASSERT(getrusage(RUSAGE_SELF, &usage) == 0);
    metrics_counter(metrics, &cpu_family, NULL, NULL)->value =
        microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

static void set_memory(Metrics *metrics)
{
    unsigned long all;
    unsigned long resident;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return;
    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers */
    int count = fscanf(file, "%lu %lu", &all, &resident);
    (void)fclose(file);
    if (count != 2)
        return;
    double page = (double)sysconf(_SC_PAGESIZE);
    set(metrics, &virtual_family, (double)all * page);
    set(metrics, &resident_family, (double)resident * page);
}

static void set_descriptors(Metrics *metrics)
{
    struct rlimit limit;
    int entries = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder != NULL)
    {
        while (readdir(folder) != NULL)
            entries++;
        (void)closedir(folder);
        set(metrics, &open_family, entries - 3); /* ".", ".." and the folder itself */
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        set(metrics, &limit_family, (double)limit.rlim_cur);
}

void process_metrics_set(Metrics *metrics, int64_t started_at_us)
{
    set_cpu(metrics);
    set_memory(metrics);
    set_descriptors(metrics);
    set(metrics, &start_family, (double)started_at_us / 1e6);
}
