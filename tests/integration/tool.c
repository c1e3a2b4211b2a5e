/* See tool.h. */
#include "tool.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
    PATIENCE_MS = 120000,
    POLL_MS = 100,
    CHUNK = 4096,
    ENVIRONMENT_MAX = 16,
    COLUMNS = 200,
    WORDS_MAX = 60,
};

/* What has come from one of its streams. */
typedef struct Stream
{
    int fd; /* -1: ended */
    char *text;
    size_t length;
} Stream;

struct Tool
{
    pid_t pid;
    int keyboard; /* of a terminal; -1: none */
    Stream out;
    Stream err;
};

static void find_binary(char *ret_path, size_t size)
{
    const char *girod = getenv("GIRO_BIN");
    if (girod == NULL || strrchr(girod, '/') == NULL)
        girod = "build/release/girod";
    snprintf(ret_path, size, "%.*s/giroctl", (int)(strrchr(girod, '/') - girod), girod);
}

/* In the child. */
static void become(const ToolOptions *options, const char *const *words)
{
    char path[1024];
    find_binary(path, sizeof path);
    unsetenv("GIRO_TOKEN");
    unsetenv("GIRO_SERVER");
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    if (options->server != NULL)
        setenv("GIRO_SERVER", options->server, 1);
    for (size_t i = 0; options->environment != NULL && options->environment[i] != NULL; i++)
        putenv((char *)options->environment[i]);
    const char *arguments[WORDS_MAX + 2] = {"giroctl"};
    for (size_t i = 0; words[i] != NULL && i + 2 < ARRAY_LENGTH(arguments); i++)
        arguments[i + 1] = words[i];
    execv(path, (char *const *)arguments);
    _exit(127);
}

static void start_on_terminal(Tool *tool, const ToolOptions *options, const char *const *words)
{
    struct winsize size = {.ws_row = 50};
    int master;
    size.ws_col = (unsigned short)(options->columns > 0 ? options->columns : COLUMNS);
    tool->pid = forkpty(&master, NULL, NULL, &size);
    assert_true(tool->pid >= 0);
    if (tool->pid == 0)
        become(options, words);
    tool->keyboard = master;
    tool->out.fd = master;
    tool->err.fd = -1;
}

