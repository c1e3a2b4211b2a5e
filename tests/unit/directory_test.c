/*
 * The cached directory over scripted connections, and the soundness of a copy.
 * Fakes: tests/unit/fake_pg.c tests/unit/fake_server.c tests/unit/fake_values.c
 */
#include "shard/directory.h"

#include "fake_pg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

typedef struct PartitionRow
{
    const char *keyspace;
    const char *lo;
    size_t lo_length;
    const char *hi; /* NULL: endless */
    size_t hi_length;
    const char *shard;
} PartitionRow;

/* What the scripted directory holds; a test changes it between fetches. */
static struct
{
    const char *cluster;
    int format_version;
    int64_t version;
    const char *dsn_of_b;
    int ordinal_of_b;
    int64_t epoch_of_b;
    const char *timeline_of_b;
    uint8_t marks_of_b[4][MARK_LENGTH];
    size_t mark_count;
    const char *kind;
    PartitionRow partitions[8];
    size_t partition_count;
} content;

static struct
{
    Loop *loop;
    FakeServer *server;
    Directory *directory;
    bool never;
    int told;
    int fresh;
    bool done;
} test;

static const PartitionRow halves[] = {
    {"", "", 0, "\x80", 1, "a"},
    {"", "\x80", 1, NULL, 0, "b"},
    {"bank:", "", 0, "bank:m", 6, "b"},
    {"bank:", "bank:m", 6, NULL, 0, "a"},
};

static void set_partitions(const PartitionRow *rows, size_t count)
{
    memcpy(content.partitions, rows, count * sizeof *rows);
    content.partition_count = count;
}

static FakeAnswer serve(void *context, const char *text, const PgParams *params)
{
    (void)context;
    (void)params;
    FakeRows *rows = NULL;
    if (strstr(text, "read_cluster") != NULL)
    {
        rows = fake_rows_new(3);
        fake_text(rows, content.cluster);
        fake_int4(rows, content.format_version);
        fake_int8(rows, content.version);
    }
    else if (strstr(text, "read_shards") != NULL)
    {
        rows = fake_rows_new(6);
        fake_text(rows, "a");
        fake_int4(rows, 1);
        fake_text(rows, "dsn-a");
        fake_text(rows, "7000000000000000001");
        fake_int8(rows, 1);
        fake_text(rows, "00000001");
        fake_text(rows, "b");
        fake_int4(rows, content.ordinal_of_b);
        fake_text(rows, content.dsn_of_b);
        fake_text(rows, "7000000000000000001");
        fake_int8(rows, content.epoch_of_b);
        fake_text(rows, content.timeline_of_b);
    }
    else if (strstr(text, "read_marks") != NULL)
    {
        rows = fake_rows_new(2);
        for (size_t i = 0; i < content.mark_count; i++)
        {
            fake_text(rows, "b");
            fake_uuid(rows, content.marks_of_b[i]);
        }
    }
    else if (strstr(text, "note_marks") != NULL)
    {
        return fake_done(NULL);
    }
    else if (strstr(text, "read_keyspaces") != NULL)
    {
        rows = fake_rows_new(3);
        fake_text(rows, "");
        fake_text(rows, content.kind);
        fake_text(rows, "2pc");
        fake_text(rows, "bank:");
        fake_text(rows, "range");
        fake_text(rows, "saga");
    }
    else if (strstr(text, "read_partitions") != NULL)
    {
        rows = fake_rows_new(6);
        for (size_t i = 0; i < content.partition_count; i++)
        {
            const PartitionRow *row = &content.partitions[i];
            fake_int4(rows, (int32_t)i + 1);
            fake_text(rows, row->keyspace);
            fake_bytes(rows, row->lo, row->lo_length);
            fake_bytes(rows, row->hi, row->hi_length);
            fake_text(rows, row->shard);
            fake_int8(rows, 10 + (int64_t)i);
        }
    }
    return rows != NULL ? fake_rows(rows) : (FakeAnswer){.deed = FAKE_PASS};
}

