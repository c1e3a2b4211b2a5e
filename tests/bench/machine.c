/* See machine.h. */
#include "machine.h"

#include "check.h"
#include "clock.h"
#include "histogram.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum
{
    SYNCS = 200,
    PAGE_BYTES = 8192,
};

/* The value of the first line that begins with the key; "" if there is none. */
static void read_value(const char *path, const char *key, char *ret_value, size_t size)
{
    char line[256];
    FILE *file = fopen(path, "re");
    ret_value[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
    {
        const char *colon = strchr(line, ':');
        if (colon == NULL || strncmp(line, key, strlen(key)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(ret_value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (file != NULL)
        fclose(file);
}

static double measure_fdatasync_us(const char *directory)
{
    char path[256];
    static const char page[PAGE_BYTES];
    Histogram times = {0};
    snprintf(path, sizeof path, "%s/fdatasync", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    check(fd >= 0, "%s cannot be written", path);
    for (int i = 0; i < SYNCS; i++)
    {
        double start = clock_now();
        check(pwrite(fd, page, sizeof page, 0) == PAGE_BYTES && fdatasync(fd) == 0,
              "%s cannot be synced", path);
        histogram_add(&times, (uint64_t)((clock_now() - start) * 1e6));
    }
    close(fd);
    unlink(path);
    return histogram_quantile(&times, 0.5);
}

static void ask_postgres(char *ret_version, size_t size)
{
    FILE *answer =
        popen("${GIRO_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}/postgres --version", "re");
    char line[128] = "";
    check(answer != NULL && fgets(line, sizeof line, answer) != NULL, "no postgres");
    pclose(answer);
    const char *number = strpbrk(line, "0123456789");
    snprintf(ret_version, size, "%.*s", number == NULL ? 0 : (int)strcspn(number, " \n"), number);
}

void machine_look(Machine *ret_machine, const char *directory)
{
    char memory[64];
    struct utsname names;
    uname(&names);
    snprintf(ret_machine->kernel, sizeof ret_machine->kernel, "%s %s", names.sysname,
             names.release);
    read_value("/proc/cpuinfo", "model name", ret_machine->cpu, sizeof ret_machine->cpu);
    read_value("/proc/meminfo", "MemTotal", memory, sizeof memory);
    ret_machine->memory_mib = strtol(memory, NULL, 10) / 1024;
    ret_machine->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    ask_postgres(ret_machine->postgres, sizeof ret_machine->postgres);
    ret_machine->fdatasync_us = measure_fdatasync_us(directory);
}
