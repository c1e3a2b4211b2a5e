/*
 * giroctl with tokens: who is let in, who is not, and what the audit says of it. The cases build on
 * one another: once there is a token, nobody gets in without one.
 */
#include "fixture.h"
#include "processes.h"
#include "sql.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum
{
    TOKEN_MAX = 256,
    PATH_MAX_BYTES = 512,
    LIMIT_MS = 60000,
    PAUSE_MS = 100,
};

static const char reason[] = "the customer asked for it";

static const char *url;
static Cluster *cluster;
static Client *client;

/* "GIRO_TOKEN=…", and the id. */
typedef struct Token
{
    char variable[TOKEN_MAX];
    char id[32];
} Token;

static Token admin;
static Token operator;
static Token reader;
static Token shop;

static int start(void **state)
{
    (void)state;
    fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
    url = cluster_url(cluster, 1);
    return 0;
}

/* Runs it with a token, or without one (NULL), and expects this exit code. */
static ToolEnd as(const Token *token, int code, const char *const *words)
{
    const char *environment[] = {token != NULL ? token->variable : NULL, NULL};
    ToolEnd end;
    tool_run(&(ToolOptions){.server = url, .environment = environment}, words, &end);
    check(end.code == code, "%s %s …: ends with %d, not %d: %s%s", words[0], words[1], end.code,
          code, end.out, end.err);
    return end;
}

static void expect(const Token *token, int code, const char *const *words)
{
    ToolEnd end = as(token, code, words);
    tool_end_done(&end);
}

static const char *secret_of(const Token *token)
{
    return strchr(token->variable, '=') + 1;
}

static void create(const Token *by, const char *const *words, Token *ret_token)
{
    ToolEnd end = as(by, 0, words);
    Json *made = tool_json(&end);
    snprintf(ret_token->variable, sizeof ret_token->variable, "GIRO_TOKEN=%s",
             tool_text(made, "token"));
    snprintf(ret_token->id, sizeof ret_token->id, "%s", tool_text(made, "id"));
    assert_true(strlen(secret_of(ret_token)) > 40 && strlen(ret_token->id) > 0);
    tool_lacks(end.err, secret_of(ret_token));
    json_free(made);
    tool_end_done(&end);
}

static const char *const list[] = {"account", "list", NULL};

/* Another coordinator, or the same one, may know of it a moment later. */
static void await(const Token *token, int code)
{
    for (int waited_ms = 0; waited_ms < LIMIT_MS; waited_ms += PAUSE_MS)
    {
        const char *environment[] = {token != NULL ? token->variable : NULL, NULL};
        ToolEnd end;
        tool_run(&(ToolOptions){.server = url, .environment = environment}, list, &end);
        int last = end.code;
        tool_end_done(&end);
        if (last == code)
            return;
        processes_pause_ms(PAUSE_MS);
    }
    fail_msg("it does not end with %d", code);
}

static void the_first_token_closes_the_door(void **state)
{
    (void)state;
    expect(NULL, 0, list);
    expect(NULL, 2, (const char *[]){"token", "create", "root", "--yes", NULL});
    expect(NULL, 2, (const char *[]){"token", "create", "root", "--role", "admin", NULL});
    create(
        NULL,
        (const char *[]){"token", "create", "root", "--role", "admin", "--yes", "-o", "json", NULL},
        &admin);
    await(NULL, 4);
    await(&admin, 0);
    ToolEnd end = as(NULL, 4, list);
    tool_has(end.err, "unauthenticated");
    tool_end_done(&end);
    Token wrong = {"GIRO_TOKEN=giro_0000000000000000_00", ""};
    expect(&wrong, 4, list);
}

static void a_token_is_read_from_a_file(void **state)
{
    char path[PATH_MAX_BYTES];
    (void)state;
    snprintf(path, sizeof path, "%s/token", cluster_directory(cluster));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", secret_of(&admin));
    assert_int_equal(fclose(file), 0);
    expect(NULL, 0, (const char *[]){"account", "list", "--token-file", path, NULL});
}