static int setup(void **state)
{
    (void)state;
    memset(&test, 0, sizeof test);
    memset(&content, 0, sizeof content);
    fake_start();
    test.loop = loop_new();
    test.server = fake_server("directory");
    fake_serve(test.server, serve, NULL);
    fake_identity(fake_server("dsn-a"))->name = "a";
    fake_identity(fake_server("dsn-b"))->name = "b";
    fake_identity(fake_server("dsn-b"))->ordinal = 2;
    content.cluster = "test";
    content.format_version = 1;
    content.version = 1;
    content.dsn_of_b = "dsn-b";
    content.ordinal_of_b = 2;
    content.epoch_of_b = 1;
    content.timeline_of_b = "00000001";
    content.kind = "hash";
    set_partitions(halves, 4);
    route_library_init();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    directory_free(test.directory);
    loop_free(test.loop);
    fake_stop();
    return 0;
}

static void start(void)
{
    DirectoryOptions options = {
        .dsn = "directory",
        .poll_ms = 60000,
        .session = {.instance = "girod-1",
                    .sessions_max = 2,
                    .connect_deadline_ms = 40,
                    .lock_timeout_ms = 1000,
                    .statement_timeout_ms = 3000,
                    .idle_in_transaction_timeout_ms = 30000},
    };
    test.directory = directory_new(test.loop, &options);
    assert_false(directory_is_loaded(test.directory));
    assert_string_equal(directory_cluster(test.directory), "");
    loop_run_until(test.loop, &test.never, 20);
}

static void on_refreshed(void *context, bool fresh)
{
    (void)context;
    test.told++;
    test.fresh += fresh ? 1 : 0;
    test.done = true;
}

static bool refresh(uint64_t deadline_ms)
{
    int fresh = test.fresh;
    test.done = false;
    directory_refresh(test.directory, deadline_ms, on_refreshed, NULL);
    assert_false(test.done);
    assert_true(loop_run_until(test.loop, &test.done, 3000));
    return test.fresh > fresh;
}

static const char *shard_of(const char *account)
{
    Location location;
    assert_true(directory_locate(test.directory, account, &location));
    return shard_name(location.shard);
}

/* ---- look-ups -------------------------------------------------------------------------------- */

static void loads_by_itself_in_one_snapshot(void **state)
{
    (void)state;
    start();
    assert_true(directory_is_loaded(test.directory));
    assert_true(directory_is_reachable(test.directory));
    assert_string_equal(directory_cluster(test.directory), "test");
    assert_int_equal(directory_version(test.directory), 1);
    assert_non_null(strstr(fake_sent(test.server, 0), "REPEATABLE READ READ ONLY; select * from "
                                                      "giro_directory.read_cluster(); "));
    assert_int_equal(directory_shard_count(test.directory), 2);
    assert_string_equal(shard_name(directory_shard(test.directory, 1)), "b");
    assert_ptr_equal(directory_shard_by_name(test.directory, "a"),
                     directory_shard(test.directory, 0));
    assert_null(directory_shard_by_name(test.directory, "c"));
    assert_true(shard_is_usable(directory_shard(test.directory, 0)));
    assert_true(shard_is_usable(directory_shard(test.directory, 1)));
}

static void locates_accounts_by_the_longest_prefix(void **state)
{
    (void)state;
    Location location;
    start();
    assert_true(directory_locate(test.directory, "alice", &location));
    assert_string_equal(shard_name(location.shard), "a"); /* hash 2b… */
    assert_string_equal(location.keyspace, "");
    assert_int_equal(location.default_mode, MODE_2PC);
    assert_int_equal(location.partition, 1);
    assert_int_equal(location.epoch, 10);
    assert_int_equal(location.route.length, 8);
    assert_true(directory_locate(test.directory, "bank:zoe", &location));
    assert_string_equal(shard_name(location.shard), "a");
    assert_string_equal(location.keyspace, "bank:");
    assert_int_equal(location.default_mode, MODE_SAGA);
    assert_int_equal(location.partition, 4);
    assert_string_equal(shard_of("bank:anna"), "b");
    assert_string_equal(shard_of("bank:m"), "a");
    assert_string_equal(shard_of("bank:l"), "b");
    assert_string_equal(shard_of("bob"), "b"); /* hash 81… */
}

