-- Lists the prepared transactions of this server, the oldest first: those of this database, and
-- those of others, which use up the same max_prepared_transactions. is_here says that it belongs to
-- this database, is_own to this role, is_present that the coordinator which its GID names has a
-- session here.
--
-- Called by:  GET /v1/prepared, and for metrics.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. Whether a leg is decided says its home: verdicts_by_id.
create or replace function giro.prepared_list(p_limit int)
returns table (gid text, prepared_at timestamptz, age_ms bigint, owner text, database text,
               is_here boolean, is_own boolean, is_present boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_present int[] := giro.coordinators_present();
begin
    return query
        select x.gid, x.prepared,
               greatest(0, extract(epoch from v_now - x.prepared) * 1000)::bigint,
               x.owner::text, x.database::text,
               x.database = current_database(), x.owner = session_user,
               hashtext(split_part(x.gid, ':', 3)) = any (v_present)
        from pg_prepared_xacts x
        order by x.prepared, x.gid
        limit p_limit;
end
$$;

revoke execute on function giro.prepared_list from public;
