-- How far the standbys of this server are behind, in one row: how many of them receive WAL, and of
-- the one that is furthest behind the bytes and the time that it has yet to replay (null: not
-- known).
--
-- Called by:  every coordinator, every few seconds, for metrics.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. What standbys have replayed is shown to an owner with the rights of
--             pg_monitor (or pg_read_all_stats) only. Without them the bytes are those that
--             physical slots in use still hold back, and the time is not known; without slots
--             neither is.
create or replace function giro.replication_state()
returns table (standbys int, lag_bytes bigint, lag_ms bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
declare
    v_standbys int;
    v_replayed pg_lsn;
    v_lag interval;
begin
    perform giro.require_read_committed();

    select count(*), min(r.replay_lsn), max(coalesce(r.replay_lag, '0'))
        filter (where r.replay_lsn is not null)
    into strict v_standbys, v_replayed, v_lag
    from pg_stat_replication r;
    if v_replayed is null then
        select min(s.restart_lsn) into strict v_replayed
        from pg_replication_slots s
        where s.slot_type = 'physical' and s.active;
    end if;

    return query
        select v_standbys,
               pg_wal_lsn_diff(pg_current_wal_lsn(), v_replayed)::bigint,
               round(extract(epoch from v_lag) * 1000)::bigint;
end
$$;

revoke execute on function giro.replication_state from public;
