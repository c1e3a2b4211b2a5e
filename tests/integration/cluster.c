/*
 * A cluster for a test program, see cluster.h. All the work is done by the scripts of docker/, so
 * the tests run on what users run.
 */
#include "cluster.h"

#include "check.h"
#include "processes.h"
#include "wire.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum
{
    /* A block of ports: Postgres servers, their proxies, coordinators. */
    PORT_PROXIES = 10,
    PORT_COORDINATORS = 20,
    PORT_BLOCK = 24,
    PORT_FIRST = 10000,
    PORT_BLOCKS = 900, /* below the ports that the kernel gives to clients */
    VARIABLES_MAX = 16,
    VARIABLE_MAX = 512,
    ENV_MAX = 65536,
    OUTPUT_MAX = 65536,
    PARTS_MAX = CLUSTER_SHARDS_MAX + CLUSTER_COORDINATORS_MAX + 1,
};

struct Cluster
{
    ClusterOptions options;
    char directory[64];
    int port;
    int guardian_pipe;
    pid_t guardian;
    char variables[VARIABLES_MAX][VARIABLE_MAX]; /* NAME=value, for the scripts */
    int variable_count;
    char *env; /* of $GIRO_DIR/env, lines turned into NUL-terminated strings */
    size_t env_length;
    Proxy *proxies[CLUSTER_SHARDS_MAX];
    pid_t begun[PARTS_MAX]; /* scripts that start a part and have not been waited for; 0: none */
};

ATTR_NORETURN
static void give_up(const char *why)
{
    fprintf(stderr, "cluster: %s\n", why);
    exit(1);
}

/* ---- running scripts ------------------------------------------------------------------------ */

/* `env NAME=value … words…`: nothing has to be done between fork and exec but this. */
ATTR_NORETURN
static void become(const Cluster *cluster, const char *const *words)
{
    char *arguments[VARIABLES_MAX + 8] = {"env"};
    int count = 1;
    for (int i = 0; i < cluster->variable_count; i++)
    {
        arguments[count++] = (char *)cluster->variables[i];
    }
    for (; *words != NULL; words++)
    {
        arguments[count++] = (char *)*words;
    }
    arguments[count] = NULL;
    execvp("env", arguments);
    _exit(127);
}

/* Starts a program; what it says goes to `output`, a descriptor. It does not outlive this process,
 * so that the guardian tears down something that grows no more. */
static pid_t start(const Cluster *cluster, const char *const *words, int output)
{
    pid_t pid = fork();
    if (pid == 0)
    {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        become(cluster, words);
    }
    return pid;
}

static int await_end(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
    {
        ASSERT(errno == EINTR);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs a program; the first size - 1 bytes of what it says are kept. */
static int run(const Cluster *cluster, const char *const *words, char *ret_output, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
    {
        give_up("no pipe");
    }
    pid_t pid = start(cluster, words, ends[1]);
    close(ends[1]);
    char bytes[4096];
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], bytes, sizeof(bytes))) > 0)
    {
        size_t fits = length + (size_t)got < size ? (size_t)got : size - 1 - length;
        memcpy(ret_output + length, bytes, fits);
        length += fits;
    }
    ret_output[length] = '\0';
    close(ends[0]);
    return await_end(pid);
}

int cluster_shell(const Cluster *cluster, const char *command, char *ret_output, size_t size)
{
    char ignored[OUTPUT_MAX];
    char *script = NULL;
    int length = asprintf(&script, "set -a; . \"$GIRO_DIR/env\"; set +a; %s", command);
    ASSERT(length > 0);
    const char *words[] = {"bash", "-c", script, NULL};
    int status = run(cluster, words, ret_output == NULL ? ignored : ret_output,
                     ret_output == NULL ? sizeof(ignored) : size);
    free(script);
    return status;
}

/* ---- the guardian --------------------------------------------------------------------------- */

ATTR_NORETURN
static void guard(const Cluster *cluster, int end)
{
    char byte;
    ssize_t got;
    bool keeps = getenv("GIRO_TEST_KEEP") != NULL;
    /* Nothing else may be held open here, above all not another cluster's pipe. */
    setsid();
    dup2(end, 3);
    close_range(4, ~0U, 0);
    while ((got = read(3, &byte, 1)) != 0)
    {
        keeps = keeps || got > 0;
    }
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const char *down[] = {"bash", "docker/down.sh", NULL};
    const char *discard[] = {"rm", "-rf", cluster->directory, NULL};
    await_end(start(cluster, down, nothing));
    if (!keeps)
    {
        await_end(start(cluster, discard, nothing));
    }
    _exit(0);
}

