-- What this server says of itself, in one row: for whoever looks at a shard.
--
-- Called by:  GET /v1/shards, on every shard.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. `clock` is the server's own time, read once; sessions are those of
--             all roles, of as many as there can be. settings has those that the promises rest on.
create or replace function giro.shard_report()
returns table (clock timestamptz, role text, server_version text, database text, timeline text,
               epoch bigint, fenced text, fenced_at timestamptz, sessions bigint,
               sessions_max int, prepared bigint, prepared_max int, standbys int,
               lag_bytes bigint, lag_ms bigint, settings text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select clock_timestamp(),
               case when pg_is_in_recovery() then 'standby' else 'primary' end,
               current_setting('server_version'), current_database()::text,
               case when not pg_is_in_recovery()
                    then left(pg_walfile_name(pg_current_wal_lsn()), 8) end,
               s.epoch, s.fenced, s.fenced_at,
               (select count(*) from pg_stat_activity a where a.backend_type = 'client backend'),
               current_setting('max_connections')::int,
               (select count(*) from pg_prepared_xacts),
               current_setting('max_prepared_transactions')::int,
               r.standbys, r.lag_bytes, r.lag_ms,
               (select jsonb_object_agg(n.name, current_setting(n.name))
                from unnest(array['fsync', 'full_page_writes', 'synchronous_commit',
                                  'synchronous_standby_names', 'wal_level', 'max_wal_senders',
                                  'autovacuum', 'lock_timeout', 'statement_timeout',
                                  'idle_in_transaction_session_timeout', 'tcp_keepalives_idle',
                                  'tcp_user_timeout', 'shared_buffers', 'max_wal_size'])
                     n (name))::text
        from shard s, giro.replication_state() r;
end
$$;

revoke execute on function giro.shard_report from public;