static void start_on_pipes(Tool *tool, const ToolOptions *options, const char *const *words)
{
    int out[2];
    int err[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    tool->pid = fork();
    assert_true(tool->pid >= 0);
    if (tool->pid == 0)
    {
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        become(options, words);
    }
    close(out[1]);
    close(err[1]);
    tool->keyboard = -1;
    tool->out.fd = out[0];
    tool->err.fd = err[0];
}

Tool *tool_start(const ToolOptions *options, const char *const *words)
{
    Tool *tool = base_calloc(1, sizeof *tool);
    tool->out.text = base_strdup("");
    tool->err.text = base_strdup("");
    fflush(NULL);
    if (options->terminal)
        start_on_terminal(tool, options, words);
    else
        start_on_pipes(tool, options, words);
    return tool;
}

/* ---- what it says --------------------------------------------------------------------------- */

static void read_stream(Stream *stream, short events)
{
    char bytes[CHUNK];
    if (stream->fd < 0 || events == 0)
        return;
    ssize_t length = read(stream->fd, bytes, sizeof bytes);
    if (length < 0 && errno == EINTR)
        return;
    if (length <= 0) /* a pty that nobody has open any more answers EIO */
    {
        close(stream->fd);
        stream->fd = -1;
        return;
    }
    stream->text = base_realloc(stream->text, stream->length + (size_t)length + 1);
    memcpy(stream->text + stream->length, bytes, (size_t)length);
    stream->length += (size_t)length;
    stream->text[stream->length] = '\0';
}

/* False when both have ended. */
static bool listen_once(Tool *tool)
{
    struct pollfd sources[] = {
        {.fd = tool->out.fd, .events = POLLIN},
        {.fd = tool->err.fd, .events = POLLIN},
    };
    if (tool->out.fd < 0 && tool->err.fd < 0)
        return false;
    if (poll(sources, ARRAY_LENGTH(sources), POLL_MS) > 0)
    {
        read_stream(&tool->out, sources[0].revents);
        read_stream(&tool->err, sources[1].revents);
    }
    return true;
}

static bool has_said(const Tool *tool, const char *text)
{
    return strstr(tool->out.text, text) != NULL || strstr(tool->err.text, text) != NULL;
}

void tool_await(Tool *tool, const char *text)
{
    uint64_t limit_us = base_now_us() + (uint64_t)PATIENCE_MS * 1000;
    while (!has_said(tool, text) && base_now_us() < limit_us && listen_once(tool))
        continue;
    check(has_said(tool, text), "giroctl does not say \"%s\": %s%s", text, tool->out.text,
          tool->err.text);
}

void tool_type(Tool *tool, const char *text)
{
    assert_true(tool->keyboard >= 0);
    assert_int_equal(write(tool->keyboard, text, strlen(text)), (int)strlen(text));
}

void tool_signal(const Tool *tool, int signal_number)
{
    assert_int_equal(kill(tool->pid, signal_number), 0);
}

/* ---- its end -------------------------------------------------------------------------------- */

void tool_end(Tool *tool, ToolEnd *ret_end)
{
    uint64_t limit_us = base_now_us() + (uint64_t)PATIENCE_MS * 1000;
    int status;
    while (listen_once(tool))
    {
        if (base_now_us() > limit_us)
            kill(tool->pid, SIGKILL);
    }
    assert_int_equal(waitpid(tool->pid, &status, 0), tool->pid);
    ret_end->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ret_end->out = tool->out.text;
    ret_end->err = tool->err.text;
    free(tool);
}

void tool_end_done(ToolEnd *end)
{
    free(end->out);
    free(end->err);
}

void tool_run(const ToolOptions *options, const char *const *words, ToolEnd *ret_end)
{
    tool_end(tool_start(options, words), ret_end);
}

/* ---- shorter -------------------------------------------------------------------------------- */

static void collect(const char **ret_words, const char *first, va_list rest)
{
    size_t count = 0;
    for (const char *word = first; word != NULL; word = va_arg(rest, const char *))
    {
        assert_true(count + 1 < WORDS_MAX);
        ret_words[count++] = word;
    }
    ret_words[count] = NULL;
}

ToolEnd tool_expect(const char *server, int code, const char *first, ...)
{
    const char *words[WORDS_MAX];
    ToolEnd end;
    va_list rest;
    va_start(rest, first);
    collect(words, first, rest);
    va_end(rest);
    tool_run(&(ToolOptions){.server = server}, words, &end);
    check(end.code == code, "%s %s …: ends with %d, not %d: %s%s", words[0],
          words[0] != NULL && words[1] != NULL ? words[1] : "", end.code, code, end.out, end.err);
    return end;
}

Tool *tool_at_terminal(const char *server, const char *first, ...)
{
    const char *words[WORDS_MAX];
    va_list rest;
    va_start(rest, first);
    collect(words, first, rest);
    va_end(rest);
    return tool_start(&(ToolOptions){.server = server, .terminal = true}, words);
}

void tool_finish(Tool *tool, int code, const char *words)
{
    ToolEnd end;
    tool_end(tool, &end);
    check(end.code == code && strstr(end.out, words) != NULL, "ends with %d, without \"%s\": %s",
          end.code, words, end.out);
    tool_end_done(&end);
}

/* ---- looking at what it has said ------------------------------------------------------------ */

void tool_has(const char *text, const char *words)
{
    check(strstr(text, words) != NULL, "\"%s\" is not in: %s", words, text);
}

void tool_lacks(const char *text, const char *words)
{
    check(strstr(text, words) == NULL, "\"%s\" is in: %s", words, text);
}

size_t tool_line_count(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

Json *tool_json(const ToolEnd *end)
{
    Error error;
    Json *document = json_parse(end->out, strlen(end->out), &error);
    check(document != NULL, "no JSON (%s): %s%s", error.text, end->out, end->err);
    return document;
}

const char *tool_text(const Json *object, const char *name)
{
    const Json *value = json_field(object, name);
    return value != NULL && json_kind(value) == JSON_KIND_STRING ? json_as_string(value) : "";
}

/* ---- csv ------------------------------------------------------------------------------------ */

/* Reads the cell at `at` into ret_cell, which is as long as the rest of the text; returns where it
 * ends: at a comma, a line's end or the end. */
static const char *read_cell(const char *at, char *ret_cell)
{
    bool quoted = *at == '"';
    if (quoted)
        at++;
    while (*at != '\0')
    {
        if (quoted && at[0] == '"' && at[1] != '"')
        {
            at++;
            break;
        }
        if (!quoted && (*at == ',' || *at == '\n'))
            break;
        if (quoted && at[0] == '"')
            at++;
        *ret_cell++ = *at++;
    }
    *ret_cell = '\0';
    return at;
}

char *tool_csv_cell(const char *csv, int line, int column)
{
    char *cell = base_malloc(strlen(csv) + 1);
    int at_line = 0;
    int at_column = 0;
    for (const char *at = csv; *at != '\0'; at++)
    {
        at = read_cell(at, cell);
        if (at_line == line && at_column == column)
            return cell;
        at_column++;
        if (*at == '\0')
            break;
        if (*at == '\n')
        {
            at_line++;
            at_column = 0;
        }
    }
    free(cell);
    return NULL;
}

char *tool_csv_value(const char *csv, int line, const char *heading)
{
    for (int column = 0;; column++)
    {
        char *name = tool_csv_cell(csv, 0, column);
        check(name != NULL, "no column %s: %s", heading, csv);
        bool found = strcmp(name, heading) == 0;
        free(name);
        if (found)
            return tool_csv_cell(csv, line, column);
    }
}
