/*
 * The words of giroctl: its help, its man page and its completion are held against the one table of
 * commands, as `giroctl complete` tells it. No cluster is needed.
 */
#include "check.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    WORDS_MAX = 64,
    WORD_MAX = 64,
    PAGE_MAX = 65536,
    LINE_LENGTH_MAX = 512,
};

/* What may stand behind some words. */
typedef struct Words
{
    char text[WORDS_MAX][WORD_MAX];
    size_t count;
} Words;

static void ask(const char *group, const char *verb, Words *ret_words)
{
    ToolEnd end = tool_expect(NULL, 0, "complete", "--", group, verb, NULL);
    ret_words->count = 0;
    for (const char *at = end.out; *at != '\0'; at += strcspn(at, "\n") + 1)
    {
        size_t length = strcspn(at, "\n");
        assert_true(ret_words->count < WORDS_MAX && length < WORD_MAX);
        snprintf(ret_words->text[ret_words->count++], WORD_MAX, "%.*s", (int)length, at);
    }
    tool_end_done(&end);
}

/* `verb` is NULL where the group alone is the command. */
typedef void (*Visitor)(const char *group, const char *verb);

static size_t visit_commands(Visitor visit)
{
    Words groups;
    Words verbs;
    size_t count = 0;
    ask(NULL, NULL, &groups);
    for (size_t i = 0; i < groups.count; i++)
    {
        bool is_help = strcmp(groups.text[i], "help") == 0; /* completed as what it explains */
        ask(groups.text[i], NULL, &verbs);
        bool alone = is_help || verbs.text[0][0] == '-';
        for (size_t j = 0; j < (alone ? 1 : verbs.count); j++)
        {
            visit(groups.text[i], alone ? NULL : verbs.text[j]);
            count++;
        }
    }
    return count;
}

static void name_of(const char *group, const char *verb, char ret_name[2 * WORD_MAX])
{
    snprintf(ret_name, (size_t)2 * WORD_MAX, "%s%s%s", group, verb != NULL ? " " : "",
             verb != NULL ? verb : "");
}

static char *read_page(void)
{
    char *page = base_calloc(1, PAGE_MAX);
    FILE *file = fopen("docs/man/giroctl.1", "r");
    check(file != NULL, "no man page; run this from the top of the repository");
    size_t length = fread(page, 1, PAGE_MAX - 1, file);
    fclose(file);
    assert_true(length > 0 && length < PAGE_MAX - 1);
    return page;
}

/* ---- help and man page ----------------------------------------------------------------------- */

static void explain(const char *group, const char *verb)
{
    Words options;
    char name[2 * WORD_MAX];
    ToolEnd all = tool_expect(NULL, 0, "help", NULL);
    ToolEnd one = tool_expect(NULL, 0, "help", group, verb, NULL);
    ToolEnd same = tool_expect(NULL, 0, group, "--help", verb, NULL);
    name_of(group, verb, name);
    tool_has(all.out, name);
    tool_has(one.out, name);
    assert_string_equal(one.out, same.out);
    ask(group, verb, &options);
    for (size_t i = 0; strcmp(group, "help") != 0 && i < options.count; i++)
        tool_has(one.out, options.text[i]);
    tool_end_done(&all);
    tool_end_done(&one);
    tool_end_done(&same);
}

static void every_command_is_explained_with_its_options(void **state)
{
    (void)state;
    assert_true(visit_commands(explain) >= 25);
}

/* ".B transfer get \fIID\fR" or ".BR stuck …" */
static void is_in_page(const char *group, const char *verb)
{
    static const char *const starts[] = {"\n.TP\n.B ", "\n.TP\n.BR "};
    char name[2 * WORD_MAX];
    char line[3 * WORD_MAX];
    char *page = read_page();
    bool found = false;
    name_of(group, verb, name);
    for (size_t i = 0; i < ARRAY_LENGTH(starts); i++)
    {
        snprintf(line, sizeof line, "%s%s", starts[i], name);
        const char *at = strstr(page, line);
        found = found || (at != NULL && strchr(" \n", at[strlen(line)]) != NULL);
    }
    check(found, "the man page does not have: %s", name);
    free(page);
}

