/* See interrupt.h. */
#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct Interrupt
{
    int fd;
};

Interrupt *interrupt_new(void)
{
    Interrupt *interrupt = base_calloc(1, sizeof *interrupt);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    ASSERT(sigprocmask(SIG_BLOCK, &signals, NULL) == 0);
    interrupt->fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    ASSERT(interrupt->fd >= 0);
    return interrupt;
}

void interrupt_free(Interrupt *interrupt)
{
    if (interrupt == NULL)
        return;
    close(interrupt->fd);
    free(interrupt);
}

int interrupt_fd(const Interrupt *interrupt)
{
    return interrupt->fd;
}

bool interrupt_came(const Interrupt *interrupt)
{
    return interrupt_wait(interrupt, 0);
}

bool interrupt_wait(const Interrupt *interrupt, int milliseconds)
{
    struct pollfd signal = {.fd = interrupt->fd, .events = POLLIN};
    return poll(&signal, 1, milliseconds) > 0;
}

bool interrupt_await_input(const Interrupt *interrupt, int fd)
{
    struct pollfd sources[] = {
        {.fd = interrupt->fd, .events = POLLIN},
        {.fd = fd, .events = POLLIN},
    };
    int ready;
    do
        ready = poll(sources, ARRAY_LENGTH(sources), -1);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && sources[0].revents == 0;
}
