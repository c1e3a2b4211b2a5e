/* See options.h. */
#include "cli/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum
{
    RECONCILE_EVERY_S_MAX = 30 * 86400,
};

enum
{
    INSTANCE_RANDOM_BYTES = 6,
    INSTANCE_NAME_MAX = NAME_MAX_LENGTH - 1 - 2 * INSTANCE_RANDOM_BYTES,
};

typedef enum Option
{
    OPTION_CONFIG = 256,
    OPTION_LISTEN,
    OPTION_INSTANCE,
    OPTION_LOG_LEVEL,
    OPTION_LOG_FORMAT,
    OPTION_SESSIONS,
    OPTION_BATCH,
    OPTION_RECONCILE_EVERY,
    OPTION_FULL,
    OPTION_JSON,
    OPTION_PATIENCE,
    OPTION_ENABLE_FAILPOINTS,
    OPTION_ALLOW_FSYNC_OFF,
    OPTION_REASON,
    OPTION_PRINT_STAGES,
    OPTION_VERSION,
    OPTION_HELP,
} Option;

static const struct option table[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"instance", required_argument, NULL, OPTION_INSTANCE},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"log-format", required_argument, NULL, OPTION_LOG_FORMAT},
    {"sessions", required_argument, NULL, OPTION_SESSIONS},
    {"batch", required_argument, NULL, OPTION_BATCH},
    {"reconcile-every", required_argument, NULL, OPTION_RECONCILE_EVERY},
    {"full", no_argument, NULL, OPTION_FULL},
    {"json", no_argument, NULL, OPTION_JSON},
    {"patience", required_argument, NULL, OPTION_PATIENCE},
    {"enable-failpoints", no_argument, NULL, OPTION_ENABLE_FAILPOINTS},
    {"allow-fsync-off", no_argument, NULL, OPTION_ALLOW_FSYNC_OFF},
    {"reason", required_argument, NULL, OPTION_REASON},
    {"print-stages", no_argument, NULL, OPTION_PRINT_STAGES},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

void options_print_help(FILE *out)
{
    fputs("girod - moves money between accounts on different Postgres shards\n"
          "\n"
          "  girod init --config FILE [--allow-fsync-off]\n"
          "      Creates or completes the directory and the shards of a cluster description.\n"
          "  girod serve --config FILE [options]\n"
          "      Serves the HTTP API until SIGTERM, which answers what is in flight first.\n"
          "  girod readmit SHARD --config FILE --reason TEXT\n"
          "      Lets a shard that was fenced off, promoted or restored go on; see what it says.\n"
          "  girod reconcile --config FILE [--full] [--json] [--patience S]\n"
          "      Proves the books of all shards, also under load: exit code 0 balanced or\n"
          "      explained, 8 incomplete, 9 broken.\n"
          "  girod --print-stages | --version | --help (or -h, or help)\n"
          "\n"
          "  --config FILE         the cluster description (JSON)\n"
          "  --listen HOST:PORT    numeric address to serve on (127.0.0.1:8080); loopback only\n"
          "  --instance NAME       this coordinator's name, [a-z0-9-] (girod); 12 random digits "
          "follow\n"
          "  --log-level LEVEL     error, warn, info or debug (info)\n"
          "  --log-format FORMAT   text or json (text)\n"
          "  --sessions N          sessions per shard, 1-256 (16)\n"
          "  --batch N             transfers per batch, 1-1000 (512)\n"
          "  --reconcile-every S   prove the books every S seconds, 0 = only when asked (600)\n"
          "  --full                reconcile: from the first entry on, not only what is new\n"
          "  --json                reconcile: print the report as JSON\n"
          "  --patience S          reconcile: wait so long for a shard that is away, 0-3600 (30)\n"
          "  --enable-failpoints   allow tests to break things at /v1/failpoints\n"
          "  --allow-fsync-off     init: take a server that can lose what it has acknowledged\n"
          "  --reason TEXT         readmit: why; kept in the directory\n",
          out);
}

typedef struct Range
{
    const char *name;
    long min;
    long max;
} Range;

static bool parse_number(const char *text, const Range *range, int *ret_number, Error *error)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < range->min || number > range->max)
        return error_set(error, ERROR_CONFIG, "--%s takes a number from %ld to %ld, not \"%s\"",
                         range->name, range->min, range->max, text);
    *ret_number = (int)number;
    return true;
}

