/*
 * The lines of the log: their two forms, that nothing can forge one, and how many are written.
 */
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "json/json.h"

/* What was written to stderr since begin. */
typedef struct Capture
{
    FILE *file;
    int stderr_fd;
    char text[64 * 1024];
} Capture;

static Capture capture;

static int begin(void **state)
{
    (void)state;
    log_set_level(LOG_INFO);
    log_set_format(LOG_TEXT);
    capture.file = tmpfile();
    assert_non_null(capture.file);
    capture.stderr_fd = dup(STDERR_FILENO);
    assert_true(dup2(fileno(capture.file), STDERR_FILENO) >= 0);
    return 0;
}

static const char *lines(void)
{
    if (capture.file == NULL)
        return capture.text;
    fflush(stderr);
    dup2(capture.stderr_fd, STDERR_FILENO);
    close(capture.stderr_fd);
    rewind(capture.file);
    size_t length = fread(capture.text, 1, sizeof capture.text - 1, capture.file);
    capture.text[length] = '\0';
    fclose(capture.file);
    capture.file = NULL;
    return capture.text;
}

static int end(void **state)
{
    (void)state;
    (void)lines();
    log_set_level(LOG_INFO);
    log_set_format(LOG_TEXT);
    return 0;
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static size_t line_count(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* The only line, as JSON. */
static Json *line_json(void)
{
    Error error = {0};
    const char *text = lines();
    assert_int_equal(line_count(text), 1);
    Json *line = json_parse(text, strlen(text), &error);
    if (line == NULL)
        fail_msg("%s: %s", error.text, text);
    return line;
}

static void expect_field(const Json *line, const char *name, const char *wanted)
{
    const Json *field = json_field(line, name);
    if (wanted == NULL)
    {
        assert_null(field);
        return;
    }
    assert_non_null(field);
    assert_string_equal(json_as_string(field), wanted);
}

static void a_line_of_text_has_time_level_and_message(void **state)
{
    (void)state;
    log_warn("shard=%s cannot be used: %s", "s1", "no");
    log_debug("not at this level");
    const char *text = lines();
    assert_int_equal(line_count(text), 1);
    assert_string_equal(strchr(text, ' '), " warn shard=s1 cannot be used: no\n");
    assert_int_equal(strspn(text, "0123456789-:.TZ"), strlen("2026-01-31T12:00:00.000000Z"));
}

static void no_text_forges_a_line(void **state)
{
    (void)state;
    log_warn("shard=s1 cannot be used: %s", "first\nsecond\r\t\x7f\x1b[31m");
    assert_non_null(strstr(lines(), "first second    [31m\n"));
}

static void json_has_the_pairs_before_the_first_colon_as_fields(void **state)
{
    (void)state;
    log_set_format(LOG_JSON);
    log_error("directory version=10 gid=giro:demo:c:b:s1:s2 is lost: host=secret");
    Json *line = line_json();
    expect_field(line, "level", "error");
    expect_field(line, "message",
                 "directory version=10 gid=giro:demo:c:b:s1:s2 is lost: host=secret");
    expect_field(line, "version", "10");
    expect_field(line, "gid", "giro:demo:c:b:s1:s2");
    expect_field(line, "host", NULL);
    assert_int_equal(strlen(json_as_string(json_field(line, "time"))), 27);
    json_free(line);
}

static void json_escapes_whatever_comes(void **state)
{
    (void)state;
    log_set_format(LOG_JSON);
    log_info("a=\"\\\xff\xc3\xa9 level=x time=y \xed\xa0\x80 \xe2\x82\xac \x01");
    Json *line = line_json();
    expect_field(line, "a", "\"\\\xef\xbf\xbd\xc3\xa9");
    expect_field(line, "level", "info");
    assert_non_null(strstr(json_as_string(json_field(line, "message")), "\xe2\x82\xac"));
    json_free(line);
}

static void a_long_line_is_cut_off_and_stays_json(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 0xE9, sizeof text - 1);
    memcpy(text, "a=", 2);
    text[sizeof text - 1] = '\0';
    log_set_format(LOG_JSON);
    log_info("%s", text);
    json_free(line_json());
}

static void members_of_a_document_become_fields(void **state)
{
    (void)state;
    log_document(LOG_DEBUG, "answer", "{\"status\":404}");
    log_set_format(LOG_JSON);
    log_document(LOG_WARN, "answer", "{\"status\":503,\"code\":\"shard-unavailable\"}");
    Json *line = line_json();
    expect_field(line, "message", "answer");
    expect_field(line, "level", "warn");
    expect_field(line, "code", "shard-unavailable");
    assert_non_null(json_field(line, "status"));
    json_free(line);
}

static void as_text_a_document_follows_the_message(void **state)
{
    (void)state;
    log_document(LOG_WARN, "answer", "{\"status\":503}");
    assert_non_null(strstr(lines(), " warn answer {\"status\":503}\n"));
}

/* A second may end in the middle: then there are two budgets, and what was left out is told. */
static void lines_that_clients_cause_are_bounded_and_what_is_left_out_is_told(void **state)
{
    (void)state;
    uint64_t before = log_omitted();
    size_t admitted = 0;
    for (int i = 0; i < 1000; i++)
    {
        if (log_admits(LOG_WARN))
        {
            admitted++;
            log_warn("one of many");
        }
    }
    assert_true(admitted >= LOG_ADMITTED_PER_S && admitted <= 2 * LOG_ADMITTED_PER_S);
    assert_int_equal(log_omitted() - before, 1000 - admitted);
    uint64_t second = base_now_us() / 1000000;
    while (base_now_us() / 1000000 == second)
        usleep(10000);
    log_info("the next line");
    const char *text = lines();
    assert_non_null(strstr(text, " warn omitted="));
    assert_true(strstr(text, "omitted=") < strstr(text, "the next line"));
    assert_true(line_count(text) <= admitted + 3);
}

static void a_level_that_is_not_written_costs_nothing(void **state)
{
    (void)state;
    uint64_t before = log_omitted();
    for (int i = 0; i < 1000; i++)
        assert_false(log_admits(LOG_DEBUG));
    assert_int_equal(log_omitted(), before);
    assert_string_equal(lines(), "");
}

static void names_are_read(void **state)
{
    (void)state;
    LogLevel level = LOG_INFO;
    LogFormat format = LOG_TEXT;
    assert_true(log_level_parse("debug", &level));
    assert_int_equal(level, LOG_DEBUG);
    assert_false(log_level_parse("all", &level));
    assert_true(log_format_parse("json", &format));
    assert_int_equal(format, LOG_JSON);
    assert_false(log_format_parse("JSON", &format));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(a_line_of_text_has_time_level_and_message),
        LOG_TEST(no_text_forges_a_line),
        LOG_TEST(json_has_the_pairs_before_the_first_colon_as_fields),
        LOG_TEST(json_escapes_whatever_comes),
        LOG_TEST(a_long_line_is_cut_off_and_stays_json),
        LOG_TEST(members_of_a_document_become_fields),
        LOG_TEST(as_text_a_document_follows_the_message),
        LOG_TEST(lines_that_clients_cause_are_bounded_and_what_is_left_out_is_told),
        LOG_TEST(a_level_that_is_not_written_costs_nothing),
        LOG_TEST(names_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