static void start_guardian(Cluster *cluster)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
    {
        give_up("no pipe");
    }
    cluster->guardian = fork();
    if (cluster->guardian == 0)
    {
        guard(cluster, ends[0]);
    }
    close(ends[0]);
    cluster->guardian_pipe = ends[1];
}

/* ---- start ---------------------------------------------------------------------------------- */

static bool block_is_free(int first)
{
    for (int port = first; port < first + PORT_BLOCK; port++)
    {
        int listener = wire_listen(port);
        if (listener < 0)
        {
            return false;
        }
        close(listener);
    }
    return true;
}

/* GIRO_TEST_PORT in the environment names the block to use. */
static int find_ports(void)
{
    const char *wanted = getenv("GIRO_TEST_PORT");
    if (wanted != NULL)
    {
        return atoi(wanted);
    }
    unsigned block = (unsigned)getpid() * 7919U + (unsigned)time(NULL);
    for (int tries = 0; tries < PORT_BLOCKS; tries++, block++)
    {
        int first = PORT_FIRST + (int)(block % PORT_BLOCKS) * PORT_BLOCK;
        if (block_is_free(first))
        {
            return first;
        }
    }
    give_up("no free ports");
}

ATTR_PRINTF(2, 3)
static void set_variable(Cluster *cluster, const char *format, ...)
{
    ASSERT(cluster->variable_count < VARIABLES_MAX);
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(cluster->variables[cluster->variable_count++], VARIABLE_MAX, format, arguments);
    va_end(arguments);
    ASSERT(length < VARIABLE_MAX);
}

static void set_variables(Cluster *cluster)
{
    const ClusterOptions *options = &cluster->options;
    set_variable(cluster, "GIRO_DIR=%s", cluster->directory);
    set_variable(cluster, "GIRO_PG_PORT=%d", cluster->port);
    set_variable(cluster, "GIRO_PORT=%d", cluster->port + PORT_COORDINATORS);
    set_variable(cluster, "GIRO_SHARDS=%d", options->shards);
    set_variable(cluster, "GIRO_COORDINATORS=%d", options->coordinators);
    set_variable(cluster, "GIRO_PROXY_OFFSET=%d", options->proxied ? PORT_PROXIES : 0);
    set_variable(cluster, "GIRO_GIROD_FLAGS=%s", options->girod_flags);
    set_variable(cluster, "GIRO_CLUSTER=demo");
    if (options->postgres_settings != NULL)
    {
        set_variable(cluster, "GIRO_POSTGRES_SETTINGS=%s", options->postgres_settings);
    }
}

static void start_proxies(Cluster *cluster)
{
    for (int i = 0; cluster->options.proxied && i < cluster->options.shards; i++)
    {
        int server = cluster->port + i + 1;
        cluster->proxies[i] = proxy_new(server + PORT_PROXIES, server);
        if (cluster->proxies[i] == NULL)
        {
            give_up("a proxy's port is taken");
        }
    }
}

static void make_directory(Cluster *cluster)
{
    snprintf(cluster->directory, sizeof(cluster->directory), "/tmp/giro-test-XXXXXX");
    /* Postgres runs as a user of its own and has to enter it. */
    if (access("docker/up.sh", R_OK) != 0 || mkdtemp(cluster->directory) == NULL ||
        chmod(cluster->directory, 0755) != 0)
    {
        give_up("run this from the root of the repository; it needs a directory in /tmp");
    }
    if (getenv("GIRO_TEST_KEEP") != NULL)
    {
        fprintf(stderr, "cluster: in %s\n", cluster->directory);
    }
}

static void read_env(Cluster *cluster)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/env", cluster->directory);
    FILE *file = fopen(path, "re");
    check(file != NULL, "%s is missing", path);
    free(cluster->env);
    cluster->env = base_calloc(1, ENV_MAX);
    size_t length = fread(cluster->env, 1, ENV_MAX - 1, file);
    fclose(file);
    /* Lines become strings; no value holds a quote, so quotes only stand around values. */
    cluster->env_length = 0;
    for (size_t i = 0; i < length; i++)
    {
        char letter = cluster->env[i];
        if (letter != '\'')
        {
            cluster->env[cluster->env_length++] = letter == '\n' ? '\0' : letter;
        }
    }
}