/* No name is looked up: it could lead to another address at each start. */
static bool is_numeric_address(const char *host)
{
    struct in6_addr address;
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

/* HOST:PORT, with brackets around an IPv6 address. */
static bool parse_listen(const char *text, Options *options, Error *error)
{
    const char *colon = strrchr(text, ':');
    int port = 0;
    if (colon == NULL)
        return error_set(error, ERROR_CONFIG, "--listen takes HOST:PORT, not \"%s\"", text);
    if (!parse_number(colon + 1, &(Range){"listen", 1, UINT16_MAX}, &port, error))
        return false;
    bool bracketed = text[0] == '[' && colon > text && colon[-1] == ']';
    const char *host = bracketed ? text + 1 : text;
    size_t length = (size_t)(colon - host) - (bracketed ? 1 : 0);
    if (length == 0 || length >= sizeof options->host)
        return error_set(error, ERROR_CONFIG, "--listen takes HOST:PORT, not \"%s\"", text);
    memcpy(options->host, host, length);
    options->host[length] = '\0';
    if (!is_numeric_address(options->host))
        return error_set(error, ERROR_CONFIG,
                         "--listen takes a numeric address, like 127.0.0.1:8080, not \"%s\"", text);
    options->port = (uint16_t)port;
    return true;
}

static bool parse_instance(const char *text, Options *options, Error *error)
{
    if (!route_name_is_valid(text) || strlen(text) > INSTANCE_NAME_MAX)
        return error_set(error, ERROR_CONFIG, "--instance takes 1 to %d of [a-z0-9-], not \"%s\"",
                         INSTANCE_NAME_MAX, text);
    snprintf(options->instance, sizeof options->instance, "%s", text);
    return true;
}

static bool take_option(int option, Options *options, Error *error)
{
    switch (option)
    {
    case OPTION_CONFIG:
        options->config = optarg;
        return true;
    case OPTION_LISTEN:
        return parse_listen(optarg, options, error);
    case OPTION_INSTANCE:
        return parse_instance(optarg, options, error);
    case OPTION_LOG_LEVEL:
        if (log_level_parse(optarg, &options->log_level))
            return true;
        return error_set(error, ERROR_CONFIG, "--log-level takes error, warn, info or debug");
    case OPTION_LOG_FORMAT:
        if (log_format_parse(optarg, &options->log_format))
            return true;
        return error_set(error, ERROR_CONFIG, "--log-format takes text or json");
    case OPTION_SESSIONS:
        return parse_number(optarg, &(Range){"sessions", 1, 256}, &options->sessions, error);
    case OPTION_BATCH:
        return parse_number(optarg, &(Range){"batch", 1, 1000}, &options->batch, error);
    case OPTION_RECONCILE_EVERY:
        return parse_number(optarg, &(Range){"reconcile-every", 0, RECONCILE_EVERY_S_MAX},
                            &options->reconcile_every_s, error);
    case OPTION_FULL:
        options->full = true;
        return true;
    case OPTION_JSON:
        options->json = true;
        return true;
    case OPTION_PATIENCE:
        return parse_number(optarg, &(Range){"patience", 0, 3600}, &options->patience_s, error);
    case OPTION_ENABLE_FAILPOINTS:
        options->enable_failpoints = true;
        return true;
    case OPTION_ALLOW_FSYNC_OFF:
        options->allow_fsync_off = true;
        return true;
    case OPTION_REASON:
        options->reason = optarg;
        return true;
    case OPTION_PRINT_STAGES:
        options->command = COMMAND_PRINT_STAGES;
        return true;
    case OPTION_VERSION:
        options->command = COMMAND_VERSION;
        return true;
    case OPTION_HELP:
    case 'h':
        options->command = COMMAND_HELP;
        return true;
    default:
        return error_set(error, ERROR_CONFIG, "unknown or incomplete option; see --help");
    }
}

static bool take_command(const char *word, Options *options, Error *error)
{
    if (strcmp(word, "serve") == 0)
        options->command = COMMAND_SERVE;
    else if (strcmp(word, "init") == 0)
        options->command = COMMAND_INIT;
    else if (strcmp(word, "readmit") == 0)
        options->command = COMMAND_READMIT;
    else if (strcmp(word, "reconcile") == 0)
        options->command = COMMAND_RECONCILE;
    else if (strcmp(word, "help") == 0)
        options->command = COMMAND_HELP;
    else
        return error_set(error, ERROR_CONFIG, "\"%s\" is no command; see --help", word);
    if (options->config == NULL && options->command != COMMAND_HELP)
        return error_set(error, ERROR_CONFIG, "%s needs --config FILE", word);
    return true;
}

/* The words behind the command: of readmit, the shard. */
static bool take_words(char **words, int count, Options *options, Error *error)
{
    bool readmit = options->command == COMMAND_READMIT;
    if (readmit && count == 0)
        return error_set(error, ERROR_CONFIG, "readmit needs the name of a shard");
    if (count > (readmit ? 1 : 0))
        return error_set(error, ERROR_CONFIG, "\"%s\" is one word too many",
                         words[readmit ? 1 : 0]);
    if (readmit && (options->reason == NULL || options->reason[0] == '\0'))
        return error_set(error, ERROR_CONFIG, "readmit needs --reason TEXT");
    options->shard = readmit ? words[0] : NULL;
    return true;
}

/* No two processes have the same instance, whatever they are named: what a process leaves behind is
 * that of one that is gone, also for the next one of its name. */
static void make_instance_unique(Options *options)
{
    uint8_t bytes[INSTANCE_RANDOM_BYTES];
    char *end = options->instance;
    if (*end == '\0')
        strcpy(end, "girod");
    end += strlen(end);
    *end++ = '-';
    random_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        end += sprintf(end, "%02x", bytes[i]);
}

bool options_parse(int argc, char **argv, Options *ret_options, Error *error)
{
    Options options = {
        .command = COMMAND_SERVE,
        .host = "127.0.0.1",
        .port = 8080,
        .log_level = LOG_INFO,
        .sessions = 16,
        .batch = 512,
        .reconcile_every_s = 600,
        .patience_s = 30,
    };
    int option;
    optind = 0; /* begins anew, whatever was parsed before */
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1)
    {
        if (!take_option(option, &options, error))
            return false;
    }
    bool needs_command = options.command == COMMAND_SERVE;
    if (needs_command && optind == argc)
        return error_set(error, ERROR_CONFIG, "serve, init, readmit or reconcile? See --help");
    if (needs_command && !take_command(argv[optind], &options, error))
        return false;
    if (needs_command && !take_words(argv + optind + 1, argc - optind - 1, &options, error))
        return false;
    make_instance_unique(&options);
    *ret_options = options;
    return true;
}
