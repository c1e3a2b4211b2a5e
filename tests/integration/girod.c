/* See girod.h. */
#include "girod.h"

#include "check.h"
#include "processes.h"
#include "wire.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
    /* Between the blocks of clusters and the ports that the kernel gives to clients. */
    PORT_FIRST = 31700,
    PORTS = 1000,
    READY_MS = 60000,
    PAUSE_MS = 10,
};

struct Girod
{
    const Cluster *cluster;
    char instance[64];
    char log[160];
    int port;
    pid_t pid; /* 0 once it has ended */
    int status;
    off_t log_start; /* of its last start */
    Client *client;
};

static int find_port(void)
{
    static int next;
    for (int tries = 0; tries < PORTS; tries++)
    {
        int port = PORT_FIRST + (int)((unsigned)(getpid() * 31 + next++) % PORTS);
        int listener = wire_listen(port);
        if (listener >= 0)
        {
            close(listener);
            return port;
        }
    }
    fail_msg("no free port");
    return 0;
}

static off_t log_length(const Girod *girod)
{
    struct stat status;
    return stat(girod->log, &status) == 0 ? status.st_size : 0;
}

ATTR_NORETURN
static void become(const Girod *girod)
{
    char listen[32];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", girod->port);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int log = open(girod->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    close_range(3, ~0U, 0);
    const char *program = cluster_env(girod->cluster, "GIRO_BIN");
    execl(program, program, "serve", "--config", cluster_env(girod->cluster, "GIRO_CONFIG"),
          "--listen", listen, "--instance", girod->instance, "--enable-failpoints", (char *)NULL);
    _exit(127);
}

void girod_start(Girod *girod)
{
    ASSERT(girod->pid == 0);
    girod->log_start = log_length(girod);
    girod->pid = fork();
    ASSERT(girod->pid >= 0);
    if (girod->pid == 0)
    {
        become(girod);
    }
}

static void choose_port(Girod *girod)
{
    char url[64];
    girod->port = find_port();
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", girod->port);
    client_free(girod->client);
    girod->client = client_new(url);
}

Girod *girod_new(const Cluster *cluster, const char *instance)
{
    Girod *girod = base_calloc(1, sizeof(*girod));
    girod->cluster = cluster;
    snprintf(girod->instance, sizeof(girod->instance), "%s", instance);
    snprintf(girod->log, sizeof(girod->log), "%s/girod-%s.log", cluster_directory(cluster),
             instance);
    choose_port(girod);
    girod_start(girod);
    return girod;
}

/* What has become of the process since the last look: 0 if nothing, else as waitpid says. */
static int look(Girod *girod)
{
    int status = 0;
    if (girod->pid == 0 || waitpid(girod->pid, &status, WNOHANG | WUNTRACED) != girod->pid)
    {
        return 0;
    }
    if (!WIFSTOPPED(status))
    {
        girod->pid = 0;
        girod->status = status;
    }
    return status;
}

void girod_free(Girod *girod)
{
    if (girod == NULL)
    {
        return;
    }
    if (girod->pid != 0)
    {
        kill(girod->pid, SIGKILL);
        waitpid(girod->pid, NULL, 0);
    }
    client_free(girod->client);
    free(girod);
}

/* Does it live? Its port may have been taken by somebody else between the look and its start: then
 * it starts again on another one. */
static bool begins_elsewhere(Girod *girod)
{
    look(girod);
    if (girod->pid != 0)
    {
        return true;
    }
    if (!girod_await_words(girod, "cannot listen", 0))
    {
        return false;
    }
    choose_port(girod);
    girod_start(girod);
    return true;
}

/* If it does not listen, somebody else may answer at its port. */
static bool is_ready(const Girod *girod)
{
    Response response;
    if (!girod_await_words(girod, "listening on", 0))
    {
        return false;
    }
    client_call(girod->client, &(Request){.path = "/readyz", .timeout_ms = 2000}, &response);
    bool ready = response.status == 200;
    response_done(&response);
    return ready;
}

bool girod_await_ready(Girod *girod)
{
    for (int waited = 0; waited < READY_MS && begins_elsewhere(girod); waited += PAUSE_MS)
    {
        if (is_ready(girod))
        {
            return true;
        }
        processes_pause_ms(PAUSE_MS);
    }
    return false;
}

bool girod_await_killed(Girod *girod, int timeout_ms)
{
    for (int waited = 0; waited <= timeout_ms && girod->pid != 0; waited += PAUSE_MS)
    {
        if (look(girod) == 0)
        {
            processes_pause_ms(PAUSE_MS);
        }
    }
    return girod->pid == 0 && WIFSIGNALED(girod->status) && WTERMSIG(girod->status) == SIGKILL;
}

bool girod_await_stopped(Girod *girod, int timeout_ms)
{
    for (int waited = 0; waited <= timeout_ms && girod->pid != 0; waited += PAUSE_MS)
    {
        if (WIFSTOPPED(look(girod)))
        {
            return true;
        }
        processes_pause_ms(PAUSE_MS);
    }
    return false;
}

static bool has_said(const Girod *girod, const char *words)
{
    char line[1024];
    bool found = false;
    FILE *file = fopen(girod->log, "re");
    if (file == NULL)
    {
        return false;
    }
    fseeko(file, girod->log_start, SEEK_SET);
    while (!found && fgets(line, sizeof(line), file) != NULL)
    {
        found = strstr(line, words) != NULL;
    }
    fclose(file);
    return found;
}

bool girod_await_words(const Girod *girod, const char *words, int timeout_ms)
{
    for (int waited = 0; !has_said(girod, words); waited += PAUSE_MS)
    {
        if (waited >= timeout_ms)
        {
            return false;
        }
        processes_pause_ms(PAUSE_MS);
    }
    return true;
}

void girod_signal(const Girod *girod, int signal_number)
{
    if (girod->pid != 0)
    {
        kill(girod->pid, signal_number);
    }
}

const char *girod_instance(const Girod *girod)
{
    return girod->instance;
}

Client *girod_client(const Girod *girod)
{
    return girod->client;
}
