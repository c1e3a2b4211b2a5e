/*
 * Processes by pid and by working directory, see processes.h. Linux only: it reads /proc.
 */
#include "processes.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void processes_pause_ms(int ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&pause, &pause) != 0)
    {
    }
}

bool process_is_alive(pid_t pid)
{
    char path[64];
    char line[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
    {
        return false;
    }
    bool read = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    /* "pid (name) state": the name may hold anything. */
    const char *state = read ? strrchr(line, ')') : NULL;
    return state != NULL && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

bool process_await_end(pid_t pid, int timeout_ms)
{
    for (int waited = 0; process_is_alive(pid); waited += 10)
    {
        if (waited >= timeout_ms)
        {
            return false;
        }
        processes_pause_ms(10);
    }
    return true;
}

static bool works_in(const char *pid, const char *directory)
{
    char path[64 + NAME_MAX];
    char target[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%s/cwd", pid);
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length < 0)
    {
        return false;
    }
    target[length] = '\0';
    return strcmp(target, directory) == 0;
}

int processes_signal_in(const char *directory, int signal_number)
{
    DIR *processes = opendir("/proc");
    int found = 0;
    for (struct dirent *entry; (entry = readdir(processes)) != NULL;)
    {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && works_in(entry->d_name, directory) && process_is_alive(pid))
        {
            kill(pid, signal_number);
            found++;
        }
    }
    closedir(processes);
    return found;
}