static bool run_up(Cluster *cluster, const char *argument)
{
    char output[OUTPUT_MAX];
    const char *words[] = {"bash", "docker/up.sh", argument, NULL};
    int status = run(cluster, words, output, sizeof(output));
    if (status != 0)
    {
        fprintf(stderr, "docker/up.sh ends with status %d:\n%s", status, output);
    }
    return status == 0;
}

Cluster *cluster_new(const ClusterOptions *options)
{
    Cluster *cluster = base_calloc(1, sizeof(*cluster));
    cluster->options = *options;
    cluster->options.shards = options->shards == 0 ? 3 : options->shards;
    cluster->options.coordinators = options->coordinators == 0 ? 1 : options->coordinators;
    if (options->girod_flags == NULL)
    {
        cluster->options.girod_flags = "--enable-failpoints";
    }
    ASSERT(cluster->options.shards <= CLUSTER_SHARDS_MAX);
    ASSERT(cluster->options.coordinators <= CLUSTER_COORDINATORS_MAX);
    make_directory(cluster);
    cluster->port = find_ports();
    set_variables(cluster);
    start_guardian(cluster);
    start_proxies(cluster);
    if (!run_up(cluster, NULL))
    {
        cluster_free(cluster);
        give_up("it does not come up");
    }
    read_env(cluster);
    return cluster;
}

void cluster_free(Cluster *cluster)
{
    if (cluster == NULL)
    {
        return;
    }
    close(cluster->guardian_pipe);
    await_end(cluster->guardian);
    for (int i = 0; i < CLUSTER_SHARDS_MAX; i++)
    {
        proxy_free(cluster->proxies[i]);
    }
    free(cluster->env);
    free(cluster);
}

/* ---- where things are ----------------------------------------------------------------------- */

void cluster_keep(const Cluster *cluster)
{
    check(write(cluster->guardian_pipe, "k", 1) == 1, "the guardian has ended");
}

int cluster_shard_count(const Cluster *cluster)
{
    return cluster->options.shards;
}

int cluster_coordinator_count(const Cluster *cluster)
{
    return cluster->options.coordinators;
}

const char *cluster_directory(const Cluster *cluster)
{
    return cluster->directory;
}

const char *cluster_env(const Cluster *cluster, const char *name)
{
    size_t length = strlen(name);
    const char *end = cluster->env + cluster->env_length;
    for (const char *line = cluster->env; line < end; line += strlen(line) + 1)
    {
        if (strncmp(line, name, length) == 0 && line[length] == '=')
        {
            return line + length + 1;
        }
    }
    fail_msg("%s/env has no %s", cluster->directory, name);
    return NULL;
}

static const char *coordinator_env(const Cluster *cluster, const char *what, int coordinator)
{
    char name[64];
    if (coordinator == 1)
    {
        snprintf(name, sizeof(name), "GIRO_%s", what);
    }
    else
    {
        snprintf(name, sizeof(name), "GIRO_%s_%d", what, coordinator);
    }
    return cluster_env(cluster, name);
}

static const char *database_env(const Cluster *cluster, int database, const char *what)
{
    char name[64];
    if (database == 0)
    {
        snprintf(name, sizeof(name), "GIRO_DIRECTORY_%s", what);
    }
    else
    {
        snprintf(name, sizeof(name), "GIRO_SHARD_%d_%s", database, what);
    }
    return cluster_env(cluster, name);
}

const char *cluster_url(const Cluster *cluster, int coordinator)
{
    return coordinator_env(cluster, "URL", coordinator);
}

const char *cluster_girod_log(const Cluster *cluster, int coordinator)
{
    return coordinator_env(cluster, "LOG", coordinator);
}

const char *cluster_dsn(const Cluster *cluster, int database)
{
    return database_env(cluster, database, "DSN");
}

const char *cluster_coord_dsn(const Cluster *cluster, int database)
{
    return database_env(cluster, database, "COORD_DSN");
}

const char *cluster_postgres_log(const Cluster *cluster, int database)
{
    return database_env(cluster, database, "LOG");
}

const char *cluster_postgres_data(const Cluster *cluster, int database)
{
    return database_env(cluster, database, "PGDATA");
}

