/*
 * The command line: defaults, what is taken, and what a mistake in it is answered.
 */
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum
{
    WORDS_MAX = 8,
};

/* The words after "girod", ended by NULL. */
static bool parse(const char *const *words, Options *ret_options, Error *error)
{
    static char name[] = "girod";
    char copies[WORDS_MAX][64];
    char *argv[WORDS_MAX + 2] = {name};
    int argc = 1;
    for (int i = 0; words[i] != NULL; i++)
    {
        assert_true(i < WORDS_MAX);
        snprintf(copies[i], sizeof(copies[i]), "%s", words[i]);
        argv[argc++] = copies[i];
    }
    return options_parse(argc, argv, ret_options, error);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect_mistake(const char *const *words, const char *message)
{
    Options options;
    Error error = {0};
    assert_false(parse(words, &options, &error));
    assert_int_equal(error.code, ERROR_CONFIG);
    assert_string_equal(error.text, message);
}

static void serve_needs_no_more_than_a_description(void **state)
{
    (void)state;
    Options options;
    Error error = {0};
    assert_true(parse(WORDS("serve", "--config", "c.json"), &options, &error));
    assert_int_equal(options.command, COMMAND_SERVE);
    assert_string_equal(options.host, "127.0.0.1");
    assert_int_equal(options.port, 8080);
    assert_int_equal(strncmp(options.instance, "girod-", 6), 0);
    expect_mistake(WORDS("serve"), "serve needs --config FILE");
    expect_mistake(WORDS("init"), "init needs --config FILE");
    expect_mistake(WORDS("start"), "\"start\" is no command; see --help");
}

static void help_is_found_however_it_is_asked_for(void **state)
{
    (void)state;
    static const char *const ways[] = {"--help", "-h", "help"};
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++)
    {
        Options options;
        Error error = {0};
        assert_true(parse(WORDS(ways[i]), &options, &error));
        assert_int_equal(options.command, COMMAND_HELP);
    }
}

static void readmit_needs_a_shard_and_a_reason(void **state)
{
    (void)state;
    Options options;
    Error error = {0};
    assert_true(parse(WORDS("readmit", "shard-1", "--config", "c", "--reason", "a failover"),
                      &options, &error));
    assert_int_equal(options.command, COMMAND_READMIT);
    assert_string_equal(options.shard, "shard-1");
    assert_string_equal(options.reason, "a failover");
    expect_mistake(WORDS("readmit", "--config", "c", "--reason", "x"),
                   "readmit needs the name of a shard");
    expect_mistake(WORDS("readmit", "shard-1", "--config", "c"), "readmit needs --reason TEXT");
    expect_mistake(WORDS("readmit", "shard-1", "--config", "c", "--reason", ""),
                   "readmit needs --reason TEXT");
    expect_mistake(WORDS("readmit", "shard-1", "shard-2", "--config", "c", "--reason", "x"),
                   "\"shard-2\" is one word too many");
    expect_mistake(WORDS("init", "shard-1", "--config", "c"), "\"shard-1\" is one word too many");
    expect_mistake(WORDS("readmit", "shard-1", "--reason", "x"), "readmit needs --config FILE");
}

static void reconcile_takes_these_options(void **state)
{
    (void)state;
    Options options;
    Error error = {0};
    assert_true(parse(WORDS("reconcile", "--config", "c"), &options, &error));
    assert_int_equal(options.command, COMMAND_RECONCILE);
    assert_false(options.full || options.json);
    assert_int_equal(options.patience_s, 30);
    assert_true(parse(WORDS("reconcile", "--config", "c", "--full", "--json", "--patience", "0"),
                      &options, &error));
    assert_true(options.full && options.json);
    assert_int_equal(options.patience_s, 0);
    assert_true(parse(WORDS("serve", "--config", "c", "--reconcile-every", "0"), &options, &error));
    assert_int_equal(options.reconcile_every_s, 0);
    expect_mistake(WORDS("reconcile"), "reconcile needs --config FILE");
    expect_mistake(WORDS("serve", "--config", "c", "--reconcile-every", "-1"),
                   "--reconcile-every takes a number from 0 to 2592000, not \"-1\"");
}

static void the_log_is_text_or_json(void **state)
{
    (void)state;
    Options options;
    Error error = {0};
    assert_true(parse(WORDS("serve", "--config", "c"), &options, &error));
    assert_int_equal(options.log_format, LOG_TEXT);
    assert_true(parse(WORDS("serve", "--config", "c", "--log-format", "json"), &options, &error));
    assert_int_equal(options.log_format, LOG_JSON);
    expect_mistake(WORDS("serve", "--config", "c", "--log-format", "xml"),
                   "--log-format takes text or json");
}

static void listen_takes_numeric_addresses_only(void **state)
{
    (void)state;
    Options options;
    Error error = {0};
    assert_true(parse(WORDS("serve", "--config", "c", "--listen", "[::1]:90"), &options, &error));
    assert_string_equal(options.host, "::1");
    assert_int_equal(options.port, 90);
    expect_mistake(WORDS("serve", "--config", "c", "--listen", "localhost:8080"),
                   "--listen takes a numeric address, like 127.0.0.1:8080, not "
                   "\"localhost:8080\"");
    expect_mistake(WORDS("serve", "--config", "c", "--listen", "8080"),
                   "--listen takes HOST:PORT, not \"8080\"");
    expect_mistake(WORDS("serve", "--config", "c", "--listen", "127.0.0.1:0"),
                   "--listen takes a number from 1 to 65535, not \"0\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serve_needs_no_more_than_a_description),
        cmocka_unit_test(help_is_found_however_it_is_asked_for),
        cmocka_unit_test(readmit_needs_a_shard_and_a_reason),
        cmocka_unit_test(reconcile_takes_these_options),
        cmocka_unit_test(the_log_is_text_or_json),
        cmocka_unit_test(listen_takes_numeric_addresses_only),
    };
    route_library_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
