/*
 * The statement table of set-up, see init_sql.h.
 */
#include "cluster/init_sql.h"

#include "base/base.h"

static const InitStatementRow rows[INIT_STATEMENT_COUNT] = {
    [INIT_BEGIN] = {"begin", "begin isolation level read committed"},
    [INIT_COMMIT] = {"commit", "commit"},
    [INIT_ROLLBACK] = {"roll back", "rollback"},
    [INIT_LOCK] = {"wait for another init", "select pg_advisory_xact_lock(1195987535, -1), "
                                            "set_config('client_min_messages', 'warning', true)"},
    [INIT_FACTS] =
        {"look at the server",
         "select current_setting('server_version_num')::int,"
         " current_setting('fsync')::bool,"
         " current_setting('full_page_writes')::bool,"
         " current_setting('max_prepared_transactions')::int,"
         " pg_is_in_recovery(),"
         " (select system_identifier::text from pg_control_system()),"
         " current_database()::text,"
         " current_user::text,"
         " has_database_privilege(current_database(), 'create'),"
         " (select rolsuper or rolcreaterole from pg_roles where rolname = current_user),"
         " exists (select from pg_roles where rolname = $1::text),"
         " exists (select from pg_roles r where r.rolname = $1::text"
         "         and (r.rolsuper or pg_has_role(r.oid, current_user, 'member'))),"
         " not exists (select from pg_namespace where nspname = $2::text"
         "             and not pg_has_role(current_user, nspowner, 'usage')),"
         " exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace"
         "         where n.nspname = $2::text and c.relname = $3::text),"
         " case when not pg_is_in_recovery()"
         "      then left(pg_walfile_name(pg_current_wal_lsn()), 8) end"},
    [INIT_CREATE_ROLE] =
        {"create the coordinator's role",
         "select case when $2::text = '' then format('create role %I login', $1::text)"
         " else format('create role %I login password %L', $1::text, $2::text) end"},

    [INIT_SHARD_IDENTITY] = {"read who the shard is",
                             "select cluster, name, ordinal, epoch from giro.shard"},
    [INIT_SHARD_MIGRATED] = {"read the migrations",
                             "select coalesce(max(number), 0) from giro.migrations"},
    [INIT_SHARD_RECORD_MIGRATION] = {"record the migration",
                                     "insert into giro.migrations (number, name)"
                                     " values ($1::int, $2::text)"},
    [INIT_SHARD_SETUP] = {"set up the shard",
                          "select giro.setup_shard($1::text, $2::text, $3::int)::text"},
    [INIT_SHARD_SETUP_PARTITIONS] =
        {"set up the partitions",
         "select giro.setup_partitions($1::int[], $2::text[], $3::text[], $4::bytea[], $5::bytea[],"
         " $6::bigint[])"},
    [INIT_SHARD_HISTORY] = {"read the shard's history",
                            "select s.fenced, m.batch from giro.shard s left join"
                            " unnest(giro.missing_marks($1::uuid[])) m (batch) on true"},
    [INIT_SHARD_READMIT] = {"take over the new epoch", "select giro.readmit($1::bigint)"},
    [INIT_SHARD_GRANT] = {"grant the coordinator's rights",
                          "select giro.grant_coordinator($1::text::name)::text"},

    [INIT_DIRECTORY_MIGRATED] = {"read the migrations",
                                 "select coalesce(max(number), 0) from giro_directory.migrations"},
    [INIT_DIRECTORY_RECORD_MIGRATION] = {"record the migration",
                                         "insert into giro_directory.migrations (number, name)"
                                         " values ($1::int, $2::text)"},
    [INIT_DIRECTORY_SETUP_CLUSTER] = {"set up the cluster",
                                      "select giro_directory.setup_cluster($1::text)::text"},
    [INIT_DIRECTORY_SETUP_SHARD] = {"set up a shard",
                                    "select giro_directory.setup_shard($1::text, $2::int, "
                                    "$3::text, $4::text, $5::text)::text"},
    [INIT_DIRECTORY_SETUP_HISTORY] = {"note a shard's history",
                                      "select giro_directory.setup_history($1::text, $2::bigint,"
                                      " $3::text)::text"},
    [INIT_DIRECTORY_HISTORY] = {"read a shard's history",
                                "select system_identifier, epoch, timeline"
                                " from giro_directory.read_shards() where name = $1::text"},
    [INIT_DIRECTORY_MARKS] = {"read a shard's marks",
                              "select batch, coordinator, noted_at::text"
                              " from giro_directory.read_marks() where shard = $1::text"},
    [INIT_DIRECTORY_READMIT] =
        {"readmit the shard",
         "select giro_directory.readmit($1::text, $2::text, $3::text, $4::bigint, $5::text,"
         " $6::text, $7::uuid[], $8::text)"},
    [INIT_DIRECTORY_SETUP_KEYSPACE] =
        {"set up a keyspace",
         "select giro_directory.setup_keyspace($1::text, $2::text, $3::text)::text"},
    [INIT_DIRECTORY_SETUP_PARTITIONS] =
        {"split a keyspace",
         "select giro_directory.setup_partitions($1::text, $2::bytea[], $3::bytea[], $4::text[])"},
    [INIT_DIRECTORY_GRANT] = {"grant the coordinator's rights",
                              "select giro_directory.grant_coordinator($1::text::name)::text"},
    [INIT_DIRECTORY_SHARDS] = {"read the shards", "select name from giro_directory.read_shards()"},
    [INIT_DIRECTORY_KEYSPACES] = {"read the keyspaces",
                                  "select prefix from giro_directory.read_keyspaces()"},
    [INIT_DIRECTORY_PARTITIONS] =
        {"read the partitions",
         "select p.partition, p.keyspace, k.kind, p.lo, p.hi, p.shard, p.epoch"
         " from giro_directory.read_partitions() p"
         " join giro_directory.read_keyspaces() k on k.prefix = p.keyspace"
         " order by p.partition"},

    [INIT_WHERE] = {"see where the dsn leads",
                    "select (select system_identifier::text from pg_control_system()),"
                    " current_database()::text, pg_is_in_recovery()"},
    [INIT_READ_CLUSTER] = {"read the cluster",
                           "select name, version from giro_directory.read_cluster()"},
    [INIT_READ_SESSION] = {"open a session as the coordinator does",
                           "select cluster, name, system_identifier, database"
                           " from giro.session(1000, 3000, 10000)"},
};

const InitStatementRow *init_statement_row(InitStatement statement)
{
    ASSERT(statement < INIT_STATEMENT_COUNT);
    return &rows[statement];
}
