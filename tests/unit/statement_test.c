/*
 * The statement table against the SQL files: every call has its function, with the same parameter
 * types in the same order.
 */
#include "shard/statement.h"

#include "cluster/embedded.h"
#include "pg/pg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum
{
    TYPES_MAX = 1024,
};

static const char *embedded(const char *path)
{
    for (const EmbeddedFile *file = embedded_files(); file->path != NULL; file++)
    {
        if (strcmp(file->path, path) == 0)
            return file->text;
    }
    return NULL;
}

static void append(char *list, const char *word, size_t length)
{
    size_t used = strlen(list);
    assert_true(used + length + 2 < TYPES_MAX);
    snprintf(list + used, TYPES_MAX - used, "%.*s,", (int)length, word);
}

/* "$1::int[], $2::text" -> "int[],text,"; checks that the numbers ascend. */
static void types_of_call(const char *sql, char *ret_types)
{
    int number = 0;
    ret_types[0] = '\0';
    for (const char *at = sql; (at = strchr(at, '$')) != NULL;)
    {
        int found = 0;
        int length = 0;
        assert_int_equal(sscanf(at, "$%d::%n", &found, &length), 1);
        assert_int_equal(found, ++number);
        assert_true(length > 0);
        at += length;
        append(ret_types, at, strspn(at, "abcdefghijklmnopqrstuvwxyz[]"));
    }
}

/* "(p_ids uuid[], p_wait boolean default false)" -> "uuid[],boolean," */
static void types_of_function(const char *text, const char *function, char *ret_types)
{
    char header[128];
    snprintf(header, sizeof header, "function %s(", function);
    const char *at = strstr(text, header);
    ret_types[0] = '\0';
    assert_non_null(at);
    at += strlen(header);
    const char *end = strchr(at, ')');
    assert_non_null(end);
    while (at < end)
    {
        char name[64];
        char type[64];
        int length = 0;
        assert_int_equal(sscanf(at, " p_%63[a-z_] %63[][a-z]%n", name, type, &length), 2);
        append(ret_types, type, strlen(type));
        at += length;
        at += strcspn(at, ",)"); /* a default */
        at += strspn(at, " ,\n");
    }
}

static void assert_call_fits(Statement statement, const char *path, const char *schema)
{
    const StatementRow *row = statement_row(statement);
    char called[TYPES_MAX];
    char declared[TYPES_MAX];
    char function[96];
    const char *text = embedded(path);
    if (text == NULL)
        fail_msg("there is no %s", path);
    snprintf(function, sizeof function, "%s.%s", schema, row->name);
    assert_non_null(strstr(row->sql, function));
    types_of_call(row->sql, called);
    types_of_function(text, function, declared);
    assert_string_equal(called, declared);
}

static void every_row_is_filled(void **state)
{
    (void)state;
    for (int i = 0; i < STATEMENT_COUNT; i++)
    {
        const StatementRow *row = statement_row((Statement)i);
        assert_non_null(row->name);
        assert_non_null(row->sql);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(row->name, statement_row((Statement)j)->name);
    }
}

/* Settings, the end of an abandoned backend, all prepared statements, a commit. */
static void the_set_up_of_a_session_fits_one_group(void **state)
{
    int messages = 3;
    (void)state;
    for (int i = 0; i < STATEMENT_COUNT; i++)
        messages += statement_is_prepared((Statement)i);
    assert_true(messages <= PG_GROUP_MAX);
}

static void every_call_fits_its_participant_function(void **state)
{
    (void)state;
    for (int i = 0; i < STATEMENT_COUNT; i++)
    {
        const StatementRow *row = statement_row((Statement)i);
        char path[96];
        if (!statement_is_limited((Statement)i) && row->kind != STATEMENT_IS_LONG_READ &&
            i != STATEMENT_SESSION && i != STATEMENT_FENCE_OFF)
            continue;
        snprintf(path, sizeof path, "participants/%s.sql", row->name);
        assert_call_fits((Statement)i, path, "giro");
    }
}

/* The last file that makes it counts. */
static void every_call_fits_its_directory_function(void **state)
{
    static const char first[] = "schema/directory/002_functions.sql";
    static const char later[] = "schema/directory/003_history.sql";
    (void)state;
    for (int i = STATEMENT_READ_CLUSTER; i <= STATEMENT_NOTE_MARKS; i++)
    {
        char function[96];
        snprintf(function, sizeof function, "create function giro_directory.%s(",
                 statement_row((Statement)i)->name);
        bool is_later = strstr(embedded(later), function) != NULL;
        assert_call_fits((Statement)i, is_later ? later : first, "giro_directory");
    }
}

static void the_longest_gid_statement_is_bounded(void **state)
{
    (void)state;
    for (int i = 0; i < STATEMENT_COUNT; i++)
    {
        const StatementRow *row = statement_row((Statement)i);
        if (row->kind == STATEMENT_IS_GID)
            assert_true(strlen(row->sql) < 32);
    }
}

static void only_calls_and_the_limit_are_prepared(void **state)
{
    (void)state;
    assert_true(statement_is_prepared(STATEMENT_LOCK));
    assert_true(statement_is_prepared(STATEMENT_LIMIT));
    assert_false(statement_is_prepared(STATEMENT_BEGIN));
    assert_false(statement_is_prepared(STATEMENT_COMMIT_PREPARED));
    assert_false(statement_is_prepared(STATEMENT_READ_SHARDS));
    assert_false(statement_is_prepared(STATEMENT_RECONCILE_NOTE));
    assert_false(statement_is_prepared(STATEMENT_RECONCILE_ACCOUNTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_filled),
        cmocka_unit_test(the_set_up_of_a_session_fits_one_group),
        cmocka_unit_test(every_call_fits_its_participant_function),
        cmocka_unit_test(every_call_fits_its_directory_function),
        cmocka_unit_test(the_longest_gid_statement_is_bounded),
        cmocka_unit_test(only_calls_and_the_limit_are_prepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
