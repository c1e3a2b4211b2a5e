/* See private_postgres.h. */
#include "private_postgres.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    if (system(command) != 0)
    {
        fprintf(stderr, "failed: %s\n", command);
        abort();
    }
}

static const char *as_postgres(void)
{
    return geteuid() == 0 ? "runuser -u postgres --" : "";
}

int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        abort();
    close(fd);
    return ntohs(address.sin_port);
}

void private_postgres_resume(const PrivatePostgres *postgres)
{
    run("cd / && %s $(pg_config --bindir)/pg_ctl -D %s/data -l %s/log -w start >/dev/null",
        as_postgres(), postgres->directory, postgres->directory);
}

void private_postgres_start(PrivatePostgres *ret_postgres, const char *settings)
{
    PrivatePostgres *postgres = ret_postgres;
    *postgres = (PrivatePostgres){.directory = "/tmp/giro-test-"};
    memset(postgres->directory + strlen(postgres->directory), 'X', 6); /* mkdtemp's pattern */
    if (mkdtemp(postgres->directory) == NULL)
        abort();
    if (geteuid() == 0)
        run("chown postgres %s", postgres->directory);
    postgres->port = free_port();
    run("cd / && %s $(pg_config --bindir)/initdb -D %s/data -U postgres -A trust -E UTF8"
        " --locale=C --no-sync >/dev/null",
        as_postgres(), postgres->directory);

    char path[128];
    snprintf(path, sizeof path, "%s/data/postgresql.conf", postgres->directory);
    FILE *file = fopen(path, "a");
    if (file == NULL)
        abort();
    fprintf(file,
            "port = %d\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '%s'\n"
            "fsync = off\nmax_prepared_transactions = 20\nshared_buffers = 16MB\n%s\n",
            postgres->port, postgres->directory, settings != NULL ? settings : "");
    fclose(file);
    private_postgres_resume(postgres);
    snprintf(postgres->dsn, sizeof postgres->dsn, "host=%s port=%d user=postgres dbname=postgres",
             postgres->directory, postgres->port);
    snprintf(postgres->tcp_dsn, sizeof postgres->tcp_dsn,
             "host=127.0.0.1 port=%d user=postgres dbname=postgres", postgres->port);
}

void private_postgres_halt(const PrivatePostgres *postgres, const char *mode)
{
    run("cd / && %s $(pg_config --bindir)/pg_ctl -D %s/data -m %s -w stop >/dev/null",
        as_postgres(), postgres->directory, mode);
}

void private_postgres_stop(PrivatePostgres *postgres)
{
    private_postgres_halt(postgres, "immediate");
    run("rm -rf %s", postgres->directory);
}
