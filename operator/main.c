/*
 * giroctl: wires the parts, runs one command, ends with its exit code.
 */
#include "arguments.h"
#include "context.h"
#include "help.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char default_url[] = "http://127.0.0.1:8080";

/* Not NULL, and "" counts as not set. */
static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : otherwise;
}

/* The first line of the file. */
static bool read_token(const char *path, char ret_token[SERVICE_TOKEN_MAX + 2])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, ret_token, SERVICE_TOKEN_MAX + 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length < 0)
    {
        say("cannot read the token from %s: %s", path, strerror(errno));
        return false;
    }
    ret_token[length] = '\0';
    ret_token[strcspn(ret_token, "\r\n")] = '\0';
    return true;
}

static bool is_local(const char *url)
{
    static const char *const hosts[] = {"http://127.", "http://localhost", "http://[::1]",
                                        "https://"};
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++)
    {
        if (strncmp(url, hosts[i], strlen(hosts[i])) == 0)
            return true;
    }
    return false;
}

static Service *open_service(const Arguments *arguments, const Interrupt *interrupt)
{
    char from_file[SERVICE_TOKEN_MAX + 2];
    const char *file = arguments_value(arguments, OPTION_TOKEN_FILE);
    const char *url = arguments_value(arguments, OPTION_SERVER);
    if (file != NULL && !read_token(file, from_file))
        return NULL;
    ServiceOptions options = {
        .url = url != NULL ? url : environment("GIRO_SERVER", default_url),
        .token = file != NULL ? from_file : environment("GIRO_TOKEN", NULL),
        .ca_file = arguments_value(arguments, OPTION_CA_FILE),
        .tells_pauses = isatty(STDERR_FILENO) == 1,
        .interrupt = interrupt,
    };
    if (options.token != NULL && !is_local(options.url))
        say("warning: the token travels to %s unencrypted", options.url);
    Error error;
    Service *service = service_new(&options, &error);
    if (service == NULL)
        say("%s", error.text);
    return service;
}

static bool read_settings(const Arguments *arguments, OutputForm *ret_form, int64_t *ret_timeout_ms)
{
    const char *form = arguments_value(arguments, OPTION_OUTPUT);
    const char *timeout = arguments_value(arguments, OPTION_TIMEOUT);
    *ret_form = OUTPUT_TABLE;
    *ret_timeout_ms = 0;
    if (form != NULL && !output_form_by_name(form, ret_form))
        return false;
    if (timeout == NULL || (arguments_duration(timeout, ret_timeout_ms) && *ret_timeout_ms > 0))
        return true;
    say("--timeout takes a time like 500ms, 30s or 5m, not \"%.40s\"", timeout);
    return false;
}

static ExitCode run(const Arguments *arguments)
{
    Context context = {.arguments = arguments};
    OutputForm form;
    if (!read_settings(arguments, &form, &context.timeout_ms))
        return EXIT_CODE_USAGE;
    Interrupt *interrupt = interrupt_new();
    context.interrupt = interrupt;
    bool ready = true;
    if (command_needs_server(arguments->command))
    {
        context.service = open_service(arguments, interrupt);
        ready = context.service != NULL;
    }
    context.output = output_new(form);
    ExitCode code = ready ? arguments->command->run(&context) : EXIT_CODE_USAGE;
    if (!output_free(context.output) && code == EXIT_CODE_DONE)
        code = EXIT_CODE_FAILED;
    service_free(context.service);
    interrupt_free(interrupt);
    return code;
}

static ExitCode answer_question(const Arguments *arguments)
{
    if (arguments_has(arguments, OPTION_VERSION))
        puts("giroctl " GIRO_VERSION);
    else if (arguments->command != NULL)
        help_print_command(stdout, arguments->command);
    else
        help_print_all(stdout);
    return fflush(stdout) == 0 ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

int main(int argc, char **argv)
{
    Arguments arguments;
    Error error;
    setlocale(LC_CTYPE, "");
    if (!arguments_parse(argc, argv, &arguments, &error))
    {
        say("%s", error.text);
        return EXIT_CODE_USAGE;
    }
    if (arguments_has(&arguments, OPTION_HELP) || arguments_has(&arguments, OPTION_VERSION))
        return answer_question(&arguments);
    return run(&arguments);
}