static void names_the_candidate_shards_of_a_transfer(void **state)
{
    (void)state;
    static const PartitionRow rows[] = {
        {"", "", 0, "\x2b\xd8\x06\xc9\x7f", 5, "a"},
        {"", "\x2b\xd8\x06\xc9\x7f", 5, NULL, 0, "b"},
        {"bank:", "", 0, NULL, 0, "b"},
    };
    Shard *shards[4];
    uint8_t id[16];
    start();
    transfer_id_make("alice", "k", id);
    assert_int_equal(directory_candidates(test.directory, id, shards, 4), 2);
    set_partitions(rows, 3);
    assert_true(refresh(1000));
    assert_int_equal(directory_candidates(test.directory, id, shards, 4), 2);
    assert_string_equal(shard_name(shards[0]), "a");
    assert_int_equal(directory_candidates(test.directory, id, shards, 1), 1);
    transfer_id_make("bob", "k", id);
    assert_int_equal(directory_candidates(test.directory, id, shards, 4), 1);
    assert_string_equal(shard_name(shards[0]), "b");
}

static void modes_have_names(void **state)
{
    (void)state;
    TransferMode mode = MODE_AUTO;
    assert_string_equal(mode_name(MODE_2PC), "2pc");
    assert_true(mode_parse("saga", &mode));
    assert_int_equal(mode, MODE_SAGA);
    assert_false(mode_parse("", &mode));
}

/* ---- refreshing ------------------------------------------------------------------------------ */

static void a_refresh_brings_a_new_copy_and_keeps_the_shards(void **state)
{
    (void)state;
    start();
    Location before;
    assert_true(directory_locate(test.directory, "bank:anna", &before));
    const Shard *shard = directory_shard(test.directory, 0);
    content.partitions[0].shard = "b";
    content.partitions[1].shard = "a";
    content.version = 2;
    assert_string_equal(shard_of("alice"), "a");
    assert_true(refresh(1000));
    assert_string_equal(shard_of("alice"), "b");
    assert_int_equal(directory_version(test.directory), 2);
    assert_ptr_equal(directory_shard(test.directory, 0), shard);
    assert_string_equal(before.keyspace, "bank:");
}

static void refreshes_that_wait_share_one_fetch(void **state)
{
    (void)state;
    start();
    size_t fetches = fake_sent_count(test.server);
    for (int i = 0; i < 10; i++)
        directory_refresh(test.directory, 1000, on_refreshed, NULL);
    assert_true(refresh(1000));
    assert_int_equal(test.fresh, 11);
    assert_int_equal(fake_sent_count(test.server) - fetches, 1);
}

static void a_refresh_asked_for_during_a_fetch_gets_the_next_one(void **state)
{
    (void)state;
    start();
    size_t fetches = fake_sent_count(test.server);
    fake_answer(test.server, "COMMIT", fake_hang());
    directory_refresh(test.directory, 1000, on_refreshed, NULL);
    loop_run_until(test.loop, &test.never, 5);
    directory_refresh(test.directory, 1000, on_refreshed, NULL);
    loop_run_until(test.loop, &test.never, 5);
    assert_int_equal(test.told, 0);
    fake_resume(test.server);
    loop_run_until(test.loop, &test.never, 10);
    assert_int_equal(test.fresh, 2);
    assert_int_equal(fake_sent_count(test.server) - fetches, 2);
}

static void tells_when_no_copy_can_be_had_in_time(void **state)
{
    (void)state;
    start();
    fake_crash(test.server);
    fake_connects(test.server, FAKE_REFUSES);
    assert_false(refresh(80));
    assert_false(directory_is_reachable(test.directory));
    assert_string_equal(shard_of("alice"), "a");
    fake_connects(test.server, FAKE_ACCEPTS);
    assert_true(refresh(3000));
    assert_true(directory_is_reachable(test.directory));
}

static void loads_when_the_directory_comes_up_later(void **state)
{
    (void)state;
    Location location;
    fake_connects(test.server, FAKE_REFUSES);
    start();
    assert_false(directory_is_loaded(test.directory));
    assert_false(directory_locate(test.directory, "alice", &location));
    assert_int_equal(directory_shard_count(test.directory), 0);
    fake_connects(test.server, FAKE_ACCEPTS);
    assert_true(refresh(3000));
    assert_true(directory_is_loaded(test.directory));
}

