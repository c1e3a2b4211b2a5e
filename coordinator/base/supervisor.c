/* See supervisor.h. */
#include "base/supervisor.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void supervisor_tell(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path != NULL ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* in the abstract name space */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
    close(fd);
}

uint64_t supervisor_watchdog_ms(void)
{
    const char *limit = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    if (limit == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    char *end;
    errno = 0;
    unsigned long long limit_us = strtoull(limit, &end, 10);
    if (errno != 0 || end == limit || *end != '\0' || limit_us == 0)
        return 0;
    uint64_t pause_ms = limit_us / 3 / 1000;
    return pause_ms > 0 ? pause_ms : 1;
}
