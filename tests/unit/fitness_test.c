/*
 * Which databases `girod init` refuses, case by case, also those for which no server is at hand (an
 * old PostgreSQL, a standby).
 */
#include "cluster/fitness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const Facts fit = {
    .version = 150020,
    .fsync = true,
    .full_page_writes = true,
    .max_prepared_transactions = FITNESS_PREPARED_MIN,
    .system_identifier = "7000000000000000001",
    .database = "giro",
    .owner = "owner",
    .may_create_schemas = true,
    .may_create_roles = true,
    .schema_is_ours = true,
};

static const Purpose shard = {
    .cluster = "demo", .name = "shard-1", .ordinal = 1, .role = "coordinator"};
static const Purpose directory = {.cluster = "demo", .name = "directory", .role = "coordinator"};

static void expect_fit(const Facts *facts, const Purpose *purpose)
{
    Error error = {0};
    if (!fitness_check(facts, purpose, &error))
    {
        fail_msg("%s", error.text);
    }
}

static void expect_unfit(const Facts *facts, const Purpose *purpose, const char *why)
{
    Error error = {0};
    assert_false(fitness_check(facts, purpose, &error));
    assert_int_equal(error.code, ERROR_SETUP);
    if (strstr(error.text, why) == NULL)
    {
        fail_msg("'%s' is not in: %s", why, error.text);
    }
}

static void a_fresh_database_is_fit(void **state)
{
    (void)state;
    expect_fit(&fit, &shard);
    expect_fit(&fit, &directory);
}

static void an_old_server_is_refused(void **state)
{
    (void)state;
    Facts facts = fit;
    facts.version = 140011;
    expect_unfit(&facts, &shard, "shard-1: this is PostgreSQL 14; Giro needs 15 or later");
}

static void a_standby_is_refused(void **state)
{
    (void)state;
    Facts facts = fit;
    facts.in_recovery = true;
    expect_unfit(&facts, &shard, "this server is a standby");
}

static void settings_that_lose_writes_are_refused_unless_allowed(void **state)
{
    (void)state;
    Purpose careless = shard;
    careless.may_lose_writes = true;
    Facts facts = fit;
    facts.fsync = false;
    expect_unfit(&facts, &shard, "fsync is off");
    expect_unfit(&facts, &directory, "fsync is off");
    expect_fit(&facts, &careless);
    facts = fit;
    facts.full_page_writes = false;
    expect_unfit(&facts, &shard, "full_page_writes is off");
    expect_fit(&facts, &careless);
}

static void a_shard_must_be_able_to_prepare_and_the_directory_need_not(void **state)
{
    (void)state;
    Facts facts = fit;
    facts.max_prepared_transactions = FITNESS_PREPARED_MIN - 1;
    expect_unfit(&facts, &shard, "max_prepared_transactions is 7");
    expect_fit(&facts, &directory);
}

static void missing_rights_are_named(void **state)
{
    (void)state;
    Facts facts = fit;
    facts.may_create_schemas = false;
    expect_unfit(&facts, &shard, "role owner may not create schemas in database giro");
    facts.is_set_up = true;
    expect_fit(&facts, &shard);

    facts = fit;
    facts.may_create_roles = false;
    expect_unfit(&facts, &shard, "role coordinator does not exist and owner may not create it");
    facts.role_exists = true;
    expect_fit(&facts, &shard);

    facts = fit;
    facts.schema_is_ours = false;
    expect_unfit(&facts, &shard, "belongs to a role that owner is no member of");
}

static void a_coordinators_role_that_owns_or_rules_is_refused(void **state)
{
    (void)state;
    Facts facts = fit;
    facts.role_exists = true;
    facts.role_is_too_strong = true;
    expect_unfit(&facts, &shard, "must be neither superuser nor the owner");
    Purpose same = shard;
    same.role = "owner";
    expect_unfit(&fit, &same, "must be neither superuser nor the owner");
}

static void a_shard_that_is_another_one_is_refused(void **state)
{
    (void)state;
    Facts facts = fit;
    facts.is_set_up = true;
    facts.ordinal = 1;
    strncpy(facts.cluster, "other", sizeof(facts.cluster) - 1);
    strncpy(facts.name, "shard-1", sizeof(facts.name) - 1);
    expect_unfit(&facts, &shard, "a shard of cluster other, not of demo");
    strncpy(facts.cluster, "demo", sizeof(facts.cluster) - 1);
    expect_fit(&facts, &shard);
    strncpy(facts.name, "shard-2", sizeof(facts.name) - 1);
    expect_unfit(&facts, &shard, "is shard shard-2 of this cluster");
    strncpy(facts.name, "shard-1", sizeof(facts.name) - 1);
    facts.ordinal = 2;
    expect_unfit(&facts, &shard, "its ordinal is 2 and never changes");
}

static void databases_are_told_apart_by_server_and_name(void **state)
{
    (void)state;
    Facts other = fit;
    assert_true(fitness_is_same_database(&fit, &other));
    other.database[0] = 'x';
    assert_false(fitness_is_same_database(&fit, &other));
    other = fit;
    other.system_identifier[0] = '8';
    assert_false(fitness_is_same_database(&fit, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_database_is_fit),
        cmocka_unit_test(an_old_server_is_refused),
        cmocka_unit_test(a_standby_is_refused),
        cmocka_unit_test(settings_that_lose_writes_are_refused_unless_allowed),
        cmocka_unit_test(a_shard_must_be_able_to_prepare_and_the_directory_need_not),
        cmocka_unit_test(missing_rights_are_named),
        cmocka_unit_test(a_coordinators_role_that_owns_or_rules_is_refused),
        cmocka_unit_test(a_shard_that_is_another_one_is_refused),
        cmocka_unit_test(databases_are_told_apart_by_server_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