static void each_role_may_do_its_own(void **state)
{
    (void)state;
    create(&admin,
           (const char *[]){"token", "create", "watcher", "--role", "reader", "--yes", "-o", "json",
                            NULL},
           &reader);
    create(&admin,
           (const char *[]){"token", "create", "oncall", "--role", "operator", "--yes", "-o",
                            "json", NULL},
           &operator);
    create(&admin,
           (const char *[]){"token", "create", "shop", "--role", "client", "--prefix",
                            "shop:", "--yes", "-o", "json", NULL},
           &shop);
    await(&shop, 4); /* it may list its own accounts only */
    await(&reader, 0);
    await(&operator, 0);
    expect(&shop, 0, (const char *[]){"account", "create", "shop:1", "EUR", NULL});
    expect(&shop, 4, (const char *[]){"account", "create", "other:1", "EUR", NULL});
    const char *const freeze[] = {"account", "freeze", "shop:1", "--reason", reason, "--yes", NULL};
    ToolEnd end = as(&reader, 4, freeze);
    tool_has(end.err, "forbidden");
    tool_end_done(&end);
    expect(&operator, 0, freeze);
    expect(&operator, 4, (const char *[]){"token", "list", NULL});
    expect(&reader, 4,
           (const char *[]){"transfer", "create", "shop:1", "other:1", "5", "EUR", NULL});
}

static void a_revoked_token_opens_nothing(void **state)
{
    (void)state;
    ToolEnd end = as(&admin, 0, (const char *[]){"token", "list", "-o", "csv", NULL});
    tool_has(end.out, operator.id);
    tool_lacks(end.out, secret_of(&operator));
    tool_end_done(&end);
    expect(&admin, 2, (const char *[]){"token", "revoke", operator.id, NULL});
    expect(&admin, 0, (const char *[]){"token", "revoke", operator.id, "--dry-run", NULL});
    expect(&operator, 0, list);
    expect(&admin, 0, (const char *[]){"token", "revoke", operator.id, "--yes", NULL});
    await(&operator, 4);
    expect(&admin, 3, (const char *[]){"token", "revoke", "0123456789abcdef", "--yes", NULL});
    end = as(&admin, 0, (const char *[]){"token", "list", NULL});
    tool_lacks(end.out, operator.id);
    tool_end_done(&end);
}

static void the_audit_tells_it_and_its_chain_holds(void **state)
{
    (void)state;
    ToolEnd end = as(&admin, 0, (const char *[]){"audit", "list", "--all", "-o", "csv", NULL});
    tool_has(end.out, "oncall");
    tool_has(end.out, "/v1/accounts/shop:1");
    tool_has(end.out, reason);
    tool_lacks(end.out, secret_of(&shop));
    tool_end_done(&end);
    end = as(&admin, 0, (const char *[]){"audit", "list", "--limit", "1", NULL});
    assert_int_equal(tool_line_count(end.out), 2);
    tool_end_done(&end);
    end = as(&admin, 0, (const char *[]){"audit", "verify", "-o", "json", NULL});
    Json *verdict = tool_json(&end);
    assert_string_equal(tool_text(verdict, "verdict"), "intact");
    json_free(verdict);
    tool_end_done(&end);
    expect(&shop, 4, (const char *[]){"audit", "verify", NULL});
}

/* Whoever owns the tables can do this, and cannot hide it. */
static void a_row_that_was_altered_is_found(void **state)
{
    (void)state;
    sql_run(cluster_dsn(cluster, 0),
            "alter table giro_directory.audit disable trigger user;"
            "update giro_directory.audit set name = 'nobody' where seq = 3;"
            "alter table giro_directory.audit enable trigger user");
    ToolEnd end = as(&admin, 9, (const char *[]){"audit", "verify", NULL});
    tool_has(end.err, "breaks at row 3");
    tool_end_done(&end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_books(the_first_token_closes_the_door),
        with_books(a_token_is_read_from_a_file),
        with_books(each_role_may_do_its_own),
        with_books(a_revoked_token_opens_nothing),
        with_books(the_audit_tells_it_and_its_chain_holds),
        with_books(a_row_that_was_altered_is_found),
    };
    return cmocka_run_group_tests_name("giroctl access", tests, start, fixture_stop);
}