static void answers_refreshes_beyond_its_bound(void **state)
{
    (void)state;
    start();
    fake_connects(test.server, FAKE_REFUSES);
    fake_crash(test.server);
    for (int i = 0; i < DIRECTORY_REFRESH_MAX + 5; i++)
        directory_refresh(test.directory, 300, on_refreshed, NULL);
    loop_run_until(test.loop, &test.never, 20);
    assert_int_equal(test.told, 5);
    assert_int_equal(test.fresh, 0);
    loop_run_until(test.loop, &test.never, 400);
    assert_int_equal(test.told, DIRECTORY_REFRESH_MAX + 5);
}

static void gives_a_shard_with_a_new_address_new_sessions(void **state)
{
    (void)state;
    start();
    fake_identity(fake_server("dsn-c"))->name = "b";
    fake_identity(fake_server("dsn-c"))->ordinal = 2;
    content.dsn_of_b = "dsn-c";
    assert_true(refresh(1000));
    loop_run_until(test.loop, &test.never, 100);
    assert_true(shard_is_usable(directory_shard(test.directory, 1)));
    assert_int_equal(fake_connection_count(fake_server("dsn-b")), 0);
    assert_int_equal(fake_connection_count(fake_server("dsn-c")), 1);
}

/* ---- history --------------------------------------------------------------------------------- */

#define NOTE_MARKS_SQL                                                                             \
    "select giro_directory.note_marks($1::text, $2::text[], $3::bigint[], $4::uuid[])"

static const uint8_t mark_1[MARK_LENGTH] = {1};
static const uint8_t mark_2[MARK_LENGTH] = {2};

static const PgParams *await_note(void)
{
    for (int turn = 0; turn < 300 && fake_params(test.server, NOTE_MARKS_SQL) == NULL; turn++)
        loop_run_until(test.loop, &test.never, 10);
    return fake_params(test.server, NOTE_MARKS_SQL);
}

static void marks_of_all_coordinators_come_with_every_copy(void **state)
{
    uint8_t marks[HISTORY_MARKS_MAX][MARK_LENGTH];
    (void)state;
    start();
    const History *history = shard_history(directory_shard(test.directory, 1));
    memcpy(content.marks_of_b[0], mark_1, MARK_LENGTH);
    memcpy(content.marks_of_b[1], mark_2, MARK_LENGTH);
    content.mark_count = 2;
    assert_true(refresh(1000));
    assert_int_equal(history_marks(history, marks), 2);
    assert_memory_equal(marks[1], mark_2, MARK_LENGTH);
    content.mark_count = 1;
    assert_true(refresh(1000));
    assert_int_equal(history_marks(history, marks), 1);
    assert_int_equal(shard_history(directory_shard(test.directory, 0))->listed_count, 0);
}

static void new_marks_are_written_once(void **state)
{
    size_t length;
    (void)state;
    start();
    history_note(shard_history(directory_shard(test.directory, 1)), mark_1);
    const PgParams *params = await_note();
    assert_non_null(params);
    assert_string_equal(fake_param_text(params, 0), "girod-1");
    assert_int_equal(fake_array_count(params, 1), 1);
    assert_string_equal(fake_array_text(params, 1, 0), "b");
    assert_int_equal(fake_array_int8(params, 2, 0), 1);
    assert_memory_equal(fake_array_bytes(params, 3, 0, &length), mark_1, MARK_LENGTH);
    size_t sent = fake_sent_count(test.server);
    loop_run_until(test.loop, &test.never, 1200);
    assert_int_equal(fake_sent_count(test.server), sent);
}

static void marks_that_could_not_be_written_are_written_later(void **state)
{
    (void)state;
    start();
    fake_answer(test.server, NOTE_MARKS_SQL, fake_error("25006"));
    history_note(shard_history(directory_shard(test.directory, 1)), mark_1);
    assert_non_null(await_note());
    size_t sent = fake_sent_count(test.server);
    loop_run_until(test.loop, &test.never, 1200);
    assert_int_equal(fake_sent_count(test.server), sent + 1);
    assert_string_equal(fake_sent(test.server, sent), NOTE_MARKS_SQL);
}

