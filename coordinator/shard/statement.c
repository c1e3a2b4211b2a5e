/*
 * See statement.h. Every parameter is cast, since parameters travel in binary and must have the
 * types that they are written in.
 */
#include "shard/statement.h"

#include "base/base.h"

static const StatementRow rows[STATEMENT_COUNT] = {
    [STATEMENT_BEGIN] = {"begin", STATEMENT_IS_PLAIN, "BEGIN ISOLATION LEVEL READ COMMITTED"},
    [STATEMENT_COMMIT] = {"commit", STATEMENT_IS_PLAIN, "COMMIT"},
    [STATEMENT_ROLLBACK] = {"rollback", STATEMENT_IS_PLAIN, "ROLLBACK"},
    [STATEMENT_PREPARE] = {"prepare", STATEMENT_IS_GID, "PREPARE TRANSACTION "},
    [STATEMENT_COMMIT_PREPARED] = {"commit_prepared", STATEMENT_IS_GID, "COMMIT PREPARED "},
    [STATEMENT_ROLLBACK_PREPARED] = {"rollback_prepared", STATEMENT_IS_GID, "ROLLBACK PREPARED "},

    [STATEMENT_SESSION] = {"session", STATEMENT_IS_PLAIN,
                           "select * from giro.session($1::int, $2::int, $3::int, $4::text,"
                           " $5::uuid[])"},
    [STATEMENT_FENCE_OFF] = {"fence_off", STATEMENT_IS_PLAIN,
                             "select giro.fence_off($1::bigint, $2::text)"},
    [STATEMENT_PING] = {"ping", STATEMENT_IS_PLAIN,
                        "select pg_logical_emit_message(true, 'giro', '')"},
    [STATEMENT_LIMIT] = {"limit", STATEMENT_IS_PREPARED,
                         "select set_config('statement_timeout', $1::text, true)"},

    [STATEMENT_LOCK] = {"lock", STATEMENT_IS_CALL,
                        "select * from giro.lock($1::int[], $2::bigint[], $3::text[],"
                        " $4::bytea[], $5::int[])"},
    [STATEMENT_WAIT_FOR] = {"wait_for", STATEMENT_IS_READ, "select giro.wait_for($1::text)"},
    [STATEMENT_APPLY] = {"apply", STATEMENT_IS_CALL,
                         "select giro.apply($1::uuid, $2::text, $3::text, $4::text, $5::text,"
                         " $6::text, $7::int, $8::text[], $9::bigint[], $10::bigint[],"
                         " $11::int[], $12::uuid[], $13::text[], $14::bigint[], $15::bigint[],"
                         " $16::bigint[], $17::text[], $18::text[])"},
    [STATEMENT_RECORD] = {"record", STATEMENT_IS_CALL,
                          "select * from giro.record($1::uuid, $2::text, $3::text, $4::text,"
                          " $5::uuid[], $6::text[], $7::bytea[], $8::text[], $9::bytea[],"
                          " $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[],"
                          " $15::text[], $16::text[], $17::bigint[], $18::text)"},
    [STATEMENT_FINISH] = {"finish", STATEMENT_IS_CALL, "select giro.finish($1::uuid[])"},
    [STATEMENT_VERDICT] = {"verdict", STATEMENT_IS_CALL,
                           "select giro.verdict($1::uuid, $2::text, $3::text, $4::text,"
                           " $5::text)"},
    [STATEMENT_LEG_EXISTS] = {"leg_exists", STATEMENT_IS_READ, "select giro.leg_exists($1::uuid)"},
    [STATEMENT_PREPARED_EXISTS] = {"prepared_exists", STATEMENT_IS_READ,
                                   "select giro.prepared_exists($1::text)"},
    [STATEMENT_END_SESSION] = {"end_session", STATEMENT_IS_CALL,
                               "select giro.end_session($1::int, $2::timestamptz)"},
    [STATEMENT_MISSING_LEG] = {"missing_leg", STATEMENT_IS_CALL,
                               "select giro.missing_leg($1::uuid, $2::text)"},
    [STATEMENT_STUCK_LEG] = {"stuck_leg", STATEMENT_IS_CALL,
                             "select giro.stuck_leg($1::uuid, $2::text)"},
    [STATEMENT_SETTLED_LEG] = {"settled_leg", STATEMENT_IS_CALL,
                               "select giro.settled_leg($1::uuid)"},
    [STATEMENT_RECOVERY] = {"recovery", STATEMENT_IS_CALL,
                            "select * from giro.recovery($1::text, $2::text, $3::bigint,"
                            " $4::text[], $5::text[], $6::uuid[], $7::int)"},
    [STATEMENT_TRANSFERS_BY_ID] = {"transfers_by_id", STATEMENT_IS_READ,
                                   "select * from giro.transfers_by_id($1::uuid[])"},
    [STATEMENT_TRANSFER_GET] = {"transfer_get", STATEMENT_IS_READ,
                                "select * from giro.transfer_get($1::uuid)"},
    [STATEMENT_TRANSFERS_LIST] = {"transfers_list", STATEMENT_IS_READ,
                                  "select * from giro.transfers_list($1::timestamptz, $2::uuid,"
                                  " $3::bigint, $4::int, $5::int, $6::text, $7::text, $8::text,"
                                  " $9::text, $10::text, $11::boolean, $12::boolean)"},
    [STATEMENT_TRANSFERS_SUMMARY] = {"transfers_summary", STATEMENT_IS_READ,
                                     "select * from giro.transfers_summary($1::int)"},
    [STATEMENT_RECEIPTS_BY_ID] = {"receipts_by_id", STATEMENT_IS_READ,
                                  "select * from giro.receipts_by_id($1::uuid[])"},
    [STATEMENT_RECEIVE] = {"receive", STATEMENT_IS_CALL,
                           "select giro.receive($1::uuid, $2::uuid[], $3::text[], $4::bytea[],"
                           " $5::text[])"},
    [STATEMENT_SETTLE] = {"settle", STATEMENT_IS_CALL,
                          "select * from giro.settle($1::int[], $2::bigint[], $3::uuid[],"
                          " $4::bytea[], $5::int[], $6::text[])"},
    [STATEMENT_TOMBSTONE] = {"tombstone", STATEMENT_IS_CALL,
                             "select * from giro.tombstone($1::int[], $2::bigint[], $3::uuid,"
                             " $4::uuid[], $5::text[], $6::bytea[], $7::int[])"},
    [STATEMENT_CLAIM] = {"claim", STATEMENT_IS_CALL,
                         "select * from giro.claim($1::text[], $2::int, $3::text)"},
    [STATEMENT_POSTPONE] = {"postpone", STATEMENT_IS_CALL,
                            "select giro.postpone($1::uuid[], $2::bigint, $3::text, $4::text)"},
    [STATEMENT_GIVE_UP] = {"give_up", STATEMENT_IS_CALL,
                           "select * from giro.give_up($1::int, $2::bigint, $3::text,"
                           " $4::bytea, $5::uuid, $6::text)"},
    [STATEMENT_RETRY] = {"retry", STATEMENT_IS_RARE,
                         "select * from giro.retry($1::int, $2::bigint, $3::text, $4::bytea,"
                         " $5::uuid)"},
    [STATEMENT_ACKNOWLEDGE] = {"acknowledge", STATEMENT_IS_RARE,
                               "select * from giro.acknowledge($1::int, $2::bigint, $3::text,"
                               " $4::bytea, $5::uuid)"},
    [STATEMENT_STEPS_HOME] = {"steps_home", STATEMENT_IS_READ,
                              "select * from giro.steps_home($1::uuid)"},
    [STATEMENT_STEPS_REMOTE] = {"steps_remote", STATEMENT_IS_READ,
                                "select * from giro.steps_remote($1::uuid, $2::uuid)"},
    [STATEMENT_PREPARED_LIST] = {"prepared_list", STATEMENT_IS_READ,
                                 "select * from giro.prepared_list($1::int)"},
    [STATEMENT_VERDICTS_BY_ID] = {"verdicts_by_id", STATEMENT_IS_READ,
                                  "select * from giro.verdicts_by_id($1::uuid[])"},
    [STATEMENT_SHARD_STATE] = {"shard_state", STATEMENT_IS_READ,
                               "select * from giro.shard_state($1::int)"},
    [STATEMENT_REPLICATION_STATE] = {"replication_state", STATEMENT_IS_LONG_READ,
                                     "select * from giro.replication_state()"},
    [STATEMENT_SHARD_REPORT] = {"shard_report", STATEMENT_IS_READ,
                                "select * from giro.shard_report()"},
    [STATEMENT_ACCOUNT_CREATE] = {"account_create", STATEMENT_IS_CALL,
                                  "select * from giro.account_create($1::int, $2::bigint,"
                                  " $3::text, $4::bytea, $5::text, $6::bigint, $7::boolean,"
                                  " $8::text)"},
    [STATEMENT_ACCOUNT_GET] = {"account_get", STATEMENT_IS_READ,
                               "select * from giro.account_get($1::int, $2::bigint, $3::text,"
                               " $4::bytea)"},
    [STATEMENT_ACCOUNT_PATCH] = {"account_patch", STATEMENT_IS_CALL,
                                 "select * from giro.account_patch($1::int, $2::bigint,"
                                 " $3::text, $4::bytea, $5::text, $6::bigint, $7::boolean)"},
    [STATEMENT_ACCOUNT_ENTRIES] = {"account_entries", STATEMENT_IS_READ,
                                   "select * from giro.account_entries($1::int, $2::bigint,"
                                   " $3::text, $4::bytea, $5::bigint, $6::int)"},
    [STATEMENT_ACCOUNT_LIST] = {"account_list", STATEMENT_IS_READ,
                                "select * from giro.account_list($1::text, $2::text, $3::int)"},

    [STATEMENT_BOOKS] = {"books", STATEMENT_IS_LONG_READ,
                         "select currency, balances::text, clearing::text, difference::text,"
                         " least(greatest(difference, -9007199254740991), 9007199254740991)::bigint"
                         " from giro.books()"},
    [STATEMENT_RECONCILE_PREPARED] = {"reconcile_prepared", STATEMENT_IS_LONG_READ,
                                      "select * from giro.reconcile_prepared($1::bigint, $2::int)"},
    [STATEMENT_RECONCILE_IDS] = {"reconcile_ids", STATEMENT_IS_LONG_READ,
                                 "select * from giro.reconcile_ids($1::boolean, $2::uuid,"
                                 " $3::int)"},
    [STATEMENT_RECONCILE_ACCOUNTS] = {"reconcile_accounts", STATEMENT_IS_LONG_READ,
                                      "select * from giro.reconcile_accounts($1::boolean,"
                                      " $2::text, $3::bigint, $4::bigint, $5::int, $6::int)"},
    [STATEMENT_RECONCILE_TRANSFERS] = {"reconcile_transfers", STATEMENT_IS_LONG_READ,
                                       "select * from giro.reconcile_transfers($1::uuid[])"},
    [STATEMENT_RECONCILE_CREDITS] = {"reconcile_credits", STATEMENT_IS_LONG_READ,
                                     "select * from giro.reconcile_credits($1::uuid[],"
                                     " $2::uuid[])"},
    [STATEMENT_RECONCILE_BATCHES] = {"reconcile_batches", STATEMENT_IS_LONG_READ,
                                     "select * from giro.reconcile_batches($1::uuid, $2::int)"},
    [STATEMENT_RECONCILE_VERDICTS] = {"reconcile_verdicts", STATEMENT_IS_LONG_READ,
                                      "select * from giro.reconcile_verdicts($1::uuid[])"},
    [STATEMENT_RECONCILE_NOTE] = {"reconcile_note", STATEMENT_IS_RARE,
                                  "select giro.reconcile_note($1::text[], $2::bigint[],"
                                  " $3::bigint[], $4::uuid[], $5::uuid[])"},
    [STATEMENT_RECONCILE_FORGET] = {"reconcile_forget", STATEMENT_IS_RARE,
                                    "select giro.reconcile_forget($1::text[])"},
    [STATEMENT_RECONCILE_CLAIM] = {"reconcile_claim", STATEMENT_IS_RARE,
                                   "select * from giro.reconcile_claim($1::text, $2::bigint,"
                                   " $3::bigint)"},
    [STATEMENT_RECONCILE_END] = {"reconcile_end", STATEMENT_IS_RARE,
                                 "select giro.reconcile_end($1::text, $2::boolean, $3::boolean)"},
    [STATEMENT_FOLD_CLEARING] = {"fold_clearing", STATEMENT_IS_RARE,
                                 "select giro.fold_clearing($1::int, $2::int)"},

    [STATEMENT_BEGIN_SNAPSHOT] = {"begin_snapshot", STATEMENT_IS_DIRECTORY,
                                  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
    [STATEMENT_READ_CLUSTER] = {"read_cluster", STATEMENT_IS_DIRECTORY,
                                "select * from giro_directory.read_cluster()"},
    [STATEMENT_READ_SHARDS] = {"read_shards", STATEMENT_IS_DIRECTORY,
                               "select * from giro_directory.read_shards()"},
    [STATEMENT_READ_KEYSPACES] = {"read_keyspaces", STATEMENT_IS_DIRECTORY,
                                  "select * from giro_directory.read_keyspaces()"},
    [STATEMENT_READ_PARTITIONS] = {"read_partitions", STATEMENT_IS_DIRECTORY,
                                   "select * from giro_directory.read_partitions()"},
    [STATEMENT_READ_MARKS] = {"read_marks", STATEMENT_IS_DIRECTORY,
                              "select shard, batch from giro_directory.read_marks()"},
    [STATEMENT_NOTE_MARKS] = {"note_marks", STATEMENT_IS_DIRECTORY,
                              "select giro_directory.note_marks($1::text, $2::text[],"
                              " $3::bigint[], $4::uuid[])"},
    [STATEMENT_READ_INTAKE] = {"read_intake", STATEMENT_IS_DIRECTORY,
                               "select * from giro_directory.read_intake()"},
    [STATEMENT_PAUSE_INTAKE] = {"pause_intake", STATEMENT_IS_DIRECTORY,
                                "select giro_directory.pause_intake($1::text, $2::text)"},
    [STATEMENT_RESUME_INTAKE] = {"resume_intake", STATEMENT_IS_DIRECTORY,
                                 "select giro_directory.resume_intake($1::text)"},
};

const StatementRow *statement_row(Statement statement)
{
    ASSERT(statement >= 0 && statement < STATEMENT_COUNT);
    return &rows[statement];
}

bool statement_is_prepared(Statement statement)
{
    StatementKind kind = statement_row(statement)->kind;
    return kind == STATEMENT_IS_CALL || kind == STATEMENT_IS_READ || kind == STATEMENT_IS_PREPARED;
}

bool statement_is_limited(Statement statement)
{
    StatementKind kind = statement_row(statement)->kind;
    return kind == STATEMENT_IS_CALL || kind == STATEMENT_IS_READ || kind == STATEMENT_IS_RARE;
}

bool statement_writes(Statement statement)
{
    StatementKind kind = statement_row(statement)->kind;
    return kind == STATEMENT_IS_CALL || kind == STATEMENT_IS_RARE;
}
