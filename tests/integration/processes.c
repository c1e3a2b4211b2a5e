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

void processes_visit_in(const char *directory, ProcessVisitor visit, void *context)
{
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(processes)) != NULL;)
    {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && works_in(entry->d_name, directory) && process_is_alive(pid))
        {
            visit(context, pid);
        }
    }
    closedir(processes);
}

typedef struct Signalling
{
    int signal_number;
    int found;
} Signalling;

static void signal_one(void *context, pid_t pid)
{
    Signalling *signalling = context;
    kill(pid, signalling->signal_number);
    signalling->found++;
}

int processes_signal_in(const char *directory, int signal_number)
{
    Signalling signalling = {.signal_number = signal_number};
    processes_visit_in(directory, signal_one, &signalling);
    return signalling.found;
}