static void option_is_in_page(const char *group, const char *verb)
{
    Words options;
    char *page = read_page();
    const char *section = strstr(page, "\n.SH OPTIONS\n");
    assert_non_null(section);
    ask(group, verb, &options);
    for (size_t i = 0; strcmp(group, "help") != 0 && i < options.count; i++)
        check(strstr(section, options.text[i]) != NULL, "the man page does not explain %s",
              options.text[i]);
    free(page);
}

static void the_man_page_has_every_command_and_option(void **state)
{
    (void)state;
    visit_commands(is_in_page);
    visit_commands(option_is_in_page);
}

/* Nothing that has been taken away. */
static void the_man_page_has_no_others(void **state)
{
    char *page = read_page();
    char *rest = page;
    char *line;
    size_t known = 0;
    bool inside = false;
    (void)state;
    while ((line = strsep(&rest, "\n")) != NULL)
    {
        char group[WORD_MAX];
        char verb[WORD_MAX] = "";
        if (strncmp(line, ".SH ", 4) == 0)
            inside = strcmp(line, ".SH COMMANDS") == 0;
        if (!inside || strcmp(line, ".TP") != 0)
            continue;
        line = strsep(&rest, "\n");
        assert_true(sscanf(line, ".B%*[R ] %63[a-z] %63[a-z]", group, verb) >= 1);
        ToolEnd end = tool_expect(NULL, 0, "help", group, verb[0] != '\0' ? verb : NULL, NULL);
        tool_end_done(&end);
        known++;
    }
    assert_true(known >= 25);
    free(page);
}

/* ---- completion ------------------------------------------------------------------------------ */

/* What bash offers when Tab is pressed behind these words; "" as the last one: behind a blank. */
static void offers(const char *words, int position, const char *wanted)
{
    char command[LINE_LENGTH_MAX];
    char line[LINE_LENGTH_MAX] = "";
    const char *girod = getenv("GIRO_BIN");
    if (girod == NULL)
        girod = "build/release/girod";
    snprintf(command, sizeof command,
             "bash -c 'source operator/giroctl.bash; COMP_WORDS=(\"%.*sgiroctl\" %s); "
             "COMP_CWORD=%d; _giroctl; echo \"${COMPREPLY[*]}\"' 2>&1",
             (int)(strrchr(girod, '/') - girod + 1), girod, words, position);
    FILE *bash = popen(command, "r");
    assert_non_null(bash);
    assert_non_null(fgets(line, sizeof line, bash));
    assert_int_equal(pclose(bash), 0);
    line[strcspn(line, "\n")] = '\0';
    check(strcmp(line, wanted) == 0, "%s: %s", words, line);
}

static void bash_offers_commands_options_and_their_values(void **state)
{
    (void)state;
    offers("tr", 1, "transfer");
    offers("transfer ca", 2, "cancel");
    offers("transfer re", 2, "retry resolve");
    offers("help transfer w", 3, "watch");
    offers("transfer cancel --re", 3, "--reason");
    offers("transfer list --state p", 4, "posted pending");
    offers("-o csv transfer list --state re", 6, "refused reversed");
    offers("transfer resolve --outcome \"\"", 4, "posted reversed");
    offers("account get alice --ou", 4, "--output");
    offers("-o \"\"", 2, "table json jsonl csv");
    offers("no-such-command x", 2, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_explained_with_its_options),
        cmocka_unit_test(the_man_page_has_every_command_and_option),
        cmocka_unit_test(the_man_page_has_no_others),
        cmocka_unit_test(bash_offers_commands_options_and_their_values),
    };
    return cmocka_run_group_tests_name("giroctl words", tests, NULL, NULL);
}