/* Read from its file, which is newer than the env that was read when the whole cluster came up. */
int cluster_girod_pid(const Cluster *cluster, int coordinator)
{
    char path[128];
    char line[32] = "";
    snprintf(path, sizeof(path), "%s/girod-%d.pid", cluster->directory, coordinator);
    FILE *file = fopen(path, "re");
    check(file != NULL, "%s is missing", path);
    char *read = fgets(line, sizeof(line), file);
    fclose(file);
    int pid = read == NULL ? 0 : atoi(line);
    check(pid > 1, "girod %d has no pid", coordinator);
    return pid;
}

Proxy *cluster_proxy(const Cluster *cluster, int shard)
{
    check(cluster->options.proxied, "the cluster has no proxies");
    return cluster->proxies[shard - 1];
}

/* ---- breaking things ------------------------------------------------------------------------ */

void cluster_signal_girod(const Cluster *cluster, int coordinator, int signal_number)
{
    pid_t pid = cluster_girod_pid(cluster, coordinator);
    kill(pid, signal_number);
    check(signal_number != SIGKILL || process_await_end(pid, 10000), "girod survives SIGKILL");
}

bool cluster_await_girod_end(const Cluster *cluster, int coordinator, int timeout_ms)
{
    return process_await_end(cluster_girod_pid(cluster, coordinator), timeout_ms);
}

void cluster_signal_postgres(const Cluster *cluster, int database, int signal_number)
{
    const char *data = cluster_postgres_data(cluster, database);
    int tries = 0;
    int found = processes_signal_in(data, signal_number);
    check(found > 0, "no Postgres runs in %s", data);
    /* Its children may have been made after the look at the list. */
    while (signal_number == SIGKILL && processes_signal_in(data, SIGKILL) > 0)
    {
        check(tries++ < 1000, "the Postgres in %s survives SIGKILL", data);
        processes_pause_ms(10);
    }
}

void cluster_up(Cluster *cluster)
{
    check(run_up(cluster, NULL), "the cluster does not come up");
    read_env(cluster);
}

void cluster_start_postgres(const Cluster *cluster)
{
    check(run_up((Cluster *)cluster, "--databases"), "Postgres does not come up");
}

/* Parts are numbered: databases, then coordinators. */
static int girod_part(int coordinator)
{
    return CLUSTER_SHARDS_MAX + coordinator;
}

static void await_begun(Cluster *cluster, int part)
{
    if (cluster->begun[part] != 0)
    {
        int status = await_end(cluster->begun[part]);
        cluster->begun[part] = 0;
        check(status == 0, "a start ends with status %d, see %s/begun.log", status,
              cluster->directory);
    }
}

static void begin(Cluster *cluster, int part, const char *name)
{
    char path[128];
    const char *words[] = {"bash", "docker/up.sh", "--only", name, NULL};
    await_begun(cluster, part);
    snprintf(path, sizeof(path), "%s/begun.log", cluster->directory);
    int output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    cluster->begun[part] = start(cluster, words, output);
    close(output);
}

void cluster_begin_postgres(Cluster *cluster, int database)
{
    char name[32] = "directory";
    if (database > 0)
    {
        snprintf(name, sizeof(name), "shard-%d", database);
    }
    begin(cluster, database, name);
}

void cluster_begin_girod(Cluster *cluster, int coordinator)
{
    char name[32];
    snprintf(name, sizeof(name), "girod-%d", coordinator);
    begin(cluster, girod_part(coordinator), name);
}

void cluster_await_postgres_begun(Cluster *cluster, int database)
{
    await_begun(cluster, database);
}

void cluster_await_girod_begun(Cluster *cluster, int coordinator)
{
    await_begun(cluster, girod_part(coordinator));
}

bool cluster_await_girod_ready(const Cluster *cluster, int coordinator, int timeout_ms)
{
    char command[256];
    snprintf(command, sizeof(command),
             "[[ $(curl -s -o /dev/null -m 2 -w '%%{http_code}' %s/readyz) == 200 ]]",
             cluster_url(cluster, coordinator));
    for (int waited = 0; cluster_shell(cluster, command, NULL, 0) != 0; waited += 50)
    {
        if (waited >= timeout_ms)
        {
            return false;
        }
        processes_pause_ms(50);
    }
    return true;
}
