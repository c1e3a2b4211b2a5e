/*
 * What a supervisor hears, at a socket of the file system and at an abstract one, and when nobody
 * listens.
 */
#include "base/supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static int clear(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return 0;
}

#define SUPERVISOR_TEST(name) cmocka_unit_test_setup_teardown(name, clear, clear)

/* A socket with this name, '@' for an abstract one. */
static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path, name, length);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void expect_heard(int fd, const char *wanted)
{
    char text[128];
    ssize_t length = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    assert_true(length >= 0);
    text[length] = '\0';
    assert_string_equal(text, wanted);
}

static void it_is_told_at_a_socket_of_the_file_system(void **state)
{
    char folder[] = "/tmp/giro-supervisor.XXXXXX";
    char path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/notify", folder);
    int fd = listen_at(path);
    supervisor_tell("READY=1");
    supervisor_tell("STOPPING=1");
    expect_heard(fd, "READY=1");
    expect_heard(fd, "STOPPING=1");
    close(fd);
    unlink(path);
    supervisor_tell("WATCHDOG=1"); /* nobody is there any more */
    rmdir(folder);
}

static void it_is_told_at_an_abstract_socket(void **state)
{
    char name[64];
    (void)state;
    snprintf(name, sizeof name, "@giro-supervisor-%d", getpid());
    int fd = listen_at(name);
    supervisor_tell("READY=1\nSTATUS=serving");
    expect_heard(fd, "READY=1\nSTATUS=serving");
    close(fd);
}

/* One that does not read must not stop anybody. */
static void a_deaf_supervisor_holds_nobody_up(void **state)
{
    char name[64];
    (void)state;
    snprintf(name, sizeof name, "@giro-supervisor-%d", getpid());
    int fd = listen_at(name);
    for (int i = 0; i < 10000; i++)
        supervisor_tell("WATCHDOG=1");
    close(fd);
}

static void without_a_sound_address_nothing_happens(void **state)
{
    static const char *const names[] = {"", "/", "relative", "vsock:2:1"};
    char long_name[200];
    (void)state;
    supervisor_tell("READY=1");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
        setenv("NOTIFY_SOCKET", names[i], 1);
        supervisor_tell("READY=1");
    }
    memset(long_name, '/', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    setenv("NOTIFY_SOCKET", long_name, 1);
    supervisor_tell("READY=1");
}

static void the_watchdog_is_fed_three_times_as_often_as_it_wants(void **state)
{
    char pid[16];
    (void)state;
    assert_int_equal(supervisor_watchdog_ms(), 0);
    setenv("WATCHDOG_USEC", "30000000", 1);
    assert_int_equal(supervisor_watchdog_ms(), 10000);
    snprintf(pid, sizeof pid, "%d", getpid());
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(supervisor_watchdog_ms(), 10000);
    setenv("WATCHDOG_PID", "1", 1);
    assert_int_equal(supervisor_watchdog_ms(), 0);
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "1", 1);
    assert_int_equal(supervisor_watchdog_ms(), 1);
    setenv("WATCHDOG_USEC", "0", 1);
    assert_int_equal(supervisor_watchdog_ms(), 0);
    setenv("WATCHDOG_USEC", "soon", 1);
    assert_int_equal(supervisor_watchdog_ms(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUPERVISOR_TEST(it_is_told_at_a_socket_of_the_file_system),
        SUPERVISOR_TEST(it_is_told_at_an_abstract_socket),
        SUPERVISOR_TEST(a_deaf_supervisor_holds_nobody_up),
        SUPERVISOR_TEST(without_a_sound_address_nothing_happens),
        SUPERVISOR_TEST(the_watchdog_is_fed_three_times_as_often_as_it_wants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
