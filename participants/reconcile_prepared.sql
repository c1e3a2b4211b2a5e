-- Lists the GIDs of this cluster's prepared legs in this database that are older than p_age_ms.
-- What another role has prepared is none of ours, whatever it is called.
--
-- Called by:  reconciliation, to name what is in doubt: what such a leg holds is invisible.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing.
create or replace function giro.reconcile_prepared(p_age_ms bigint, p_limit int)
returns table (gid text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
begin
    return query
        select x.gid
        from pg_prepared_xacts x
        where x.database = current_database() and x.owner = session_user
          and split_part(x.gid, ':', 1) = 'giro'
          and split_part(x.gid, ':', 2) = (select s.cluster from shard s)
          and x.prepared <= clock_timestamp() - p_age_ms * interval '1 ms'
        order by x.prepared
        limit p_limit;
end
$$;

revoke execute on function giro.reconcile_prepared from public;