static void a_copy_is_read_as_soon_as_the_marks_are_written(void **state)
{
    (void)state;
    start();
    fake_answer(test.server, NOTE_MARKS_SQL, fake_hang());
    history_note(shard_history(directory_shard(test.directory, 1)), mark_1);
    assert_non_null(await_note());
    directory_refresh(test.directory, 3000, on_refreshed, NULL);
    loop_run_until(test.loop, &test.never, 5);
    assert_false(test.done);
    fake_resume(test.server);
    assert_true(loop_run_until(test.loop, &test.done, 1000));
    assert_int_equal(test.fresh, 1);
}

static void a_readmitted_shard_gets_new_sessions(void **state)
{
    (void)state;
    start();
    const Shard *b = directory_shard(test.directory, 1);
    content.epoch_of_b = 2;
    content.timeline_of_b = "00000002";
    fake_identity(fake_server("dsn-b"))->epoch = 2;
    fake_identity(fake_server("dsn-b"))->timeline = "00000002";
    size_t connects = fake_connects_seen(fake_server("dsn-b"));
    assert_true(refresh(1000));
    assert_false(shard_is_usable(b));
    loop_run_until(test.loop, &test.never, 100);
    assert_true(shard_is_usable(b));
    assert_true(fake_connects_seen(fake_server("dsn-b")) > connects);
}

/* ---- unsound copies -------------------------------------------------------------------------- */

static void assert_keeps_the_old_copy(void)
{
    content.version = 99;
    assert_false(refresh(30));
    assert_int_equal(directory_version(test.directory), 1);
    assert_string_equal(shard_of("alice"), "a");
    assert_true(directory_is_reachable(test.directory));
}

static void refuses_a_gap(void **state)
{
    (void)state;
    start();
    content.partitions[0].hi = "\x7f";
    assert_keeps_the_old_copy();
}

static void refuses_a_keyspace_without_partitions(void **state)
{
    (void)state;
    start();
    content.partition_count = 2;
    assert_keeps_the_old_copy();
}

static void refuses_an_unknown_owner(void **state)
{
    (void)state;
    start();
    content.partitions[3].shard = "z";
    assert_keeps_the_old_copy();
}

static void refuses_an_unknown_kind(void **state)
{
    (void)state;
    start();
    content.kind = "list";
    assert_keeps_the_old_copy();
}

static void refuses_another_cluster(void **state)
{
    (void)state;
    start();
    content.cluster = "other";
    assert_keeps_the_old_copy();
}

static void refuses_another_format(void **state)
{
    (void)state;
    start();
    content.format_version = 2;
    assert_keeps_the_old_copy();
}

static void refuses_a_timeline_that_init_has_not_noted(void **state)
{
    (void)state;
    start();
    content.timeline_of_b = "";
    assert_keeps_the_old_copy();
}

static void refuses_an_ordinal_that_changed(void **state)
{
    (void)state;
    start();
    content.ordinal_of_b = 3;
    assert_keeps_the_old_copy();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(loads_by_itself_in_one_snapshot),
        TEST(locates_accounts_by_the_longest_prefix),
        TEST(names_the_candidate_shards_of_a_transfer),
        TEST(modes_have_names),
        TEST(a_refresh_brings_a_new_copy_and_keeps_the_shards),
        TEST(refreshes_that_wait_share_one_fetch),
        TEST(a_refresh_asked_for_during_a_fetch_gets_the_next_one),
        TEST(tells_when_no_copy_can_be_had_in_time),
        TEST(loads_when_the_directory_comes_up_later),
        TEST(answers_refreshes_beyond_its_bound),
        TEST(gives_a_shard_with_a_new_address_new_sessions),
        TEST(marks_of_all_coordinators_come_with_every_copy),
        TEST(new_marks_are_written_once),
        TEST(marks_that_could_not_be_written_are_written_later),
        TEST(a_copy_is_read_as_soon_as_the_marks_are_written),
        TEST(a_readmitted_shard_gets_new_sessions),
        TEST(refuses_a_timeline_that_init_has_not_noted),
        TEST(refuses_a_gap),
        TEST(refuses_a_keyspace_without_partitions),
        TEST(refuses_an_unknown_owner),
        TEST(refuses_an_unknown_kind),
        TEST(refuses_another_cluster),
        TEST(refuses_another_format),
        TEST(refuses_an_ordinal_that_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
